"""Weighted averages, which cannot leave the hull of their points."""

from collections.abc import Mapping
from itertools import product

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from transformer_lib.plots.axes import name_axes, plot_area
from transformer_lib.plots.strokes import write
from transformer_lib.plots.style import FAINT, ORANGE, PINK, drawing


@drawing
def hull(
    corners: Mapping[str, ArrayLike], inside: Mapping[str, ArrayLike], *, xlabel: str, ylabel: str
) -> Figure:
    """Points of the plane and weighted averages of them, which cannot leave their hull.

    Args:
        corners: label → (2,), the points that are averaged, in convex position.
        inside: label → (2,), the averages, each tied to every corner by a thin line.
        xlabel, ylabel: names of the two coordinates.

    Raises:
        ValueError: a point that does not have two coordinates.
    """
    outer, inner = _plane_points(corners), _plane_points(inside)
    figure, axes = plot_area(250, right=16, bottom=44)
    around = np.argsort(np.arctan2(*(outer - outer.mean(axis=0)).T[::-1]))
    axes.fill(*outer[around].T, fc=to_rgba(ORANGE, 0.1), ec=FAINT, lw=1.2, clip_on=False)
    for ends in product(inner, outer):
        axes.plot(*np.transpose(ends), color=PINK, alpha=0.5, lw=0.8, clip_on=False)
    axes.plot(*outer.T, "o", color=ORANGE, markersize=10, clip_on=False)
    axes.plot(*inner.T, "D", color=PINK, markersize=7, clip_on=False)
    for label, point in zip(corners, outer, strict=True):
        _write_in_gap(axes, point, label, np.vstack([outer, inner]))
    for label, point in zip(inside, inner, strict=True):
        _write_in_gap(axes, point, label, outer)
    name_axes(axes, xlabel, ylabel)
    _frame(axes, outer)
    return figure


def _frame(axes: Axes, points: np.ndarray) -> None:
    """One scale for both axes, and room for labels around the points."""
    size = axes.bbox.size
    scale = (np.ptp(points, axis=0) / (size * (0.62, 0.8))).max() or 1 / size.max()
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    (left, bottom), (right, top) = middle - scale * size / 2, middle + scale * size / 2
    axes.set(xlim=(left, right), ylim=(bottom, top))
    axes.locator_params(nbins=6)


def _plane_points(points: Mapping[str, ArrayLike]) -> np.ndarray:
    for label, point in points.items():
        if np.shape(point) != (2,):
            raise ValueError(f"{label!r} must have two coordinates (2,), got {np.shape(point)}")
    return np.array([np.asarray(point, dtype=float) for point in points.values()]).reshape(-1, 2)


def _write_in_gap(axes: Axes, point: np.ndarray, label: str, ends: np.ndarray) -> None:
    """Label a point in the widest angle between the lines that leave it for ``ends``."""
    lines = (ends - point)[(ends != point).any(axis=1)]
    angles = np.sort(np.arctan2(lines[:, 1], lines[:, 0]))
    gaps = np.diff(angles, append=angles[0] + 2 * np.pi)
    middle = angles[gaps.argmax()] + gaps.max() / 2
    dx, dy = 13 * np.cos(middle), 15 * np.sin(middle)
    align = "center" if abs(dx) < 5 else "left" if dx > 0 else "right"
    write(axes, *point, label, align=align, offset=(dx, dy))
