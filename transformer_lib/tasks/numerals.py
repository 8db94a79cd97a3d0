"""Numbers in English words and in Chinese numerals, such as twenty-one and 二十一.

English counts in groups of three digits (thousand, million), Chinese in groups of four (萬, 億).
"""

from collections.abc import Sequence

import numpy as np

from transformer_lib.checks import check_size
from transformer_lib.tasks.translation import Pair

_SMALL_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
UP_TO_19, TENS = _SMALL_NUMBERS.split(), _TENS.split()
ENGLISH_UNITS = {10**9: "billion", 10**6: "million", 1000: "thousand", 100: "hundred"}
DIGITS = "零一二三四五六七八九"
CHINESE_UNITS = {10**8: "億", 10**4: "萬", 1000: "千", 100: "百", 10: "十"}
TOO_LARGE = 10**12


def english_words(number: int) -> str:
    """The number as Americans say it, without "and": "one hundred five".

    Args:
        number: from 0 up to, but not including, 10¹².

    Raises:
        TypeError, ValueError: not an int, or out of range.
    """
    _check_number(number)
    for unit, name in ENGLISH_UNITS.items():
        if number >= unit:
            count, rest = divmod(number, unit)
            words = f"{english_words(count)} {name}"
            return f"{words} {english_words(rest)}" if rest else words
    if number < 20:
        return UP_TO_19[number]
    tens, ones = divmod(number, 10)
    return TENS[tens - 2] + (f"-{UP_TO_19[ones]}" if ones else "")


def chinese_numeral(number: int) -> str:
    """The number in Chinese: "一百零五".

    Places that are empty between two that are not are one 零, however many. What would begin with
    一十 begins with 十.

    Args:
        number: from 0 up to, but not including, 10¹².

    Raises:
        TypeError, ValueError: not an int, or out of range.
    """
    _check_number(number)
    numeral = _with_every_one(number)
    return numeral[1:] if numeral.startswith("一十") else numeral


def _with_every_one(number: int) -> str:
    """The numeral, with 一 before a 十 at its beginning too."""
    for unit, name in CHINESE_UNITS.items():
        if number >= unit:
            count, rest = divmod(number, unit)
            numeral = chinese_numeral(count) + name
            gap = "零" if rest < unit // 10 else ""  # the place right after this unit is empty
            return numeral + gap + _with_every_one(rest) if rest else numeral
    return DIGITS[number]


def _check_number(number: int) -> None:
    check_size("number", number, least=0)
    if number >= TOO_LARGE:
        raise ValueError(f"number must be below 10¹², got {number}")


def draw_numbers(count: int, n_digits: int = 8, seed: int = 0) -> list[int]:
    """Different random numbers of all lengths, rich in zeros.

    Of evenly drawn numbers below 10⁸ nine in ten have eight digits, and few have a 零 in Chinese.

    Args:
        count: how many to draw. Fewer come back: what is drawn twice counts once.
        n_digits: the most digits of a number.
        seed: of the drawing.

    Raises:
        TypeError, ValueError: sizes that are not positive ints, or too many digits.
    """
    check_size("count", count)
    check_size("n_digits", n_digits)
    if 10**n_digits > TOO_LARGE:
        raise ValueError(f"n_digits must be 12 or less, got {n_digits}")
    rng = np.random.default_rng(seed)
    digits = rng.integers(1, 10, (count, n_digits)) * (rng.random((count, n_digits)) < 2 / 3)
    lengths = rng.integers(1, n_digits + 1, count)
    powers = 10 ** np.arange(n_digits)
    numbers = (digits * powers * (np.arange(n_digits) < lengths[:, None])).sum(1)
    return list(dict.fromkeys(numbers.tolist()))


def number_pairs(numbers: Sequence[int]) -> list[Pair]:
    """Each number in English words and in Chinese numerals.

    Raises:
        TypeError, ValueError: see :func:`english_words`.
    """
    return [(english_words(number), chinese_numeral(number)) for number in numbers]
