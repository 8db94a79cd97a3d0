"""Axes whose names and ticks are plain text."""

import re
from collections.abc import Iterable
from numbers import Real

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import Formatter
from numpy.typing import ArrayLike

from transformer_lib.plots.labels import number, power
from transformer_lib.plots.strokes import write
from transformer_lib.plots.style import TEXT, WIDTH


def plot_area(height: Real, right: Real, bottom: Real) -> tuple[Figure, Axes]:
    """Axes with room for tick labels at the left and the name of y above."""
    left, top = 42, 28
    total = top + height + bottom
    figure = Figure(figsize=(WIDTH / 72, total / 72), dpi=72)
    box = (left / WIDTH, bottom / total, 1 - (left + right) / WIDTH, height / total)
    return figure, figure.add_axes(box)


def name_axes(axes: Axes, xlabel: str, ylabel: str, log: str = "", x: ArrayLike = ()) -> None:
    """Name the axes without turning text on its side, and the ticks without mathtext."""
    axes.set_xlabel(xlabel, size=TEXT)
    write(axes, 0, 1, ylabel, align="left", offset=(-36, 16), at="axes fraction")
    axes.set(**{f"{name}scale": "log" for name in log})
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(_Ticks())
        axis.set_minor_formatter("")
    if "x" in log and len(x) <= 8:  # few enough for each to have its tick
        axes.set_xticks(x)
        axes.set_xticks([], minor=True)


class _Ticks(Formatter):
    """Tick labels of one axis: if a power of ten needs its exponent, all show theirs."""

    def __call__(self, value: Real, pos: int | None = None) -> str:
        return number(value)

    def format_ticks(self, values: Iterable[Real]) -> list[str]:
        low, high = sorted(self.axis.get_view_interval())
        shown = [number(value) for value in values if low <= value <= high]
        if not any(re.search("10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]", text) for text in shown):
            return super().format_ticks(values)
        return [power(value) if value > 0 else number(value) for value in values]
