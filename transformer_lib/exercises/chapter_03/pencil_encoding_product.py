"""Exercise pencil-encoding-product of chapter 3: A dot product with a pencil."""

import math

import torch

from transformer_lib.exercises.data import Exercise, Text, mistakes
from transformer_lib.exercises.inputs import by_hand

MISTAKES = mistakes(
    ("columns", 64.0,
     "64 counts 1 for each column. A sine and its cosine give 1 together: sin² + cos².",
     "64 是把每一行都算成 1。正弦和餘弦合起來才是 1：sin² + cos²。"),
    ("one-pair", 1.0,
     "1 is what a single pair of sine and cosine contributes. How many pairs are there?",
     "1 是一對正弦和餘弦的貢獻。總共有幾對？"),
    ("length", math.sqrt(32),
     "√32 is the length of the vector. The dot product with itself is its square.",
     "√32 是向量的長度。向量和自己的內積是長度的平方。"),
    ("mean", 0.5,
     "½ is the mean of the 64 squares. The dot product is their sum.",
     "½ 是 64 個平方的平均。內積是它們的總和。"),
    ("times-the-position", 7.0 * 32,
     "the position does not come in as a factor: it cancels in cos(γ − α).",
     "位置不是乘上去的因數：它在 cos(γ − α) 裡消掉了。"),
    ("position-squared", 49.0,
     "49 = 7 · 7 multiplies the positions. The product is taken of their encodings, 64 sines and cosines.",
     "49 = 7 · 7 是把位置相乘。要相乘的是位置的編碼，也就是 64 個正弦和餘弦。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="pencil-encoding-product",
    chapter=3,
    title=Text("A dot product with a pencil", "用紙筆算內積"),
    difficulty=2,
    minutes=5,
    reference=lambda: 32.0,
    cases=by_hand,
    tolerance=1e-3,
    alternatives=(lambda: 32, lambda: 64 / 2, lambda: torch.tensor(32.0)),
    mistakes=MISTAKES,
)
