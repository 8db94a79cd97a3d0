"""Amounts to compare."""

from collections.abc import Mapping
from numbers import Real

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from transformer_lib.plots.labels import number, text_width
from transformer_lib.plots.strokes import add, canvas, write
from transformer_lib.plots.style import COLOURS, WIDTH, drawing


@drawing
def bars(groups: Mapping[str, Mapping[str, Real]], *, decimals: int | None = None) -> Figure:
    """Amounts to compare, as bars of one scale with their numbers.

    Args:
        groups: heading → label → amount of at least 0.
        decimals: places after the point; by default as many as there are.

    Raises:
        ValueError: nothing to draw, a negative amount, or more than four groups.
    """
    amounts = [amount for group in groups.values() for amount in group.values()]
    if not amounts or min(amounts) < 0:
        raise ValueError(f"bars needs amounts of at least 0, got {amounts}")
    if len(groups) > len(COLOURS):
        raise ValueError(f"bars can tell at most {len(COLOURS)} groups apart, got {len(groups)}")
    labels = max(text_width(label) for group in groups.values() for label in group) + 10
    numbers = max(text_width(number(amount, decimals)) for amount in amounts) + 8
    unit = (WIDTH - labels - numbers) / (max(amounts) or 1)
    figure, axes = canvas(WIDTH, 22 * len(amounts) + 32 * len(groups))
    y = 12.0
    for (heading, group), colour in zip(groups.items(), COLOURS, strict=False):
        write(axes, 0, y, heading, align="left", weight="bold")
        for label, amount in group.items():
            y += 22
            write(axes, labels - 8, y, label, align="right")
            add(axes, Rectangle((labels, y - 7), unit * amount, 14, fc=colour, ec="none"))
            write(axes, labels + unit * amount + 5, y, number(amount, decimals), align="left")
        y += 32
    return figure
