"""Exercise pencil-wavelength of chapter 3: A wavelength with a pencil."""

import math

import torch

from transformer_lib.exercises.data import Exercise, Text, mistakes
from transformer_lib.exercises.inputs import by_hand

MISTAKES = mistakes(
    ("without-the-turn", 100.0,
     "after 100 positions the hand has turned by 1 radian. How many radians are a full turn?",
     "100 個位置之後，指針轉了 1 弧度。轉一整圈是幾弧度？"),
    ("exponent-halved", 20 * math.pi,
     "62.8 belongs to the hand before, i = 1. Either you counted from 1, or the exponent is i / d_model; it is 2i / d_model.",
     "62.8 是前一根指針 i = 1 的波長。可能你從 1 開始數，也可能指數用了 i / d_model；應該是 2i / d_model。"),
    ("next-hand", 2000 * math.pi,
     "6283 belongs to the hand after, i = 3. The hands are counted from 0.",
     "6283 是後一根指針 i = 3 的波長。指針從 0 開始數。"),
    ("exponent-doubled", 20000 * math.pi,
     "62832 comes from the exponent 1. It is 2i / d_model with i = 2 and d_model = 8.",
     "62832 是指數用 1 算出來的。指數是 2i / d_model，其中 i = 2、d_model = 8。"),
    ("half-a-turn", 100 * math.pi,
     "after 314 positions the hand points down: that is half a turn.",
     "314 個位置之後，指針指向正下方：只轉了半圈。"),
    ("degrees", 36000.0,
     "36000 takes ω for degrees. It is in radians: a full turn is 2π.",
     "36000 是把 ω 當成度了。ω 的單位是弧度：一整圈是 2π。"),
    ("upside-down", 1 / (200 * math.pi),
     "this is the number of turns in one position. Asked for is the number of positions in one turn.",
     "這是走一個位置轉了幾圈。題目問的是轉一圈要幾個位置。"),
    ("first-hand", 2 * math.pi,
     "6.28 is the wavelength of the first hand, i = 0. Hand 2 turns more slowly.",
     "6.28 是第一根指針 i = 0 的波長。第 2 根轉得比較慢。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="pencil-wavelength",
    chapter=3,
    title=Text("A wavelength with a pencil", "用紙筆算波長"),
    difficulty=1,
    minutes=4,
    reference=lambda: 200 * math.pi,
    cases=by_hand,
    tolerance=1e-3,
    alternatives=(
        lambda: 628.3,
        lambda: torch.tensor(628.3185),
        lambda: 2 * math.pi * 10000 ** (4 / 8),
    ),
    mistakes=MISTAKES,
)
