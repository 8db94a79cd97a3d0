"""Exercises of chapter 5, multi-head attention: the right answers, and the wrong ones people give."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_lib.exercises.data import Case, Exercise, Mistake, Text
from transformer_lib.exercises.inputs import A_BATCH, ONE_SEQUENCE, TWO_BATCHES, by_hand, normal

ONE_HEAD = Text("a single head", "只有一個頭")
AS_MANY_TOKENS_AS_HEADS = Text("as many tokens as heads", "標記和頭一樣多")

# Hints that several exercises give.
_ONE_BATCH_DIMENSION = Text(
    "right for exactly one batch dimension. Counted from the end, the places of heads and tokens "
    "are the same for any number of batch dimensions.",
    "剛好一個批次維度時是對的。改從最後面往前數，不論有幾個批次維度，頭和標記的位置都一樣。",
)
_INTERLEAVED = Text(
    "the columns are dealt out like cards, one to each head in turn. "
    "Head i should own d_k columns that stand next to each other.",
    "你像發牌一樣，把行輪流分給各個頭。每個頭應該拿到連在一起的 d_k 行。",
)
_ONE_SEQUENCE_ONLY = Text(
    "right without a batch. With one, the heads stand in the first dimension; "
    "they belong after all batch dimensions.",
    "沒有批次時是對的。有批次時，頭跑到第一個維度了；頭應該排在所有批次維度之後。",
)

# --- split-heads --------------------------------------------------------------------------


def split_heads(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(-3, -2)


def _split_cases():
    randn = normal(51)
    return [
        Case(ONE_SEQUENCE, (randn(5, 6), 2)),
        Case(A_BATCH, (randn(2, 5, 12), 3)),
        Case(TWO_BATCHES, (randn(2, 3, 4, 10), 5)),
        Case(AS_MANY_TOKENS_AS_HEADS, (randn(2, 3, 12), 3)),
        Case(ONE_HEAD, (randn(3, 4), 1)),
    ]


def _split_by_view(x, n_heads):
    *batch, n, d_model = x.shape
    return x.reshape(*batch, n_heads, n, d_model // n_heads)


def _split_by_slices(x, n_heads):
    d_k = x.size(-1) // n_heads
    return torch.stack([x[..., i * d_k : (i + 1) * d_k] for i in range(n_heads)], dim=-3)


def _split_interleaved(x, n_heads):
    return x.unflatten(-1, (-1, n_heads)).movedim(-1, -3)


def _split_tokens(x, n_heads):
    return x.unflatten(-2, (n_heads, -1))


SPLIT_HEADS = Exercise(
    name="split-heads",
    chapter=5,
    title=Text("Split the heads", "切成好幾個頭"),
    difficulty=1,
    minutes=8,
    reference=split_heads,
    cases=_split_cases,
    alternatives=(
        _split_by_slices,
        lambda x, n_heads: torch.stack(x.chunk(n_heads, dim=-1), dim=-3),
        lambda x, n_heads: x.reshape(*x.shape[:-1], n_heads, -1).movedim(-2, -3),
        lambda x, n_heads: torch.einsum("...nhd->...hnd", x.unflatten(-1, (n_heads, -1))),
    ),
    mistakes=(
        Mistake(
            "view-without-transpose",
            _split_by_view,
            Text(
                "the shape is right, its numbers are not: view and reshape only cut the same row of "
                "numbers differently, so a head gets whole tokens, chopped up, instead of its columns "
                "of every token. Cut first; then two dimensions have to change places.",
                "形狀對了，但裡面的數不對：view 和 reshape 只是把同一串數字重新切段，"
                "結果一個頭拿到的是切碎的幾個標記，而不是每個標記裡屬於它的那幾行。"
                "先切開，再讓兩個維度對調。",
            ),
        ),
        Mistake(
            "heads-not-moved",
            lambda x, n_heads: x.unflatten(-1, (n_heads, -1)),
            Text(
                "cut correctly, but the heads stand after the tokens: (…, n, n_heads, d_k). "
                "Attention works on the last two dimensions, so those must be n and d_k.",
                "切得沒錯，但頭排在標記後面：(…, n, n_heads, d_k)。"
                "注意力只看最後兩個維度，所以這兩個必須是 n 和 d_k。",
            ),
        ),
        Mistake("interleaved", _split_interleaved, _INTERLEAVED),
        Mistake(
            "n_heads-and-d_k-exchanged",
            lambda x, n_heads: x.unflatten(-1, (-1, n_heads)).transpose(-3, -2),
            Text(
                "you get d_k heads of n_heads columns each. It should be n_heads heads of d_k columns.",
                "你切成了 d_k 個頭，每個頭 n_heads 行。應該是 n_heads 個頭，每個頭 d_k 行。",
            ),
        ),
        Mistake(
            "one-batch-dimension",
            lambda x, n_heads: x.unflatten(-1, (n_heads, -1)).transpose(1, 2),
            _ONE_BATCH_DIMENSION,
        ),
        Mistake(
            "one-sequence-only",
            lambda x, n_heads: torch.stack(x.chunk(n_heads, dim=-1)),
            _ONE_SEQUENCE_ONLY,
        ),
        Mistake(
            "transposed-heads",
            lambda x, n_heads: x.unflatten(-1, (n_heads, -1)).movedim(-3, -1),
            Text(
                "each head lies on its side, (d_k, n). Within a head, too, a token is a row.",
                "每個頭的列和行都對調了，變成 (d_k, n)。在一個頭裡，一個標記仍然是一列。",
            ),
        ),
        Mistake(
            "tokens-split",
            _split_tokens,
            Text(
                "you cut the sequence: each head gets some of the tokens. Each head should see all "
                "tokens, and some of the columns.",
                "你切的是序列：每個頭只拿到一部分的標記。每個頭應該看到所有標記，只分到一部分的行。",
            ),
        ),
        Mistake(
            "copies",
            lambda x, n_heads: x.unsqueeze(-3).expand(*x.shape[:-2], n_heads, *x.shape[-2:]),
            Text(
                "every head gets all d_model columns. They should share them out: d_model / n_heads each.",
                "每個頭都拿到全部 d_model 行。這些行應該分給各個頭，每個頭 d_model / n_heads 行。",
            ),
        ),
        Mistake(
            "heads-into-the-batch",
            lambda x, n_heads: split_heads(x, n_heads).flatten(0, -3),
            Text(
                "the heads are right, but they have melted into one dimension with the batch. "
                "Keep the batch dimensions in front.",
                "頭切對了，但和批次混成同一個維度了。前面的批次維度要保留。",
            ),
        ),
        Mistake(
            "backwards",
            lambda x, n_heads: split_heads(x, n_heads).flip(-3),
            Text(
                "the heads come in reverse order: the first d_k columns belong to head 0.",
                "頭的順序反了：最前面的 d_k 行屬於第 0 個頭。",
            ),
        ),
    ),
)

# --- merge-heads --------------------------------------------------------------------------


def merge_heads(x):
    return x.transpose(-3, -2).flatten(-2)


def _merge_cases():
    randn = normal(52)
    return [
        Case(ONE_SEQUENCE, (randn(2, 5, 3),)),
        Case(A_BATCH, (randn(2, 3, 5, 4),)),
        Case(TWO_BATCHES, (randn(2, 4, 3, 5, 6),)),
        Case(AS_MANY_TOKENS_AS_HEADS, (randn(2, 3, 3, 5),)),
        Case(ONE_HEAD, (randn(2, 1, 3, 4),)),
    ]


def _merge_by_view(x):
    *batch, n_heads, n, d_k = x.shape
    return x.reshape(*batch, n, n_heads * d_k)


def _merge_by_view_of_transposed(x):
    *batch, n_heads, n, d_k = x.shape
    return x.transpose(-3, -2).view(*batch, n, n_heads * d_k)


MERGE_HEADS = Exercise(
    name="merge-heads",
    chapter=5,
    title=Text("Merge the heads", "把頭併回來"),
    difficulty=1,
    minutes=6,
    reference=merge_heads,
    cases=_merge_cases,
    alternatives=(
        lambda x: torch.cat(x.unbind(-3), dim=-1),
        lambda x: x.movedim(-3, -2).reshape(*x.shape[:-3], x.size(-2), -1),
        lambda x: torch.einsum("...hnd->...nhd", x).flatten(-2),
        lambda x: x.transpose(-3, -2).contiguous().view(*x.shape[:-3], x.size(-2), -1),
    ),
    mistakes=(
        Mistake(
            "merge-without-transpose",
            _merge_by_view,
            Text(
                "the shape is right, its numbers are not: without a transpose one row is filled with "
                "several tokens of the same head. Which two dimensions have to be neighbours before "
                "they may melt into one?",
                "形狀對了，但裡面的數不對：沒有先轉置，同一個頭的好幾個標記就塞進了同一列。"
                "想一想，哪兩個維度要先相鄰，才能合併成一個？",
            ),
        ),
        Mistake(
            "view-after-transpose",
            _merge_by_view_of_transposed,
            Text(
                "transposed correctly, but view refuses: after a transpose the numbers no longer lie "
                "in memory in the order of the shape. reshape and flatten make a copy where they need one.",
                "轉置對了，但 view 不肯做：轉置之後，記憶體裡的順序和形狀的順序不再一致。"
                "reshape 和 flatten 會在需要時自己複製一份。",
            ),
        ),
        Mistake("interleaved", lambda x: x.movedim(-3, -1).flatten(-2), _INTERLEAVED),
        Mistake(
            "not-flattened",
            lambda x: x.transpose(-3, -2),
            Text(
                "the heads now stand next to their token, (…, n, n_heads, d_k). One step is missing: "
                "the last two dimensions become one.",
                "頭已經排到各自的標記旁邊了：(…, n, n_heads, d_k)。還差一步：最後兩個維度要合成一個。",
            ),
        ),
        Mistake(
            "one-batch-dimension",
            lambda x: x.transpose(1, 2).flatten(2),
            _ONE_BATCH_DIMENSION,
        ),
        Mistake(
            "one-below-the-other",
            lambda x: x.flatten(-3, -2),
            Text(
                "the heads stand below each other, as n_heads · n rows. They belong side by side: "
                "a row for each token.",
                "頭排成上下了，變成 n_heads · n 列。應該左右並排：一個標記一列。",
            ),
        ),
        Mistake(
            "summed",
            lambda x: x.sum(-3),
            Text(
                "the heads are added up. Concatenation keeps them apart, side by side; "
                "W_O does the mixing later.",
                "你把各個頭加起來了。串接是讓它們並排、各自保留；混合是之後 W_O 的工作。",
            ),
        ),
        Mistake(
            "averaged",
            lambda x: x.mean(-3),
            Text(
                "the heads are averaged. Concatenation keeps them apart, side by side.",
                "你把各個頭平均了。串接是讓它們並排、各自保留。",
            ),
        ),
        Mistake(
            "first-head",
            lambda x: x[..., 0, :, :],
            Text("only the first head is left.", "只剩下第一個頭。"),
        ),
        Mistake(
            "on-its-side",
            lambda x: merge_heads(x).mT,
            Text(
                "the result lies on its side: each token should be a row.",
                "結果的列和行對調了：每個標記應該是一列。",
            ),
        ),
        Mistake(
            "backwards",
            lambda x: merge_heads(x.flip(-3)),
            Text(
                "the heads come in reverse order: head 0 has the first columns.",
                "頭的順序反了：第 0 個頭應該在最前面的幾行。",
            ),
        ),
    ),
)

# --- multi-head-attention -----------------------------------------------------------------


def multi_head_attention(x, W_Q, W_K, W_V, W_O, n_heads):
    q, k, v = (split_heads(x @ W, n_heads) for W in (W_Q, W_K, W_V))
    weights = (q @ k.mT / q.size(-1) ** 0.5).softmax(-1)
    return merge_heads(weights @ v) @ W_O


def _multi_head_cases():
    randn = normal(53)

    def inputs(*shape, n_heads, size=1.0):
        d_model = shape[-1]
        weights = (randn(d_model, d_model) / math.sqrt(d_model) for _ in range(4))
        return (size * randn(*shape), *weights, n_heads)

    return [
        Case(ONE_SEQUENCE, inputs(5, 6, n_heads=2)),
        Case(A_BATCH, inputs(2, 5, 12, n_heads=3)),
        Case(TWO_BATCHES, inputs(2, 3, 4, 10, n_heads=5)),
        Case(AS_MANY_TOKENS_AS_HEADS, inputs(2, 3, 12, n_heads=3)),
        Case(ONE_HEAD, inputs(3, 5, n_heads=1)),
        Case(Text("large scores", "很大的分數"), inputs(2, 5, 8, n_heads=2, size=24.0)),
    ]


def _attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (q @ k.mT / math.sqrt(q.size(-1))).softmax(-1) @ v


def _heads(x, W_Q, W_K, W_V, n_heads, split=split_heads, attend=_attend):
    """The heads' outputs (…, n_heads, n, d_k), with a place for a slip."""
    return attend(*(split(x @ W, n_heads) for W in (W_Q, W_K, W_V)))


def _with(split=split_heads, attend=_attend, merge=merge_heads):
    """Multi-head attention with one of its parts exchanged."""

    def answer(x, W_Q, W_K, W_V, W_O, n_heads):
        return merge(_heads(x, W_Q, W_K, W_V, n_heads, split, attend)) @ W_O

    return answer


def _scaled_by(scale):
    """Multi-head attention whose scores are divided by ``scale(d_k, n_heads)``."""
    return _with(attend=lambda q, k, v: (q @ k.mT / scale(q.size(-1), q.size(-3))).softmax(-1) @ v)


def _loop_over_heads(x, W_Q, W_K, W_V, W_O, n_heads):
    blocks = torch.arange(x.size(-1)).chunk(n_heads)
    heads = [_attend(x @ W_Q[:, b], x @ W_K[:, b], x @ W_V[:, b]) for b in blocks]
    return torch.cat(heads, dim=-1) @ W_O


def _sum_over_heads(x, W_Q, W_K, W_V, W_O, n_heads):
    blocks = torch.arange(x.size(-1)).chunk(n_heads)
    return sum(_attend(x @ W_Q[:, b], x @ W_K[:, b], x @ W_V[:, b]) @ W_O[b] for b in blocks)


def _by_einsum(x, W_Q, W_K, W_V, W_O, n_heads):
    q, k, v = ((x @ W).unflatten(-1, (n_heads, -1)) for W in (W_Q, W_K, W_V))
    scores = torch.einsum("...qhd,...khd->...hqk", q, k) / math.sqrt(q.size(-1))
    return torch.einsum("...hqk,...khd->...qhd", scores.softmax(-1), v).flatten(-2) @ W_O


def _by_sdpa(x, W_Q, W_K, W_V, W_O, n_heads):
    q, k, v = (split_heads(x @ W, n_heads) for W in (W_Q, W_K, W_V))
    return merge_heads(F.scaled_dot_product_attention(q, k, v)) @ W_O


def _input_split(x, W_Q, W_K, W_V, W_O, n_heads):
    """Cuts x, not the projections: head i sees only its own columns of each token."""
    blocks = torch.arange(x.size(-1)).chunk(n_heads)
    heads = [_attend(*(x[..., b] @ W[b][:, b] for W in (W_Q, W_K, W_V))) for b in blocks]
    return torch.cat(heads, dim=-1) @ W_O


def _same_rows_of_W_O(x, W_Q, W_K, W_V, W_O, n_heads):
    heads = _heads(x, W_Q, W_K, W_V, n_heads)
    return heads.sum(-3) @ W_O[: heads.size(-1)]


def _W_O_without_merge(x, W_Q, W_K, W_V, W_O, n_heads):
    """W_O cut to blocks on the diagonal: each head is mixed with itself only."""
    heads = _heads(x, W_Q, W_K, W_V, n_heads).unbind(-3)
    blocks = torch.arange(x.size(-1)).chunk(n_heads)
    return torch.cat([h @ W_O[b][:, b] for h, b in zip(heads, blocks, strict=True)], dim=-1)


MULTI_HEAD_ATTENTION = Exercise(
    name="multi-head-attention",
    chapter=5,
    title=Text("Multi-head attention, assembled", "組裝多頭注意力"),
    difficulty=3,
    minutes=15,
    reference=multi_head_attention,
    cases=_multi_head_cases,
    alternatives=(_loop_over_heads, _sum_over_heads, _by_einsum, _by_sdpa),
    mistakes=(
        Mistake(
            "W_O-missing",
            lambda x, W_Q, W_K, W_V, W_O, n_heads: merge_heads(_heads(x, W_Q, W_K, W_V, n_heads)),
            Text(
                "the heads stand side by side, unmixed. One of the four matrices is not used yet.",
                "各個頭只是並排著，還沒混合。四個矩陣裡有一個還沒用到。",
            ),
        ),
        Mistake(
            "one-head",
            lambda x, W_Q, W_K, W_V, W_O, n_heads: _attend(x @ W_Q, x @ W_K, x @ W_V) @ W_O,
            Text(
                "this is one head of all d_model columns; n_heads changes nothing. "
                "Each head needs scores and a softmax of its own.",
                "這是占滿 d_model 行的單一個頭，n_heads 沒有作用。每個頭要有自己的分數和 softmax。",
            ),
        ),
        Mistake(
            "scaled-with-d_model",
            _scaled_by(lambda d_k, n_heads: math.sqrt(d_k * n_heads)),
            Text(
                "the scores are divided by √d_model. How many products does one score of one head "
                "add up?",
                "你把分數除以 √d_model 了。想一想：一個頭的一個分數，是幾個乘積相加？",
            ),
        ),
        Mistake(
            "not-scaled",
            _scaled_by(lambda d_k, n_heads: 1.0),
            Text("the scores are not scaled.", "分數沒有縮放。"),
        ),
        Mistake(
            "scaled-without-root",
            _scaled_by(lambda d_k, n_heads: d_k),
            Text(
                "the scores are divided by d_k itself: the root is missing.",
                "你把分數除以 d_k 了：少了根號。",
            ),
        ),
        Mistake(
            "scaled-with-n_heads",
            _scaled_by(lambda d_k, n_heads: math.sqrt(n_heads)),
            Text(
                "the scores are divided by √n_heads. After the split, which dimension is d_k?",
                "你把分數除以 √n_heads 了。切完之後，哪個維度才是 d_k？",
            ),
        ),
        Mistake(
            "split-without-transpose",
            _with(split=_split_by_view),
            Text(
                "the heads are cut with view or reshape alone, so each head gets chopped-up tokens "
                "instead of its columns. Try your function on the exercise split-heads.",
                "切頭時只用了 view 或 reshape，每個頭拿到的是切碎的標記，而不是屬於它的行。"
                "回到練習 split-heads 檢查一下。",
            ),
        ),
        Mistake(
            "merge-without-transpose",
            _with(merge=_merge_by_view),
            Text(
                "the heads are right, but merged without a transpose: a row of the result holds "
                "several tokens of one head. Try the exercise merge-heads.",
                "各個頭都對，但合併時沒有先轉置：結果的一列裡混了同一個頭的好幾個標記。"
                "回到練習 merge-heads 檢查一下。",
            ),
        ),
        Mistake(
            "neither-transposed",
            _with(split=_split_by_view, merge=_merge_by_view),
            Text(
                "split and merge both lack their transpose. Each undoes the other, so "
                "merge(split(x)) = x tells you nothing; what happens in between is wrong.",
                "切開和合併都少了轉置。兩個剛好互相抵消，所以 merge(split(x)) = x 看不出問題；"
                "錯的是中間那一段。",
            ),
        ),
        Mistake(
            "interleaved",
            _with(
                split=_split_interleaved,
                merge=lambda z: z.movedim(-3, -1).flatten(-2),
            ),
            _INTERLEAVED,
        ),
        Mistake(
            "heads-after-tokens",
            _with(
                split=lambda x, n_heads: x.unflatten(-1, (n_heads, -1)),
                merge=lambda z: z.flatten(-2),
            ),
            Text(
                "the heads of one token attend to each other, and tokens never meet: the last two "
                "dimensions are (n_heads, d_k) where they should be (n, d_k).",
                "同一個標記的各個頭在互相注意，標記之間反而沒有交流：最後兩個維度是 (n_heads, d_k)，"
                "應該是 (n, d_k)。",
            ),
        ),
        Mistake(
            "heads-summed",
            _same_rows_of_W_O,
            Text(
                "the heads are added up, or all use the same rows of W_O. Head i has rows of its own "
                "there, just as it has columns of its own in W_Q.",
                "你把各個頭加起來了，或者讓它們共用 W_O 的同幾列。"
                "每個頭在 W_O 裡有自己的列，就像在 W_Q 裡有自己的行。",
            ),
        ),
        Mistake(
            "W_O-transposed",
            lambda x, W_Q, W_K, W_V, W_O, n_heads: multi_head_attention(
                x, W_Q, W_K, W_V, W_O.mT, n_heads
            ),
            Text(
                "W_O is transposed, or cut along its columns. To head i belong rows of W_O.",
                "W_O 轉置了，或是切錯方向、切到行了。第 i 個頭對應的是 W_O 的列。",
            ),
        ),
        Mistake(
            "W_O-in-blocks",
            _W_O_without_merge,
            Text(
                "each head meets only its own block of W_O, so the heads are never mixed. "
                "A head's rows of W_O go across all d_model columns.",
                "每個頭只乘到 W_O 裡自己的那一小塊，頭與頭之間沒有混合。"
                "一個頭在 W_O 裡的那幾列，橫跨全部 d_model 行。",
            ),
        ),
        Mistake(
            "input-split",
            _input_split,
            Text(
                "x is cut before it is projected, so a head sees only a part of each token. "
                "Project first: every head reads the whole token.",
                "你在投影之前就把 x 切開了，一個頭只看到標記的一部分。先投影再切：每個頭都讀整個標記。",
            ),
        ),
        Mistake(
            "softmax-over-queries",
            _with(attend=lambda q, k, v: (q @ k.mT / math.sqrt(q.size(-1))).softmax(-2) @ v),
            Text(
                "your weights sum to 1 down each column: the softmax ran over the queries.",
                "你的權重是每一行加起來等於 1：softmax 沿著查詢的方向算了。",
            ),
        ),
        Mistake(
            "softmax-over-heads",
            _with(attend=lambda q, k, v: (q @ k.mT / math.sqrt(q.size(-1))).softmax(-3) @ v),
            Text(
                "the softmax ran over the heads: here the heads share out 1 among them. "
                "Each head shares out 1 among the keys.",
                "softmax 沿著頭的方向算了：變成各個頭一起分 1。應該是每個頭各自把 1 分給所有的鍵。",
            ),
        ),
        Mistake(
            "weights-transposed",
            lambda x, W_Q, W_K, W_V, W_O, n_heads: multi_head_attention(
                x, W_Q.mT, W_K.mT, W_V.mT, W_O.mT, n_heads
            ),
            Text(
                "every matrix is transposed. nn.Linear stores it that way; here it is x @ W.",
                "每個矩陣都轉置了。nn.Linear 才是那樣存；這裡是 x @ W。",
            ),
        ),
        Mistake(
            "projected-twice",
            lambda x, W_Q, W_K, W_V, W_O, n_heads: multi_head_attention(
                x, W_Q @ W_Q, W_K @ W_K, W_V @ W_V, W_O, n_heads
            ),
            Text(
                "x goes through W_Q, W_K and W_V twice. After the first time the heads only have "
                "to be cut out.",
                "x 乘了兩次 W_Q、W_K、W_V。乘過一次之後，只要把頭切出來就好。",
            ),
        ),
        Mistake(
            "causal",
            _with(attend=lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)),
            Text(
                "each token sees only itself and those before it. No mask is asked for here: that "
                "comes in chapter 8.",
                "每個標記只看到自己和前面的標記。這一題不用遮罩，那是第 8 章的事。",
            ),
        ),
        Mistake(
            "values-not-projected",
            lambda x, W_Q, W_K, W_V, W_O, n_heads: multi_head_attention(
                x, W_Q, W_K, torch.eye(x.size(-1), dtype=x.dtype), W_O, n_heads
            ),
            Text("your values are x itself. W_V is not used.", "你的值就是 x 本身，W_V 沒有用到。"),
        ),
        Mistake(
            "q-and-k-exchanged",
            lambda x, W_Q, W_K, W_V, W_O, n_heads: multi_head_attention(
                x, W_K, W_Q, W_V, W_O, n_heads
            ),
            Text(
                "queries and keys have changed places.",
                "查詢和鍵的位置對調了。",
            ),
        ),
        Mistake(
            "residual",
            lambda x, *others: x + multi_head_attention(x, *others),
            Text(
                "x is added to the result. The residual connection comes later, outside the attention.",
                "結果多加了 x。殘差連接是之後的事，不在注意力裡面。",
            ),
        ),
    ),
)

# --- with a pencil ------------------------------------------------------------------------


PENCIL_HEADS = Exercise(
    name="pencil-heads",
    chapter=5,
    title=Text("Two heads with a pencil", "用紙筆算兩個頭"),
    difficulty=1,
    minutes=6,
    reference=lambda: 30.0,
    cases=by_hand,
    tolerance=1e-3,
    alternatives=(lambda: 30, lambda: torch.tensor(30.0), lambda: 3 * 7 + 9),
    mistakes=(
        Mistake(
            "weights-of-head-1",
            lambda: 26.0,
            Text(
                "26: you use the weights of head 1 in both heads. Head 2 has its own.",
                "26：兩個頭你都用了頭 1 的權重。頭 2 有自己的權重。",
            ),
        ),
        Mistake(
            "weights-of-head-2",
            lambda: 24.0,
            Text(
                "24: you use the weights of head 2 in both heads. Head 1 has its own.",
                "24：兩個頭你都用了頭 2 的權重。頭 1 有自己的權重。",
            ),
        ),
        Mistake(
            "weights-exchanged",
            lambda: 20.0,
            Text(
                "20: the heads have exchanged their weights. A score of 0 gets the smaller share.",
                "20：兩個頭的權重對調了。分數是 0 的鍵，分到的應該比較少。",
            ),
        ),
        Mistake(
            "even-weights",
            lambda: 25.0,
            Text(
                "25 comes from even weights of ½. In each head one key has the larger score.",
                "25 是每個鍵權重都取 ½ 的結果。每個頭裡都有一個鍵的分數比較高。",
            ),
        ),
        Mistake(
            "W_O-missing",
            lambda: 16.0,
            Text(
                "16 is the sum of the two heads. W_O weighs them.",
                "16 是兩個頭直接相加。還要用 W_O 加權。",
            ),
        ),
        Mistake(
            "W_O-exchanged",
            lambda: 34.0,
            Text(
                "34: the entries of W_O are exchanged. The first belongs to head 1.",
                "34：W_O 的兩個數用反了。第一個屬於頭 1。",
            ),
        ),
        Mistake(
            "not-normalised",
            lambda: 120.0,
            Text(
                "120: in each head, divide by the sum of the exp(score).",
                "120：每個頭裡都要再除以各個分數取 exp 之後的總和。",
            ),
        ),
        Mistake(
            "first-head-only",
            lambda: 21.0,
            Text("21 = 3 · 7 holds head 1 alone.", "21 = 3 · 7 只算了頭 1。"),
        ),
    ),
)

ATTENTION_PARAMETERS = Exercise(
    name="multi-head-parameters",
    chapter=5,
    title=Text("How many weights?", "有幾個權重？"),
    difficulty=1,
    minutes=4,
    reference=lambda: 1_048_576,
    cases=by_hand,
    tolerance=1e-7,
    alternatives=(
        lambda: 4 * 512**2,
        lambda: 8 * 3 * 512 * 64 + 512 * 512,
        lambda: torch.tensor(4 * 512**2),
        lambda: float(2**20),
    ),
    mistakes=(
        Mistake(
            "full-size-heads",
            lambda: 8 * 4 * 512**2,
            Text(
                "you give each of the 8 heads matrices of 512 columns. How many columns has a head?",
                "你讓 8 個頭的矩陣各有 512 行。一個頭其實有幾行？",
            ),
        ),
        Mistake(
            "full-size-heads-and-one-W_O",
            lambda: 25 * 512**2,
            Text(
                "one W_O is right, but each head's W_Q, W_K and W_V have fewer than 512 columns.",
                "W_O 只有一個，沒錯；但每個頭的 W_Q、W_K、W_V 不到 512 行。",
            ),
        ),
        Mistake(
            "W_O-missing",
            lambda: 3 * 512**2,
            Text(
                "W_Q, W_K and W_V of all heads are there. One matrix is missing.",
                "所有頭的 W_Q、W_K、W_V 都算到了，還少一個矩陣。",
            ),
        ),
        Mistake(
            "one-head",
            lambda: 3 * 512 * 64,
            Text(
                "these are the three matrices of a single head.",
                "這只是一個頭的三個矩陣。",
            ),
        ),
        Mistake(
            "one-head-and-its-rows-of-W_O",
            lambda: 4 * 512 * 64,
            Text(
                "this is one head with its rows of W_O. There are eight.",
                "這是一個頭，加上它在 W_O 裡的列。頭有八個。",
            ),
        ),
        Mistake(
            "one-matrix",
            lambda: 512**2,
            Text(
                "this is one of the matrices, all heads side by side. There are others.",
                "這是其中一個矩陣，所有的頭並排在一起。還有別的矩陣。",
            ),
        ),
        Mistake(
            "too-few-projections",
            lambda: 3 * 512 * 64 + 512**2,
            Text(
                "W_O is complete. Either only one head has its three matrices, or you let a head's "
                "matrices be 64 × 64; each head reads the whole token, of length 512.",
                "W_O 算完整了。但三個投影矩陣可能只算了一個頭，"
                "也可能把一個頭的矩陣當成 64 × 64：每個頭讀的是整個標記，長度是 512。",
            ),
        ),
        Mistake(
            "with-biases",
            lambda: 4 * 512**2 + 4 * 512,
            Text(
                "2048 too many: those are biases, and the question says there are none.",
                "多了 2048 個：那是偏置，題目說不含偏置。",
            ),
        ),
    ),
)

EXERCISES = (
    PENCIL_HEADS,
    ATTENTION_PARAMETERS,
    SPLIT_HEADS,
    MERGE_HEADS,
    MULTI_HEAD_ATTENTION,
)
