"""Attention in tiles, one moment at a time."""

from collections.abc import Mapping, Sequence
from itertools import product
from numbers import Real

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from transformer_lib import memory
from transformer_lib.plots.labels import written
from transformer_lib.plots.strokes import add, canvas, cells, write
from transformer_lib.plots.style import BLUE, FAINT, SMALL, WIDTH, drawing

_SQUARE = 16  # side of a cell


@drawing
def tiles(
    values: ArrayLike,
    order: Sequence[tuple[int, int]],
    now: int,
    *,
    block: int,
    tokens: Sequence[str],
    state: Mapping[str, Sequence[str]],
) -> Figure:
    """One moment of attention in tiles: the numbers exist in the tile of this moment only.

    Tiles done are grey, tiles that are never visited crossed out.

    Args:
        values: (n, n), what the tiles hold; NaN leaves a cell blank.
        order: (row, column) of each tile, in the order in which they are visited.
        now: which of them is shown.
        block: rows and columns of a tile.
        tokens: n labels, of the rows and of the columns.
        state: heading → what each row of the tile keeps, written at the right.

    Raises:
        ValueError: no such tile.
    """
    if not 0 <= now < len(order):
        raise ValueError(f"now must be one of 0 … {len(order) - 1}, got {now}")
    values, n = np.asarray(values, dtype=float), len(tokens)
    left, top = 20, 20
    figure, axes = canvas(WIDTH / 2, top + _SQUARE * n + 4)
    cut = list(memory.blocks(n, block))
    for place in product(range(len(cut)), repeat=2):
        done, skipped = place in order[:now], place not in order
        _draw_tile(axes, *(cut[i] for i in place), left, top, done=done, skipped=skipped)
    rows, cols = (cut[i] for i in order[now])
    _draw_labels(axes, tokens, rows, cols, left, top)
    _draw_tile_in_use(axes, written(values[rows, cols]), rows, cols, left, top)
    _draw_state(axes, state, left + _SQUARE * n, top + _SQUARE * rows.start)
    return figure


def _draw_tile_in_use(
    axes: Axes, table: Sequence[Sequence[str]], rows: slice, cols: slice, left: Real, top: Real
) -> None:
    """The numbers of a tile, in a frame that stands out."""
    x, y = left + _SQUARE * cols.start, top + _SQUARE * rows.start
    width, height = _SQUARE * len(table[0]), _SQUARE * len(table)
    fills = [[to_rgba(BLUE, 0.3)] * len(table[0])] * len(table)
    cells(axes, x, y, table, _SQUARE, fills, _SQUARE)
    add(axes, Rectangle((x, y), width, height, fill=False, ec=BLUE, lw=2.2))


def _draw_state(axes: Axes, state: Mapping[str, Sequence[str]], left: Real, top: Real) -> None:
    """What each row of the tile keeps, beside it."""
    for place, (heading, entries) in enumerate(state.items()):
        x = left + (place + 0.5) * (WIDTH / 2 - left) / len(state)
        write(axes, x, 10, heading, SMALL)
        for i, entry in enumerate(entries):
            write(axes, x, top + (i + 0.5) * _SQUARE, entry, SMALL)


def _draw_tile(
    axes: Axes, rows: slice, cols: slice, left: Real, top: Real, *, done: bool, skipped: bool
) -> None:
    """A frame: grey if its numbers are used up, with a cross if it is never visited."""
    x, y = left + _SQUARE * cols.start, top + _SQUARE * rows.start
    width, height = (_SQUARE * (part.stop - part.start) for part in (cols, rows))
    add(axes, Rectangle((x, y), width, height, fc=(0, 0, 0, 0.16 * done), ec=FAINT, lw=0.8))
    if skipped:
        across, down = np.array([0.25, 0.75]) * width, np.array([0.25, 0.75]) * height
        for ends in (down, down[::-1]):
            axes.plot(x + across, y + ends, color=FAINT, lw=1.2, clip_on=False)


def _draw_labels(
    axes: Axes, tokens: Sequence[str], rows: slice, cols: slice, left: Real, top: Real
) -> None:
    """The tokens at both sides; those whose queries and keys are in use are bold."""
    weight = {True: "bold", False: "normal"}
    for i, token in enumerate(tokens):
        middle = (i + 0.5) * _SQUARE
        asks, is_asked = (part.start <= i < part.stop for part in (rows, cols))
        write(axes, left - 9, top + middle, token, weight=weight[asks])
        write(axes, left + middle, top - 9, token, weight=weight[is_asked])
