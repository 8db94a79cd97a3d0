"""Exercise score-for-half of chapter 1: how loud must it be?."""

import math

from transformer_lib.exercises.data import Exercise, Text, mistakes
from transformer_lib.exercises.inputs import by_hand

MISTAKES = mistakes(
    ("itself-counted", math.log(9),
     "ln 9 counts the ninth key among the others. How many have the score 0?",
     "ln 9 把第九個鍵自己也算進去了。分數是 0 的有幾個？"),
    ("no-logarithm", 8.0,
     "8 is what exp(score) must be, not the score.",
     "8 是分數取 exp 之後的值，不是分數本身。"),
    ("common-logarithm", math.log10(8),
     "0.903 is the logarithm to base 10. Here the base is e.",
     "0.903 是以 10 為底的對數。這裡的底是 e。"),
    ("binary-logarithm", 3.0,
     "3 is the logarithm of 8 to base 2. Here the base is e.",
     "3 是 8 以 2 為底的對數。這裡的底是 e。"),
    ("zero-weights", 0.5, "0.5 is the weight, not the score.", "0.5 是權重，不是分數。"),
    ("equal-scores", 0.0,
     "with score 0 all nine keys share alike, and each gets 1/9.",
     "分數是 0 的話，九個鍵平分，各得 1/9。"),
    ("sign", -math.log(8),
     "the sign is wrong: a key with a negative score gets less than the others.",
     "正負號反了：分數是負的鍵，權重會比其他的鍵小。"),
    ("one-other", math.log(2),
     "ln 2 makes exp(score) twice that of one other key. There are eight of them.",
     "ln 2 只讓取 exp 之後的值是另一個鍵的兩倍。其他的鍵有八個。"),
    ("half-of-the-others", math.log(4),
     "ln 4: the weight ½ is not half of what the others have together. It is half of the sum of all.",
     "ln 4：權重 ½ 不是其他鍵總和的一半，而是全部總和的一半。"),
    ("twice-the-others", math.log(16),
     "ln 16 gives the weight 2/3: twice what the others have together.",
     "ln 16 的權重是 2/3：是其他鍵總和的兩倍。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="score-for-half",
    chapter=1,
    title=Text("How loud must it be?", "要多大聲才聽得見？"),
    difficulty=2,
    minutes=5,
    reference=lambda: math.log(8),
    cases=by_hand,
    tolerance=5e-3,
    alternatives=(lambda: 2.08, lambda: 2.079, lambda: 3 * math.log(2)),
    mistakes=MISTAKES,
)
