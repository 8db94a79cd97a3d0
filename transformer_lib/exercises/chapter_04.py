"""Exercises of chapter 4, self-attention: the right answers, and the wrong ones people give."""

import math

import torch
import torch.nn.functional as F

from transformer_lib import attention, masks
from transformer_lib.exercises.data import Case, Exercise, Mistake, Text
from transformer_lib.exercises.inputs import (
    A_BATCH,
    BATCH_AND_HEADS,
    LARGE_SCORES,
    ONE_SEQUENCE,
    SQUARE,
    by_hand,
    normal,
)

# Hints that several exercises give.
_ONE_SEQUENCE_MM = Text(
    "right for one sequence, but torch.mm takes exactly two dimensions. The operator @ takes any number.",
    "單一序列時是對的，但 torch.mm 只接受剛好兩個維度。用 @ 就不限維度。",
)
_ONE_SEQUENCE_EINSUM = Text(
    "right for one sequence, but these einsum letters name exactly two dimensions. "
    "An ellipsis (...) stands for any number of further ones.",
    "單一序列時是對的，但你的 einsum 只寫了兩個維度的字母。在前面加上省略符號 ...，"
    "就能代表任意多個維度。",
)
_BATCH_EINSUM = Text(
    "right for a batch, but these einsum letters name exactly three dimensions. "
    "An ellipsis (...) in place of the batch stands for any number.",
    "有批次時是對的，但你的 einsum 只寫了三個維度的字母。把批次的字母換成省略符號 ...，"
    "維度再多都可以。",
)

# --- project-qkv --------------------------------------------------------------------------


def project_qkv(x, W_Q, W_K, W_V):
    return x @ W_Q, x @ W_K, x @ W_V


def _project_qkv_cases():
    randn = normal(41)
    weights = randn(5, 4), randn(5, 4), randn(5, 7)
    square = Text("square weight matrices", "權重矩陣是方陣")
    return [
        Case(ONE_SEQUENCE, (randn(3, 5), *weights)),
        Case(A_BATCH, (randn(2, 3, 5), *weights)),
        Case(square, (randn(3, 4), randn(4, 4), randn(4, 4), randn(4, 4))),
    ]


def _project_with_one_product(x, W_Q, W_K, W_V):
    sizes = [W.size(-1) for W in (W_Q, W_K, W_V)]
    return (x @ torch.cat([W_Q, W_K, W_V], dim=-1)).split(sizes, dim=-1)


PROJECT_QKV = Exercise(
    name="project-qkv",
    chapter=4,
    title=Text("Three projections", "三個投影"),
    difficulty=1,
    minutes=3,
    reference=project_qkv,
    results=("q", "k", "v"),
    cases=_project_qkv_cases,
    alternatives=(
        lambda x, W_Q, W_K, W_V: tuple(F.linear(x, W.mT) for W in (W_Q, W_K, W_V)),
        lambda x, *Ws: tuple(torch.einsum("...nd,de->...ne", x, W) for W in Ws),
        lambda x, *Ws: tuple((W.mT @ x.mT).mT for W in Ws),
        _project_with_one_product,
    ),
    mistakes=(
        Mistake(
            "k-from-W_Q",
            lambda x, W_Q, W_K, W_V: (x @ W_Q, x @ W_Q, x @ W_V),
            Text(
                "your keys are made with W_Q. Query and key need matrices of their own: "
                "what a token looks for is not what it offers.",
                "你的鍵用了 W_Q。查詢和鍵要各用各的矩陣：一個標記想找的東西，和它能提供的東西並不相同。",
            ),
        ),
        Mistake(
            "q-from-W_K",
            lambda x, W_Q, W_K, W_V: (x @ W_K, x @ W_K, x @ W_V),
            Text(
                "your queries are made with W_K. Query and key need matrices of their own.",
                "你的查詢用了 W_K。查詢和鍵要各用各的矩陣。",
            ),
        ),
        Mistake(
            "v-not-projected",
            lambda x, W_Q, W_K, W_V: (x @ W_Q, x @ W_K, x),
            Text(
                "your values are x itself. V is a projection too: which matrix is left?",
                "你的值就是 x 本身。V 也是投影出來的：還有哪個矩陣沒用到？",
            ),
        ),
        Mistake(
            "v-from-W_K",
            lambda x, W_Q, W_K, W_V: (x @ W_Q, x @ W_K, x @ W_K),
            Text(
                "your values are made with W_K, so they equal the keys. W_V is not used.",
                "你的值用了 W_K，結果跟鍵一模一樣，W_V 沒有用到。",
            ),
        ),
        Mistake(
            "q-and-k-exchanged",
            lambda x, W_Q, W_K, W_V: (x @ W_K, x @ W_Q, x @ W_V),
            Text(
                "queries and keys have changed places: return q first, made with W_Q.",
                "查詢和鍵的位置對調了：第一個要傳回的是用 W_Q 算出來的 q。",
            ),
        ),
        Mistake(
            "v-first",
            lambda x, W_Q, W_K, W_V: (x @ W_V, x @ W_Q, x @ W_K),
            Text("return them in the order q, k, v.", "傳回的順序應該是 q、k、v。"),
        ),
        Mistake(
            "weights-transposed",
            lambda x, W_Q, W_K, W_V: (x @ W_Q.mT, x @ W_K.mT, x @ W_V.mT),
            Text(
                "the weights are transposed. Here they have shape (d_model, d_k), so x @ W fits as it "
                "stands. (nn.Linear stores its weight the other way round; with square matrices "
                "nothing crashes.)",
                "你把權重矩陣轉置了。這裡的權重矩陣形狀是 (d_model, d_k)，直接 x @ W 就對得上。"
                "（nn.Linear 存的權重矩陣是轉置過的；遇到方陣時程式照跑，不容易發現。）",
            ),
        ),
        Mistake(
            "tokens-as-columns",
            lambda x, W_Q, W_K, W_V: tuple(W.mT @ x.mT for W in (W_Q, W_K, W_V)),
            Text(
                "the results lie on their side: each token should be a row. "
                "With tokens as rows the product is x @ W.",
                "結果的列和行對調了：每個標記應該是一列。標記是列的時候，要寫成 x @ W。",
            ),
        ),
        Mistake(
            "q-scaled-already",
            lambda x, W_Q, W_K, W_V: (x @ W_Q / math.sqrt(W_Q.size(-1)), x @ W_K, x @ W_V),
            Text(
                "your queries are divided by √d_k already. That comes later, with the scores.",
                "你的查詢先除以 √d_k 了。縮放是之後算分數時才做的事。",
            ),
        ),
        Mistake(
            "activation",
            lambda x, W_Q, W_K, W_V: ((x @ W_Q).relu(), (x @ W_K).relu(), (x @ W_V).relu()),
            Text(
                "negative entries are cut off at 0. The projections are linear: no activation function.",
                "負數都被截成 0 了。這三個投影是線性的，不需要激勵函數。",
            ),
        ),
        Mistake(
            "k-and-v-exchanged",
            lambda x, W_Q, W_K, W_V: (x @ W_Q, x @ W_V, x @ W_K),
            Text(
                "keys and values have changed places: the order is q, k, v.",
                "鍵和值的位置對調了：順序是 q、k、v。",
            ),
        ),
        Mistake(
            "v-from-W_Q",
            lambda x, W_Q, W_K, W_V: (x @ W_Q, x @ W_K, x @ W_Q),
            Text(
                "your values are made with W_Q, so they equal the queries. W_V is not used.",
                "你的值用了 W_Q，結果跟查詢一模一樣，W_V 沒有用到。",
            ),
        ),
    ),
)

# --- attention-scores ---------------------------------------------------------------------


def attention_scores(q, k):
    return q @ k.transpose(-2, -1)


def _score_cases():
    randn = normal(42)
    return [
        Case(ONE_SEQUENCE, (randn(3, 5), randn(4, 5))),
        Case(A_BATCH, (randn(2, 3, 5), randn(2, 4, 5))),
        Case(BATCH_AND_HEADS, (randn(2, 3, 4, 6), randn(2, 3, 5, 6))),
        Case(SQUARE, (randn(4, 6), randn(4, 6))),
        Case(
            Text("as many keys as dimensions", "鍵的個數剛好等於維度"),
            (randn(3, 5), randn(5, 5)),
        ),
    ]


def _scores_by_loops(q, k):
    return torch.stack([(q * k[..., j, None, :]).sum(-1) for j in range(k.size(-2))], dim=-1)


# The slips with the product itself; both exercises on scores know them.
_PRODUCT_SLIPS = (
    (
        "keys-times-queries",
        lambda q, k: k @ q.mT,
        Text(
            "this is K Qᵀ: rows belong to keys. Row i should belong to query i, the first argument.",
            "這是 K Qᵀ，每一列對應的是鍵。第 i 列應該對應第 i 個查詢，也就是第一個參數。",
        ),
    ),
    (
        "T-on-a-batch",
        lambda q, k: q @ k.transpose(0, 1),
        Text(
            "right for one sequence, but with a batch the wrong dimensions are exchanged. "
            ".T and transpose(0, 1) also move the batch; exchange only the last two: transpose(-2, -1).",
            "單一序列時是對的，但有批次時就對調到錯的維度了。.T 和 transpose(0, 1) 會動到批次的維度；"
            "應該只對調最後兩個維度：transpose(-2, -1)。",
        ),
    ),
    (
        "transposed-for-three-dimensions",
        lambda q, k: q @ k.transpose(1, 2),
        Text(
            "right for a batch, but only when there are exactly three dimensions. Counted from the "
            "end, the last two are always -2 and -1: transpose(-2, -1).",
            "有批次時是對的，但只限剛好三個維度。從後面數的話，最後兩個維度永遠是 -2 和 -1："
            "transpose(-2, -1)。",
        ),
    ),
    (
        "one-sequence-only",
        lambda q, k: torch.mm(q, k.mT),
        _ONE_SEQUENCE_MM,
    ),
    (
        "keys-not-transposed",
        lambda q, k: q @ k,
        Text(
            "the keys are not transposed: q @ k multiplies with the columns of k, "
            "but each key is a row. It only fits when there are as many keys as dimensions.",
            "鍵沒有轉置：q @ k 乘到的是 k 的行，但每個鍵是一列。只有鍵的個數剛好等於維度時才對得上。",
        ),
    ),
    (
        "reshaped",
        lambda q, k: q @ k.reshape(*k.shape[:-2], k.size(-1), k.size(-2)),
        Text(
            "the shape of kᵀ is right, its numbers are not: reshape and view only cut the same "
            "row of numbers "
            "differently. Rows become columns with transpose(-2, -1).",
            "kᵀ 的形狀對了，但裡面的數不對：reshape 和 view 只是把同一串數字重新切段。"
            "要把列變成行，請用 transpose(-2, -1)。",
        ),
    ),
    (
        "cosine",
        lambda q, k: F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT,
        Text(
            "your vectors are brought to length 1 first (cosine similarity). "
            "Attention uses the plain dot product; length counts.",
            "你先把向量的長度變成 1 了（餘弦相似度）。注意力用的是單純的內積，向量的長度也要算進去。",
        ),
    ),
    (
        "pairs-only",
        lambda q, k: (q * k).sum(-1),
        Text(
            "only query i with key i is multiplied. Every query meets every key: a whole matrix.",
            "你只把第 i 個查詢和第 i 個鍵相乘。每個查詢和每個鍵都要算一次，結果是一整個矩陣。",
        ),
    ),
    (
        "summed-over-the-keys",
        lambda q, k: (q.unsqueeze(-2) * k.unsqueeze(-3)).sum(-2),
        Text(
            "the products are right, but they are summed over the keys. A dot product adds up the "
            "components of the two vectors: which dimension holds those?",
            "相乘的部分對了，但你是沿著鍵加總。內積要加的是兩個向量的各個分量：它們在哪一個維度？",
        ),
    ),
    (
        "einsum-for-one-sequence",
        lambda q, k: torch.einsum("qd,kd->qk", q, k),
        _ONE_SEQUENCE_EINSUM,
    ),
    (
        "einsum-for-a-batch",
        lambda q, k: torch.einsum("bqd,bkd->bqk", q, k),
        _BATCH_EINSUM,
    ),
    (
        "distance",
        lambda q, k: -torch.cdist(q, k),
        Text(
            "these are negative distances between q and k. A score is their dot product.",
            "你算的是 q 和 k 之間距離的負值。分數是它們的內積。",
        ),
    ),
)


def _score_mistakes(finish):
    """Each slip, with ``finish`` as the rest of an otherwise right answer."""

    def answer(product):
        return lambda q, k: finish(product(q, k), q)

    return tuple(Mistake(name, answer(product), hint) for name, product, hint in _PRODUCT_SLIPS)


ATTENTION_SCORES = Exercise(
    name="attention-scores",
    chapter=4,
    title=Text("Scores", "分數"),
    difficulty=1,
    minutes=5,
    reference=attention_scores,
    cases=_score_cases,
    alternatives=(
        lambda q, k: torch.einsum("...qd,...kd->...qk", q, k),
        lambda q, k: (k @ q.mT).mT,
        lambda q, k: torch.matmul(q, k.swapaxes(-1, -2)),
        lambda q, k: (q.unsqueeze(-2) * k.unsqueeze(-3)).sum(-1),
        _scores_by_loops,
    ),
    mistakes=(
        *_score_mistakes(lambda scores, q: scores),
        Mistake(
            "scaled-already",
            lambda q, k: q @ k.mT / math.sqrt(q.size(-1)),
            Text(
                "these are already divided by √d_k. Here the plain dot products are asked for.",
                "你已經先除以 √d_k 了。這一題要的是還沒縮放的內積。",
            ),
        ),
        Mistake(
            "softmax-already",
            lambda q, k: (q @ k.mT).softmax(-1),
            Text(
                "your rows sum to 1: the softmax has been applied already. Scores come before it.",
                "你的每一列加起來是 1：已經套用 softmax 了。分數是 softmax 之前的東西。",
            ),
        ),
        Mistake(
            "absolute-value",
            lambda q, k: (q @ k.mT).abs(),
            Text(
                "your scores are never negative. A dot product may be; it says: these two do not match.",
                "你的分數沒有負值。內積可以是負的，代表這兩個向量方向大致相反。",
            ),
        ),
    ),
)

# --- scaled-scores ------------------------------------------------------------------------


def scaled_scores(q, k):
    return q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))


def _all_heads_width(q):
    """d_model, where the heads have a dimension of their own."""
    return q.size(-1) * (q.size(-3) if q.ndim == 4 else 1)


SCALED_SCORES = Exercise(
    name="scaled-scores",
    chapter=4,
    title=Text("Scaled scores", "縮放後的分數"),
    difficulty=1,
    minutes=5,
    reference=scaled_scores,
    cases=_score_cases,
    alternatives=(
        lambda q, k: (q / q.size(-1) ** 0.5) @ k.mT,
        lambda q, k: (q / q.size(-1) ** 0.25) @ (k / k.size(-1) ** 0.25).mT,
        lambda q, k: q @ (k.mT / k.mT.size(-2) ** (1 / 2)),
        lambda q, k: torch.einsum("...qd,...kd->...qk", q, k) * q.size(-1) ** -0.5,
        lambda q, k: _scores_by_loops(q, k) / torch.tensor(q.size(-1), dtype=q.dtype).sqrt(),
    ),
    mistakes=(
        *_score_mistakes(lambda scores, q: scores / math.sqrt(q.size(-1))),
        Mistake(
            "not-scaled",
            lambda q, k: q @ k.mT,
            Text(
                "the scores are not scaled: their variance is still d_k instead of 1.",
                "分數沒有縮放：變異數還是 d_k，不是 1。",
            ),
        ),
        Mistake(
            "divided-by-d_k",
            lambda q, k: q @ k.mT / q.size(-1),
            Text(
                "divided by d_k, that is too much. The variance is d_k, and dividing by c divides a "
                "variance by c². Which c makes it 1?",
                "除以 d_k 就除過頭了。變異數是 d_k，而除以 c 會讓變異數除以 c²。c 要是多少，"
                "變異數才會變成 1？",
            ),
        ),
        Mistake(
            "multiplied",
            lambda q, k: q @ k.mT * math.sqrt(q.size(-1)),
            Text(
                "multiplied by √d_k, where you should divide: the scores have become larger still.",
                "應該除以 √d_k，你卻用乘的：分數變得更大了。",
            ),
        ),
        Mistake(
            "number-of-keys",
            lambda q, k: q @ k.mT / math.sqrt(k.size(-2)),
            Text(
                "divided by the root of the number of keys. The variance grows with the length of the "
                "vectors. (After k = k.mT that is no longer the last dimension of k.)",
                "你除的是鍵的個數的平方根。讓變異數變大的是向量的分量個數。"
                "（做了 k = k.mT 之後，它就不是 k 的最後一個維度了。）",
            ),
        ),
        Mistake(
            "number-of-queries",
            lambda q, k: q @ k.mT / math.sqrt(q.size(-2)),
            Text(
                "divided by the root of the number of queries. The variance grows with the length of the "
                "vectors: the last dimension.",
                "你除的是查詢個數的平方根。讓變異數變大的是向量的分量個數，也就是最後一個維度。",
            ),
        ),
        Mistake(
            "first-dimension",
            lambda q, k: q @ k.mT / math.sqrt(q.size(0)),
            Text(
                "divided by the root of the first dimension, the batch. d_k is the last one: q.size(-1).",
                "你除的是第一個維度（批次）的平方根。d_k 是最後一個維度：q.size(-1)。",
            ),
        ),
        Mistake(
            "d_model",
            lambda q, k: q @ k.mT / math.sqrt(_all_heads_width(q)),
            Text(
                "with several heads you divide by √d_model. A dot product inside a head adds only "
                "d_k terms.",
                "有好幾個頭時，你除的是 √d_model。但在一個頭裡，內積只加了 d_k 項。",
            ),
        ),
        Mistake(
            "softmax-already",
            lambda q, k: (q @ k.mT / math.sqrt(q.size(-1))).softmax(-1),
            Text(
                "your rows sum to 1: the softmax has been applied already. It is the next step.",
                "你的每一列加起來是 1：已經套用 softmax 了。那是下一步才做的事。",
            ),
        ),
        Mistake(
            "power-before-division",
            lambda q, k: q @ k.mT / q.size(-1) ** 1 / 2,
            Text(
                "the scores come out divided by 2 d_k. In Python ** binds before /, so d ** 1/2 "
                "does not take a root: where do the parentheses belong?",
                "分數變成除以 2 d_k 了。在 Python 裡，** 比 / 先算，所以 d ** 1/2 並沒有開根號："
                "括號該加在哪裡？",
            ),
        ),
        Mistake(
            "half-of-d_k",
            lambda q, k: q @ k.mT / (q.size(-1) ** 1 / 2),
            Text(
                "the scores are divided by d_k / 2. In Python ** binds before /: d ** 1/2 is half "
                "of d, not its root. Which part needs parentheses of its own?",
                "你除的是 d_k 的一半。在 Python 裡，** 比 / 先算：d ** 1/2 是 d 的一半，"
                "不是平方根。哪一部分要另外加括號？",
            ),
        ),
        Mistake(
            "fixed-number",
            lambda q, k: q @ k.mT / 8,
            Text(
                "you always divide by 8 = √64, but d_k is not always 64. Take it from the tensor.",
                "你永遠除以 8 = √64，但 d_k 不一定是 64。請從張量取得 d_k。",
            ),
        ),
        Mistake(
            "dimension-one",
            lambda q, k: q @ k.mT / math.sqrt(q.shape[1]),
            Text(
                "right for one sequence only: q.shape[1] is d_k there, but with a batch it is "
                "something else. Count the dimensions from the end.",
                "只有單一序列時才對：這時 q.shape[1] 剛好是 d_k；有批次時，它就不是 d_k 了。"
                "維度請從後面數。",
            ),
        ),
        Mistake(
            "length-of-k",
            lambda q, k: q @ k.mT / math.sqrt(len(k)),
            Text(
                "len(k) is the size of the first dimension: the number of keys, or the batch. d_k "
                "is the length of one vector. Which dimension is that?",
                "len(k) 是第一個維度的大小：也就是鍵的個數，或是批次大小。d_k 是一個向量的分量個數，"
                "那是哪一個維度？",
            ),
        ),
        Mistake(
            "measured-spread",
            lambda q, k: q @ k.mT / (q @ k.mT).std(),
            Text(
                "you divide by the standard deviation measured on these very scores, so each "
                "score depends on all the others. √d_k is the same for any data: it follows from "
                "the shape alone.",
                "你除的是從這些分數算出來的標準差，這樣每個分數都會受其他分數影響。"
                "√d_k 和資料無關，只看形狀就能決定。",
            ),
        ),
        Mistake(
            "scaled-after-softmax",
            lambda q, k: (q @ k.mT).softmax(-1) / math.sqrt(q.size(-1)),
            Text(
                "you apply a softmax and then divide its weights. Only the scaled scores are "
                "asked for, and scaling helps only before a softmax.",
                "你先套用 softmax，再除以 √d_k。這一題只要縮放後的分數；"
                "而且縮放要放在 softmax 之前才有用。",
            ),
        ),
    ),
)

# --- softmax ------------------------------------------------------------------------------


def softmax(x, dim):
    return x.softmax(dim)


def _softmax_cases():
    randn = normal(43)
    large = randn(3, 5)
    uneven = randn(3, 5) + torch.tensor([[0.0], [-2000.0], [3000.0]], dtype=torch.float64)
    # exp holds up to 709 in float64. Taking 4 away, the place of the maximum, would be enough here.
    brink = torch.tensor([[708.0, 709.0, 707.0, 708.5, 711.0]], dtype=torch.float64)
    return [
        Case(Text("a matrix, over the last dimension", "矩陣，沿最後一個維度"), (randn(3, 5), -1)),
        Case(Text("a matrix, over dimension 0", "矩陣，沿第 0 個維度"), (randn(3, 5), 0)),
        Case(Text("a batch, over dimension 1", "批次，沿第 1 個維度"), (randn(2, 3, 5), 1)),
        Case(Text("a square matrix", "方陣"), (randn(4, 4), -1)),
        Case(LARGE_SCORES, (1000 * (large + large.sign()), -1)),  # none between -1000 and 1000
        Case(
            Text("rows of very different size", "各列數值大小懸殊的矩陣"),
            (torch.cat([uneven, brink]), -1),
        ),
    ]


def _softmax_by_slices(x, dim):
    rows = x.movedim(dim, -1)
    flat = [(row - row.max()).exp() for row in rows.reshape(-1, rows.size(-1))]
    return torch.stack([e / e.sum() for e in flat]).reshape(rows.shape).movedim(-1, dim)


def _softmax_of(prepare, total=None):
    """exp of ``prepare(x, dim)`` over its sum along dim, or over ``total(e, x, dim)``."""

    def answer(x, dim):
        e = prepare(x, dim).exp()
        return e / (e.sum(dim, keepdim=True) if total is None else total(e, x, dim))

    return answer


def _minus_max(x, dim):
    return x - x.amax(dim, keepdim=True)


_AND_OVERFLOW = Text(" Also, exp overflows for large scores.", "另外，分數很大時 exp 會溢位。")


def _softmax_mistakes(name, hint, total):
    """One wrong total, twice: with the maximum taken out, and without."""
    overflowing = Text("", "").join([hint, _AND_OVERFLOW])
    return (
        Mistake(name, _softmax_of(_minus_max, total), hint),
        Mistake(f"{name}-and-overflow", _softmax_of(lambda x, dim: x, total), overflowing),
    )


def _minus_max_without_keepdim(x, dim):
    return x - x.max(dim).values


SOFTMAX = Exercise(
    name="softmax",
    chapter=4,
    title=Text("A softmax that never overflows", "不會溢位的 softmax"),
    difficulty=2,
    minutes=10,
    reference=softmax,
    cases=_softmax_cases,
    alternatives=(
        lambda x, dim: (x - x.logsumexp(dim, keepdim=True)).exp(),
        lambda x, dim: x.log_softmax(dim).exp(),
        lambda x, dim: F.softmax(x - x.amax(dim, keepdim=True).detach(), dim=dim),
        lambda x, dim: x.double().softmax(dim).to(x.dtype),
        lambda x, dim: torch.softmax(x - x.mean(dim, keepdim=True), dim),
        _softmax_of(lambda x, dim: _minus_max(x, dim).clamp(min=-700)),
        _softmax_by_slices,
    ),
    mistakes=(
        Mistake(
            "dim-ignored",
            lambda x, dim: x.softmax(-1),
            Text(
                "always over the last dimension: the argument dim is not used.",
                "你永遠沿最後一個維度計算：參數 dim 沒有用到。",
            ),
        ),
        Mistake(
            "dim-0",
            lambda x, dim: x.softmax(0),
            Text(
                "always over dimension 0: the argument dim is not used.",
                "你永遠沿第 0 個維度計算：參數 dim 沒有用到。",
            ),
        ),
        Mistake(
            "dim-ignored-and-overflow",
            _softmax_of(lambda x, dim: x, lambda e, x, dim: e.sum(-1, keepdim=True)),
            Text(
                "the sum always runs over the last dimension: the argument dim is not used. "
                "Also, exp overflows for large scores.",
                "你的總和永遠沿最後一個維度計算：參數 dim 沒有用到。另外，分數很大時 exp 會溢位。",
            ),
        ),
        Mistake(
            "no-maximum",
            _softmax_of(lambda x, dim: x),
            Text(
                "right for small scores, NaN for large ones: exp overflows above about 709 in float64 "
                "and about 88 in float32. What may you subtract from every score of a row without "
                "changing the result?",
                "分數小的時候正確，分數一大就變成 NaN："
                "exp 在 float64 超過約 709、在 float32 超過約 88 就會溢位。"
                "一列裡的每個分數都減去什麼，結果還是一樣？",
            ),
        ),
        Mistake(
            "maximum-of-everything",
            _softmax_of(lambda x, dim: x - x.max()),
            Text(
                "you subtract the maximum of the whole tensor. A row whose scores lie far below it "
                "becomes 0/0. Take each row's own maximum.",
                "你減掉的是整個張量的最大值。如果某一列的分數全都遠低於它，那一列就會變成 0/0。"
                "每一列要減自己的最大值。",
            ),
        ),
        Mistake(
            "minimum",
            _softmax_of(lambda x, dim: x - x.amin(dim, keepdim=True)),
            Text(
                "you subtract the minimum, so the largest score stays large and exp overflows. "
                "Subtract the maximum: then no exponent is above 0.",
                "你減掉的是最小值，最大的分數還是很大，exp 照樣溢位。要減最大值，這樣指數都不會超過 0。",
            ),
        ),
        Mistake(
            "clamped",
            _softmax_of(lambda x, dim: x.clamp(-700, 700)),
            Text(
                "the scores are clamped before exp, which makes different large scores equal. "
                "Subtracting the maximum changes nothing in the result.",
                "你在 exp 之前把分數截斷了，不同的大分數會變得一樣。改成減去最大值，結果完全不受影響。",
            ),
        ),
        *_softmax_mistakes(
            "no-keepdim",
            Text(
                "the sum has lost its dimension, so it lines up with the wrong one when you divide. "
                "keepdim=True keeps it in place.",
                "加總之後少了一個維度，相除時就對到錯的維度上去了。加上 keepdim=True 就能保留它。",
            ),
            lambda e, x, dim: e.sum(dim),
        ),
        *_softmax_mistakes(
            "over-everything",
            Text(
                "all entries together sum to 1. Each slice along dim should sum to 1 by itself.",
                "你的結果是全部加起來等於 1。應該是沿 dim 的方向，每一條各自加起來等於 1。",
            ),
            lambda e, x, dim: e.sum(),
        ),
        Mistake(
            "maximum-and-sum-of-everything",
            _softmax_of(lambda x, dim: x - x.max(), lambda e, x, dim: e.sum()),
            Text(
                "maximum and sum are both taken over the whole tensor. Each slice along dim should sum "
                "to 1 by itself.",
                "最大值和總和都是對整個張量算的。應該是沿 dim 的方向，每一條各自加起來等於 1。",
            ),
        ),
        Mistake(
            "no-exp",
            lambda x, dim: x / x.sum(dim, keepdim=True),
            Text(
                "the scores are divided by their sum, without exp. Negative scores give negative "
                "“probabilities” that way.",
                "你直接把分數除以總和，沒有取 exp。這樣負的分數會變成負的「機率」。",
            ),
        ),
        Mistake(
            "log-softmax",
            lambda x, dim: x.log_softmax(dim),
            Text(
                "these are the logarithms of the probabilities. One exp is missing.",
                "這些是機率的對數，還差一個 exp。",
            ),
        ),
        Mistake(
            "sigmoid",
            lambda x, dim: x.sigmoid(),
            Text(
                "each score is squeezed by itself (a sigmoid). In a softmax the scores compete: "
                "their weights sum to 1.",
                "你把每個分數各自壓到 0 和 1 之間（sigmoid）。在 softmax 裡，分數要互相競爭，"
                "權重加起來是 1。",
            ),
        ),
        Mistake(
            "eps-in-the-denominator",
            _softmax_of(_minus_max, lambda e, x, dim: e.sum(dim, keepdim=True) + 1e-5),
            Text(
                "something small is added to the denominator, so the weights sum to a little less "
                "than 1. "
                "It is not needed: with the maximum taken out, the sum is at least 1.",
                "分母多加了一個很小的數，權重的總和就略小於 1。其實不需要：減去最大值之後，總和至少是 1。",
            ),
        ),
        Mistake(
            "powers-of-two",
            lambda x, dim: (x * math.log(2)).softmax(dim),
            Text("the powers are of 2 instead of e.", "你用的底數是 2，應該是 e。"),
        ),
        Mistake(
            "negated",
            lambda x, dim: (-x).softmax(dim),
            Text(
                "the smallest score gets the largest weight: there is a minus sign too many.",
                "分數最小的反而拿到最大的權重：多了一個負號。",
            ),
        ),
        Mistake(
            "place-of-the-maximum",
            _softmax_of(lambda x, dim: x - x.argmax(dim, keepdim=True)),
            Text(
                "you subtract the place of the maximum (its index), not its value. max(dim) "
                "returns two things; which of them did you take?",
                "你減掉的是最大值的位置（索引），不是它的值。max(dim) 會傳回兩樣東西，你拿的是哪一個？",
            ),
        ),
        Mistake(
            "mean",
            _softmax_of(lambda x, dim: x - x.mean(dim, keepdim=True)),
            Text(
                "you subtract the mean, so scores far above it still overflow in exp. What must "
                "you subtract so that no exponent is above 0?",
                "你減掉的是平均，遠高於平均的分數取 exp 還是會溢位。要減掉什麼，指數才都不會超過 0？",
            ),
        ),
        Mistake(
            "divided-by-the-maximum",
            _softmax_of(lambda x, dim: x / x.amax(dim, keepdim=True)),
            Text(
                "the scores are divided by their maximum, and that changes the result. The "
                "softmax stays the same only when every score is moved by the same amount.",
                "你把分數除以最大值，結果就變了。只有每個分數都加減同一個數時，softmax 才不會變。",
            ),
        ),
        Mistake(
            "max-over-the-last-dimension",
            _softmax_of(lambda x, dim: x - x.amax(-1, keepdim=True)),
            Text(
                "the maximum is taken over the last dimension, but the sum over dim. Both belong "
                "to the same slice.",
                "最大值是沿最後一個維度取的，總和卻是沿 dim 算的。兩個要沿同一個方向。",
            ),
        ),
        Mistake(
            "sum-over-the-last-dimension",
            _softmax_of(_minus_max, lambda e, x, dim: e.sum(-1, keepdim=True)),
            Text(
                "the maximum is taken over dim, but the sum over the last dimension. Both belong "
                "to the same slice.",
                "最大值是沿 dim 取的，總和卻是沿最後一個維度算的。兩個要沿同一個方向。",
            ),
        ),
        Mistake(
            "only-the-numerator-shifted",
            _softmax_of(_minus_max, lambda e, x, dim: x.exp().sum(dim, keepdim=True)),
            Text(
                "the maximum is subtracted above the fraction line but not below. It cancels only "
                "when both use the same exponents.",
                "你只在分子減去最大值，分母沒有減。分子和分母用同樣的指數，才會互相抵消。",
            ),
        ),
        Mistake(
            "max-without-keepdim",
            _softmax_of(_minus_max_without_keepdim),
            Text(
                "the maximum has lost its dimension, so it lines up with the wrong one when you "
                "subtract. Look at keepdim.",
                "取最大值之後少了一個維度，相減時就對到錯的維度上去了。請看看 keepdim。",
            ),
        ),
        Mistake(
            "no-keepdim-at-all",
            _softmax_of(_minus_max_without_keepdim, lambda e, x, dim: e.sum(dim)),
            Text(
                "maximum and sum have both lost their dimension, so they line up with the wrong "
                "one. Look at keepdim.",
                "最大值和總和都少了一個維度，就對到錯的維度上去了。請看看 keepdim。",
            ),
        ),
        Mistake(
            "not-normalised",
            lambda x, dim: x.exp(),
            Text(
                "this is exp alone. A softmax shares out 1: what is each entry still to be "
                "divided by? (And exp overflows for large scores.)",
                "這只有 exp。softmax 是把總和 1 分給每一項：每個數還要除以什麼？（而且分數很大時，"
                "exp 會溢位。）",
            ),
        ),
        Mistake(
            "shifted-but-not-normalised",
            lambda x, dim: _minus_max(x, dim).exp(),
            Text(
                "the maximum is taken out well, but the entries do not sum to 1 yet: what is each "
                "to be divided by?",
                "減去最大值的部分做對了，但每一項加起來還不是 1：還要除以什麼？",
            ),
        ),
        Mistake(
            "clamped-above",
            _softmax_of(lambda x, dim: x.clamp(max=700)),
            Text(
                "the scores are clamped from above, so different large scores become equal; and "
                "where all lie far below 0, it is still 0/0. Moving a whole row changes nothing "
                "in the result.",
                "你把太大的分數截斷了，不同的大分數會變得一樣；整列都遠低於 0 時，還是會變成 0/0。"
                "整列一起平移，結果才不會變。",
            ),
        ),
        Mistake(
            "clamped-below",
            _softmax_of(lambda x, dim: x.clamp(min=-700)),
            Text(
                "the scores are clamped from below: that does not stop exp from overflowing at "
                "large scores, and makes different small ones equal. Moving a whole row changes "
                "nothing in the result.",
                "你把太小的分數截斷了：分數很大時 exp 照樣溢位，不同的小分數也會變得一樣。"
                "整列一起平移，結果才不會變。",
            ),
        ),
        Mistake(
            "nan-to-num",
            lambda x, dim: _softmax_of(lambda x, dim: x)(x, dim).nan_to_num(0.0),
            Text(
                "nan_to_num hides that exp has overflowed: large scores get weight 0, the wrong "
                "way round. Keep exp from overflowing in the first place.",
                "nan_to_num 只是把 exp 溢位的事蓋住：分數大的反而得到 0。要從一開始就不讓 exp 溢位。",
            ),
        ),
    ),
)

# --- softmax-jacobian ---------------------------------------------------------------------


def softmax_jacobian(p):
    return torch.diag(p) - torch.outer(p, p)


def _jacobian_cases():
    randn = normal(44)
    one_hot = torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64)
    return [
        Case(Text("four probabilities", "四個機率"), (randn(4).softmax(0),)),
        Case(Text("seven probabilities", "七個機率"), (randn(7).softmax(0),)),
        Case(Text("equal probabilities", "機率都相等"), (torch.full((5,), 0.2).double(),)),
        Case(Text("all the weight on one entry", "機率全集中在一項"), (one_hot,)),
    ]


def _jacobian_by_loops(p):
    n = len(p)
    rows = [[p[i] * (float(i == j) - p[j]) for j in range(n)] for i in range(n)]
    return torch.stack([torch.stack(row) for row in rows])


SOFTMAX_JACOBIAN = Exercise(
    name="softmax-jacobian",
    chapter=4,
    title=Text("The softmax's Jacobian", "softmax 的 Jacobian 矩陣"),
    difficulty=2,
    minutes=12,
    reference=softmax_jacobian,
    cases=_jacobian_cases,
    alternatives=(
        lambda p: p[:, None] * (torch.eye(len(p)) - p),
        lambda p: p.diag() - torch.einsum("i,j->ij", p, p),
        lambda p: torch.diag_embed(p) - p[:, None] * p[None, :],
        lambda p: torch.where(torch.eye(len(p)).bool(), p * (1 - p), -torch.outer(p, p)),
        lambda p: torch.diag(p) @ (torch.eye(len(p), dtype=p.dtype) - p.expand(len(p), -1)),
        _jacobian_by_loops,
    ),
    mistakes=(
        Mistake(
            "diagonal-only",
            lambda p: torch.diag(p * (1 - p)),
            Text(
                "only the diagonal is filled. A score also changes the other probabilities, "
                "for they share one denominator: ∂p_i/∂s_j is not 0 for i ≠ j.",
                "只有對角線有值。改變一個分數，其他機率也會跟著變，因為它們共用同一個分母："
                "i ≠ j 時，∂p_i/∂s_j 不是 0。",
            ),
        ),
        Mistake(
            "sign",
            lambda p: torch.outer(p, p) - torch.diag(p),
            Text(
                "every sign is the wrong way round: raising a score raises its own probability.",
                "正負號全都反了：一個分數變大，它自己的機率應該跟著變大。",
            ),
        ),
        Mistake(
            "outer-only",
            lambda p: -torch.outer(p, p),
            Text(
                "the term from differentiating the numerator is missing on the diagonal (i = j).",
                "對角線上（i = j）少了分子微分的那一項。",
            ),
        ),
        Mistake(
            "plus",
            lambda p: torch.diag(p) + torch.outer(p, p),
            Text(
                "the two terms are added. The quotient rule brings a minus; check that each row "
                "sums to 0.",
                "你把兩項相加了。商的微分法則會帶來一個負號；可以檢查每一列的和是不是 0。",
            ),
        ),
        Mistake(
            "diagonal-rule-everywhere",
            lambda p: torch.outer(p, 1 - p),
            Text(
                "p_i (1 − p_j) stands everywhere. The 1 belongs to i = j alone.",
                "每一格都是 p_i (1 − p_j)。只有 i = j 時才有那個 1。",
            ),
        ),
        Mistake(
            "vector-subtracted",
            lambda p: torch.diag(p) - p,
            Text(
                "the vector p is subtracted from each row. What belongs there is the matrix p_i p_j "
                "(an outer product).",
                "你把向量 p 從每一列減掉。那裡應該是矩陣 p_i p_j（外積）。",
            ),
        ),
        Mistake(
            "dot-product",
            lambda p: torch.diag(p) - p @ p,
            Text(
                "p @ p is one number, the dot product. What belongs there is the matrix p_i p_j "
                "(an outer product).",
                "p @ p 是一個數（內積）。那裡應該是矩陣 p_i p_j（外積）。",
            ),
        ),
        Mistake(
            "softmax-again",
            lambda p: softmax_jacobian(p.softmax(0)),
            Text(
                "p is a probability vector already, but you put it through a softmax once more.",
                "p 已經是機率向量了，你又對它套了一次 softmax。",
            ),
        ),
        Mistake(
            "diagonal-as-a-vector",
            lambda p: p * (1 - p),
            Text(
                "this is the diagonal as a vector. The Jacobian is a matrix: each probability "
                "depends on each score.",
                "這是把對角線寫成向量。Jacobian 是一個矩陣：每個機率都和每個分數有關。",
            ),
        ),
        Mistake(
            "identity",
            lambda p: torch.eye(len(p), dtype=p.dtype) - torch.outer(p, p),
            Text(
                "the identity matrix stands where diag(p) belongs: the diagonal is p_i (1 − p_i).",
                "應該放 diag(p) 的地方放了單位矩陣：對角線應該是 p_i (1 − p_i)。",
            ),
        ),
        Mistake(
            "entry-by-entry",
            lambda p: torch.diag(p) - p * p,
            Text(
                "p * p multiplies entry by entry and gives a vector. Every p_i meets every p_j: "
                "that is a matrix.",
                "p * p 是逐項相乘，得到的是向量。每個 p_i 都要和每個 p_j 相乘，那是一個矩陣。",
            ),
        ),
        Mistake(
            "column-subtracted",
            lambda p: torch.diag(p) - p[:, None],
            Text(
                "p is subtracted from each column, as it stands. A factor is missing: away from "
                "the diagonal the entry depends on both p_i and p_j.",
                "你直接把 p 從每一行減掉，少乘了一個因子：對角線以外的每一格都和 p_i、p_j 兩個都有關。",
            ),
        ),
        Mistake(
            "plus-off-the-diagonal",
            lambda p: torch.outer(p, p) + torch.diag(p - 2 * p**2),
            Text(
                "the diagonal is right, but the other entries have the wrong sign: raising one "
                "score lowers all other probabilities.",
                "對角線是對的，但其他格的正負號反了：一個分數變大，其他機率都會變小。",
            ),
        ),
        Mistake(
            "factor-missing",
            lambda p: torch.eye(len(p), dtype=p.dtype) - p,
            Text(
                "this is 1 (if i = j) minus p_j: the factor p_i in front is missing.",
                "這是 1（i = j 時）減 p_j：前面少乘了 p_i。",
            ),
        ),
        Mistake(
            "square-subtracted-twice",
            lambda p: torch.diag(p * (1 - p)) - torch.outer(p, p),
            Text(
                "on the diagonal p_i² is subtracted twice: p_i (1 − p_i) holds it already, and "
                "the outer product brings it again.",
                "對角線上的 p_i² 被減了兩次：p_i (1 − p_i) 已經減過一次，外積又減了一次。",
            ),
        ),
    ),
)

# --- attention-output ---------------------------------------------------------------------


def attention_output(weights, v):
    return weights @ v


def _output_cases():
    randn = normal(45)

    def weights(*shape):
        return randn(*shape).softmax(-1)

    blind = weights(3, 4).clone()
    blind[1] = 0
    return [
        Case(ONE_SEQUENCE, (weights(3, 4), randn(4, 5))),
        Case(A_BATCH, (weights(2, 3, 4), randn(2, 4, 5))),
        Case(BATCH_AND_HEADS, (weights(2, 3, 4, 6), randn(2, 3, 6, 5))),
        Case(SQUARE, (weights(4, 4), randn(4, 5))),
        Case(
            Text("as many keys as value dimensions", "鍵的個數剛好等於值的維度"),
            (weights(3, 5), randn(5, 5)),
        ),
        Case(
            Text(
                "a query that may see nothing (its weights are 0)",
                "什麼都不能關注的查詢（權重全是 0）",
            ),
            (blind, randn(4, 5)),
        ),
    ]


def _output_by_loops(weights, v, keys=slice(None)):
    return sum(weights[..., j, None] * v[..., j, None, :] for j in range(v.size(-2))[keys])


ATTENTION_OUTPUT = Exercise(
    name="attention-output",
    chapter=4,
    title=Text("The weighted sum", "加權總和"),
    difficulty=1,
    minutes=4,
    reference=attention_output,
    cases=_output_cases,
    alternatives=(
        lambda weights, v: torch.einsum("...qk,...kd->...qd", weights, v),
        lambda weights, v: (weights.unsqueeze(-1) * v.unsqueeze(-3)).sum(-2),
        lambda weights, v: (v.mT @ weights.mT).mT,
        lambda weights, v: (weights.double() @ v.double()).to(v.dtype),
        _output_by_loops,
    ),
    mistakes=(
        Mistake(
            "mean",
            lambda weights, v: v.mean(-2, keepdim=True).expand(*weights.shape[:-1], -1),
            Text(
                "every query gets the plain mean of the values: the weights are not used.",
                "每個查詢得到的都是值的平均：權重沒有用到。",
            ),
        ),
        Mistake(
            "values-returned",
            lambda weights, v: v,
            Text(
                "these are the values unchanged: the weights are not used.",
                "這就是原來的值：權重沒有用到。",
            ),
        ),
        Mistake(
            "weights-transposed",
            lambda weights, v: weights.mT @ v,
            Text(
                "the weights are transposed: row i of the weights belongs to query i and should "
                "multiply the values as it stands.",
                "你把權重轉置了：權重的第 i 列對應第 i 個查詢，直接和值相乘就好。",
            ),
        ),
        Mistake(
            "values-transposed",
            lambda weights, v: weights @ v.mT,
            Text(
                "the values are transposed. That fits only when there are as many keys as value "
                "dimensions.",
                "你把值轉置了。只有鍵的個數剛好等於值的維度時才對得上。",
            ),
        ),
        Mistake(
            "softmax-again",
            lambda weights, v: weights.softmax(-1) @ v,
            Text(
                "the weights go through a softmax a second time, which flattens them.",
                "權重又做了一次 softmax，變得比較平均了。",
            ),
        ),
        Mistake(
            "renormalised",
            lambda weights, v: weights / weights.sum(-1, keepdim=True) @ v,
            Text(
                "the weights are normalised once more. They are ready; and where a query sees nothing "
                "it divides 0 by 0.",
                "你把權重又正規化了一次。權重早就算好了；而且遇到什麼都不能關注的查詢，會變成 0 除以 0。",
            ),
        ),
        Mistake(
            "winner-takes-all",
            lambda weights, v: v.gather(
                -2, weights.argmax(-1)[..., None].expand(*weights.shape[:-1], v.size(-1))
            ),
            Text(
                "only the value with the largest weight is taken. Every value has its share.",
                "你只取了權重最大的那個值。每個值都要依權重算進去。",
            ),
        ),
        Mistake(
            "averaged-sum",
            lambda weights, v: weights @ v / weights.size(-1),
            Text(
                "you also divide by the number of keys. The weights sum to 1 already: no further "
                "average.",
                "又多除了一次鍵的個數。權重加起來已經是 1，不用再平均。",
            ),
        ),
        Mistake(
            "three-dimensions-only",
            lambda weights, v: torch.bmm(weights, v),
            Text(
                "right for a batch, but torch.bmm takes exactly three dimensions. The operator @ "
                "(matmul) "
                "takes any number.",
                "有批次時是對的，但 torch.bmm 只接受剛好三個維度。用 @（matmul）就不限維度。",
            ),
        ),
        Mistake(
            "all-queries-added",
            lambda weights, v: (weights @ v).sum(-2),
            Text(
                "the outputs of all queries are added up. Each query keeps an output of its own.",
                "你把所有查詢的輸出加在一起了。每個查詢都要有自己的輸出。",
            ),
        ),
        Mistake(
            "softmax-over-queries",
            lambda weights, v: weights.softmax(-2) @ v,
            Text(
                "the weights go through another softmax, over the queries. They are ready: use "
                "them as they stand.",
                "權重又沿著查詢的方向做了一次 softmax。權重已經算好了，直接用就可以。",
            ),
        ),
        Mistake(
            "last-key-skipped",
            lambda weights, v: _output_by_loops(weights, v, slice(None, -1)),
            Text(
                "the last key is left out. range(n) ends at n − 1 already: how far does your loop go?",
                "漏掉了最後一個鍵。range(n) 本來就只到 n − 1：你的迴圈跑到哪裡？",
            ),
        ),
        Mistake(
            "first-key-skipped",
            lambda weights, v: _output_by_loops(weights, v, slice(1, None)),
            Text(
                "the first key is left out. Indices begin at 0: where does your loop start?",
                "漏掉了第一個鍵。索引從 0 開始：你的迴圈從哪裡開始？",
            ),
        ),
        Mistake(
            "one-sequence-only",
            torch.mm,
            _ONE_SEQUENCE_MM,
        ),
        Mistake(
            "einsum-for-one-sequence",
            lambda weights, v: torch.einsum("qk,kd->qd", weights, v),
            _ONE_SEQUENCE_EINSUM,
        ),
        Mistake(
            "einsum-for-a-batch",
            lambda weights, v: torch.einsum("bqk,bkd->bqd", weights, v),
            _BATCH_EINSUM,
        ),
    ),
)

# --- scaled-dot-product-attention ---------------------------------------------------------


def scaled_dot_product_attention(q, k, v, mask=None):
    return attention.scaled_dot_product_attention(q, k, v, mask)


def _attention_cases():
    randn = normal(46)

    def qkv(*batch, n_q, n_k):
        return randn(*batch, n_q, 5), randn(*batch, n_k, 5), randn(*batch, n_k, 3)

    q, k, v = qkv(n_q=4, n_k=4)
    # Scores so far apart that a softmax picks one: "scores - 1e9" and "- 1e12" then give the same.
    blind_q, blind_k, blind_v = qkv(n_q=3, n_k=4)
    blind_q = blind_q * torch.tensor([[1.0], [1e4], [1.0]], dtype=torch.float64)
    tokens = torch.tensor([[7, 8, 9, 0, 0], [7, 8, 9, 5, 0]])
    blind = torch.tensor([[True, False, True, True], [False] * 4, [True, True, False, False]])
    return [
        Case(ONE_SEQUENCE, (*qkv(n_q=3, n_k=4), None)),
        Case(BATCH_AND_HEADS, (*qkv(2, 3, n_q=4, n_k=6), None)),
        Case(LARGE_SCORES, (1000 * q, k, v, None)),
        Case(Text("a causal mask", "因果遮罩"), (*qkv(2, 3, n_q=4, n_k=4), masks.causal_mask(4))),
        Case(
            Text("a causal mask with fewer queries than keys", "查詢比鍵少的因果遮罩"),
            (*qkv(n_q=2, n_k=5), masks.causal_mask(2, 5)),
        ),
        Case(
            Text("a padding mask", "填充遮罩"),
            (*qkv(2, 3, n_q=4, n_k=5), masks.padding_mask(tokens, 0)),
        ),
        Case(
            Text("a mask over scores far below 0", "分數遠低於 0，又有遮罩"),
            (-4e5 * q.abs(), k.abs(), v, masks.causal_mask(4)),
        ),
        Case(
            Text("a query that may attend to nothing", "什麼都不能關注的查詢"),
            (blind_q, blind_k, blind_v, blind),
        ),
    ]


def _attention_variant(
    scale=None,
    hidden=torch.logical_not,
    fill=-torch.inf,
    masked=None,
    dim=-1,
    finish=None,
    second=None,
):
    """Attention with one step exchanged: the alternatives and the mistakes are made of it."""

    def attend(q, k, v, mask=None):
        plain = q @ k.mT * (q.size(-1) ** -0.5 if scale is None else scale(q, k, v))
        scores = plain
        if mask is not None:
            scores = (
                plain.masked_fill(hidden(mask), fill) if masked is None else masked(plain, mask)
            )
        weights = scores.softmax(dim)
        if finish is not None:
            weights = finish(weights, scores, mask)
        return weights @ v, weights if second is None else second(plain, scores)

    return attend


def _zero_nan(weights, scores, mask):
    return weights.nan_to_num(0.0)


def _zero_masked(weights, scores, mask):
    return weights if mask is None else weights * mask


def _renormalised(weights, scores, mask):
    if mask is None:
        return weights
    return weights * mask / (weights * mask).sum(-1, keepdim=True)


def _added_infinity(scores, mask):
    return scores + torch.zeros_like(scores).masked_fill(~mask, -torch.inf)


def _written_in_place(scores, mask):
    scores[~mask] = -torch.inf
    return scores


def _nan_left_in_weights(q, k, v, mask=None):
    output, weights = _attention_variant()(q, k, v, mask)
    return output.nan_to_num(0.0), weights


def _nan_left_in_output(q, k, v, mask=None):
    output, weights = _attention_variant()(q, k, v, mask)
    return output, weights.nan_to_num(0.0)


def _torch_attention(q, k, v, mask=None):
    n = k.size(-2)
    eye = torch.eye(n, dtype=q.dtype).expand(*k.shape[:-1], n)

    def attend(values):
        out = F.scaled_dot_product_attention(q, k, values, attn_mask=mask)
        return out if mask is None else out.masked_fill(~mask.any(-1, keepdim=True), 0)

    return attend(v), attend(eye)


def _by_log_sum_exp(q, k, v, mask=None):
    scores = q @ k.mT / q.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()
    weights = weights if mask is None else weights.masked_fill(~mask, 0)
    return torch.einsum("...qk,...kd->...qd", weights, v), weights


def _by_hand(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(k.size(-1))
    allowed = torch.ones_like(scores) if mask is None else mask.expand_as(scores)
    scores = torch.where(allowed.bool(), scores, torch.finfo(scores.dtype).min)
    e = (scores - scores.amax(-1, keepdim=True)).exp() * allowed
    weights = e / e.sum(-1, keepdim=True).clamp(min=1.0)
    return weights @ v, weights


# A mistake often comes together with one of these, at a query that may attend to nothing.
_AND_NAN = Text(
    " Also, a query that may attend to nothing gets NaN; its weights and output should be 0.",
    "另外，什麼都不能關注的查詢會得到 NaN；它的權重和輸出都應該是 0。",
)
_AND_UNIFORM = Text(
    " Also, a query that may attend to nothing now averages over everything; "
    "its weights and output should be 0.",
    "另外，什麼都不能關注的查詢，現在會平均關注所有的鍵；它的權重和輸出都應該是 0。",
)


def _attention_mistakes(name, hint, and_nan=_AND_NAN, and_uniform=_AND_UNIFORM, **steps):
    """One mistake, three times: with the blind rows done right, left at NaN, and uniform."""
    return (
        Mistake(name, _attention_variant(**steps, finish=_zero_nan), hint),
        Mistake(f"{name}-and-nan", _attention_variant(**steps), Text("", "").join([hint, and_nan])),
        Mistake(
            f"{name}-and-uniform",
            _attention_variant(**steps, fill=-1e9),
            Text("", "").join([hint, and_uniform]),
        ),
    )


_BY_INDEX = Text(
    "right for one sequence, but scores[~mask] = … needs a mask of the full shape: indexing does "
    "not broadcast over batch and heads. masked_fill does.",
    "單一序列時是對的，但 scores[~mask] = … 的遮罩必須和分數形狀完全一樣：用布林索引寫入時"
    "，遮罩不會廣播到批次和頭，masked_fill 才會。",
)


SCALED_DOT_PRODUCT_ATTENTION = Exercise(
    name="scaled-dot-product-attention",
    chapter=4,
    title=Text("Attention, assembled", "組裝注意力"),
    difficulty=3,
    minutes=15,
    reference=scaled_dot_product_attention,
    results=("output", "weights"),
    cases=_attention_cases,
    alternatives=(
        _attention_variant(finish=_zero_nan),
        _attention_variant(fill=-1e300, finish=_zero_masked),
        _attention_variant(
            masked=lambda s, m: torch.where(m, s, -torch.inf),
            finish=lambda w, s, m: torch.where(w.isnan(), 0.0, w),
        ),
        _torch_attention,
        _by_log_sum_exp,
        _by_hand,
    ),
    mistakes=(
        *_attention_mistakes(
            "not-scaled",
            Text(
                "the scores are not divided by √d_k before the softmax.",
                "分數在 softmax 之前沒有除以 √d_k。",
            ),
            scale=lambda q, k, v: 1.0,
        ),
        *_attention_mistakes(
            "divided-by-d_k",
            Text("the scores are divided by d_k instead of √d_k.", "你除的是 d_k，應該是 √d_k。"),
            scale=lambda q, k, v: 1 / q.size(-1),
        ),
        *_attention_mistakes(
            "multiplied",
            Text(
                "the scores are multiplied by √d_k instead of divided.",
                "分數應該除以 √d_k，你卻用乘的。",
            ),
            scale=lambda q, k, v: q.size(-1) ** 0.5,
        ),
        *_attention_mistakes(
            "value-width",
            Text(
                "the scores are divided by √d_v, the width of the values. The dot product runs "
                "over d_k terms.",
                "你除的是 √d_v，用到了值的維度。但內積加的是 d_k 項。",
            ),
            scale=lambda q, k, v: v.size(-1) ** -0.5,
        ),
        *_attention_mistakes(
            "number-of-keys",
            Text(
                "the scores are divided by the root of the number of keys. (After k = k.mT the "
                "last dimension of k is no longer d_k.)",
                "你除的是鍵的個數的平方根。（做了 k = k.mT 之後，k 的最後一個維度就不是 d_k 了。）",
            ),
            scale=lambda q, k, v: k.size(-2) ** -0.5,
        ),
        *_attention_mistakes(
            "d_model",
            Text(
                "with several heads you divide by √d_model. A dot product inside a head adds only "
                "d_k terms.",
                "有好幾個頭時，你除的是 √d_model。但在一個頭裡，內積只加了 d_k 項。",
            ),
            scale=lambda q, k, v: _all_heads_width(q) ** -0.5,
        ),
        *_attention_mistakes(
            "softmax-over-queries",
            Text(
                "your weights sum to 1 down each column: the softmax ran over the queries. "
                "Each query shares out its attention over the keys, so it is the rows that sum to 1.",
                "你的權重是每一行加起來等於 1：softmax 沿著查詢的方向算了。"
                "每個查詢要把注意力分給各個鍵，所以加起來等於 1 的應該是每一列。",
            ),
            dim=-2,
            and_nan=Text(
                " NaN appears where a key is hidden from every query.",
                "如果有鍵對每個查詢都被遮住，那裡就會出現 NaN。",
            ),
            and_uniform=Text(
                " A key hidden from every query then gets weight from all of them.",
                "這樣一來，對每個查詢都被遮住的鍵，反而會從每個查詢得到權重。",
            ),
        ),
        *_attention_mistakes(
            "softmax-over-dimension-1",
            Text(
                "the softmax runs over dimension 1. Those are the keys for a single sequence "
                "only; with a batch and heads they are another dimension. Count from the end.",
                "softmax 是沿第 1 個維度算的。只有單一序列時，那才是鍵；有批次和頭的時候，"
                "鍵在別的維度。請從後面數。",
            ),
            dim=1,
        ),
        *_attention_mistakes(
            "mask-inverted",
            Text(
                "the mask works the wrong way round: True means “may attend”, so False is what "
                "must be hidden.",
                "遮罩的意思弄反了：True 代表「可以關注」，該遮住的是 False。",
            ),
            hidden=lambda m: m,
            and_nan=Text(
                " That is also where the NaN comes from: a query that may see every key now sees none.",
                "NaN 也是這樣來的：本來可以看到所有鍵的查詢，現在一個都看不到。",
            ),
            and_uniform=Text(
                " A query that may see every key now has them all hidden, and averages over them.",
                "本來可以看到所有鍵的查詢，現在所有的鍵都被遮住，反而變成取平均。",
            ),
        ),
        Mistake(
            "mask-without-effect",
            _attention_variant(masked=lambda s, m: s),
            Text(
                "the mask has no effect. Note that masked_fill returns a new tensor: is its result kept?",
                "遮罩沒有作用。注意 masked_fill 會傳回一個新的張量：你有把結果留下來嗎？",
            ),
        ),
        Mistake(
            "mask-added",
            _attention_variant(masked=lambda s, m: s + m),
            Text(
                "the mask is added to the scores as 0 and 1: that only favours the allowed keys a "
                "little. "
                "A forbidden key must get score −∞, so that its weight is exactly 0.",
                "你把遮罩當成 0 和 1 加到分數上：這只是讓允許的鍵稍微有利一點。"
                "遮住的鍵，分數必須是 −∞，權重才會剛好是 0。",
            ),
        ),
        Mistake(
            "mask-multiplied",
            _attention_variant(masked=lambda s, m: s * m),
            Text(
                "a forbidden key has score 0 (or nearly), and exp(0) = 1 is a weight like any other. "
                "Which score makes exp give exactly 0?",
                "遮住的鍵，分數是 0（或非常接近 0），但 exp(0) = 1，一樣會有權重。分數要是多少，"
                "exp 才會剛好是 0？",
            ),
        ),
        Mistake(
            "mask-after-softmax",
            _attention_variant(masked=lambda s, m: s, finish=_zero_masked),
            Text(
                "the mask comes after the softmax, so the rows no longer sum to 1. "
                "Hide the scores before it.",
                "遮罩放在 softmax 之後，每一列加起來就不是 1 了。應該在 softmax 之前先把分數遮住。",
            ),
        ),
        Mistake(
            "renormalised-after-softmax",
            _attention_variant(masked=lambda s, m: s, finish=_renormalised),
            Text(
                "masking after the softmax and dividing by the new sum is right only while something is "
                "left: a query that may attend to nothing divides 0 by 0. Its output should be 0.",
                "softmax 之後才遮，再除以新的總和，只有在還有鍵可看時才對："
                "什麼都不能關注的查詢會變成 0 除以 0。它的輸出應該是 0。",
            ),
        ),
        Mistake(
            "renormalised-and-zeroed",
            _attention_variant(
                masked=lambda s, m: s, finish=lambda *step: _renormalised(*step).nan_to_num(0.0)
            ),
            Text(
                "you mask after the softmax and divide by the new sum. A hidden key with a far "
                "larger score "
                "has then taken all the weight, and nothing is left to divide. Hide the scores "
                "before it.",
                "你在 softmax 之後才遮，再除以新的總和。如果被遮住的鍵分數大得多，權重早就全被它拿走，"
                "剩下的都是 0。應該在 softmax 之前先把分數遮住。",
            ),
        ),
        Mistake(
            "softmax-overflows",
            _attention_variant(finish=lambda w, s, m: s.exp() / s.exp().sum(-1, keepdim=True)),
            Text(
                "right for small scores, but your softmax takes exp of the scores as they are, "
                "and that overflows for large ones. Remember the exercise on the softmax.",
                "分數小的時候正確，但你的 softmax 直接對分數取 exp，分數一大就會溢位。"
                "想想 softmax 那一題。",
            ),
        ),
        Mistake(
            "uniform-on-a-blind-row",
            _attention_variant(fill=-1e9),
            Text(
                "almost: a query that may attend to nothing now averages over everything, because "
                "all its "
                "scores are the same large negative number. Its weights and output should be 0.",
                "就差一點：什麼都不能關注的查詢，現在會平均關注所有的鍵，"
                "因為它的分數全是同一個很大的負數。"
                "它的權重和輸出都應該是 0。",
            ),
        ),
        Mistake(
            "nan-on-a-blind-row",
            _attention_variant(),
            Text(
                "almost: a query that may attend to nothing gets NaN, because the softmax of a row of −∞ "
                "is 0/0. Its weights and output should be 0.",
                "就差一點：什麼都不能關注的查詢會得到 NaN，因為整列都是 −∞ 時，softmax 是 0/0。"
                "它的權重和輸出都應該是 0。",
            ),
        ),
        Mistake(
            "unmasked-on-a-blind-row",
            _attention_variant(masked=lambda s, m: s + (1 - m.to(s.dtype)) * -1e9),
            Text(
                "almost: a query that may attend to nothing behaves as if there were no mask. All "
                "its scores are moved by the same large number, and that changes nothing in a "
                "softmax. Its weights and output should be 0.",
                "就差一點：什麼都不能關注的查詢，結果像是沒有遮罩一樣。"
                "它的每個分數都加了同一個很大的負數，而 softmax 不受整列平移影響。"
                "它的權重和輸出都應該是 0。",
            ),
        ),
        Mistake(
            "added-number-too-small",
            _attention_variant(masked=lambda s, m: s + (1 - m.to(s.dtype)) * -1e4),
            Text(
                "what you add to a forbidden key is not low enough: with large scores it stays "
                "visible, and a query that may attend to nothing behaves as if there were no "
                "mask. What is below every possible score?",
                "你加到被遮住的鍵上的數還不夠低：分數很大時遮不住；而什麼都不能關注的查詢，"
                "結果像是沒有遮罩一樣。什麼數比任何分數都小？",
            ),
        ),
        Mistake(
            "fill-too-small",
            _attention_variant(fill=-1e4, finish=_zero_masked),
            Text(
                "a forbidden key gets a score that is not low enough: where the allowed scores "
                "lie even lower, it takes their weight before you set it to 0. What is below "
                "every possible score?",
                "被遮住的鍵分數還不夠低：如果允許的鍵分數更低，權重就先被它搶走，再被你設成 0。"
                "什麼數比任何分數都小？",
            ),
        ),
        Mistake(
            "fill-too-small-and-uniform",
            _attention_variant(fill=-1e4),
            Text(
                "a forbidden key gets a score that is not low enough: where the allowed scores "
                "lie even lower, it gets all the weight. Also, a query that may attend to nothing "
                "should have weights 0.",
                "被遮住的鍵分數還不夠低：如果允許的鍵分數更低，權重就全跑到它那裡。另外，"
                "什麼都不能關注的查詢，權重應該是 0。",
            ),
        ),
        Mistake(
            "nan-left-in-the-weights",
            _nan_left_in_weights,
            Text(
                "almost: the output is clean, but the weights still hold NaN for a query that may "
                "attend to nothing. Both should be 0.",
                "就差一點：輸出沒問題了，但什麼都不能關注的查詢，權重裡還有 NaN。輸出和權重都應該是 0。",
            ),
        ),
        Mistake(
            "nan-left-in-the-output",
            _nan_left_in_output,
            Text(
                "almost: the weights are clean, but the output was computed before, with NaN in "
                "them. Look at the order of the steps.",
                "就差一點：權重沒問題了，但輸出是在那之前用含有 NaN 的權重算的。請看看步驟的順序。",
            ),
        ),
        Mistake(
            "nan-in-the-gradient",
            _attention_variant(masked=_added_infinity, finish=_zero_nan),
            Text(
                "the numbers are right, but the gradient is NaN: behind a query that may attend "
                "to nothing there is still a softmax of −∞ alone, and adding −∞ lets its gradient "
                "through. masked_fill and torch.where cut it off.",
                "數值是對的，但梯度是 NaN：什麼都不能關注的查詢，背後還是對整列 −∞ 做 softmax，"
                "−∞ 如果是用加的，梯度就會傳回去。masked_fill 和 torch.where 才會擋住它。",
            ),
        ),
        Mistake(
            "minus-infinity-times-zero",
            _attention_variant(masked=lambda s, m: s + (~m).to(s.dtype) * -torch.inf),
            Text(
                "the mask is multiplied by −∞, and 0 · ∞ is NaN. Use masked_fill or torch.where instead.",
                "你把遮罩乘上 −∞，但 0 · ∞ 是 NaN。請改用 masked_fill 或 torch.where。",
            ),
        ),
        *_attention_mistakes(
            "scores-returned",
            Text(
                "what you return as weights are the scores, before the softmax.",
                "你當成權重傳回的，是 softmax 之前的分數。",
            ),
            second=lambda plain, masked: plain,
        ),
        *_attention_mistakes(
            "masked-scores-returned",
            Text(
                "what you return as weights are the masked scores. The weights are what the "
                "softmax makes of them.",
                "你當成權重傳回的是遮罩後的分數。權重是它們經過 softmax 之後的結果。",
            ),
            second=lambda plain, masked: masked,
        ),
        Mistake(
            "order",
            lambda q, k, v, mask=None: scaled_dot_product_attention(q, k, v, mask)[::-1],
            Text(
                "return the output first, then the weights.",
                "請先傳回輸出，再傳回權重。",
            ),
        ),
        Mistake(
            "softmax-of-everything",
            _attention_variant(
                masked=lambda s, m: s.masked_fill(~m, -torch.inf),
                finish=lambda w, s, m: s.flatten(-2).softmax(-1).view_as(s).nan_to_num(0.0),
            ),
            Text(
                "all weights of the matrix together sum to 1. Each row should sum to 1 by itself.",
                "你的權重是整個矩陣加起來等於 1。應該是每一列各自加起來等於 1。",
            ),
        ),
        Mistake(
            "written-by-index",
            _attention_variant(masked=_written_in_place, finish=_zero_nan),
            _BY_INDEX,
        ),
        Mistake(
            "written-by-index-and-nan",
            _attention_variant(masked=_written_in_place),
            Text("", "").join([_BY_INDEX, _AND_NAN]),
        ),
    ),
)

# --- with a pencil ------------------------------------------------------------------------

PENCIL_WEIGHTS = Exercise(
    name="pencil-weights",
    chapter=4,
    title=Text("Attention with a pencil", "用紙筆算注意力"),
    difficulty=1,
    minutes=5,
    reference=lambda: 5.0,
    cases=by_hand,
    tolerance=1e-3,
    alternatives=(lambda: 5, lambda: torch.tensor(5.0), lambda: 4 / 6 * 6 + 1 / 6 * 2 + 1 / 6 * 4),
    mistakes=(
        Mistake(
            "mean",
            lambda: 4.0,
            Text(
                "4 is the plain mean of the three values. The first key has a larger weight.",
                "4 是三個值的平均。第一個鍵的權重應該比較大。",
            ),
        ),
        Mistake(
            "winner-takes-all",
            lambda: 6.0,
            Text(
                "a key is missing. Either only the best key counts in your 6, or you divide 30 by "
                "5, with one of "
                "the two zeros left out. A score of 0 is not a weight of 0, for exp(0) = 1.",
                "漏算了鍵。可能只算了分數最高的鍵，也可能是用 30 除以 5，漏了兩個 0 分的其中一個。"
                "分數是 0 不代表權重是 0，因為 exp(0) = 1。",
            ),
        ),
        Mistake(
            "not-normalised",
            lambda: 30.0,
            Text(
                "30 is the sum of exp(score) · value. Divide by the sum of the exp(score).",
                "30 是各個分數取 exp、乘上值再相加的結果。還要除以各個分數取 exp 之後的總和。",
            ),
        ),
        Mistake(
            "scores-as-weights",
            lambda: 6 * math.log(4),
            Text(
                "you have multiplied the scores themselves by the values. First comes exp.",
                "你直接拿分數去乘值了。要先取 exp。",
            ),
        ),
        Mistake(
            "score-without-exp",
            lambda: (6 * math.log(4) + 2 + 4) / (math.log(4) + 2),
            Text(
                "the zeros have become exp(0) = 1, but ln 4 is used as a weight as it stands. It "
                "is a score like the others.",
                "0 已經變成 exp(0) = 1 了，但 ln 4 卻直接拿來當權重。它和另外兩個一樣是分數。",
            ),
        ),
        Mistake(
            "divided-by-the-number-of-keys",
            lambda: 10.0,
            Text(
                "10 = 30 / 3: you divide by the number of keys. Divide by the sum of the "
                "exp(score), so that the weights sum to 1.",
                "10 = 30 / 3：你除的是鍵的個數。要除以各個分數取 exp 之後的總和，權重加起來才會是 1。",
            ),
        ),
        Mistake(
            "best-key-not-normalised",
            lambda: 24.0,
            Text(
                "24 = 4 · 6 holds the first key alone. The other keys have a share, and the "
                "weights must sum to 1.",
                "24 = 4 · 6 只算了第一個鍵。其他的鍵也有份，而且權重加起來要等於 1。",
            ),
        ),
    ),
)

SCORE_SPREAD = Exercise(
    name="score-spread",
    chapter=4,
    title=Text("How far scores spread", "分數散得多開"),
    difficulty=1,
    minutes=4,
    reference=lambda: 16.0,
    cases=by_hand,
    tolerance=1e-3,
    alternatives=(lambda: 16, lambda: math.sqrt(256), lambda: torch.tensor(16.0)),
    mistakes=(
        Mistake(
            "variance",
            lambda: 256.0,
            Text(
                "256 is the variance. The standard deviation is its root.",
                "256 是變異數。標準差是它的平方根。",
            ),
        ),
        Mistake(
            "variance-of-q-forgotten",
            lambda: 8.0,
            Text(
                "8 would be right if q had variance 1. Here each component of q has variance 4.",
                "如果 q 的變異數是 1，8 就對了。但這裡 q 的每個分量變異數是 4。",
            ),
        ),
        Mistake(
            "variance-not-rooted",
            lambda: 32.0,
            Text(
                "32 = 8 · 4: the factor 4 is a variance and goes under the root as well.",
                "32 = 8 · 4：4 是變異數，也要放進根號裡。",
            ),
        ),
        Mistake(
            "components",
            lambda: 64.0,
            Text("64 is the number of components.", "64 是分量的個數。"),
        ),
        Mistake(
            "scaled",
            lambda: 2.0,
            Text(
                "2 is what is left after dividing by √d_k. The question is about the score before "
                "scaling.",
                "2 是除以 √d_k 之後的結果。題目問的是縮放之前的分數。",
            ),
        ),
        Mistake(
            "variances-added",
            lambda: math.sqrt(64 * (4 + 1)),
            Text(
                "√(64 · (4 + 1)): you add the variances of q and k. Here the components are "
                "multiplied; what happens to the variances then?",
                "√(64 · (4 + 1))：你把 q 和 k 的變異數相加了。這裡分量是相乘，變異數會怎麼變？",
            ),
        ),
        Mistake(
            "standard-deviations-added",
            lambda: 128.0,
            Text(
                "128 = 64 · 2: you add up 64 standard deviations. Of independent terms it is the "
                "variances that add up.",
                "128 = 64 · 2：你把 64 個標準差加起來了。各項互相獨立時，可以相加的是變異數。",
            ),
        ),
    ),
)

EXERCISES = (
    PENCIL_WEIGHTS,
    SCORE_SPREAD,
    PROJECT_QKV,
    ATTENTION_SCORES,
    SCALED_SCORES,
    SOFTMAX,
    SOFTMAX_JACOBIAN,
    ATTENTION_OUTPUT,
    SCALED_DOT_PRODUCT_ATTENTION,
)
