"""Exercise positional-encoding of chapter 3: positional encoding."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from transformer_lib.exercises.data import Case, Exercise, Text, mistakes
from transformer_lib.layers import sinusoidal_encoding


def positional_encoding(n, d_model):
    return sinusoidal_encoding(n, d_model)


def _encoding_cases():
    return [
        Case(Text("a few positions", "幾個位置"), (5, 6)),
        Case(Text("as many positions as columns", "位置和行一樣多"), (8, 8)),
        Case(Text("far positions", "很遠的位置"), (600, 4)),
        Case(Text("one position", "只有一個位置"), (1, 10)),
        Case(Text("an odd d_model", "d_model 是奇數"), (4, 7)),
        Case(Text("a single column", "只有一行"), (9, 1)),
    ]


def _frequencies(exponent: Callable = lambda two_i, d, n: two_i / d, base=10000.0, sign=-1):
    """base^(sign · exponent) for each pair, where 2i steps by two; a slip changes a part."""
    return lambda n, d: base ** (sign * exponent(torch.arange(0, d, 2).double(), d, n))


_TRUE_FREQUENCIES = _frequencies()


def _encoding_variant(frequencies=_TRUE_FREQUENCIES, first=torch.sin, second=torch.cos, start=0):
    """An encoding with one part exchanged for a slip; the rest of it is right."""

    def answer(n, d_model):
        positions = torch.arange(start, n + start, dtype=torch.float64)
        angles = positions[:, None] * frequencies(n, d_model)
        return torch.stack([first(angles), second(angles)], dim=-1).flatten(1)[:, :d_model]

    return answer


def _one_by_one(n, d_model):
    def entry(pos, column):
        angle = pos / 10000 ** ((column - column % 2) / d_model)
        return math.cos(angle) if column % 2 else math.sin(angle)

    rows = [[entry(pos, column) for column in range(d_model)] for pos in range(n)]
    return torch.tensor(rows, dtype=torch.float64)


def _cosine_as_a_late_sine(n, d_model):
    column = torch.arange(d_model)
    angles = torch.arange(n).double()[:, None] * 10000 ** (-(column // 2 * 2).double() / d_model)
    return torch.sin(angles + column % 2 * math.pi / 2)


def _filled_in(angles: Tensor, n: int, d_model: int) -> Tensor:
    encoding = torch.zeros(n, d_model, dtype=angles.dtype)
    encoding[:, 0::2] = angles.sin()
    encoding[:, 1::2] = angles[:, : d_model // 2].cos()
    return encoding


def _by_exponential(n, d_model):
    frequencies = torch.exp(torch.arange(0, d_model, 2).double() * (-math.log(10000) / d_model))
    return _filled_in(torch.arange(n).double()[:, None] * frequencies, n, d_model)


def _crashes_when_odd(n, d_model):
    angles = torch.arange(n).double()[:, None] * _TRUE_FREQUENCIES(n, d_model)
    encoding = torch.zeros(n, d_model, dtype=torch.float64)
    encoding[:, 0::2] = angles.sin()
    encoding[:, 1::2] = angles.cos()
    return encoding


def _crashes_in_float32_when_odd(n, d_model):
    frequencies = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000) / d_model))
    angles = torch.arange(n)[:, None] * frequencies
    encoding = torch.zeros(n, d_model)
    encoding[:, 0::2] = angles.sin()
    encoding[:, 1::2] = angles.cos()
    return encoding


def _last_sine_left_out(n, d_model):
    encoding = sinusoidal_encoding(n, d_model)
    encoding[:, d_model // 2 * 2 :] = 0
    return encoding


def _one_column_too_many(n, d_model):
    angles = torch.arange(n).double()[:, None] * _TRUE_FREQUENCIES(n, d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def _halves(n, d_model):
    angles = torch.arange(n).double()[:, None] * _TRUE_FREQUENCIES(n, d_model)
    return torch.cat([angles.sin(), angles.cos()], dim=-1)[:, :d_model]


def _every_column_its_own(exponent):
    """Frequencies that change from column to column, so that no two form a pair."""

    def answer(n, d_model):
        column = torch.arange(d_model).double()
        angles = torch.arange(n).double()[:, None] / 10000 ** exponent(column, d_model)
        return torch.where(column % 2 == 0, angles.sin(), angles.cos())

    return answer


def _in_float32(n, d_model):
    frequencies = 1 / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return _filled_in(torch.arange(n)[:, None] * frequencies, n, d_model)


MISTAKES = mistakes(
    ("exponent-doubled", _encoding_variant(_frequencies(lambda two_i, d, n: 2 * two_i / d)),
     "the first hand is right, the others slow down too fast: the exponent is twice as large as it should be. If your i already steps by two, it is the 2i of the formula.",
     "第一根指針對了，後面的卻慢得太快：指數變成兩倍了。如果你的 i 已經每次加 2，它就是公式裡的 2i。"),
    ("exponent-halved", _encoding_variant(_frequencies(lambda two_i, d, n: two_i / 2 / d)),
     "the first hand is right, the others are too fast: the exponent is half as large as it should be. The formula has 2i, not i.",
     "第一根指針對了，後面的卻太快：指數只有一半。公式裡是 2i，不是 i。"),
    ("every-column-its-own", _every_column_its_own(lambda column, d: column / d),
     "each column has a frequency of its own. A sine and the cosine beside it belong to the same hand: i is the number of the pair, not of the column.",
     "你的每一行都有自己的頻率。相鄰的正弦和餘弦屬於同一根指針：i 是第幾對，不是第幾行。"),
    ("column-number-doubled", _every_column_its_own(lambda column, d: 2 * column / d),
     "the exponent is 2 · column / d_model. i is the number of the pair, so it runs to d_model/2 only, and two columns share each i.",
     "你的指數是 2 · 行號 / d_model。i 是第幾對，只到 d_model/2 為止，每兩行共用同一個 i。"),
    ("n-in-place-of-d_model", _encoding_variant(_frequencies(lambda two_i, d, n: two_i / n)),
     "you divide the exponent by n, the number of positions. A hand's speed must not depend on the length of the text: divide by the number of columns.",
     "你的指數除以 n，也就是位置的個數。指針的快慢不該跟文章長度有關：要除以行數。"),
    ("sine-and-cosine-exchanged", _encoding_variant(first=torch.cos, second=torch.sin),
     "sine and cosine have changed places: the even columns, 0 among them, hold sines. At position 0 the row starts with 0, 1.",
     "正弦和餘弦對調了：偶數行（包括第 0 行）放的是正弦。位置 0 那一列的開頭是 0、1。"),
    ("halves", _halves,
     "all the sines come first, then all the cosines. Here the two of a pair stand side by side: sine, cosine, sine, cosine. (Some libraries do it your way.)",
     "你先放了全部的正弦，再放全部的餘弦。這裡同一對要相鄰：正弦、餘弦、正弦、餘弦。（也有函式庫是照你這樣排的。）"),
    ("sines-only", _encoding_variant(second=torch.sin),
     "every column is a sine. Without the cosine one cannot see whether a sine is rising or falling.",
     "每一行都是正弦。少了餘弦，就看不出正弦是在上升還是下降。"),
    ("cosines-only", _encoding_variant(first=torch.cos),
     "every column is a cosine. The cosine is the same for an angle and its negative; the sine tells them apart.",
     "每一行都是餘弦。角度變號，餘弦不變；要靠正弦才分得出來。"),
    ("in-degrees", _encoding_variant(lambda n, d_model: torch.deg2rad(_frequencies()(n, d_model))),
     "your angles are taken as degrees. pos · ω_i is in radians, which is what sin and cos expect.",
     "你把角度當成度了。pos · ω_i 的單位是弧度，sin 和 cos 要的也是弧度。"),
    ("sign-of-the-exponent", _encoding_variant(_frequencies(sign=1)),
     "the later hands turn faster and faster instead of more slowly: the sign of the exponent, or of ln 10000, is wrong.",
     "後面的指針應該越轉越慢，你的卻越轉越快：指數（或 ln 10000）的正負號錯了。"),
    ("base-1000", _encoding_variant(_frequencies(base=1000.0)),
     "your base is 1000. Count the zeros in the formula.",
     "你的底數是 1000。數數看公式裡有幾個 0。"),
    ("base-100000", _encoding_variant(_frequencies(base=100000.0)),
     "your base is 100000, one zero too many.",
     "你的底數是 100000，多了一個 0。"),
    ("base-forgotten", _encoding_variant(_frequencies(lambda two_i, d, n: 0 * two_i)),
     "all hands turn at the same speed, 1. Each has its own frequency: where does i come in?",
     "所有指針都一樣快，每步轉 1。每根指針應該有自己的頻率：i 用在哪裡？"),
    ("positions-from-one", _encoding_variant(start=1),
     "your positions start at 1. At position 0 all hands point to twelve: 0, 1, 0, 1.",
     "你的位置從 1 開始了。位置 0 的指針全都指向十二點：0、1、0、1。"),
    ("pairs-from-one", _encoding_variant(_frequencies(lambda two_i, d, n: (two_i + 2) / d)),
     "your i starts at 1. The first hand is i = 0, with frequency 1.",
     "你的 i 從 1 開始了。第一根指針是 i = 0，頻率是 1。"),
    ("one-step-fewer", _encoding_variant(_frequencies(lambda two_i, d, n: two_i / max(d - 2, 1))),
     "your last hand reaches 1/10000. In the formula the exponent is divided by d_model itself, so it stops just short of that.",
     "你的最後一根指針轉到 1/10000 了。公式裡的指數是除以 d_model 本身，所以還差一步才到。"),
    ("crashes-when-odd", _crashes_when_odd,
     "right where d_model is even. If it is odd, there is one cosine column fewer than there are sine columns: cut the cosines to fit.",
     "d_model 是偶數時都對。是奇數時，餘弦比正弦少一行：要把多的餘弦去掉。"),
    ("crashes-in-float32-when-odd", _crashes_in_float32_when_odd,
     "two things are left. If d_model is odd, there is one cosine column fewer than there are sine columns. And all is computed in float32, where far positions lose digits.",
     "還剩兩件事。d_model 是奇數時，餘弦比正弦少一行；另外，你全程用 float32 計算，越遠的位置誤差越大。"),
    ("last-sine-left-out", _last_sine_left_out,
     "right where d_model is even. If it is odd, your last column stays 0: only the last cosine is left out, its sine is still there.",
     "d_model 是偶數時都對。是奇數時，你的最後一行全是 0：該省略的只有最後一個餘弦，正弦還是要有。"),
    ("one-column-too-many", _one_column_too_many,
     "right where d_model is even. If it is odd, you return one column too many: the last cosine is to be left out.",
     "d_model 是偶數時都對。是奇數時，你多傳回了一行：請省略最後一個餘弦。"),
    ("positions-as-columns", lambda n, d_model: sinusoidal_encoding(n, d_model).mT,
     "the result lies on its side: each position should be a row.",
     "結果的列和行對調了：每個位置應該是一列。"),
    ("float32", _in_float32,
     "the formula is right, but it is computed in float32, and far positions lose digits. Whole numbers that torch divides or takes exp of become float32; say dtype=torch.float64 or .double() at the start.",
     "公式對了，但你是用 float32 算的，越遠的位置誤差越大。torch 的整數經過相除或取 exp 就會變成 float32；請一開始就指定 dtype=torch.float64 或用 .double()。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="positional-encoding",
    chapter=3,
    title=Text("Positional encoding", "位置編碼"),
    difficulty=2,
    minutes=12,
    reference=positional_encoding,
    cases=_encoding_cases,
    alternatives=(
        _encoding_variant(),
        _one_by_one,
        _cosine_as_a_late_sine,
        _by_exponential,
    ),
    mistakes=MISTAKES,
)
