"""Exercise linear-attention of chapter 9: linear attention."""

import math

import torch
import torch.nn.functional as F

from transformer_lib.exercises.chapter_09.linear import (
    all_keys,
    causal_where_it_fits,
    feature,
    linear,
    linear_attention,
    shared_mistakes,
)
from transformer_lib.exercises.chapter_09.shared import MANY_TOKENS
from transformer_lib.exercises.chapter_09.tiles import softmax_of_all
from transformer_lib.exercises.data import Case, Exercise, Text, mistakes
from transformer_lib.exercises.inputs import BATCH_AND_HEADS, ONE_SEQUENCE, SQUARE, normal


def _linear_cases():
    randn = normal(94)

    def qkv(*batch, n_q, n_k):
        return randn(*batch, n_q, 5), randn(*batch, n_k, 5), randn(*batch, n_k, 3)

    return [
        Case(ONE_SEQUENCE, qkv(n_q=4, n_k=6)),
        Case(BATCH_AND_HEADS, qkv(3, 2, n_q=4, n_k=7)),
        Case(SQUARE, qkv(n_q=4, n_k=4)),
        Case(MANY_TOKENS, qkv(n_q=60, n_k=64), largest=60 * 64 // 2),
    ]


def _linear_key_by_key(q, k, v):
    q, k = (torch.where(x > 0, x + 1, x.clamp(max=0).exp()) for x in (q, k))
    state, total = 0.0, 0.0
    for j in range(k.size(-2)):
        state = state + k[..., j, :, None] * v[..., j, None, :]
        total = total + k[..., j, :, None]
    return (q @ state) / (q @ total)


def _linear_by_einsum(q, k, v):
    q, k = 1 + F.elu(q), 1 + F.elu(k)
    state = torch.einsum("...nd,...ne->...de", k, v)
    above = torch.einsum("...nd,...de->...ne", q, state)
    return above / torch.einsum("...nd,...md->...n", q, k)[..., None]


def _linear_with_a_column_of_ones(q, k, v):
    """The normaliser as one more component of the values."""
    both = feature(q) @ (feature(k).mT @ torch.cat([v, torch.ones_like(v[..., :1])], -1))
    return both[..., :-1] / both[..., -1:]


def _linear_in_the_wrong_order(q, k, v):
    """Right, but it makes all n_q × n_k weights first."""
    weights = feature(q) @ feature(k).mT
    return weights / weights.sum(-1, keepdim=True) @ v


def _linear_over_queries(q, k, v):
    q, k = feature(q), feature(k)
    return q @ ((k / (k @ q.sum(-2).unsqueeze(-1))).mT @ v)


MISTAKES = mistakes(
    *shared_mistakes(linear),
    ("state-normalised", linear(normaliser=None, transpose=lambda k: (k / k.sum(-2, True)).mT),
     "each feature of the keys is divided by its sum, before the query comes in. Divide the output, by φ(q) · Σ φ(k), which is another number for each query.",
     "你在查詢用到之前，就把鍵的每個特徵除以自己的總和了。要除的是輸出，除以 φ(q) · Σ φ(k)，每個查詢各有一個。"),
    ("output-scaled", lambda q, k, v: linear_attention(q, k, v) / math.sqrt(q.size(-1)),
     "the output is divided by √d_k once more. That scale keeps a softmax out of saturation; here there is no softmax.",
     "輸出又多除了一次 √d_k。那個縮放是為了不讓 softmax 飽和；這裡沒有 softmax。"),
    ("normalised-by-n", linear(normaliser=lambda q, k: q.new_tensor(k.size(-2))),
     "divided by the number of keys. Divide by the sum of the weights: φ(q) · Σ φ(k).",
     "你除的是鍵的個數。應該除以權重的總和：φ(q) · Σ φ(k)。"),
    ("normaliser-without-q",
     linear(normaliser=lambda q, k: k.sum((-2, -1), keepdim=True).expand(*q.shape[:-1], 1)),
     "the normaliser is the same for all queries: φ(q) is missing in it.",
     "每個查詢除的都是同一個數：分母少了 φ(q)。"),
    ("normaliser-without-k", linear(normaliser=lambda q, k: q.sum(-1, keepdim=True)),
     "the normaliser holds the query alone: Σ φ(k) is missing in it.",
     "分母裡只有查詢：少了 Σ φ(k)。"),
    ("normaliser-of-plain-keys",
     lambda q, k, v: linear(normaliser=lambda phi_q, _: all_keys(phi_q, k))(q, k, v),
     "the normaliser sums the plain keys. Sum φ(k), as in the numerator.",
     "分母加總的是原本的鍵。要加總的是 φ(k)，和分子一樣。"),
    ("normaliser-of-plain-queries",
     lambda q, k, v: linear(normaliser=lambda _, phi_k: all_keys(q, phi_k))(q, k, v),
     "the normaliser takes the plain query. It needs φ(q), as in the numerator.",
     "分母用的是原本的查詢。應該用 φ(q)，和分子一樣。"),
    ("feature-map-of-the-sum",
     lambda q, k, v: linear(
         normaliser=lambda phi_q, _: phi_q @ feature(k.sum(-2)).unsqueeze(-1)
     )(q, k, v),
     "the normaliser holds φ(Σ k). Apply φ to each key, and sum then: Σ φ(k).",
     "你的分母是 φ(Σ k)。要先把每個鍵代進 φ，再加總：Σ φ(k)。"),
    ("normaliser-of-all-queries",
     linear(normaliser=lambda q, k: (q @ k.mT.sum(-1, keepdim=True)).sum(-2, keepdim=True)),
     "the weights of all queries are added up in the normaliser. Each query divides by its own sum.",
     "分母把所有查詢的權重都加起來了。每個查詢要除以自己的總和。"),
    ("normaliser-averaged", linear(normaliser=lambda q, k: q @ k.mT.mean(-1, keepdim=True)),
     "the normaliser takes the mean of φ(k): everything is n_k times too large. It is a sum.",
     "分母用的是平均，不是 Σ φ(k)，結果全都大了 n_k 倍。應該用總和。"),
    ("normalised-over-the-queries", _linear_over_queries,
     "the weights are normalised over the queries, for each key. They have to sum to 1 for each query.",
     "權重是沿著查詢正規化的，每個鍵加起來是 1。應該是每個查詢的權重加起來等於 1。"),
    ("multiplied-by-the-normaliser", linear(divide=torch.mul),
     "multiplied by the sum of the weights, where you should divide.",
     "應該除以權重的總和，你卻用乘的。"),
    ("softmax-attention", lambda q, k, v: softmax_of_all(q, k, False) @ v,
     "this is the attention of chapter 4, with its softmax. Linear attention puts φ(q) · φ(k) in place of exp.",
     "這是第 4 章有 softmax 的注意力。線性注意力裡，取代 exp 的是 φ(q) · φ(k)。"),
    ("softmax-of-the-features", lambda q, k, v: (feature(q) @ feature(k).mT).softmax(-1) @ v,
     "φ(q) · φ(k) are weights already; a softmax over them is one exp too many. Only divide by their sum.",
     "權重就是 φ(q) · φ(k)，已經算好了；再做 softmax 就多取了一次 exp。只要除以總和就好。"),
    ("causal", lambda q, k, v: causal_where_it_fits(q, k, v),
     "each query sees only the keys up to its own. That is the next exercise: here it sees all of them.",
     "每個查詢只看到自己和前面的鍵。那是下一題：這一題要看到所有的鍵。"),
    ("mean-of-the-values",
     lambda q, k, v: v.mean(-2, keepdim=True).expand(*q.shape[:-1], v.size(-1)) + 0 * (q.sum() + k.sum()),
     "this is the mean of the values: q and k have no effect.",
     "這是值的平均：q 和 k 沒有作用。"),
    ("transposed-for-one-sequence",
     lambda q, k, v: linear(transpose=lambda k: k.transpose(0, 1))(q, k, v),
     "right for one sequence, but with a batch the wrong dimensions are exchanged or summed over: .T, transpose(0, 1) and sum(0) reach the batch. Count dimensions from the end: .mT, sum(-2).",
     "單一序列時是對的，但有批次時，對調或加總的維度就錯了：.T、transpose(0, 1) 和 sum(0) 會動到批次。請從後面數維度：.mT、sum(-2)。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="linear-attention",
    chapter=9,
    title=Text("Linear attention", "線性注意力"),
    difficulty=2,
    minutes=12,
    reference=linear_attention,
    cases=_linear_cases,
    alternatives=(_linear_key_by_key, _linear_by_einsum, _linear_with_a_column_of_ones),
    wasteful=(_linear_in_the_wrong_order,),
    mistakes=MISTAKES,
)
