"""Attention as a soft dictionary."""

from collections.abc import Sequence
from numbers import Real

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from transformer_lib.plots.labels import cell_width, number, written
from transformer_lib.plots.strokes import add, canvas, cells, chip, link, write
from transformer_lib.plots.style import (
    BLUE,
    CELL,
    GREEN,
    ORANGE,
    PINK,
    SMALL,
    STRONGEST,
    WIDTH,
    drawing,
)


@drawing
def lookup(
    tokens: Sequence[str],
    weights: ArrayLike,
    values: ArrayLike,
    output: ArrayLike,
    *,
    query: str,
    labels: Sequence[str] = ("query", "keys", "weights", "values", "weighted sum"),
) -> Figure:
    """Attention as a soft dictionary: one query asks every key and mixes their values.

    Args:
        tokens: n tokens, one key and one value each.
        weights: (n,), the query's weight on each.
        values: (n, d_v).
        output: (d_v,), written under the values as the sum of a column addition.
        query: the token that asks.
        labels: the words in the figure: query, keys, weights, values, and for the output.

    Raises:
        ValueError: shapes that do not fit each other.
    """
    weights, values, output = (np.asarray(a, dtype=float) for a in (weights, values, output))
    n, d_v = len(tokens), output.size
    if (weights.shape, values.shape, output.shape) != ((n,), (n, d_v), (d_v,)):
        raise ValueError(
            f"{n} tokens need weights ({n},), values ({n}, d_v) and output (d_v,), "
            f"got {weights.shape}, {values.shape} and {output.shape}"
        )
    table = [*written(values), *written(output[None])]
    sums = cell_width(table) * d_v
    figure, axes = canvas(max(WIDTH, 200 + sums), 38 * n + 70)
    left, rows = axes.get_xlim()[1] - 2 - sums, 46 + 38 * np.arange(n)
    _write_heads(axes, labels, [_QUERY, _KEYS, _BARS, left + sums / 2], rows)
    _ask(axes, query, tokens, weights, rows)
    _weigh(axes, weights, rows, left)
    _mix(axes, weights, table, rows, left)
    return figure


_QUERY, _KEYS, _BARS = 22, 88, 110  # where they stand from the left
_SUM = 46  # from the last value down to the sum


def _write_heads(
    axes: Axes, labels: Sequence[str], places: Sequence[Real], rows: np.ndarray
) -> None:
    """Name what stands below each head, and the sum."""
    query, keys, weights, values, total = labels
    write(axes, places[0], rows.mean() - 26, query, SMALL)
    write(axes, places[1], 12, keys, SMALL)
    write(axes, places[2], 12, weights, SMALL, "left")
    write(axes, places[3], 12, values, SMALL)
    write(axes, _BARS - 8, rows[-1] + _SUM, total, align="right", weight="bold")


def _ask(
    axes: Axes, query: str, tokens: Sequence[str], weights: np.ndarray, rows: np.ndarray
) -> None:
    """The query, its keys, and between them curves as strong as the weights."""
    start = (_QUERY + chip(axes, _QUERY, rows.mean(), query, BLUE), rows.mean())
    for token, weight, y in zip(tokens, weights, rows, strict=True):
        end = (_KEYS - chip(axes, _KEYS, y, token, GREEN), y)
        style = {"color": to_rgba(BLUE, 0.35 + 0.6 * weight), "lw": 1 + 7 * weight}
        link(axes, start, end, arrowstyle="-", **style)


def _weigh(axes: Axes, weights: np.ndarray, rows: np.ndarray, left: Real) -> None:
    """A bar and a number for each weight, and their sum under the rule."""
    numbers = left - 18  # right edge of the numbers; a × stands between them and the values
    full = numbers - 30 - _BARS
    for weight, y in zip(weights, rows, strict=True):
        add(axes, Rectangle((_BARS, y - 5), full, 10, fc=(0, 0, 0, 0.08)))
        add(axes, Rectangle((_BARS, y - 5), full * weight, 10, fc=BLUE))
        write(axes, numbers, y, number(weight, 2), align="right")
        write(axes, left - 9, y, "×", SMALL)
    write(axes, numbers, rows[-1] + _SUM, number(weights.sum(), 2), align="right")


def _mix(
    axes: Axes, weights: np.ndarray, table: list[list[str]], rows: np.ndarray, left: Real
) -> None:
    """The values, as visible as their weights, added up column by column."""
    cell, total = cell_width(table), rows[-1] + _SUM
    fills = [to_rgba(ORANGE, STRONGEST * weight) for weight in weights] + [to_rgba(PINK, 0.4)]
    for texts, fill, y in zip(table, fills, [*rows, total], strict=True):
        cells(axes, left, y - CELL / 2, [texts], cell, [[fill] * len(texts)])
    right = left + cell * len(table[0])
    axes.plot([_BARS, right], [total - 23] * 2, color="black", lw=1.2, clip_on=False)
