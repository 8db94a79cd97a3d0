"""Sheets of paper, folded and cut."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from transformer_lib.plots.strokes import canvas, write
from transformer_lib.plots.style import COLOURS, FAINT, SMALL, WIDTH, drawing


@dataclass(frozen=True)
class Sheet:
    """A sheet of paper in the plane, whole or folded, and where it is cut.

    Args:
        title: written above.
        areas: (label, corners (n, 2)) from the lowest layer to the top; one without a label ("")
            is an outline only, for layers that lie under another.
        cut: (n, 2), a line through these points; if it is closed, the inside is shaded.
    """

    title: str
    areas: Sequence[tuple[str, ArrayLike]]
    cut: ArrayLike = ()


@drawing
def sheets(items: Sequence[Sheet]) -> Figure:
    """Sheets of paper side by side, all at one scale, with the axes through 0.

    Args:
        items: up to three, so that a phone can show them.

    Raises:
        ValueError: no sheets, more than three, or corners that are not (n, 2).
    """
    if not 1 <= len(items) <= 3:
        raise ValueError(f"sheets shows one to three of them, got {len(items)}")
    corners = [_corners(area) for sheet in items for _, area in sheet.areas]
    reach = 1.06 * max(np.abs(area).max() for area in corners)
    side, gap = 102, 12
    figure, axes = canvas(WIDTH, side + 28)
    left = (WIDTH - len(items) * (side + gap) + gap) / 2
    for i, sheet in enumerate(items):
        middle = np.array([left + i * (side + gap) + side / 2, side / 2 + 24])
        _draw_sheet(axes, sheet, middle, side / 2 / reach, side / 2)
    return figure


def _corners(points: ArrayLike) -> np.ndarray:
    points = np.asarray(points, dtype=float)
    if points.ndim != 2 or points.shape[1] != 2 or not len(points):
        raise ValueError(f"corners must be (n, 2), got {points.shape}")
    return points


def _draw_sheet(axes: Axes, sheet: Sheet, middle: np.ndarray, unit: Real, half: Real) -> None:
    """One sheet around ``middle``, y upward."""
    scale = np.array([unit, -unit])
    for way in np.eye(2):
        axes.plot(*np.transpose([middle - half * way, middle + half * way]), color=FAINT, lw=0.8)
    for i, (label, area) in enumerate(sheet.areas):
        corners, colour = middle + scale * _corners(area), COLOURS[i % len(COLOURS)]
        fill = to_rgba(colour, 0.3 if label else 0)
        axes.fill(*corners.T, fc=fill, ec=colour, lw=1.4, clip_on=False)
        write(axes, *corners.mean(axis=0), label)
    if len(sheet.cut):
        cut = middle + scale * _corners(sheet.cut)
        if np.allclose(cut[0], cut[-1]):
            axes.fill(*cut.T, fc=(0, 0, 0, 0.25), lw=0, clip_on=False)
        axes.plot(*cut.T, color="black", lw=2.4, clip_on=False, solid_joinstyle="round")
    write(axes, middle[0], 10, sheet.title, SMALL, weight="bold")
