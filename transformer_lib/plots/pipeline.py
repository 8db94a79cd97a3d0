"""How shapes flow through a computation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from transformer_lib.plots.strokes import ARROW, add, canvas, cells, link, write
from transformer_lib.plots.style import BLUE, SMALL, WIDTH, drawing


@dataclass(frozen=True)
class Box:
    """A matrix on its way through a computation.

    Args:
        name: what it is called; the boxes after it name it among their ``inputs``.
        shape: (rows, columns).
        made_by: the operation, written under the name.
        inputs: names of the boxes that arrows come from.
        colour: one of this module's colours.
    """

    name: str
    shape: tuple[int, int]
    made_by: str = ""
    inputs: Sequence[str] = ()
    colour: str = BLUE


_STOREY = 92  # from one row of boxes to the next
_LARGEST = 54  # side of the largest box


@drawing
def pipeline(steps: Sequence[Sequence[Box]]) -> Figure:
    """How shapes flow from top to bottom: boxes in proportion, an arrow for each input.

    Args:
        steps: rows of boxes. A box alone in its row stands below the middle of its inputs.

    Raises:
        ValueError: no boxes, or an input that no earlier row has.
    """
    boxes = [box for row in steps for box in row]
    if not boxes:
        raise ValueError("pipeline needs at least one Box, got none")
    unit = min(14, _LARGEST / max(max(box.shape) for box in boxes))
    figure, axes = canvas(WIDTH, _STOREY * len(steps) - _STOREY + _LARGEST + 8)
    placed: dict[str, tuple[Real, Real, Box]] = {}
    for storey, row in enumerate(steps):
        y = _STOREY * storey + _LARGEST / 2 + 4
        centres = {box.name: _column(box, i, len(row), placed) for i, box in enumerate(row)}
        for box in row:
            _draw_box(axes, box, centres[box.name], y, unit)
            for name in box.inputs:
                _join(axes, placed[name], (centres[box.name], y, box), unit)
        placed |= {box.name: (centres[box.name], y, box) for box in row}
    return figure


def _column(box: Box, place: int, n_boxes: int, placed: Mapping[str, tuple]) -> Real:
    """Horizontal centre of a box: even columns, or the middle of a lone box's inputs."""
    for name in box.inputs:
        if name not in placed:
            raise ValueError(
                f"{box.name} has the input {name!r}; the rows above it have "
                f"{', '.join(placed) or 'no boxes'}"
            )
    if n_boxes == 1 and box.inputs:
        return float(np.mean([placed[name][0] for name in box.inputs]))
    return WIDTH * (place + 0.5) / n_boxes - 18  # the text stands at the right


def _draw_box(axes: Axes, box: Box, x: Real, y: Real, unit: Real) -> None:
    """A box, with a line for each row and column where there is room."""
    height, width = _box_size(box, unit)
    n_rows, n_columns = box.shape if unit >= 6 else (1, 1)
    left, top = x - width / 2, y - height / 2
    fills = [[to_rgba(box.colour, 0.3)] * n_columns] * n_rows
    blank = [[""] * n_columns] * n_rows
    cells(axes, left, top, blank, width / n_columns, fills, height / n_rows)
    add(axes, Rectangle((left, top), width, height, fill=False, ec=box.colour, lw=1.8))
    _describe(axes, box, left + width + 7, y)


def _describe(axes: Axes, box: Box, left: Real, y: Real) -> None:
    """Name, operation and shape, one under the other."""
    shape = f"{box.shape[0]} × {box.shape[1]}"
    details = [box.made_by, shape] if box.made_by else [shape]
    top = y - 7.5 * len(details)
    write(axes, left, top, box.name, align="left", weight="bold")
    for i, text in enumerate(details, 1):
        write(axes, left, top + 15 * i, text, SMALL, "left")


def _box_size(box: Box, unit: Real) -> tuple[Real, Real]:
    """Height and width, in proportion but never too thin to see."""
    return max(box.shape[0] * unit, 9), max(box.shape[1] * unit, 9)


def _join(axes: Axes, source: tuple, target: tuple, unit: Real) -> None:
    """An arrow from the foot of one box to the head of another; it bends below all others."""
    (x0, y0, above), (x1, y1, below) = source, target
    start = (x0, y0 + _box_size(above, unit)[0] / 2 + 3)
    end = (x1, y1 - _box_size(below, unit)[0] / 2 - 3)
    style = ARROW | {"color": above.colour, "lw": 1.6}
    link(axes, start, end, down=True, bend=y1 - _STOREY + _LARGEST / 2, **style)
