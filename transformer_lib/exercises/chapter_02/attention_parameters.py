"""Exercise attention-parameters of chapter 2: one attention, counted."""

import torch

from transformer_lib.exercises.data import Exercise, Text, mistakes
from transformer_lib.exercises.inputs import by_hand

MISTAKES = mistakes(
    ("w_o-forgotten", 108,
     "108 = 3 · 36: a matrix is missing. There are W_Q, W_K, W_V, and one after the heads.",
     "108 = 3 · 36：少了一個矩陣。除了 W_Q、W_K、W_V，各個頭之後還有一個。"),
    ("times-heads", 432,
     "432 = 3 · 144: you multiply by the number of heads. The heads share the six columns.",
     "432 = 3 · 144：你多乘了頭的個數。這六行是三個頭一起分的。"),
    ("one-head", 48,
     "48 = 4 · 6 · 2 are the numbers of one head. There are three.",
     "48 = 4 · 6 · 2 只是一個頭的份。總共有三個頭。"),
    ("with-biases", 168, "168 = 144 + 24: there are no biases here.", "168 = 144 + 24：這裡沒有偏置。"),
    ("one-matrix", 36,
     "36 is one matrix, 6 × 6. How many are there?",
     "36 是一個 6 × 6 的矩陣。總共有幾個？"),
    ("without-w_o-times-heads", 324,
     "324 = 3 · 3 · 36: three matrices of full width for each of the three heads. The heads share the width, and a fourth matrix comes after them.",
     "324 = 3 · 3 · 36：你讓三個頭各有三個完整寬度的矩陣。但頭是一起分寬度的，而且後面還有第四個矩陣。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="attention-parameters",
    chapter=2,
    title=Text("One attention, counted", "數一個注意力的參數"),
    difficulty=1,
    minutes=3,
    reference=lambda: 144,
    cases=by_hand,
    alternatives=(lambda: 4 * 6**2, lambda: 144.0, lambda: torch.tensor(144)),
    mistakes=MISTAKES,
)
