"""Exercise pencil-layer-norm of chapter 7: layer norm with a pencil."""

import math

import torch

from transformer_lib.exercises.data import Exercise, Text, mistakes
from transformer_lib.exercises.inputs import by_hand

MISTAKES = mistakes(
    ("n-1", 3 * 4 / math.sqrt(5) + 1,
     "you divide the sum of squares, 20, by 4. Layer norm divides by the number of components.",
     "你把平方和 20 除以 4 了。層正規化除的是分量的個數。"),
    ("divided-by-the-variance", 4.0,
     "you divide by the variance, 4. The root is missing.",
     "你除的是變異數 4，少開了根號。"),
    ("x_hat", 2.0, "2 is x̂. γ and β are still to come.", "2 是 x̂。還沒用到 γ 和 β。"),
    ("beta-missing", 6.0, "6 is γ · x̂. β is missing.", "6 是 γ · x̂，還少了 β。"),
    ("gamma-missing", 3.0, "3 is x̂ + β. γ is missing.", "3 是 x̂ + β，還少了 γ。"),
    ("gamma-times-beta-too", 9.0,
     "9 is γ · (x̂ + β), or x itself. First scale, then shift.",
     "9 是 γ · (x̂ + β)，或是 x 本身。先縮放，再平移。"),
    ("mean-not-subtracted", 3 * 9 / 2 + 1, "the mean is not subtracted from 9.", "9：沒有先減去平均。"),
    ("not-divided", 13.0,
     "13 = 3 · 4 + 1: the mean is subtracted, but nothing is divided by σ.",
     "13 = 3 · 4 + 1：減了平均，但沒有除以 σ。"),
    ("sum-of-squares", 3 * 4 / math.sqrt(20) + 1,
     "you take the root of the sum of squares, 20. The variance is their mean.",
     "你是把平方和 20 開根號。變異數是平方的平均。"),
    ("absolute-deviation", 3 * 4 / 1.6 + 1,
     "you divide by the mean distance from μ, 1.6. The variance averages squares.",
     "你除的是各分量和 μ 的平均距離 1.6。變異數平均的是平方。"),
    ("exchanged", 5.0,
     "γ and β have changed places (or 5 is your mean): γ multiplies, β is added.",
     "γ 和 β 對調了（或者你只算到平均 5）：γ 是乘的，β 是加的。"),
    ("over-the-sum-of-squares", 3 * 4 / 20 + 1,
     "you divide by the sum of squares, 20. Make it a mean, and take the root.",
     "你除的是平方和 20。要先平均，再開根號。"),
    ("divided-by-the-mean", 3 * 4 / 5 + 1,
     "you divide by 5, the mean or the number of components. What divides is σ, the root of the variance.",
     "你除的是 5，也就是平均或分量的個數。要除的是 σ，變異數的平方根。"),
    ("multiplied-by-the-root", 25.0,
     "25 = 3 · 4 · 2 + 1: you multiply by σ. Divide by it.",
     "25 = 3 · 4 · 2 + 1：你乘以 σ 了，應該用除的。"),
    ("not-normalised", 28.0,
     "28 = 3 · 9 + 1 is γ x + β. Before that, x is normalised.",
     "28 = 3 · 9 + 1 是 γ x + β。在這之前，要先把 x 正規化。"),
    ("sign", -5.0,
     "your x̂ has the wrong sign: 9 − 5, not 5 − 9.",
     "你的 x̂ 正負號反了：是 9 − 5，不是 5 − 9。"),
    ("another-component", -0.5,
     "that is what becomes of a 4. Asked for is the first component.",
     "這是 4 的結果。題目問的是第一個分量。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="pencil-layer-norm",
    chapter=7,
    title=Text("Layer norm with a pencil", "用紙筆算層正規化"),
    difficulty=1,
    minutes=5,
    reference=lambda: 7.0,
    cases=by_hand,
    tolerance=1e-3,
    alternatives=(lambda: 7, lambda: torch.tensor(7.0), lambda: 3 * (9 - 5) / math.sqrt(4) + 1),
    mistakes=MISTAKES,
)
