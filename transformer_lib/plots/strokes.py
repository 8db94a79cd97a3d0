"""What figures are drawn with: a canvas, words, cells, chips, links."""

from collections.abc import Sequence
from numbers import Real

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Patch, Rectangle
from matplotlib.path import Path
from numpy.typing import ArrayLike

from transformer_lib.plots.labels import text_width
from transformer_lib.plots.style import CELL, FAINT, TEXT

ARROW = {"arrowstyle": "-|>", "mutation_scale": 9}


def canvas(width: Real, height: Real) -> tuple[Figure, Axes]:
    """A sheet to draw on in SVG units, y downward."""
    figure = Figure(figsize=(width / 72, height / 72))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    return figure, axes


def add(axes: Axes, patch: Patch) -> None:
    """Draw a shape unclipped: a clip path would need an id, and nothing here sticks out."""
    axes.add_patch(patch).set_clip_on(False)


def write(
    axes: Axes,
    x: Real,
    y: Real,
    text: str,
    size: Real = TEXT,
    align: str = "center",
    *,
    weight: str = "normal",
    offset: tuple[Real, Real] = (0, 0),
    at: str | tuple = "data",
) -> None:
    """Write one label, its digits centred on y whatever font the page has."""
    baseline = offset[1] - 0.36 * size  # half a digit's height lower
    style = {"ha": align, "va": "baseline", "size": size, "weight": weight}
    place = ((x, y), (offset[0], baseline), at, "offset points")
    axes.annotate(text, *place, annotation_clip=False, **style)


def cells(
    axes: Axes,
    left: Real,
    top: Real,
    table: Sequence[Sequence[str]],
    width: Real,
    fills: ArrayLike,
    height: Real = CELL,
) -> None:
    """A grid of written cells; ``fills`` are their RGBA colours."""
    for i, row in enumerate(table):
        for j, text in enumerate(row):
            x, y = left + j * width, top + i * height
            add(axes, Rectangle((x, y), width, height, fc=fills[i][j], ec=FAINT, lw=0.8))
            write(axes, x + width / 2, y + height / 2, text)


def rounded(
    axes: Axes, left: Real, top: Real, width: Real, height: Real, *, radius: Real, **style
) -> None:
    """A box with rounded corners."""
    corners = f"round,pad=0,rounding_size={radius}"
    add(axes, FancyBboxPatch((left, top), width, height, corners, **style))


def chip(axes: Axes, x: Real, y: Real, text: str, colour: str) -> Real:
    """A token in a rounded box centred at (x, y); returns half its width."""
    half = max(text_width(text, 15) + 14, CELL) / 2
    style = {"fc": to_rgba(colour, 0.16), "ec": colour, "lw": 1.6}
    rounded(axes, x - half, y - CELL / 2, 2 * half, CELL, radius=6, **style)
    write(axes, x, y, text, 15)
    return half


def link(
    axes: Axes, start: tuple, end: tuple, *, down: bool = False, bend: Real = 0, **style
) -> None:
    """A smooth curve that leaves and arrives level, or ``down``; then straight until ``bend``."""
    turn = (start[0], max(start[1], bend)) if down else start
    (x0, y0), (x1, y1) = turn, end
    x, y = (x0 + x1) / 2, (y0 + y1) / 2
    handles = [(x0, y), (x1, y)] if down else [(x, y0), (x, y1)]
    path = Path([start, turn, *handles, end], [Path.MOVETO, Path.LINETO, *[Path.CURVE4] * 3])
    add(axes, FancyArrowPatch(path=path, capstyle="butt", **style))
