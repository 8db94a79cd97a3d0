"""Exercise scaled-scores of chapter 4: scaled scores."""

import math

import torch

from transformer_lib.exercises.chapter_04.shared import (
    D_MODEL_WITH_HEADS,
    all_heads_width,
    score_cases,
    score_mistakes,
    scores_by_loops,
)
from transformer_lib.exercises.data import Exercise, Text, mistakes


def scaled_scores(q, k):
    return q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))


MISTAKES = mistakes(
    *score_mistakes(lambda scores, q: scores / math.sqrt(q.size(-1))),
    ("not-scaled", lambda q, k: q @ k.mT,
     "the scores are not scaled: their variance is still d_k instead of 1.",
     "分數沒有縮放：變異數還是 d_k，不是 1。"),
    ("divided-by-d_k", lambda q, k: q @ k.mT / q.size(-1),
     "divided by d_k, that is too much. The variance is d_k, and dividing by c divides a variance by c². Which c makes it 1?",
     "除以 d_k 就除過頭了。變異數是 d_k，而除以 c 會讓變異數除以 c²。c 要是多少，變異數才會變成 1？"),
    ("multiplied", lambda q, k: q @ k.mT * math.sqrt(q.size(-1)),
     "multiplied by √d_k, where you should divide: the scores have become larger still.",
     "應該除以 √d_k，你卻用乘的：分數變得更大了。"),
    ("number-of-keys", lambda q, k: q @ k.mT / math.sqrt(k.size(-2)),
     "divided by the root of the number of keys. The variance grows with the length of the vectors. (After k = k.mT that is no longer the last dimension of k.)",
     "你除的是鍵的個數的平方根。讓變異數變大的是向量的分量個數。（做了 k = k.mT 之後，它就不是 k 的最後一個維度了。）"),
    ("number-of-queries", lambda q, k: q @ k.mT / math.sqrt(q.size(-2)),
     "divided by the root of the number of queries. The variance grows with the length of the vectors: the last dimension.",
     "你除的是查詢個數的平方根。讓變異數變大的是向量的分量個數，也就是最後一個維度。"),
    ("first-dimension", lambda q, k: q @ k.mT / math.sqrt(q.size(0)),
     "divided by the root of the first dimension, the batch. d_k is the last one: q.size(-1).",
     "你除的是第一個維度（批次）的平方根。d_k 是最後一個維度：q.size(-1)。"),
    ("d_model", lambda q, k: q @ k.mT / math.sqrt(all_heads_width(q)),
     D_MODEL_WITH_HEADS),
    ("softmax-already", lambda q, k: (q @ k.mT / math.sqrt(q.size(-1))).softmax(-1),
     "your rows sum to 1: the softmax has been applied already. It is the next step.",
     "你的每一列加起來是 1：已經套用 softmax 了。那是下一步才做的事。"),
    ("power-before-division", lambda q, k: q @ k.mT / q.size(-1) ** 1 / 2,
     "the scores come out divided by 2 d_k. In Python ** binds before /, so d ** 1/2 does not take a root: where do the parentheses belong?",
     "分數變成除以 2 d_k 了。在 Python 裡，** 比 / 先算，所以 d ** 1/2 並沒有開根號：括號該加在哪裡？"),
    ("half-of-d_k", lambda q, k: q @ k.mT / (q.size(-1) ** 1 / 2),
     "the scores are divided by d_k / 2. In Python ** binds before /: d ** 1/2 is half of d, not its root. Which part needs parentheses of its own?",
     "你除的是 d_k 的一半。在 Python 裡，** 比 / 先算：d ** 1/2 是 d 的一半，不是平方根。哪一部分要另外加括號？"),
    ("fixed-number", lambda q, k: q @ k.mT / 8,
     "you always divide by 8 = √64, but d_k is not always 64. Take it from the tensor.",
     "你永遠除以 8 = √64，但 d_k 不一定是 64。請從張量取得 d_k。"),
    ("dimension-one", lambda q, k: q @ k.mT / math.sqrt(q.shape[1]),
     "right for one sequence only: q.shape[1] is d_k there, but with a batch it is something else. Count the dimensions from the end.",
     "只有單一序列時才對：這時 q.shape[1] 剛好是 d_k；有批次時，它就不是 d_k 了。維度請從後面數。"),
    ("length-of-k", lambda q, k: q @ k.mT / math.sqrt(len(k)),
     "len(k) is the size of the first dimension: the number of keys, or the batch. d_k is the length of one vector. Which dimension is that?",
     "len(k) 是第一個維度的大小：也就是鍵的個數，或是批次大小。d_k 是一個向量的分量個數，那是哪一個維度？"),
    ("measured-spread", lambda q, k: q @ k.mT / (q @ k.mT).std(),
     "you divide by the standard deviation measured on these very scores, so each score depends on all the others. √d_k is the same for any data: it follows from the shape alone.",
     "你除的是從這些分數算出來的標準差，這樣每個分數都會受其他分數影響。√d_k 和資料無關，只看形狀就能決定。"),
    ("scaled-after-softmax", lambda q, k: (q @ k.mT).softmax(-1) / math.sqrt(q.size(-1)),
     "you apply a softmax and then divide its weights. Only the scaled scores are asked for, and scaling helps only before a softmax.",
     "你先套用 softmax，再除以 √d_k。這一題只要縮放後的分數；而且縮放要放在 softmax 之前才有用。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="scaled-scores",
    chapter=4,
    title=Text("Scaled scores", "縮放後的分數"),
    difficulty=1,
    minutes=5,
    reference=scaled_scores,
    cases=score_cases,
    alternatives=(
        lambda q, k: (q / q.size(-1) ** 0.5) @ k.mT,
        lambda q, k: (q / q.size(-1) ** 0.25) @ (k / k.size(-1) ** 0.25).mT,
        lambda q, k: q @ (k.mT / k.mT.size(-2) ** (1 / 2)),
        lambda q, k: torch.einsum("...qd,...kd->...qk", q, k) * q.size(-1) ** -0.5,
        lambda q, k: scores_by_loops(q, k) / torch.tensor(q.size(-1), dtype=q.dtype).sqrt(),
    ),
    mistakes=MISTAKES,
)
