"""Exercise direct-path of chapter 7: what is left of the direct path."""

import math

from transformer_lib.exercises.data import Exercise, Text, mistakes
from transformer_lib.exercises.inputs import by_hand

MISTAKES = mistakes(
    ("pre-norm", 1.0,
     "1 would be right for pre-norm. In post-norm each norm divides the direct path, too.",
     "pre-norm 的話 1 就對了。post-norm 的每個 norm 也會除到直達的路。"),
    ("variance-for-its-root", 2.0 ** (-8),
     "1/256 = 2⁻⁸: you divide by the variance 2 each time, where the norm divides by its root (or you count sixteen norms, not eight).",
     "1/256 = 2⁻⁸：你每次都除以變異數 2，但 norm 除的是它的平方根（或是你算了十六個 norm，不是八個）。"),
    ("once-only", math.sqrt(0.5),
     "that is the factor of one sublayer. There are eight.",
     "這是一個子層的倍率。總共有八個。"),
    ("sum-of-variances", 1 / 3,
     "1/3 = 1/√9: you let the variances add up, as in pre-norm. Post-norm brings the variance back to 1 after each sublayer.",
     "1/3 = 1/√9：你像 pre-norm 那樣讓變異數一路加上去。post-norm 每過一個子層，變異數就回到 1。"),
    ("added-up", 8 * math.sqrt(0.5),
     "you add eight factors. The chain rule multiplies them.",
     "你把八個倍率加起來了。連鎖律是用乘的。"),
    ("root-of-sixteen", 0.25,
     "1/4 is what is left after four sublayers. There are eight.",
     "1/4 是四個子層之後剩下的。總共有八個。"),
    ("times-eight", math.sqrt(0.5) / 8,
     "you divide 1/√2 by eight. Eight factors are multiplied: a power.",
     "你把 1/√2 除以八。應該是八個倍率相乘，也就是八次方。"),
    ("one-eighth", 0.125,
     "1/8 is 2 to the power −3. Which power of √2 do eight norms make?",
     "1/8 是 2 的 −3 次方。八個 norm 是 √2 的幾次方？"),
    ("root-of-eight", 1 / math.sqrt(8),
     "you divide by √8 once. Each of the eight norms divides by the root of its own variance, 2.",
     "你只除了一次 √8。八個 norm 各自除以自己那個變異數 2 的平方根。"),
    ("one-ninth", 1 / 9,
     "1/9: you let the variances add up to 9, as in pre-norm, and took no root. Post-norm brings the variance back to 1 after each sublayer.",
     "1/9：你像 pre-norm 那樣讓變異數一路加到 9，也沒有開根號。post-norm 每過一個子層，變異數就回到 1。"),
    ("half", 0.5,
     "1/2 is what two norms make of it (or one that divides by the variance). There are eight, and each divides by the root.",
     "1/2 是兩個 norm 之後剩下的（或是一個 norm 除以變異數）。總共有八個，每個除的是平方根。"),
    ("inverse-without-root", 256.0,
     "256 = 2⁸ is a double slip: the norm divides, and what it divides by is the root of 2.",
     "256 = 2⁸ 有兩個地方不對：norm 是除的，而且除的是 2 的平方根。"),
    ("inverse", 16.0,
     "16 is the inverse: the norm divides, so the gradient gets smaller.",
     "16 是倒數：norm 是除的，所以梯度會變小。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="direct-path",
    chapter=7,
    title=Text("What is left of the direct path", "直達的路還剩多少"),
    difficulty=2,
    minutes=5,
    reference=lambda: 1 / 16,
    cases=by_hand,
    tolerance=1e-3,
    alternatives=(lambda: 0.0625, lambda: 2**-4, lambda: math.sqrt(0.5) ** 8),
    mistakes=MISTAKES,
)
