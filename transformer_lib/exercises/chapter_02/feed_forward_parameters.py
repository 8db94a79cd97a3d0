"""Exercise feed-forward-parameters of chapter 2: one feed-forward network, counted."""

import torch

from transformer_lib.exercises.data import Exercise, Text, mistakes
from transformer_lib.exercises.inputs import by_hand

MISTAKES = mistakes(
    ("no-biases", 120,
     "120 are the two matrices. Each product is followed by a bias.",
     "120 是兩個矩陣。每次相乘之後還要加上偏置。"),
    ("second-bias-forgotten", 130,
     "130 = 120 + 10: the second bias is missing.",
     "130 = 120 + 10：少了第二個偏置。"),
    ("first-bias-forgotten", 126,
     "126 = 120 + 6: the bias of the hidden layer is missing.",
     "126 = 120 + 6：少了隱藏層的偏置。"),
    ("both-biases-of-d_ff", 140,
     "140 = 120 + 2 · 10: the second bias is added to a vector of length d_model.",
     "140 = 120 + 2 · 10：第二個偏置要加到長度是 d_model 的向量上。"),
    ("both-biases-of-d_model", 132,
     "132 = 120 + 2 · 6: the first bias is added to the hidden layer. How long is that?",
     "132 = 120 + 2 · 6：第一個偏置要加到隱藏層上。隱藏層有多長？"),
    ("one-matrix", 70,
     "70 = 60 + 10 leads to the hidden layer. The way back is missing.",
     "70 = 60 + 10 只走到隱藏層。還要走回來。"),
    ("for-each-token", 680,
     "680 = 5 · 136: you count once for each token. All tokens go through the same weights.",
     "680 = 5 · 136：你每個標記都算了一次。所有的標記用的是同一組權重。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="feed-forward-parameters",
    chapter=2,
    title=Text("One feed-forward network, counted", "數一個前饋神經網路的參數"),
    difficulty=1,
    minutes=3,
    reference=lambda: 136,
    cases=by_hand,
    alternatives=(lambda: 6 * 10 + 10 + 10 * 6 + 6, lambda: 136.0, lambda: torch.tensor(136)),
    mistakes=MISTAKES,
)
