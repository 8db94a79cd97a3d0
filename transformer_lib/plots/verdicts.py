"""Which candidate passes which test."""

from collections.abc import Sequence

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from transformer_lib.plots.labels import text_width
from transformer_lib.plots.strokes import canvas, cells, write
from transformer_lib.plots.style import BLUE, ORANGE, SMALL, STRONGEST, WIDTH, drawing


@drawing
def verdicts(passed: ArrayLike, *, rows: Sequence[str], columns: Sequence[str]) -> Figure:
    """Which candidate passes which test: a tick, or a cross on a filled cell.

    Args:
        passed: (rows, columns), Boolean.
        rows, columns: labels, one for each row and column.

    Raises:
        ValueError: labels that do not fit the verdicts.
    """
    passed = np.asarray(passed, dtype=bool)
    if passed.shape != (len(rows), len(columns)):
        raise ValueError(f"passed must be {(len(rows), len(columns))}, got {passed.shape}")
    left, height = max(text_width(label, SMALL) for label in rows) + 4, 20
    width = (WIDTH - left) / len(columns)
    figure, axes = canvas(WIDTH + 2, 22 + height * len(rows))
    fills = np.where(passed[..., None], to_rgba(BLUE, 0.06), to_rgba(ORANGE, STRONGEST))
    cells(axes, left, 20, np.where(passed, "✓", "✗").tolist(), width, fills, height)
    for i, label in enumerate(rows):
        write(axes, left - 5, 20 + height * (i + 0.5), label, SMALL, "right")
    for j, label in enumerate(columns):
        write(axes, left + width * (j + 0.5), 11, label, SMALL)
    return figure
