"""Small matrices side by side."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from transformer_lib.plots.labels import cell_width, text_width, written
from transformer_lib.plots.strokes import canvas, cells, write
from transformer_lib.plots.style import BLUE, CELL, ORANGE, STRONGEST, WIDTH, drawing

_GAP = 24  # between two matrices; an operator stands in it


@dataclass(frozen=True)
class Panel:
    """One matrix of a row of matrices; its cells are shaded by the size of their numbers.

    Args:
        values: (rows, columns); a vector is one row. NaN leaves a cell blank.
        title: written above.
        rows, columns: labels, one for each row and column, or none.
        decimals: places after the point; by default none for whole numbers, else two.

    Raises:
        ValueError: more than two dimensions, or labels that do not fit them.
    """

    values: ArrayLike
    title: str = ""
    rows: Sequence[str] = ()
    columns: Sequence[str] = ()
    decimals: int | None = None

    def __post_init__(self) -> None:
        if self.array.ndim > 2:
            raise ValueError(f"values must have one or two dimensions, got {self.array.shape}")
        n_rows, n_columns = self.array.shape
        for name, labels, size in ("rows", self.rows, n_rows), ("columns", self.columns, n_columns):
            if len(labels) not in (0, size):
                raise ValueError(f"{name} must be {size} labels or none, got {len(labels)}")

    @cached_property
    def array(self) -> np.ndarray:
        return np.atleast_2d(np.asarray(self.values, dtype=float))

    @cached_property
    def table(self) -> list[list[str]]:
        return written(self.array, self.decimals)

    @cached_property
    def cell(self) -> Real:
        labels = [text_width(label) + 8 for label in self.columns]
        return max([cell_width(self.table), *labels])

    @property
    def label_width(self) -> Real:
        return max((text_width(label) + 6 for label in self.rows), default=0)

    @property
    def width(self) -> Real:
        return self.label_width + self.cell * self.array.shape[1]

    @property
    def half_height(self) -> Real:
        return CELL * self.array.shape[0] / 2

    @property
    def head(self) -> Real:
        return 20 * bool(self.title) + 18 * bool(self.columns)


@drawing
def matrices(items: Iterable[Panel | str]) -> Figure:
    """Small matrices side by side, each number written in its cell.

    A fuller cell is a larger number; blue is positive, orange with a minus sign negative.

    Args:
        items: panels, with the operators that stand between them as strings, for example
            ``[Panel(Q, "Q"), "·", Panel(K.T, "Kᵀ"), "=", Panel(S, "S")]``. What does not fit
            in the width of a phone goes on in the next line.

    Raises:
        ValueError: no panels.
    """
    lines = _wrap(items)
    if not lines[0]:
        raise ValueError("matrices needs at least one Panel, got none")
    widths = [sum(_item_width(i, item) for i, item in enumerate(line)) for line in lines]
    heights = [
        max(panel.head + panel.half_height for _, panel in line)
        + max(panel.half_height for _, panel in line)
        for line in lines
    ]
    figure, axes = canvas(max(WIDTH, *widths) + 2, sum(heights) + 20 * len(lines) - 12)
    top = 4.0
    for line, width, height in zip(lines, widths, heights, strict=True):
        _draw_line(axes, line, (axes.get_xlim()[1] - width) / 2, top)
        top += height + 20
    return figure


def _item_width(place: int, item: tuple[str, Panel]) -> Real:
    """Width of an operator and its panel; the first in a line needs no gap before it."""
    operator, panel = item
    return panel.width + _GAP * bool(place or operator)


def _wrap(items: Iterable[Panel | str]) -> list[list[tuple[str, Panel]]]:
    """Break (operator, panel) pairs into lines that fit a phone."""
    lines, used, operator = [[]], 0.0, ""
    for item in items:
        if isinstance(item, str):
            operator = item
            continue
        width = _item_width(len(lines[-1]), (operator, item))
        if lines[-1] and used + width > WIDTH:
            lines.append([])
            used = 0.0
        lines[-1].append((operator, item))
        used += width
        operator = ""
    return lines


def _draw_line(axes: Axes, line: list[tuple[str, Panel]], left: Real, top: Real) -> None:
    middle = top + max(panel.head + panel.half_height for _, panel in line)
    for place, (operator, panel) in enumerate(line):
        right = left + _item_width(place, (operator, panel))
        write(axes, right - panel.width - _GAP / 2, middle, operator, 16)
        _draw_panel(axes, panel, right - panel.width, middle)
        left = right


def _draw_panel(axes: Axes, panel: Panel, left: Real, middle: Real) -> None:
    x, y = left + panel.label_width, middle - panel.half_height
    cells(axes, x, y, panel.table, panel.cell, _signed_fills(panel.array))
    for i, label in enumerate(panel.rows):
        write(axes, x - 6, y + (i + 0.5) * CELL, label, align="right")
    for j, label in enumerate(panel.columns):
        write(axes, x + (j + 0.5) * panel.cell, y - 10, label)
    centre = x + panel.cell * panel.array.shape[1] / 2
    write(axes, centre, y - panel.head + 9, panel.title, weight="bold")


def _signed_fills(array: np.ndarray) -> np.ndarray:
    """Blue for what is positive, orange for what is negative, fuller for what is larger."""
    size = np.abs(np.where(np.isfinite(array), array, 0))
    fills = np.where((array < 0)[..., None], to_rgba(ORANGE), to_rgba(BLUE))
    fills[..., 3] = STRONGEST * size / (size.max() or 1)
    return fills
