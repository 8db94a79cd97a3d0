"""What several exercises of chapter 4 share."""

import torch
import torch.nn.functional as F

from transformer_lib.exercises.data import Case, Text, mistakes
from transformer_lib.exercises.families import ONE_SEQUENCE_MM
from transformer_lib.exercises.inputs import A_BATCH, BATCH_AND_HEADS, ONE_SEQUENCE, SQUARE, normal

D_MODEL_WITH_HEADS = Text(
    "with several heads you divide by √d_model. A dot product inside a head adds only d_k terms.",
    "有好幾個頭時，你除的是 √d_model。但在一個頭裡，內積只加了 d_k 項。",
)
ONE_SEQUENCE_EINSUM = Text(
    "right for one sequence, but these einsum letters name exactly two dimensions. An ellipsis (...) stands for any number of further ones.",
    "單一序列時是對的，但你的 einsum 只寫了兩個維度的字母。在前面加上省略符號 ...，就能代表任意多個維度。",
)
BATCH_EINSUM = Text(
    "right for a batch, but these einsum letters name exactly three dimensions. An ellipsis (...) in place of the batch stands for any number.",
    "有批次時是對的，但你的 einsum 只寫了三個維度的字母。把批次的字母換成省略符號 ...，維度再多都可以。",
)


def score_cases():
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


def scores_by_loops(q, k):
    return torch.stack([(q * k[..., j, None, :]).sum(-1) for j in range(k.size(-2))], dim=-1)


# The slips with the product itself; both exercises on scores know them.
PRODUCT_SLIPS = (
    ("keys-times-queries", lambda q, k: k @ q.mT,
     "this is K Qᵀ: rows belong to keys. Row i should belong to query i, the first argument.",
     "這是 K Qᵀ，每一列對應的是鍵。第 i 列應該對應第 i 個查詢，也就是第一個參數。"),
    ("T-on-a-batch", lambda q, k: q @ k.transpose(0, 1),
     "right for one sequence, but with a batch the wrong dimensions are exchanged. .T and transpose(0, 1) also move the batch; exchange only the last two: transpose(-2, -1).",
     "單一序列時是對的，但有批次時就對調到錯的維度了。.T 和 transpose(0, 1) 會動到批次的維度；應該只對調最後兩個維度：transpose(-2, -1)。"),
    ("transposed-for-three-dimensions", lambda q, k: q @ k.transpose(1, 2),
     "right for a batch, but only when there are exactly three dimensions. Counted from the end, the last two are always -2 and -1: transpose(-2, -1).",
     "有批次時是對的，但只限剛好三個維度。從後面數的話，最後兩個維度永遠是 -2 和 -1：transpose(-2, -1)。"),
    ("one-sequence-only", lambda q, k: torch.mm(q, k.mT), ONE_SEQUENCE_MM),
    ("keys-not-transposed", lambda q, k: q @ k,
     "the keys are not transposed: q @ k multiplies with the columns of k, but each key is a row. It only fits when there are as many keys as dimensions.",
     "鍵沒有轉置：q @ k 乘到的是 k 的行，但每個鍵是一列。只有鍵的個數剛好等於維度時才對得上。"),
    ("reshaped", lambda q, k: q @ k.reshape(*k.shape[:-2], k.size(-1), k.size(-2)),
     "the shape of kᵀ is right, its numbers are not: reshape and view only cut the same row of numbers differently. Rows become columns with transpose(-2, -1).",
     "kᵀ 的形狀對了，但裡面的數不對：reshape 和 view 只是把同一串數字重新切段。要把列變成行，請用 transpose(-2, -1)。"),
    ("cosine", lambda q, k: F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT,
     "your vectors are brought to length 1 first (cosine similarity). Attention uses the plain dot product; length counts.",
     "你先把向量的長度變成 1 了（餘弦相似度）。注意力用的是單純的內積，向量的長度也要算進去。"),
    ("pairs-only", lambda q, k: (q * k).sum(-1),
     "only query i with key i is multiplied. Every query meets every key: a whole matrix.",
     "你只把第 i 個查詢和第 i 個鍵相乘。每個查詢和每個鍵都要算一次，結果是一整個矩陣。"),
    ("summed-over-the-keys", lambda q, k: (q.unsqueeze(-2) * k.unsqueeze(-3)).sum(-2),
     "the products are right, but they are summed over the keys. A dot product adds up the components of the two vectors: which dimension holds those?",
     "相乘的部分對了，但你是沿著鍵加總。內積要加的是兩個向量的各個分量：它們在哪一個維度？"),
    ("einsum-for-one-sequence", lambda q, k: torch.einsum("qd,kd->qk", q, k), ONE_SEQUENCE_EINSUM),
    ("einsum-for-a-batch", lambda q, k: torch.einsum("bqd,bkd->bqk", q, k), BATCH_EINSUM),
    ("distance", lambda q, k: -torch.cdist(q, k),
     "these are negative distances between q and k. A score is their dot product.",
     "你算的是 q 和 k 之間距離的負值。分數是它們的內積。"),
)  # fmt: skip


def score_mistakes(finish):
    """Each slip, with ``finish`` as the rest of an otherwise right answer."""

    def answer(product):
        return lambda q, k: finish(product(q, k), q)

    return mistakes(*((name, answer(product), *hint) for name, product, *hint in PRODUCT_SLIPS))


def all_heads_width(q):
    """d_model, where the heads have a dimension of their own."""
    return q.size(-1) * (q.size(-3) if q.ndim == 4 else 1)
