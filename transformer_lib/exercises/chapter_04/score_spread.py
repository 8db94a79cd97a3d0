"""Exercise score-spread of chapter 4: how far scores spread."""

import math

import torch

from transformer_lib.exercises.data import Exercise, Text, mistakes
from transformer_lib.exercises.inputs import by_hand

MISTAKES = mistakes(
    ("variance", 256.0,
     "256 is the variance. The standard deviation is its root.",
     "256 是變異數。標準差是它的平方根。"),
    ("variance-of-q-forgotten", 8.0,
     "8 would be right if q had variance 1. Here each component of q has variance 4.",
     "如果 q 的變異數是 1，8 就對了。但這裡 q 的每個分量變異數是 4。"),
    ("variance-not-rooted", 32.0,
     "32 = 8 · 4: the factor 4 is a variance and goes under the root as well.",
     "32 = 8 · 4：4 是變異數，也要放進根號裡。"),
    ("components", 64.0, "64 is the number of components.", "64 是分量的個數。"),
    ("scaled", 2.0,
     "2 is what is left after dividing by √d_k. The question is about the score before scaling.",
     "2 是除以 √d_k 之後的結果。題目問的是縮放之前的分數。"),
    ("variances-added", math.sqrt(64 * (4 + 1)),
     "√(64 · (4 + 1)): you add the variances of q and k. Here the components are multiplied; what happens to the variances then?",
     "√(64 · (4 + 1))：你把 q 和 k 的變異數相加了。這裡分量是相乘，變異數會怎麼變？"),
    ("standard-deviations-added", 128.0,
     "128 = 64 · 2: you add up 64 standard deviations. Of independent terms it is the variances that add up.",
     "128 = 64 · 2：你把 64 個標準差加起來了。各項互相獨立時，可以相加的是變異數。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="score-spread",
    chapter=4,
    title=Text("How far scores spread", "分數散得多開"),
    difficulty=1,
    minutes=4,
    reference=lambda: 16.0,
    cases=by_hand,
    tolerance=1e-3,
    alternatives=(lambda: 16, lambda: math.sqrt(256), lambda: torch.tensor(16.0)),
    mistakes=MISTAKES,
)
