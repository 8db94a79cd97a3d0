"""Exercise pencil-schedule-peak of chapter 10: the top of the schedule."""

import torch

from transformer_lib.exercises.chapter_10.shared import D_MODEL_NOT_ROOTED
from transformer_lib.exercises.data import Exercise, Text, mistakes
from transformer_lib.exercises.inputs import by_hand

MISTAKES = mistakes(
    ("d_model-forgotten", 0.05,
     "0.05: the factor in front, with d_model, is missing.",
     "0.05：少了前面那個和 d_model 有關的因子。"),
    ("warmup-forgotten", 0.1,
     "0.1: that is the factor in front alone. The minimum still has to be multiplied.",
     "0.1：這只是前面的因子，還要乘上最小值那一項。"),
    ("no-roots", 1 / 40000,
     "1/40000: the roots are missing. An exponent of −1/2 is one over the root.",
     "1/40000：少了開根號。指數 −1/2 的意思是根號分之一。"),
    ("root-of-the-sum", 500 ** (-0.5),
     "you added d_model and warmup under the root. The two factors are multiplied.",
     "你在根號裡把 d_model 和 warmup 相加了。這兩個因子是相乘。"),
    ("root-of-d_model-above", 0.5,
     "0.5: the root of d_model stands above the line. Its exponent is negative.",
     "0.5：d_model 的根號跑到分子了。它的指數是負的。"),
    ("the-step-of-the-top", 400,
     "400 is the step at which the rate is highest. How high is it there?",
     "400 是學習率最高的那一步。那一步的學習率是多少？"),
    ("first-step", 0.1 / 8000,
     "that is the rate of step 1. It rises until step = warmup.",
     "這是第 1 步的學習率。它會一路升到步數等於 warmup 為止。"),
    ("inverse", 200.0, "200: you have its inverse, one over the rate.", "200：你算成倒數了。"),
    ("d_model-not-rooted", 0.01 / 20, D_MODEL_NOT_ROOTED),
    ("warmup-not-rooted", 0.1 / 400,
     "at step = warmup the minimum is one over a root, not one over warmup.",
     "步數等於 warmup 時，最小值那一項是根號分之一，不是 warmup 分之一。"),
    ("root-of-warmup-above", 2.0,
     "2: the root of warmup stands above the line. At the top the minimum is one over it.",
     "2：warmup 的根號跑到分子了。在最高點，最小值那一項是 1/√warmup。"),
    ("in-thousandths", 5.0,
     "5: right if you count in thousandths, as the figure does. Asked is the rate itself.",
     "5：如果像圖上那樣以千分之一為單位，就對了。題目要的是學習率本身。"),
    ("branches-added", 0.01,
     "0.01: twice too high. At the top both terms are equal, and the minimum is one of them.",
     "0.01：高了一倍。在最高點兩項相等，最小值只是其中一項。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="pencil-schedule-peak",
    chapter=10,
    title=Text("The top of the schedule", "學習率的最高點"),
    difficulty=1,
    minutes=4,
    reference=lambda: 0.005,
    cases=by_hand,
    tolerance=1e-6,
    alternatives=(lambda: 1 / 200, lambda: torch.tensor(0.005), lambda: 100**-0.5 * 400**-0.5),
    mistakes=MISTAKES,
)
