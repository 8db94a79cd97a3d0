"""Exercise attention-output of chapter 4: the weighted sum."""

import torch

from transformer_lib.exercises.chapter_04.shared import (
    BATCH_EINSUM,
    ONE_SEQUENCE_EINSUM,
)
from transformer_lib.exercises.data import Case, Exercise, Text, mistakes
from transformer_lib.exercises.families import ONE_SEQUENCE_MM
from transformer_lib.exercises.inputs import A_BATCH, BATCH_AND_HEADS, ONE_SEQUENCE, SQUARE, normal


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


MISTAKES = mistakes(
    ("mean", lambda weights, v: v.mean(-2, keepdim=True).expand(*weights.shape[:-1], -1),
     "every query gets the plain mean of the values: the weights are not used.",
     "每個查詢得到的都是值的平均：權重沒有用到。"),
    ("values-returned", lambda weights, v: v,
     "these are the values unchanged: the weights are not used.",
     "這就是原來的值：權重沒有用到。"),
    ("weights-transposed", lambda weights, v: weights.mT @ v,
     "the weights are transposed: row i of the weights belongs to query i and should multiply the values as it stands.",
     "你把權重轉置了：權重的第 i 列對應第 i 個查詢，直接和值相乘就好。"),
    ("values-transposed", lambda weights, v: weights @ v.mT,
     "the values are transposed. That fits only when there are as many keys as value dimensions.",
     "你把值轉置了。只有鍵的個數剛好等於值的維度時才對得上。"),
    ("softmax-again", lambda weights, v: weights.softmax(-1) @ v,
     "the weights go through a softmax a second time, which flattens them.",
     "權重又做了一次 softmax，變得比較平均了。"),
    ("renormalised", lambda weights, v: weights / weights.sum(-1, keepdim=True) @ v,
     "the weights are normalised once more. They are ready; and where a query sees nothing it divides 0 by 0.",
     "你把權重又正規化了一次。權重早就算好了；而且遇到什麼都不能關注的查詢，會變成 0 除以 0。"),
    ("winner-takes-all",
     lambda weights, v: v.gather(
         -2, weights.argmax(-1)[..., None].expand(*weights.shape[:-1], v.size(-1))
     ),
     "only the value with the largest weight is taken. Every value has its share.",
     "你只取了權重最大的那個值。每個值都要依權重算進去。"),
    ("averaged-sum", lambda weights, v: weights @ v / weights.size(-1),
     "you also divide by the number of keys. The weights sum to 1 already: no further average.",
     "又多除了一次鍵的個數。權重加起來已經是 1，不用再平均。"),
    ("three-dimensions-only", lambda weights, v: torch.bmm(weights, v),
     "right for a batch, but torch.bmm takes exactly three dimensions. The operator @ (matmul) takes any number.",
     "有批次時是對的，但 torch.bmm 只接受剛好三個維度。用 @（matmul）就不限維度。"),
    ("all-queries-added", lambda weights, v: (weights @ v).sum(-2),
     "the outputs of all queries are added up. Each query keeps an output of its own.",
     "你把所有查詢的輸出加在一起了。每個查詢都要有自己的輸出。"),
    ("softmax-over-queries", lambda weights, v: weights.softmax(-2) @ v,
     "the weights go through another softmax, over the queries. They are ready: use them as they stand.",
     "權重又沿著查詢的方向做了一次 softmax。權重已經算好了，直接用就可以。"),
    ("last-key-skipped", lambda weights, v: _output_by_loops(weights, v, slice(None, -1)),
     "the last key is left out. range(n) ends at n − 1 already: how far does your loop go?",
     "漏掉了最後一個鍵。range(n) 本來就只到 n − 1：你的迴圈跑到哪裡？"),
    ("first-key-skipped", lambda weights, v: _output_by_loops(weights, v, slice(1, None)),
     "the first key is left out. Indices begin at 0: where does your loop start?",
     "漏掉了第一個鍵。索引從 0 開始：你的迴圈從哪裡開始？"),
    ("one-sequence-only", torch.mm, ONE_SEQUENCE_MM),
    ("einsum-for-one-sequence", lambda weights, v: torch.einsum("qk,kd->qd", weights, v),
     ONE_SEQUENCE_EINSUM),
    ("einsum-for-a-batch", lambda weights, v: torch.einsum("bqk,bkd->bqd", weights, v), BATCH_EINSUM),
)  # fmt: skip

EXERCISE = Exercise(
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
    mistakes=MISTAKES,
)
