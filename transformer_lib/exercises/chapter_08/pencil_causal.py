"""Exercise pencil-causal of chapter 8: A causal row with a pencil."""

import math

import torch

from transformer_lib.exercises.data import Exercise, Text, mistakes
from transformer_lib.exercises.inputs import by_hand

MISTAKES = mistakes(
    ("future-included", 2 / 17,
     "2/17: the fourth key is in the sum as well. May the third token see it?",
     "2/17：你把第四個鍵也加進總和了。第三個標記看得到它嗎？"),
    ("diagonal-blocked", 2 / 3,
     "2/3: the third key is missing from the sum. Every token may see itself.",
     "2/3：總和裡少了第三個鍵。每個標記都可以看自己。"),
    ("only-the-first-pair", 2 / 7,
     "2/7 leaves the second key out: its score is 0, but exp(0) is not.",
     "2/7 漏了第二個鍵：它的分數是 0，但 exp(0) 不是 0。"),
    ("scores-as-weights", math.log(2) / (math.log(2) + math.log(5)),
     "you have divided the scores themselves. First comes exp.",
     "你直接拿分數相除了。要先取 exp。"),
    ("not-normalised", 2,
     "2 is exp of the score. Divide by the sum over all keys that may be seen.",
     "2 是分數取 exp 的結果。還要除以所有看得到的鍵的總和。"),
    ("own-weight", 0.625,
     "5/8 is the weight of the third token on itself. The first key was asked for.",
     "5/8 是第三個標記對自己的權重。題目問的是第一個鍵。"),
    ("second-key", 0.125,
     "1/8 is the weight on the second key. The first was asked for.",
     "1/8 是對第二個鍵的權重。題目問的是第一個。"),
    ("uniform", 1 / 3,
     "1/3 would be right for three equal scores; these differ. Or is it ln 2 / ln 8? First comes exp.",
     "三個分數都一樣時才是 1/3，這裡的分數不同。還是你算的是 ln 2 / ln 8？要先取 exp。"),
    ("first-token-sees-itself", 1,
     "1 is what the first token gives itself. The row asked for belongs to the third query.",
     "1 是第一個標記看自己的權重。題目問的是第三個查詢那一列。"),
    ("sum-alone", 8,
     "8 is the sum 2 + 1 + 5. Which part of it belongs to the first key?",
     "8 是總和 2 + 1 + 5。其中屬於第一個鍵的占多少？"),
    ("score-itself", math.log(2),
     "ln 2 is the score. The weight comes from exp of it, divided by a sum.",
     "ln 2 是分數。權重要先取 exp，再除以總和。"),
    ("scores-as-weights-with-the-future", math.log(2) / math.log(90),
     "you have divided the scores themselves, and the fourth key, which lies in the future, is in the sum. First hide it, then take exp.",
     "你直接拿分數相除，而且把未來的第四個鍵也加進去了。先遮住它，再取 exp。"),
    ("exp-twice", math.exp(2) / (math.exp(2) + math.exp(1) + math.exp(5)),
     "exp has been taken twice: exp(ln 2) is 2 already.",
     "你取了兩次 exp：exp(ln 2) 就已經是 2 了。"),
    ("percent", 25,
     "25 % is right, but as a number it is written 0.25.",
     "25% 沒錯，但寫成數字是 0.25。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="pencil-causal",
    chapter=8,
    title=Text("A causal row with a pencil", "用紙筆算因果遮罩的一列"),
    difficulty=1,
    minutes=4,
    reference=lambda: 0.25,
    cases=by_hand,
    tolerance=1e-3,
    alternatives=(lambda: 1 / 4, lambda: 2 / 8, lambda: torch.tensor(0.25)),
    mistakes=MISTAKES,
)
