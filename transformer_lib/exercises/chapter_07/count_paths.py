"""Exercise count-paths of chapter 7: how many paths?."""

import math

import torch

from transformer_lib.exercises.data import Exercise, Text, mistakes
from transformer_lib.exercises.inputs import by_hand

MISTAKES = mistakes(
    ("all-paths", 64.0,
     "64 = 2⁶ is the number of all paths. Only those through exactly two sublayers count here.",
     "64 = 2⁶ 是全部的路徑數。這裡只算剛好經過兩個子層的。"),
    ("order-counts", 30.0,
     "30 = 6 · 5 counts each pair twice. A path meets its sublayers in one order only.",
     "30 = 6 · 5 把每一對算了兩次。一條路經過子層的順序只有一種。"),
    ("with-repetition", 36.0,
     "36 = 6 · 6 lets a path go through the same sublayer twice, and counts each pair twice.",
     "36 = 6 · 6 讓一條路經過同一個子層兩次，而且每一對都算了兩次。"),
    ("pairs-with-repetition", 21.0,
     "21 also holds pairs of a sublayer with itself. A path meets each sublayer at most once.",
     "21 把子層和自己配成一對的也算進去了。一條路每個子層最多經過一次。"),
    ("at-most-two", 22.0,
     "22 = 1 + 6 + 15 counts the paths through at most two sublayers.",
     "22 = 1 + 6 + 15 是最多經過兩個子層的路徑數。"),
    ("two-each", 12.0,
     "12 = 6 · 2. Choose two out of six: for the first there are six ways, for the second five; and then?",
     "12 = 6 · 2。這是從六個裡選兩個：第一個有六種選法，第二個有五種，然後呢？"),
    ("neighbours", 5.0,
     "5 counts neighbouring pairs only. The two need not follow each other directly.",
     "5 只算了相鄰的兩個。這兩個子層不必緊接著。"),
    ("two-to-choose", 4.0,
     "4 = 2² is the number of paths in a stack of two. Here there are six sublayers.",
     "4 = 2² 是只有兩個子層時的路徑數。這裡有六個子層。"),
    ("one-of-six", 6.0,
     "6 is the number of paths through exactly one sublayer (or of the sublayers). Here it is two.",
     "6 是剛好經過一個子層的路徑數（或子層的個數）。這裡要經過兩個。"),
    ("at-least-two", 57.0,
     "57 = 64 − 7 counts the paths through two sublayers or more. Exactly two are meant.",
     "57 = 64 − 7 是經過兩個以上的路徑數。這裡要剛好兩個。"),
    ("two-of-five", 10.0,
     "10 is two out of five. Here there are six sublayers.",
     "10 是五個裡選兩個。這裡有六個子層。"),
    ("share", 15 / 64,
     "15/64 is their share of all paths. Asked for is their number.",
     "15/64 是它們占全部路徑的比例。題目問的是有幾條。"),
    ("three-of-six", 20.0,
     "20 is the number of paths through three of the six.",
     "20 是經過六個裡的三個子層的路徑數。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="count-paths",
    chapter=7,
    title=Text("How many paths?", "有幾條路？"),
    difficulty=1,
    minutes=4,
    reference=lambda: 15.0,
    cases=by_hand,
    tolerance=1e-3,
    alternatives=(lambda: 15, lambda: math.comb(6, 2), lambda: torch.tensor(15.0)),
    mistakes=MISTAKES,
)
