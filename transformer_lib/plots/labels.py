"""Numbers and words as the figures write them, and the room they take."""

import unicodedata
from collections.abc import Sequence
from numbers import Real

import numpy as np

from transformer_lib.plots.style import NARROWEST, TEXT


def text_width(text: str, size: Real = TEXT) -> Real:
    """About the width of a label: Chinese characters are square, others narrower."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return size * (wide + 0.56 * (len(text) - wide))


def number(value: Real, decimals: int | None = None) -> str:
    """A number as a book prints it: true minus, ∞, powers of ten where they are shorter."""
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    if decimals is not None:
        text = f"{round(value, decimals) + 0:.{decimals}f}"  # + 0 turns −0 into 0
    elif value and not 1e-3 <= abs(value) < 1e4:
        text = power(value)
    else:
        text = f"{value:g}"
    return text.replace("-", "−")


def power(value: Real) -> str:
    """2500 as 2.5·10³; but 1 and 10 as they are."""
    if value in (1, 10):
        return f"{value:g}"
    digits, _, exponent = f"{value:.1e}".partition("e")
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return (digits.removesuffix(".0") + "·10" + raised).removeprefix("1·")


def written(array: np.ndarray, decimals: int | None = None) -> list[list[str]]:
    """A table of numbers, by default with decimals only if one of them needs some."""
    finite = array[np.isfinite(array)]
    if decimals is None:
        decimals = 0 if np.array_equal(finite, np.rint(finite)) else 2
    return [["" if np.isnan(x) else number(x, decimals) for x in row] for row in array]


def cell_width(table: Sequence[Sequence[str]]) -> Real:
    """What the longest entry of a table needs."""
    return max([NARROWEST, *(text_width(text) + 7 for row in table for text in row)])
