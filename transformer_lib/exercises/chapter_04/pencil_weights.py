"""Exercise pencil-weights of chapter 4: attention with a pencil."""

import math

import torch

from transformer_lib.exercises.data import Exercise, Text, mistakes
from transformer_lib.exercises.inputs import by_hand

MISTAKES = mistakes(
    ("mean", 4.0,
     "4 is the plain mean of the three values. The first key has a larger weight.",
     "4 是三個值的平均。第一個鍵的權重應該比較大。"),
    ("winner-takes-all", 6.0,
     "a key is missing. Either only the best key counts in your 6, or you divide 30 by 5, with one of the two zeros left out. A score of 0 is not a weight of 0, for exp(0) = 1.",
     "漏算了鍵。可能只算了分數最高的鍵，也可能是用 30 除以 5，漏了兩個 0 分的其中一個。分數是 0 不代表權重是 0，因為 exp(0) = 1。"),
    ("not-normalised", 30.0,
     "30 is the sum of exp(score) · value. Divide by the sum of the exp(score).",
     "30 是各個分數取 exp、乘上值再相加的結果。還要除以各個分數取 exp 之後的總和。"),
    ("scores-as-weights", 6 * math.log(4),
     "you have multiplied the scores themselves by the values. First comes exp.",
     "你直接拿分數去乘值了。要先取 exp。"),
    ("score-without-exp", (6 * math.log(4) + 2 + 4) / (math.log(4) + 2),
     "the zeros have become exp(0) = 1, but ln 4 is used as a weight as it stands. It is a score like the others.",
     "0 已經變成 exp(0) = 1 了，但 ln 4 卻直接拿來當權重。它和另外兩個一樣是分數。"),
    ("divided-by-the-number-of-keys", 10.0,
     "10 = 30 / 3: you divide by the number of keys. Divide by the sum of the exp(score), so that the weights sum to 1.",
     "10 = 30 / 3：你除的是鍵的個數。要除以各個分數取 exp 之後的總和，權重加起來才會是 1。"),
    ("best-key-not-normalised", 24.0,
     "24 = 4 · 6 holds the first key alone. The other keys have a share, and the weights must sum to 1.",
     "24 = 4 · 6 只算了第一個鍵。其他的鍵也有份，而且權重加起來要等於 1。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="pencil-weights",
    chapter=4,
    title=Text("Attention with a pencil", "用紙筆算注意力"),
    difficulty=1,
    minutes=5,
    reference=lambda: 5.0,
    cases=by_hand,
    tolerance=1e-3,
    alternatives=(lambda: 5, lambda: torch.tensor(5.0), lambda: 4 / 6 * 6 + 1 / 6 * 2 + 1 / 6 * 4),
    mistakes=MISTAKES,
)
