"""Exercise multi-head-attention of chapter 5: multi-head attention, assembled."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_lib.exercises.chapter_05.shared import (
    AS_MANY_TOKENS_AS_HEADS,
    INTERLEAVED,
    ONE_HEAD,
    merge_by_view,
    merge_heads,
    split_by_view,
    split_heads,
    split_interleaved,
)
from transformer_lib.exercises.data import Case, Exercise, Text, mistakes
from transformer_lib.exercises.inputs import A_BATCH, ONE_SEQUENCE, TWO_BATCHES, normal


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


MISTAKES = mistakes(
    ("W_O-missing",
     lambda x, W_Q, W_K, W_V, W_O, n_heads: merge_heads(_heads(x, W_Q, W_K, W_V, n_heads)),
     "the heads stand side by side, unmixed. One of the four matrices is not used yet.",
     "各個頭只是並排著，還沒混合。四個矩陣裡有一個還沒用到。"),
    ("one-head", lambda x, W_Q, W_K, W_V, W_O, n_heads: _attend(x @ W_Q, x @ W_K, x @ W_V) @ W_O,
     "this is one head of all d_model columns; n_heads changes nothing. Each head needs scores and a softmax of its own.",
     "這是占滿 d_model 行的單一個頭，n_heads 沒有作用。每個頭要有自己的分數和 softmax。"),
    ("scaled-with-d_model", _scaled_by(lambda d_k, n_heads: math.sqrt(d_k * n_heads)),
     "the scores are divided by √d_model. How many products does one score of one head add up?",
     "你把分數除以 √d_model 了。想一想：一個頭的一個分數，是幾個乘積相加？"),
    ("not-scaled", _scaled_by(lambda d_k, n_heads: 1.0), "the scores are not scaled.", "分數沒有縮放。"),
    ("scaled-without-root", _scaled_by(lambda d_k, n_heads: d_k),
     "the scores are divided by d_k itself: the root is missing.",
     "你把分數除以 d_k 了：少了根號。"),
    ("scaled-with-n_heads", _scaled_by(lambda d_k, n_heads: math.sqrt(n_heads)),
     "the scores are divided by √n_heads. After the split, which dimension is d_k?",
     "你把分數除以 √n_heads 了。切完之後，哪個維度才是 d_k？"),
    ("split-without-transpose", _with(split=split_by_view),
     "the heads are cut with view or reshape alone, so each head gets chopped-up tokens instead of its columns. Try your function on the exercise split-heads.",
     "切頭時只用了 view 或 reshape，每個頭拿到的是切碎的標記，而不是屬於它的行。回到練習 split-heads 檢查一下。"),
    ("merge-without-transpose", _with(merge=merge_by_view),
     "the heads are right, but merged without a transpose: a row of the result holds several tokens of one head. Try the exercise merge-heads.",
     "各個頭都對，但合併時沒有先轉置：結果的一列裡混了同一個頭的好幾個標記。回到練習 merge-heads 檢查一下。"),
    ("neither-transposed", _with(split=split_by_view, merge=merge_by_view),
     "split and merge both lack their transpose. Each undoes the other, so merge(split(x)) = x tells you nothing; what happens in between is wrong.",
     "切開和合併都少了轉置。兩個剛好互相抵消，所以 merge(split(x)) = x 看不出問題；錯的是中間那一段。"),
    ("interleaved", _with(split=split_interleaved, merge=lambda z: z.movedim(-3, -1).flatten(-2)),
     INTERLEAVED),
    ("heads-after-tokens",
     _with(split=lambda x, n_heads: x.unflatten(-1, (n_heads, -1)), merge=lambda z: z.flatten(-2)),
     "the heads of one token attend to each other, and tokens never meet: the last two dimensions are (n_heads, d_k) where they should be (n, d_k).",
     "同一個標記的各個頭在互相注意，標記之間反而沒有交流：最後兩個維度是 (n_heads, d_k)，應該是 (n, d_k)。"),
    ("heads-summed", _same_rows_of_W_O,
     "the heads are added up, or all use the same rows of W_O. Head i has rows of its own there, just as it has columns of its own in W_Q.",
     "你把各個頭加起來了，或者讓它們共用 W_O 的同幾列。每個頭在 W_O 裡有自己的列，就像在 W_Q 裡有自己的行。"),
    ("W_O-transposed",
     lambda x, W_Q, W_K, W_V, W_O, n_heads: multi_head_attention(x, W_Q, W_K, W_V, W_O.mT, n_heads),
     "W_O is transposed, or cut along its columns. To head i belong rows of W_O.",
     "W_O 轉置了，或是切錯方向、切到行了。第 i 個頭對應的是 W_O 的列。"),
    ("W_O-in-blocks", _W_O_without_merge,
     "each head meets only its own block of W_O, so the heads are never mixed. A head's rows of W_O go across all d_model columns.",
     "每個頭只乘到 W_O 裡自己的那一小塊，頭與頭之間沒有混合。一個頭在 W_O 裡的那幾列，橫跨全部 d_model 行。"),
    ("input-split", _input_split,
     "x is cut before it is projected, so a head sees only a part of each token. Project first: every head reads the whole token.",
     "你在投影之前就把 x 切開了，一個頭只看到標記的一部分。先投影再切：每個頭都讀整個標記。"),
    ("softmax-over-queries",
     _with(attend=lambda q, k, v: (q @ k.mT / math.sqrt(q.size(-1))).softmax(-2) @ v),
     "your weights sum to 1 down each column: the softmax ran over the queries.",
     "你的權重是每一行加起來等於 1：softmax 沿著查詢的方向算了。"),
    ("softmax-over-heads",
     _with(attend=lambda q, k, v: (q @ k.mT / math.sqrt(q.size(-1))).softmax(-3) @ v),
     "the softmax ran over the heads: here the heads share out 1 among them. Each head shares out 1 among the keys.",
     "softmax 沿著頭的方向算了：變成各個頭一起分 1。應該是每個頭各自把 1 分給所有的鍵。"),
    ("weights-transposed",
     lambda x, W_Q, W_K, W_V, W_O, n_heads: multi_head_attention(
         x, W_Q.mT, W_K.mT, W_V.mT, W_O.mT, n_heads
     ),
     "every matrix is transposed. nn.Linear stores it that way; here it is x @ W.",
     "每個矩陣都轉置了。nn.Linear 才是那樣存；這裡是 x @ W。"),
    ("projected-twice",
     lambda x, W_Q, W_K, W_V, W_O, n_heads: multi_head_attention(
         x, W_Q @ W_Q, W_K @ W_K, W_V @ W_V, W_O, n_heads
     ),
     "x goes through W_Q, W_K and W_V twice. After the first time the heads only have to be cut out.",
     "x 乘了兩次 W_Q、W_K、W_V。乘過一次之後，只要把頭切出來就好。"),
    ("causal", _with(attend=lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)),
     "each token sees only itself and those before it. No mask is asked for here: that comes in chapter 8.",
     "每個標記只看到自己和前面的標記。這一題不用遮罩，那是第 8 章的事。"),
    ("values-not-projected",
     lambda x, W_Q, W_K, W_V, W_O, n_heads: multi_head_attention(
         x, W_Q, W_K, torch.eye(x.size(-1), dtype=x.dtype), W_O, n_heads
     ),
     "your values are x itself. W_V is not used.",
     "你的值就是 x 本身，W_V 沒有用到。"),
    ("q-and-k-exchanged",
     lambda x, W_Q, W_K, W_V, W_O, n_heads: multi_head_attention(x, W_K, W_Q, W_V, W_O, n_heads),
     "queries and keys have changed places.",
     "查詢和鍵的位置對調了。"),
    ("residual", lambda x, *others: x + multi_head_attention(x, *others),
     "x is added to the result. The residual connection comes later, outside the attention.",
     "結果多加了 x。殘差連接是之後的事，不在注意力裡面。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="multi-head-attention",
    chapter=5,
    title=Text("Multi-head attention, assembled", "組裝多頭注意力"),
    difficulty=3,
    minutes=15,
    reference=multi_head_attention,
    cases=_multi_head_cases,
    alternatives=(_loop_over_heads, _sum_over_heads, _by_einsum, _by_sdpa),
    mistakes=MISTAKES,
)
