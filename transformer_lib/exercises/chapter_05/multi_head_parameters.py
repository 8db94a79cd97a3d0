"""Exercise multi-head-parameters of chapter 5: how many weights?."""

import torch

from transformer_lib.exercises.data import Exercise, Text, mistakes
from transformer_lib.exercises.inputs import by_hand

MISTAKES = mistakes(
    ("full-size-heads", 8 * 4 * 512**2,
     "you give each of the 8 heads matrices of 512 columns. How many columns has a head?",
     "你讓 8 個頭的矩陣各有 512 行。一個頭其實有幾行？"),
    ("full-size-heads-and-one-W_O", 25 * 512**2,
     "one W_O is right, but each head's W_Q, W_K and W_V have fewer than 512 columns.",
     "W_O 只有一個，沒錯；但每個頭的 W_Q、W_K、W_V 不到 512 行。"),
    ("W_O-missing", 3 * 512**2,
     "W_Q, W_K and W_V of all heads are there. One matrix is missing.",
     "所有頭的 W_Q、W_K、W_V 都算到了，還少一個矩陣。"),
    ("one-head", 3 * 512 * 64,
     "these are the three matrices of a single head.",
     "這只是一個頭的三個矩陣。"),
    ("one-head-and-its-rows-of-W_O", 4 * 512 * 64,
     "this is one head with its rows of W_O. There are eight.",
     "這是一個頭，加上它在 W_O 裡的列。頭有八個。"),
    ("one-matrix", 512**2,
     "this is one of the matrices, all heads side by side. There are others.",
     "這是其中一個矩陣，所有的頭並排在一起。還有別的矩陣。"),
    ("too-few-projections", 3 * 512 * 64 + 512**2,
     "W_O is complete. Either only one head has its three matrices, or you let a head's matrices be 64 × 64; each head reads the whole token, of length 512.",
     "W_O 算完整了。但三個投影矩陣可能只算了一個頭，也可能把一個頭的矩陣當成 64 × 64：每個頭讀的是整個標記，長度是 512。"),
    ("with-biases", 4 * 512**2 + 4 * 512,
     "2048 too many: those are biases, and the question says there are none.",
     "多了 2048 個：那是偏置，題目說不含偏置。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="multi-head-parameters",
    chapter=5,
    title=Text("How many weights?", "有幾個權重？"),
    difficulty=1,
    minutes=4,
    reference=lambda: 1_048_576,
    cases=by_hand,
    tolerance=1e-7,
    alternatives=(
        lambda: 4 * 512**2,
        lambda: 8 * 3 * 512 * 64 + 512 * 512,
        lambda: torch.tensor(4 * 512**2),
        lambda: float(2**20),
    ),
    mistakes=MISTAKES,
)
