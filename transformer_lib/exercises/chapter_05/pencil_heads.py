"""Exercise pencil-heads of chapter 5: two heads with a pencil."""

import torch

from transformer_lib.exercises.data import Exercise, Text, mistakes
from transformer_lib.exercises.inputs import by_hand

MISTAKES = mistakes(
    ("weights-of-head-1", 26.0,
     "26: you use the weights of head 1 in both heads. Head 2 has its own.",
     "26：兩個頭你都用了頭 1 的權重。頭 2 有自己的權重。"),
    ("weights-of-head-2", 24.0,
     "24: you use the weights of head 2 in both heads. Head 1 has its own.",
     "24：兩個頭你都用了頭 2 的權重。頭 1 有自己的權重。"),
    ("weights-exchanged", 20.0,
     "20: the heads have exchanged their weights. A score of 0 gets the smaller share.",
     "20：兩個頭的權重對調了。分數是 0 的鍵，分到的應該比較少。"),
    ("even-weights", 25.0,
     "25 comes from even weights of ½. In each head one key has the larger score.",
     "25 是每個鍵權重都取 ½ 的結果。每個頭裡都有一個鍵的分數比較高。"),
    ("W_O-missing", 16.0,
     "16 is the sum of the two heads. W_O weighs them.",
     "16 是兩個頭直接相加。還要用 W_O 加權。"),
    ("W_O-exchanged", 34.0,
     "34: the entries of W_O are exchanged. The first belongs to head 1.",
     "34：W_O 的兩個數用反了。第一個屬於頭 1。"),
    ("not-normalised", 120.0,
     "120: in each head, divide by the sum of the exp(score).",
     "120：每個頭裡都要再除以各個分數取 exp 之後的總和。"),
    ("first-head-only", 21.0, "21 = 3 · 7 holds head 1 alone.", "21 = 3 · 7 只算了頭 1。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="pencil-heads",
    chapter=5,
    title=Text("Two heads with a pencil", "用紙筆算兩個頭"),
    difficulty=1,
    minutes=6,
    reference=lambda: 30.0,
    cases=by_hand,
    tolerance=1e-3,
    alternatives=(lambda: 30, lambda: torch.tensor(30.0), lambda: 3 * 7 + 9),
    mistakes=MISTAKES,
)
