"""Quantities against x."""

from collections.abc import Mapping
from numbers import Real

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from transformer_lib.plots.axes import name_axes, plot_area
from transformer_lib.plots.labels import text_width
from transformer_lib.plots.strokes import write
from transformer_lib.plots.style import COLOURS, DASHES, MARKERS, SMALL, WIDTH, drawing

_PIECE = 20  # of a line, in front of its label


@drawing
def curves(
    x: ArrayLike,
    lines: Mapping[str, ArrayLike],
    *,
    xlabel: str,
    ylabel: str,
    points: Mapping[str, ArrayLike] | None = None,
    reference: Mapping[str, Real] | None = None,
    log: str = "",
) -> Figure:
    """Quantities against x: lines, and measured points that lie on them or do not.

    Args:
        x: (n,), shared by all.
        lines: label → (n,); the label stands at the line's end, or below if it is long.
        xlabel, ylabel: below and above the axes.
        points: label → (n,), markers only; the first has the colour of the first line, and so on.
        reference: label → height of a thin horizontal line.
        log: the logarithmic axes: "x", "y" or "xy".

    Raises:
        ValueError: a curve that is not as long as x, or more than four.
    """
    x, points = np.asarray(x, dtype=float), points or {}
    _check_curves(x, lines, points)
    longest = max((text_width(label, SMALL) for label in lines), default=0)
    direct = longest <= WIDTH / 3
    listed = len(points) + (0 if direct else len(lines))
    figure, axes = plot_area(190, right=8 + (longest + _PIECE) * direct, bottom=44 + 18 * listed)
    for (label, y), colour, dash in zip(lines.items(), COLOURS, DASHES, strict=False):
        axes.plot(x, y, color=colour, linestyle=dash, label="" if direct else label, clip_on=False)
    for (label, y), colour, marker in zip(points.items(), COLOURS, MARKERS, strict=False):
        axes.plot(x, y, marker, color=colour, label=label, clip_on=False)
    name_axes(axes, xlabel, ylabel, log, x)
    _draw_reference(axes, reference or {})
    if direct:
        _label_ends(axes, lines)
    if listed:
        figure.legend(loc="lower left", bbox_to_anchor=(0.06, 0), borderaxespad=0)
    return figure


def _check_curves(
    x: np.ndarray, lines: Mapping[str, ArrayLike], points: Mapping[str, ArrayLike]
) -> None:
    if max(len(lines), len(points)) > len(COLOURS):
        raise ValueError(
            f"a figure can tell {len(COLOURS)} lines and {len(COLOURS)} sets of points apart, "
            f"got {len(lines)} and {len(points)}; draw two figures"
        )
    for label, y in [*lines.items(), *points.items()]:
        if x.ndim != 1 or np.shape(y) != x.shape:
            raise ValueError(f"x and {label!r} must be (n,) alike, got {x.shape} and {np.shape(y)}")


def _draw_reference(axes: Axes, reference: Mapping[str, Real]) -> None:
    for label, height in reference.items():
        axes.axhline(height, color=(0, 0, 0, 0.6), lw=1, dashes=(2, 2), clip_on=False)
        write(axes, 1, height, label, SMALL, "right", offset=(-2, 9), at=("axes fraction", "data"))


def _label_ends(axes: Axes, lines: Mapping[str, ArrayLike]) -> None:
    """Write each line's label at its right end; where two would touch, move one up, and put a
    piece of its line before each."""
    axes.autoscale_view()
    to_axes = axes.transData - axes.transAxes
    ends = {
        label: to_axes.transform((axes.get_xlim()[1], np.asarray(y, dtype=float)[-1]))[1]
        for label, y in lines.items()
    }
    places, lowest = {}, -np.inf
    for label in sorted(ends, key=ends.get):
        places[label] = lowest = max(ends[label], lowest + 15 / axes.bbox.height)
    crowded = places != ends
    for label, colour, dash in zip(lines, COLOURS, DASHES, strict=False):
        if crowded:
            piece = 1 + np.array([4, _PIECE]) / axes.bbox.width
            style = {"color": colour, "transform": axes.transAxes, "clip_on": False}
            axes.plot(piece, [places[label]] * 2, dash, **style)
        offset = (5 + _PIECE * crowded, 0)
        write(axes, 1, places[label], label, SMALL, "left", offset=offset, at="axes fraction")
