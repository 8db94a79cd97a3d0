"""What a model is made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path

from transformer_lib.plots.strokes import ARROW, add, canvas, link, rounded, write
from transformer_lib.plots.style import BLUE, FAINT, GREEN, SMALL, WIDTH, drawing


@dataclass(frozen=True)
class Block:
    """A part of a model in a diagram of its parts.

    Args:
        name: written inside.
        detail: a second, smaller line.
        colour: one of this module's colours.
        residual: whether a short cut leads around it, into the block below.
        group: blocks in a row with the same group stand in a frame with that name.
    """

    name: str
    detail: str = ""
    colour: str = BLUE
    residual: bool = False
    group: str = ""


_HIGH, _BETWEEN, _HEAD = 34, 18, 20  # a block, the gap below it, room for a group's name
_HALF, _LANE = 59, 12  # half a block's width; from its edge to the short cut, and on to the frame


@drawing
def blocks(
    columns: Sequence[Sequence[Block | None]], links: Sequence[tuple[str, str]] = ()
) -> Figure:
    """What a model is made of: data flows down each column, from block to block.

    Args:
        columns: one or two; None above or below a column's blocks leaves a place empty.
        links: (name, name), arrows from a block of the first column to one of the second.

    Raises:
        ValueError: no columns or more than two, an empty place between blocks, or a link that
            names no block.
    """
    _check_columns(columns, links)
    tops = _storeys(columns)
    figure, axes = canvas(WIDTH, tops[-1] + _HIGH + _LANE)
    centres = [WIDTH * (i + 0.5) / len(columns) for i in range(len(columns))]
    for column, x, side in zip(columns, centres, (-1, 1), strict=False):
        _draw_column(axes, column, x, side, tops)
    for ends in links:
        rows = [_find(column, name) for column, name in zip(columns, ends, strict=True)]
        start, end = (tops[row] + _HIGH / 2 for row in rows)
        points = (centres[0] + _HALF, start), (centres[1] - _HALF - 2, end)
        style = ARROW | {"mutation_scale": 10, "lw": 2}
        link(axes, *points, color=columns[0][rows[0]].colour, **style)
    return figure


def _check_columns(
    columns: Sequence[Sequence[Block | None]], links: Sequence[tuple[str, str]]
) -> None:
    if len(columns) not in (1, 2) or not all(any(column) for column in columns):
        raise ValueError(f"blocks needs one or two columns with blocks, got {len(columns)}")
    if links and len(columns) == 1:
        raise ValueError("links need two columns, got one")
    for column in columns:
        there = [place for place, block in enumerate(column) if block]
        if there[-1] - there[0] >= len(there):
            raise ValueError("a column may have empty places at its ends only, not between blocks")


def _find(column: Sequence[Block | None], name: str) -> int:
    names = [block.name if block else "" for block in column]
    if name not in names:
        raise ValueError(f"no block is named {name!r}; there are {', '.join(filter(None, names))}")
    return names.index(name)


def _storeys(columns: Sequence[Sequence[Block | None]]) -> list[Real]:
    """The top of each row; where a group begins, its name needs room."""
    tops = [4.0]
    for row in range(max(map(len, columns))):
        tops[-1] += _HEAD * any(_begins_group(column, row) for column in columns)
        tops.append(tops[-1] + _HIGH + _BETWEEN)
    return tops[:-1]


def _begins_group(column: Sequence[Block | None], row: int) -> bool:
    above, here = ([None, *column, None] + [None] * row)[row : row + 2]
    return bool(here and here.group) and (above is None or above.group != here.group)


def _draw_column(
    axes: Axes, column: Sequence[Block | None], x: Real, side: int, tops: Sequence[Real]
) -> None:
    for row in range(len(column)):
        if _begins_group(column, row):
            _draw_group(axes, column, row, x, side, tops)
    for row, block in enumerate(column):
        if block is None:
            continue
        _draw_block(axes, block, x, tops[row])
        if row + 1 < len(column) and column[row + 1]:
            ends = (x, tops[row] + _HIGH), (x, tops[row + 1] - 1)
            add(axes, FancyArrowPatch(*ends, shrinkA=0, shrinkB=0, **_FLOW))
            if block.residual:
                _draw_short_cut(axes, x, side, tops[row], tops[row + 1])


_FLOW = ARROW | {"color": "black", "lw": 1.2}


def _draw_block(axes: Axes, block: Block, x: Real, top: Real) -> None:
    style = {"fc": to_rgba(block.colour, 0.2), "ec": block.colour, "lw": 1.6}
    rounded(axes, x - _HALF, top, 2 * _HALF, _HIGH, radius=5, **style)
    middle = top + _HIGH / 2
    write(axes, x, middle - 7 * bool(block.detail), block.name)
    if block.detail:
        write(axes, x, middle + 7, block.detail, SMALL)


def _draw_group(
    axes: Axes,
    column: Sequence[Block | None],
    row: int,
    x: Real,
    side: int,
    tops: Sequence[Real],
) -> None:
    """A frame around the group that begins here, its name above the outer corner."""
    name = column[row].group
    last = row
    while last + 1 < len(column) and column[last + 1] and column[last + 1].group == name:
        last += 1
    top, bottom = tops[row] - 16, tops[last] + _HIGH + 5
    left = x - _HALF - (2 * _LANE if side < 0 else _LANE / 2)
    size = 2 * _HALF + 2.5 * _LANE, bottom - top
    style = {"fc": (0, 0, 0, 0.04), "ec": FAINT, "lw": 1}
    rounded(axes, left, top, *size, radius=8, **style)
    outer = left + 2 if side < 0 else left + size[0] - 2
    write(axes, outer, top - 9, name, SMALL, "left" if side < 0 else "right", weight="bold")


def _draw_short_cut(axes: Axes, x: Real, side: int, top: Real, below: Real) -> None:
    """Out of the flow above a block, around it, and into the side of the one below."""
    start, end = top - 11, below + _HIGH / 2
    lane, edge, bend = x + side * (_HALF + _LANE), x + side * (_HALF + 1), side * 5
    points = [(x, start), (lane - bend, start), (lane, start), (lane, start + 5)]
    points += [(lane, end - 5), (lane, end), (lane - bend, end), (edge, end)]
    line, curve = Path.LINETO, [Path.CURVE3, Path.CURVE3]
    path = Path(points, [Path.MOVETO, line, *curve, line, *curve, line])
    add(axes, FancyArrowPatch(path=path, capstyle="butt", **(_FLOW | {"color": GREEN, "lw": 1.6})))
