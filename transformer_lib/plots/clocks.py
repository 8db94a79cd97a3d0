"""Angles as clock faces."""

from collections.abc import Sequence
from numbers import Real

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from numpy.typing import ArrayLike

from transformer_lib.plots.labels import number, text_width
from transformer_lib.plots.strokes import add, canvas, write
from transformer_lib.plots.style import COLOURS, FAINT, SMALL, WIDTH, drawing

_FACE = 23  # radius of a clock


@drawing
def clocks(angles: ArrayLike, *, rows: Sequence[str], columns: Sequence[str]) -> Figure:
    """Clock faces with one hand each, turned clockwise from twelve; sine and cosine below.

    Args:
        angles: (rows, columns), in radians.
        rows, columns: labels, one for each row and column.

    Raises:
        ValueError: labels that do not fit the angles.
    """
    angles = np.asarray(angles, dtype=float)
    if angles.shape != (len(rows), len(columns)):
        raise ValueError(f"angles must be {(len(rows), len(columns))}, got {angles.shape}")
    left = max(text_width(label, SMALL) for label in rows) + 4
    storey, width = 2 * _FACE + 46, (WIDTH - left) / len(columns)
    figure, axes = canvas(WIDTH, 14 + storey * len(rows))
    for j, label in enumerate(columns):
        write(axes, left + width * (j + 0.5), 10, label, SMALL)
    for i, label in enumerate(rows):
        y = 24 + _FACE + storey * i
        write(axes, 0, y, label, SMALL, "left")
        write(axes, left - 4, y + _FACE + 11, "sin", SMALL, "right")
        write(axes, left - 4, y + _FACE + 25, "cos", SMALL, "right")
        for j, angle in enumerate(angles[i]):
            _draw_clock(axes, left + width * (j + 0.5), y, angle, COLOURS[i % len(COLOURS)])
    return figure


def _draw_clock(axes: Axes, x: Real, y: Real, angle: Real, colour: str) -> None:
    """A face with twelve ticks, its hand, and where the tip of the hand is."""
    add(axes, Circle((x, y), _FACE, fc=to_rgba(colour, 0.08), ec=FAINT, lw=1))
    hours, ends = np.arange(12) * np.pi / 6, (_FACE - 4, _FACE - 1)
    ticks = x + np.outer(ends, np.sin(hours)), y - np.outer(ends, np.cos(hours))
    axes.plot(*ticks, color=FAINT, lw=1)
    right, up = np.sin(angle), np.cos(angle)
    tip = x + (_FACE - 5) * right, y - (_FACE - 5) * up
    axes.plot([x, tip[0]], [y, tip[1]], color=colour, lw=2.6, solid_capstyle="round")
    axes.plot(x, y, "o", color=colour, markersize=4.5)
    write(axes, x, y + _FACE + 11, number(right, 2), SMALL)
    write(axes, x, y + _FACE + 25, number(up, 2), SMALL)
