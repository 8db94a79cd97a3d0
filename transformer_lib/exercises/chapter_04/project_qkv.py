"""Exercise project-qkv of chapter 4: three projections."""

import math

import torch
import torch.nn.functional as F

from transformer_lib.exercises.data import Case, Exercise, Text, mistakes
from transformer_lib.exercises.inputs import A_BATCH, ONE_SEQUENCE, normal


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


MISTAKES = mistakes(
    ("k-from-W_Q", lambda x, W_Q, W_K, W_V: (x @ W_Q, x @ W_Q, x @ W_V),
     "your keys are made with W_Q. Query and key need matrices of their own: what a token looks for is not what it offers.",
     "你的鍵用了 W_Q。查詢和鍵要各用各的矩陣：一個標記想找的東西，和它能提供的東西並不相同。"),
    ("q-from-W_K", lambda x, W_Q, W_K, W_V: (x @ W_K, x @ W_K, x @ W_V),
     "your queries are made with W_K. Query and key need matrices of their own.",
     "你的查詢用了 W_K。查詢和鍵要各用各的矩陣。"),
    ("v-not-projected", lambda x, W_Q, W_K, W_V: (x @ W_Q, x @ W_K, x),
     "your values are x itself. V is a projection too: which matrix is left?",
     "你的值就是 x 本身。V 也是投影出來的：還有哪個矩陣沒用到？"),
    ("v-from-W_K", lambda x, W_Q, W_K, W_V: (x @ W_Q, x @ W_K, x @ W_K),
     "your values are made with W_K, so they equal the keys. W_V is not used.",
     "你的值用了 W_K，結果跟鍵一模一樣，W_V 沒有用到。"),
    ("q-and-k-exchanged", lambda x, W_Q, W_K, W_V: (x @ W_K, x @ W_Q, x @ W_V),
     "queries and keys have changed places: return q first, made with W_Q.",
     "查詢和鍵的位置對調了：第一個要傳回的是用 W_Q 算出來的 q。"),
    ("v-first", lambda x, W_Q, W_K, W_V: (x @ W_V, x @ W_Q, x @ W_K),
     "return them in the order q, k, v.",
     "傳回的順序應該是 q、k、v。"),
    ("weights-transposed", lambda x, W_Q, W_K, W_V: (x @ W_Q.mT, x @ W_K.mT, x @ W_V.mT),
     "the weights are transposed. Here they have shape (d_model, d_k), so x @ W fits as it stands. (nn.Linear stores its weight the other way round; with square matrices nothing crashes.)",
     "你把權重矩陣轉置了。這裡的權重矩陣形狀是 (d_model, d_k)，直接 x @ W 就對得上。（nn.Linear 存的權重矩陣是轉置過的；遇到方陣時程式照跑，不容易發現。）"),
    ("tokens-as-columns", lambda x, W_Q, W_K, W_V: tuple(W.mT @ x.mT for W in (W_Q, W_K, W_V)),
     "the results lie on their side: each token should be a row. With tokens as rows the product is x @ W.",
     "結果的列和行對調了：每個標記應該是一列。標記是列的時候，要寫成 x @ W。"),
    ("q-scaled-already", lambda x, W_Q, W_K, W_V: (x @ W_Q / math.sqrt(W_Q.size(-1)), x @ W_K, x @ W_V),
     "your queries are divided by √d_k already. That comes later, with the scores.",
     "你的查詢先除以 √d_k 了。縮放是之後算分數時才做的事。"),
    ("activation", lambda x, W_Q, W_K, W_V: ((x @ W_Q).relu(), (x @ W_K).relu(), (x @ W_V).relu()),
     "negative entries are cut off at 0. The projections are linear: no activation function.",
     "負數都被截成 0 了。這三個投影是線性的，不需要激勵函數。"),
    ("k-and-v-exchanged", lambda x, W_Q, W_K, W_V: (x @ W_Q, x @ W_V, x @ W_K),
     "keys and values have changed places: the order is q, k, v.",
     "鍵和值的位置對調了：順序是 q、k、v。"),
    ("v-from-W_Q", lambda x, W_Q, W_K, W_V: (x @ W_Q, x @ W_K, x @ W_Q),
     "your values are made with W_Q, so they equal the queries. W_V is not used.",
     "你的值用了 W_Q，結果跟查詢一模一樣，W_V 沒有用到。"),
)  # fmt: skip

EXERCISE = Exercise(
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
    mistakes=MISTAKES,
)
