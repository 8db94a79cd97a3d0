"""Exercise two-step-derivative of chapter 1: two steps with a pencil."""

import torch

from transformer_lib.exercises.data import Exercise, Text, mistakes
from transformer_lib.exercises.inputs import by_hand

MISTAKES = mistakes(
    ("no-slopes", 4.0,
     "4 is what the two weights alone give. Where is the slope of tanh?",
     "4 只是兩個權重相乘。tanh 的斜率呢？"),
    ("no-weights", 0.48,
     "0.48 is what the two slopes alone give. Each step also has the factor W_h.",
     "0.48 只是兩個斜率相乘。每一步還有 W_h 這個因子。"),
    ("one-weight", 0.96,
     "0.96 holds W_h only once. How many steps are there?",
     "0.96 只乘了一次 W_h。總共有幾步？"),
    ("last-step-only", 1.5,
     "1.5 is ∂h_2/∂h_1, the last step alone. The question goes back to h_0.",
     "1.5 是 ∂h_2/∂h_1，只有最後一步。題目要一路回到 h_0。"),
    ("first-step-only", 1.28,
     "1.28 is ∂h_1/∂h_0, the first step alone.",
     "1.28 是 ∂h_1/∂h_0，只有第一步。"),
    ("added", 2.78,
     "2.78 = 1.28 + 1.5: both factors are right. What does the chain rule do with them?",
     "2.78 = 1.28 + 1.5：兩個因子都對。連鎖律要怎麼處理它們？"),
    ("not-squared", 0.8,
     "0.8 comes out if the slope is 1 − h. Look again at the slope of tanh.",
     "把斜率當成 1 − h 才會得到 0.8。再看一次 tanh 的斜率。"),
    ("squares-as-slopes", 0.36,
     "0.36 comes out if the slope is h². That is what is missing from 1.",
     "把斜率當成 h² 才會得到 0.36。它是跟 1 相差的部分。"),
    ("one-slope", 3.0,
     "3 = 0.75 · 4: only the second step has its slope.",
     "3 = 0.75 · 4：只有第二步乘了斜率。"),
    ("other-slope", 2.56,
     "2.56 = 0.64 · 4: only the first step has its slope.",
     "2.56 = 0.64 · 4：只有第一步乘了斜率。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="two-step-derivative",
    chapter=1,
    title=Text("Two steps with a pencil", "用紙筆算兩步"),
    difficulty=1,
    minutes=5,
    reference=lambda: 1.92,
    cases=by_hand,
    tolerance=1e-3,
    alternatives=(lambda: 1.28 * 1.5, lambda: 48 / 25, lambda: torch.tensor(1.92)),
    mistakes=MISTAKES,
)
