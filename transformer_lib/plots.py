"""The book's figures: drawn by matplotlib, shown as inline SVG that follows its page.

Draw with :func:`matrices`, :func:`lookup`, :func:`curves`, :func:`hull`, :func:`pipeline`,
:func:`blocks`, :func:`bars`, :func:`clocks`, :func:`verdicts`, :func:`sheets` or :func:`tiles`
(or any matplotlib figure), then present it: ``show(curves(...), alt="...", caption="...")``;
several moments of one thing with :func:`show_steps`.

Matplotlib's black stands for ink: it becomes ``currentColor`` and turns light in a dark
theme. Data colours are mid-tones that keep 3:1 against both backgrounds. Text stays text, in
the page's font, and each label is one element, so a translation can replace it; hence no
mathtext (write dₖ, Kᵀ, √) and no line breaks within a label.
"""

import io
import re
import unicodedata
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from numbers import Real
from xml.etree import ElementTree

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Patch, Rectangle
from matplotlib.path import Path
from matplotlib.ticker import Formatter
from numpy.typing import ArrayLike

from transformer_lib import memory

BLUE, ORANGE, GREEN, PINK = "#2b7bd4", "#dd6b20", "#0d9f7e", "#c0599f"
COLOURS = (BLUE, ORANGE, GREEN, PINK)
MARKERS = ("o", "s", "^", "D")
DASHES = ("-", "--", "-.", ":")
FAINT = (0, 0, 0, 0.35)  # ink for frames and guides

WIDTH = 330  # SVG units: about the pixels a phone has for it, so a font size is its size there
ZOOM = 1.45  # at most this many pixels a unit on wider screens
TEXT, SMALL = 12, 11
STRONGEST = 0.5  # opacity of a full cell: the ink on it must keep its contrast
CELL, NARROWEST = 26, 24  # height of a cell, least width
GAP = 24  # between two matrices; an operator stands in it

STYLE = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": SMALL,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": (0, 0, 0, 0.6),
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": (0, 0, 0, 0.13),
    "legend.frameon": False,
    "lines.linewidth": 2,
    "lines.markersize": 6.5,
}
drawing = rc_context(STYLE)


# ---------------------------------------------------------------- from matplotlib to the page


@dataclass(frozen=True)
class BookFigure:
    """A figure ready for a page: notebooks display its HTML, terminals its description."""

    html: str
    alt: str

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": f"Figure: {self.alt}"}


def show(figure: Figure, *, alt: str, caption: str) -> BookFigure:
    """Turn a matplotlib figure into an HTML ``<figure>`` with inline SVG.

    Args:
        figure: what to show; its black becomes the page's text colour.
        alt: what somebody sees who cannot see the figure; also makes its ids unique on a page.
        caption: plain text under the figure.

    Raises:
        ValueError: alt or caption is empty.
    """
    element = ElementTree.Element("figure", {"class": "book-figure"})
    element.append(_named_svg(figure, alt, caption))
    ElementTree.SubElement(element, "figcaption").text = caption
    return BookFigure(ElementTree.tostring(element, encoding="unicode"), alt)


def show_steps(steps: Sequence[tuple[Figure, str, str]], *, caption: str) -> BookFigure:
    """Show moments of one thing side by side; the site's script turns them into a stepper.

    Without the script, on paper and in Jupyter, all moments are seen at once.

    Args:
        steps: (figure, alt, note): the note stands below its figure.
        caption: plain text under all.

    Raises:
        ValueError: no steps, or a text that is empty.
    """
    if not steps:
        raise ValueError("show_steps needs at least one step, got none")
    add = ElementTree.SubElement
    element = ElementTree.Element("figure", {"class": "book-figure"})
    stepper = add(element, "div", {"class": "book-steps"})
    row = add(stepper, "div", {"class": "book-steps-row", "style": _SIDE_BY_SIDE})
    for figure, alt, note in steps:
        step = add(row, "div", {"class": "book-step"})
        step.append(_named_svg(figure, alt, note))
        add(step, "p").text = note
    buttons = add(stepper, "div", {"class": "book-steps-buttons", "hidden": "hidden"})
    for word in ("Back", "Next"):
        add(buttons, "button", {"type": "button"}).text = word
    add(element, "figcaption").text = caption
    return BookFigure(ElementTree.tostring(element, encoding="unicode"), steps[0][1])


_SIDE_BY_SIDE = (
    "display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr))"
)


def _named_svg(figure: Figure, alt: str, caption: str) -> ElementTree.Element:
    """The drawing, with a name for those who cannot see it."""
    for name, text in (("alt", alt), ("caption", caption)):
        if not text.strip():
            raise ValueError(f"{name} must say something about the figure, got {text!r}")
    svg = _page_svg(_matplotlib_svg(figure, salt=alt + caption))
    svg.set("aria-label", alt)
    return svg


def _matplotlib_svg(figure: Figure, salt: str) -> ElementTree.Element:
    file = io.BytesIO()
    with rc_context(STYLE | {"svg.hashsalt": salt}), warnings.catch_warnings():
        # The page's fonts draw the text; that matplotlib's own lacks a glyph does not matter.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(file, format="svg", transparent=True)
    return ElementTree.fromstring(file.getvalue())


def _page_svg(svg: ElementTree.Element) -> ElementTree.Element:
    """Strip what belongs to a file of its own, and let the page rule fonts, ink and size."""
    for element in svg.iter():
        element.tag = _local_name(element.tag)
        element.attrib = {_local_name(key): _page_value(text) for key, text in element.items()}
        element.tail = None
        if element.tag == "text":
            element.attrib.pop("transform")  # by 0 degrees: no label here is turned
        else:
            element.text = None
        if element.tag == "g":
            element.attrib.pop("id", None)  # matplotlib's group names repeat in every figure
    _prune(svg)
    view_box = svg.get("viewBox")
    width = round(float(view_box.split()[2]) * ZOOM)
    svg.attrib = {
        "xmlns": "http://www.w3.org/2000/svg",
        "viewBox": view_box,
        "role": "img",
        "fill": "currentColor",  # matplotlib leaves a black fill unwritten
        "style": f"display: block; margin: 0 auto; width: 100%; max-width: {width}px; "
        "height: auto; overflow: visible; stroke-linejoin: round",  # a translation may be longer
    }
    return svg


def _local_name(name: str) -> str:
    return name.rpartition("}")[2]


def _page_value(text: str) -> str:
    """An attribute with short numbers, the page's fonts and its ink."""
    text = re.sub(r"-?\d+\.\d+(e-\d+)?", _short_number, text)
    text = re.sub(r"font-family: [^;]+; ", "", text)
    return " ".join(text.replace("#000000", "currentColor").split())


def _short_number(match: re.Match) -> str:
    return f"{round(float(match[0]), 2) + 0:.2f}".rstrip("0").rstrip(".")


def _prune(parent: ElementTree.Element) -> None:
    """Drop metadata, global styles and invisible frames; lift the content of bare groups."""
    kept = []
    for child in parent:
        _prune(child)
        empty = child.tag == "defs" and not len(child)
        invisible = child.get("style") == "fill: none"  # the frames of figure and axes
        if child.tag not in ("metadata", "style") and not empty and not invisible:
            kept += list(child) if child.tag == "g" and not child.attrib else [child]
    parent[:] = kept


# ---------------------------------------------------------------- shared strokes


def _canvas(width: Real, height: Real) -> tuple[Figure, Axes]:
    """A sheet to draw on in SVG units, y downward."""
    figure = Figure(figsize=(width / 72, height / 72))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    return figure, axes


def _add(axes: Axes, patch: Patch) -> None:
    """Draw a shape unclipped: a clip path would need an id, and nothing here sticks out."""
    axes.add_patch(patch).set_clip_on(False)


def _write(
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


def _text_width(text: str, size: Real = TEXT) -> Real:
    """About the width of a label: Chinese characters are square, others narrower."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return size * (wide + 0.56 * (len(text) - wide))


def _number(value: Real, decimals: int | None = None) -> str:
    """A number as a book prints it: true minus, ∞, powers of ten where they are shorter."""
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    if decimals is not None:
        text = f"{round(value, decimals) + 0:.{decimals}f}"  # + 0 turns −0 into 0
    elif value and not 1e-3 <= abs(value) < 1e4:
        text = _power(value)
    else:
        text = f"{value:g}"
    return text.replace("-", "−")


def _power(value: Real) -> str:
    """2500 as 2.5·10³; but 1 and 10 as they are."""
    if value in (1, 10):
        return f"{value:g}"
    digits, _, power = f"{value:.1e}".partition("e")
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return (digits.removesuffix(".0") + "·10" + raised).removeprefix("1·")


def _cells(
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
            _add(axes, Rectangle((x, y), width, height, fc=fills[i][j], ec=FAINT, lw=0.8))
            _write(axes, x + width / 2, y + height / 2, text)


def _chip(axes: Axes, x: Real, y: Real, text: str, colour: str) -> Real:
    """A token in a rounded box centred at (x, y); returns half its width."""
    half = max(_text_width(text, 15) + 14, CELL) / 2
    rounded = "round,pad=0,rounding_size=6"
    style = {"fc": to_rgba(colour, 0.16), "ec": colour, "lw": 1.6}
    _add(axes, FancyBboxPatch((x - half, y - CELL / 2), 2 * half, CELL, rounded, **style))
    _write(axes, x, y, text, 15)
    return half


def _link(
    axes: Axes, start: tuple, end: tuple, *, down: bool = False, bend: Real = 0, **style
) -> None:
    """A smooth curve that leaves and arrives level, or ``down``; then straight until ``bend``."""
    turn = (start[0], max(start[1], bend)) if down else start
    (x0, y0), (x1, y1) = turn, end
    x, y = (x0 + x1) / 2, (y0 + y1) / 2
    handles = [(x0, y), (x1, y)] if down else [(x, y0), (x, y1)]
    path = Path([start, turn, *handles, end], [Path.MOVETO, Path.LINETO, *[Path.CURVE4] * 3])
    _add(axes, FancyArrowPatch(path=path, capstyle="butt", **style))


# ---------------------------------------------------------------- matrices


@dataclass(frozen=True)
class Panel:
    """One matrix of a row of matrices; its cells are shaded by the size of their numbers.

    Args:
        values: (rows, columns); a vector is one row. NaN leaves a cell blank.
        title: written above.
        rows, columns: labels, one for each row and column, or none.
        decimals: places after the point; by default none for whole numbers, else two.

    Raises:
        ValueError: more than two dimensions, or labels that do not fit them.
    """

    values: ArrayLike
    title: str = ""
    rows: Sequence[str] = ()
    columns: Sequence[str] = ()
    decimals: int | None = None

    def __post_init__(self) -> None:
        if self.array.ndim > 2:
            raise ValueError(f"values must have one or two dimensions, got {self.array.shape}")
        n_rows, n_columns = self.array.shape
        for name, labels, size in ("rows", self.rows, n_rows), ("columns", self.columns, n_columns):
            if len(labels) not in (0, size):
                raise ValueError(f"{name} must be {size} labels or none, got {len(labels)}")

    @cached_property
    def array(self) -> np.ndarray:
        return np.atleast_2d(np.asarray(self.values, dtype=float))

    @cached_property
    def table(self) -> list[list[str]]:
        return _table(self.array, self.decimals)

    @cached_property
    def cell(self) -> Real:
        labels = [_text_width(label) + 8 for label in self.columns]
        return max([_cell_width(self.table), *labels])

    @property
    def label_width(self) -> Real:
        return max((_text_width(label) + 6 for label in self.rows), default=0)

    @property
    def width(self) -> Real:
        return self.label_width + self.cell * self.array.shape[1]

    @property
    def half_height(self) -> Real:
        return CELL * self.array.shape[0] / 2

    @property
    def head(self) -> Real:
        return 20 * bool(self.title) + 18 * bool(self.columns)


@drawing
def matrices(items: Iterable[Panel | str]) -> Figure:
    """Small matrices side by side, each number written in its cell.

    A fuller cell is a larger number; blue is positive, orange with a minus sign negative.

    Args:
        items: panels, with the operators that stand between them as strings, for example
            ``[Panel(Q, "Q"), "·", Panel(K.T, "Kᵀ"), "=", Panel(S, "S")]``. What does not fit
            in the width of a phone goes on in the next line.

    Raises:
        ValueError: no panels.
    """
    lines = _wrap(items)
    if not lines[0]:
        raise ValueError("matrices needs at least one Panel, got none")
    widths = [sum(_item_width(i, item) for i, item in enumerate(line)) for line in lines]
    heights = [
        max(panel.head + panel.half_height for _, panel in line)
        + max(panel.half_height for _, panel in line)
        for line in lines
    ]
    figure, axes = _canvas(max(WIDTH, *widths) + 2, sum(heights) + 20 * len(lines) - 12)
    top = 4.0
    for line, width, height in zip(lines, widths, heights, strict=True):
        _draw_line(axes, line, (axes.get_xlim()[1] - width) / 2, top)
        top += height + 20
    return figure


def _table(array: np.ndarray, decimals: int | None = None) -> list[list[str]]:
    finite = array[np.isfinite(array)]
    if decimals is None:
        decimals = 0 if np.array_equal(finite, np.rint(finite)) else 2
    return [["" if np.isnan(x) else _number(x, decimals) for x in row] for row in array]


def _cell_width(table: Sequence[Sequence[str]]) -> Real:
    return max([NARROWEST, *(_text_width(text) + 7 for row in table for text in row)])


def _item_width(place: int, item: tuple[str, Panel]) -> Real:
    """Width of an operator and its panel; the first in a line needs no gap before it."""
    operator, panel = item
    return panel.width + GAP * bool(place or operator)


def _wrap(items: Iterable[Panel | str]) -> list[list[tuple[str, Panel]]]:
    """Break (operator, panel) pairs into lines that fit a phone."""
    lines, used, operator = [[]], 0.0, ""
    for item in items:
        if isinstance(item, str):
            operator = item
            continue
        width = _item_width(len(lines[-1]), (operator, item))
        if lines[-1] and used + width > WIDTH:
            lines.append([])
            used = 0.0
        lines[-1].append((operator, item))
        used += width
        operator = ""
    return lines


def _draw_line(axes: Axes, line: list[tuple[str, Panel]], left: Real, top: Real) -> None:
    middle = top + max(panel.head + panel.half_height for _, panel in line)
    for place, (operator, panel) in enumerate(line):
        right = left + _item_width(place, (operator, panel))
        _write(axes, right - panel.width - GAP / 2, middle, operator, 16)
        _draw_panel(axes, panel, right - panel.width, middle)
        left = right


def _draw_panel(axes: Axes, panel: Panel, left: Real, middle: Real) -> None:
    x, y = left + panel.label_width, middle - panel.half_height
    _cells(axes, x, y, panel.table, panel.cell, _signed_fills(panel.array))
    for i, label in enumerate(panel.rows):
        _write(axes, x - 6, y + (i + 0.5) * CELL, label, align="right")
    for j, label in enumerate(panel.columns):
        _write(axes, x + (j + 0.5) * panel.cell, y - 10, label)
    centre = x + panel.cell * panel.array.shape[1] / 2
    _write(axes, centre, y - panel.head + 9, panel.title, weight="bold")


def _signed_fills(array: np.ndarray) -> np.ndarray:
    """Blue for what is positive, orange for what is negative, fuller for what is larger."""
    size = np.abs(np.where(np.isfinite(array), array, 0))
    fills = np.where((array < 0)[..., None], to_rgba(ORANGE), to_rgba(BLUE))
    fills[..., 3] = STRONGEST * size / (size.max() or 1)
    return fills


# ---------------------------------------------------------------- lookup


@drawing
def lookup(
    tokens: Sequence[str],
    weights: ArrayLike,
    values: ArrayLike,
    output: ArrayLike,
    *,
    query: str,
    labels: Sequence[str] = ("query", "keys", "weights", "values", "weighted sum"),
) -> Figure:
    """Attention as a soft dictionary: one query asks every key and mixes their values.

    Args:
        tokens: n tokens, one key and one value each.
        weights: (n,), the query's weight on each.
        values: (n, d_v).
        output: (d_v,), written under the values as the sum of a column addition.
        query: the token that asks.
        labels: the words in the figure: query, keys, weights, values, and for the output.

    Raises:
        ValueError: shapes that do not fit each other.
    """
    weights, values, output = (np.asarray(a, dtype=float) for a in (weights, values, output))
    n, d_v = len(tokens), output.size
    if (weights.shape, values.shape, output.shape) != ((n,), (n, d_v), (d_v,)):
        raise ValueError(
            f"{n} tokens need weights ({n},), values ({n}, d_v) and output (d_v,), "
            f"got {weights.shape}, {values.shape} and {output.shape}"
        )
    table = [*_table(values), *_table(output[None])]
    sums = _cell_width(table) * d_v
    figure, axes = _canvas(max(WIDTH, 200 + sums), 38 * n + 70)
    left, rows = axes.get_xlim()[1] - 2 - sums, 46 + 38 * np.arange(n)
    _write_heads(axes, labels, [_QUERY, _KEYS, _BARS, left + sums / 2], rows)
    _ask(axes, query, tokens, weights, rows)
    _weigh(axes, weights, rows, left)
    _mix(axes, weights, table, rows, left)
    return figure


_QUERY, _KEYS, _BARS = 22, 88, 110  # where they stand from the left
_SUM = 46  # from the last value down to the sum


def _write_heads(
    axes: Axes, labels: Sequence[str], places: Sequence[Real], rows: np.ndarray
) -> None:
    """Name what stands below each head, and the sum."""
    query, keys, weights, values, total = labels
    _write(axes, places[0], rows.mean() - 26, query, SMALL)
    _write(axes, places[1], 12, keys, SMALL)
    _write(axes, places[2], 12, weights, SMALL, "left")
    _write(axes, places[3], 12, values, SMALL)
    _write(axes, _BARS - 8, rows[-1] + _SUM, total, align="right", weight="bold")


def _ask(
    axes: Axes, query: str, tokens: Sequence[str], weights: np.ndarray, rows: np.ndarray
) -> None:
    """The query, its keys, and between them curves as strong as the weights."""
    start = (_QUERY + _chip(axes, _QUERY, rows.mean(), query, BLUE), rows.mean())
    for token, weight, y in zip(tokens, weights, rows, strict=True):
        end = (_KEYS - _chip(axes, _KEYS, y, token, GREEN), y)
        style = {"color": to_rgba(BLUE, 0.35 + 0.6 * weight), "lw": 1 + 7 * weight}
        _link(axes, start, end, arrowstyle="-", **style)


def _weigh(axes: Axes, weights: np.ndarray, rows: np.ndarray, left: Real) -> None:
    """A bar and a number for each weight, and their sum under the rule."""
    numbers = left - 18  # right edge of the numbers; a × stands between them and the values
    full = numbers - 30 - _BARS
    for weight, y in zip(weights, rows, strict=True):
        _add(axes, Rectangle((_BARS, y - 5), full, 10, fc=(0, 0, 0, 0.08)))
        _add(axes, Rectangle((_BARS, y - 5), full * weight, 10, fc=BLUE))
        _write(axes, numbers, y, _number(weight, 2), align="right")
        _write(axes, left - 9, y, "×", SMALL)
    _write(axes, numbers, rows[-1] + _SUM, _number(weights.sum(), 2), align="right")


def _mix(
    axes: Axes, weights: np.ndarray, table: list[list[str]], rows: np.ndarray, left: Real
) -> None:
    """The values, as visible as their weights, added up column by column."""
    cell, total = _cell_width(table), rows[-1] + _SUM
    fills = [to_rgba(ORANGE, STRONGEST * weight) for weight in weights] + [to_rgba(PINK, 0.4)]
    for texts, fill, y in zip(table, fills, [*rows, total], strict=True):
        _cells(axes, left, y - CELL / 2, [texts], cell, [[fill] * len(texts)])
    right = left + cell * len(table[0])
    axes.plot([_BARS, right], [total - 23] * 2, color="black", lw=1.2, clip_on=False)


# ---------------------------------------------------------------- curves


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
    longest = max((_text_width(label, SMALL) for label in lines), default=0)
    direct = longest <= WIDTH / 3
    listed = len(points) + (0 if direct else len(lines))
    figure, axes = _plot(190, right=8 + (longest + _PIECE) * direct, bottom=44 + 18 * listed)
    for (label, y), colour, dash in zip(lines.items(), COLOURS, DASHES, strict=False):
        axes.plot(x, y, color=colour, linestyle=dash, label="" if direct else label, clip_on=False)
    for (label, y), colour, marker in zip(points.items(), COLOURS, MARKERS, strict=False):
        axes.plot(x, y, marker, color=colour, label=label, clip_on=False)
    _label_axes(axes, xlabel, ylabel, log, x)
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


def _plot(height: Real, right: Real, bottom: Real) -> tuple[Figure, Axes]:
    """Axes with room for tick labels at the left and the name of y above."""
    left, top = 42, 28
    total = top + height + bottom
    figure = Figure(figsize=(WIDTH / 72, total / 72), dpi=72)
    box = (left / WIDTH, bottom / total, 1 - (left + right) / WIDTH, height / total)
    return figure, figure.add_axes(box)


def _label_axes(axes: Axes, xlabel: str, ylabel: str, log: str = "", x: ArrayLike = ()) -> None:
    """Name the axes without turning text on its side, and the ticks without mathtext."""
    axes.set_xlabel(xlabel, size=TEXT)
    _write(axes, 0, 1, ylabel, align="left", offset=(-36, 16), at="axes fraction")
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
        return _number(value)

    def format_ticks(self, values: Iterable[Real]) -> list[str]:
        low, high = sorted(self.axis.get_view_interval())
        shown = [_number(value) for value in values if low <= value <= high]
        if not any(re.search("10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]", text) for text in shown):
            return super().format_ticks(values)
        return [_power(value) if value > 0 else _number(value) for value in values]


def _draw_reference(axes: Axes, reference: Mapping[str, Real]) -> None:
    for label, height in reference.items():
        axes.axhline(height, color=(0, 0, 0, 0.6), lw=1, dashes=(2, 2), clip_on=False)
        _write(axes, 1, height, label, SMALL, "right", offset=(-2, 9), at=("axes fraction", "data"))


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
        _write(axes, 1, places[label], label, SMALL, "left", offset=offset, at="axes fraction")


# ---------------------------------------------------------------- hull


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
    figure, axes = _plot(250, right=16, bottom=44)
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
    _label_axes(axes, xlabel, ylabel)
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
    _write(axes, *point, label, align=align, offset=(dx, dy))


# ---------------------------------------------------------------- pipeline


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
    figure, axes = _canvas(WIDTH, _STOREY * len(steps) - _STOREY + _LARGEST + 8)
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
    _cells(axes, left, top, blank, width / n_columns, fills, height / n_rows)
    _add(axes, Rectangle((left, top), width, height, fill=False, ec=box.colour, lw=1.8))
    _describe(axes, box, left + width + 7, y)


def _describe(axes: Axes, box: Box, left: Real, y: Real) -> None:
    """Name, operation and shape, one under the other."""
    shape = f"{box.shape[0]} × {box.shape[1]}"
    details = [box.made_by, shape] if box.made_by else [shape]
    top = y - 7.5 * len(details)
    _write(axes, left, top, box.name, align="left", weight="bold")
    for i, text in enumerate(details, 1):
        _write(axes, left, top + 15 * i, text, SMALL, "left")


def _box_size(box: Box, unit: Real) -> tuple[Real, Real]:
    """Height and width, in proportion but never too thin to see."""
    return max(box.shape[0] * unit, 9), max(box.shape[1] * unit, 9)


def _join(axes: Axes, source: tuple, target: tuple, unit: Real) -> None:
    """An arrow from the foot of one box to the head of another; it bends below all others."""
    (x0, y0, above), (x1, y1, below) = source, target
    start = (x0, y0 + _box_size(above, unit)[0] / 2 + 3)
    end = (x1, y1 - _box_size(below, unit)[0] / 2 - 3)
    style = {"arrowstyle": "-|>", "mutation_scale": 9, "color": above.colour, "lw": 1.6}
    _link(axes, start, end, down=True, bend=y1 - _STOREY + _LARGEST / 2, **style)


# ---------------------------------------------------------------- blocks


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
    figure, axes = _canvas(WIDTH, tops[-1] + _HIGH + _LANE)
    centres = [WIDTH * (i + 0.5) / len(columns) for i in range(len(columns))]
    for column, x, side in zip(columns, centres, (-1, 1), strict=False):
        _draw_column(axes, column, x, side, tops)
    for ends in links:
        rows = [_find(column, name) for column, name in zip(columns, ends, strict=True)]
        start, end = (tops[row] + _HIGH / 2 for row in rows)
        points = (centres[0] + _HALF, start), (centres[1] - _HALF - 2, end)
        style = {"arrowstyle": "-|>", "mutation_scale": 10, "lw": 2}
        _link(axes, *points, color=columns[0][rows[0]].colour, **style)
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
            _add(axes, FancyArrowPatch(*ends, shrinkA=0, shrinkB=0, **_FLOW))
            if block.residual:
                _draw_short_cut(axes, x, side, tops[row], tops[row + 1])


_FLOW = {"arrowstyle": "-|>", "mutation_scale": 9, "color": "black", "lw": 1.2}


def _draw_block(axes: Axes, block: Block, x: Real, top: Real) -> None:
    rounded = "round,pad=0,rounding_size=5"
    style = {"fc": to_rgba(block.colour, 0.2), "ec": block.colour, "lw": 1.6}
    _add(axes, FancyBboxPatch((x - _HALF, top), 2 * _HALF, _HIGH, rounded, **style))
    middle = top + _HIGH / 2
    _write(axes, x, middle - 7 * bool(block.detail), block.name)
    if block.detail:
        _write(axes, x, middle + 7, block.detail, SMALL)


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
    _add(axes, FancyBboxPatch((left, top), *size, "round,pad=0,rounding_size=8", **style))
    outer = left + 2 if side < 0 else left + size[0] - 2
    _write(axes, outer, top - 9, name, SMALL, "left" if side < 0 else "right", weight="bold")


def _draw_short_cut(axes: Axes, x: Real, side: int, top: Real, below: Real) -> None:
    """Out of the flow above a block, around it, and into the side of the one below."""
    start, end = top - 11, below + _HIGH / 2
    lane, edge, bend = x + side * (_HALF + _LANE), x + side * (_HALF + 1), side * 5
    points = [(x, start), (lane - bend, start), (lane, start), (lane, start + 5)]
    points += [(lane, end - 5), (lane, end), (lane - bend, end), (edge, end)]
    line, curve = Path.LINETO, [Path.CURVE3, Path.CURVE3]
    path = Path(points, [Path.MOVETO, line, *curve, line, *curve, line])
    _add(axes, FancyArrowPatch(path=path, capstyle="butt", **(_FLOW | {"color": GREEN, "lw": 1.6})))


# ---------------------------------------------------------------- bars


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
    labels = max(_text_width(label) for group in groups.values() for label in group) + 10
    numbers = max(_text_width(_number(amount, decimals)) for amount in amounts) + 8
    unit = (WIDTH - labels - numbers) / (max(amounts) or 1)
    figure, axes = _canvas(WIDTH, 22 * len(amounts) + 32 * len(groups))
    y = 12.0
    for (heading, group), colour in zip(groups.items(), COLOURS, strict=False):
        _write(axes, 0, y, heading, align="left", weight="bold")
        for label, amount in group.items():
            y += 22
            _write(axes, labels - 8, y, label, align="right")
            _add(axes, Rectangle((labels, y - 7), unit * amount, 14, fc=colour, ec="none"))
            _write(axes, labels + unit * amount + 5, y, _number(amount, decimals), align="left")
        y += 32
    return figure


# ---------------------------------------------------------------- clocks


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
    left = max(_text_width(label, SMALL) for label in rows) + 4
    storey, width = 2 * _FACE + 46, (WIDTH - left) / len(columns)
    figure, axes = _canvas(WIDTH, 14 + storey * len(rows))
    for j, label in enumerate(columns):
        _write(axes, left + width * (j + 0.5), 10, label, SMALL)
    for i, label in enumerate(rows):
        y = 24 + _FACE + storey * i
        _write(axes, 0, y, label, SMALL, "left")
        _write(axes, left - 4, y + _FACE + 11, "sin", SMALL, "right")
        _write(axes, left - 4, y + _FACE + 25, "cos", SMALL, "right")
        for j, angle in enumerate(angles[i]):
            _draw_clock(axes, left + width * (j + 0.5), y, angle, COLOURS[i % len(COLOURS)])
    return figure


def _draw_clock(axes: Axes, x: Real, y: Real, angle: Real, colour: str) -> None:
    """A face with twelve ticks, its hand, and where the tip of the hand is."""
    _add(axes, Circle((x, y), _FACE, fc=to_rgba(colour, 0.08), ec=FAINT, lw=1))
    hours, ends = np.arange(12) * np.pi / 6, (_FACE - 4, _FACE - 1)
    ticks = x + np.outer(ends, np.sin(hours)), y - np.outer(ends, np.cos(hours))
    axes.plot(*ticks, color=FAINT, lw=1)
    right, up = np.sin(angle), np.cos(angle)
    tip = x + (_FACE - 5) * right, y - (_FACE - 5) * up
    axes.plot([x, tip[0]], [y, tip[1]], color=colour, lw=2.6, solid_capstyle="round")
    axes.plot(x, y, "o", color=colour, markersize=4.5)
    _write(axes, x, y + _FACE + 11, _number(right, 2), SMALL)
    _write(axes, x, y + _FACE + 25, _number(up, 2), SMALL)


# ---------------------------------------------------------------- verdicts


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
    left, height = max(_text_width(label, SMALL) for label in rows) + 4, 20
    width = (WIDTH - left) / len(columns)
    figure, axes = _canvas(WIDTH + 2, 22 + height * len(rows))
    fills = np.where(passed[..., None], to_rgba(BLUE, 0.06), to_rgba(ORANGE, STRONGEST))
    _cells(axes, left, 20, np.where(passed, "✓", "✗").tolist(), width, fills, height)
    for i, label in enumerate(rows):
        _write(axes, left - 5, 20 + height * (i + 0.5), label, SMALL, "right")
    for j, label in enumerate(columns):
        _write(axes, left + width * (j + 0.5), 11, label, SMALL)
    return figure


# ---------------------------------------------------------------- sheets


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
    figure, axes = _canvas(WIDTH, side + 28)
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
        _write(axes, *corners.mean(axis=0), label)
    if len(sheet.cut):
        cut = middle + scale * _corners(sheet.cut)
        if np.allclose(cut[0], cut[-1]):
            axes.fill(*cut.T, fc=(0, 0, 0, 0.25), lw=0, clip_on=False)
        axes.plot(*cut.T, color="black", lw=2.4, clip_on=False, solid_joinstyle="round")
    _write(axes, middle[0], 10, sheet.title, SMALL, weight="bold")


# ---------------------------------------------------------------- tiles


_SQUARE = 16  # side of a cell


@drawing
def tiles(
    values: ArrayLike,
    order: Sequence[tuple[int, int]],
    now: int,
    *,
    block: int,
    tokens: Sequence[str],
    state: Mapping[str, Sequence[str]],
) -> Figure:
    """One moment of attention in tiles: the numbers exist in the tile of this moment only.

    Tiles done are grey, tiles that are never visited crossed out.

    Args:
        values: (n, n), what the tiles hold; NaN leaves a cell blank.
        order: (row, column) of each tile, in the order in which they are visited.
        now: which of them is shown.
        block: rows and columns of a tile.
        tokens: n labels, of the rows and of the columns.
        state: heading → what each row of the tile keeps, written at the right.

    Raises:
        ValueError: no such tile.
    """
    if not 0 <= now < len(order):
        raise ValueError(f"now must be one of 0 … {len(order) - 1}, got {now}")
    values, n = np.asarray(values, dtype=float), len(tokens)
    left, top = 20, 20
    figure, axes = _canvas(WIDTH / 2, top + _SQUARE * n + 4)
    cut = list(memory.blocks(n, block))
    for place in product(range(len(cut)), repeat=2):
        done, skipped = place in order[:now], place not in order
        _draw_tile(axes, *(cut[i] for i in place), left, top, done=done, skipped=skipped)
    rows, cols = (cut[i] for i in order[now])
    _draw_labels(axes, tokens, rows, cols, left, top)
    _draw_tile_in_use(axes, _table(values[rows, cols]), rows, cols, left, top)
    _draw_state(axes, state, left + _SQUARE * n, top + _SQUARE * rows.start)
    return figure


def _draw_tile_in_use(
    axes: Axes, table: Sequence[Sequence[str]], rows: slice, cols: slice, left: Real, top: Real
) -> None:
    """The numbers of a tile, in a frame that stands out."""
    x, y = left + _SQUARE * cols.start, top + _SQUARE * rows.start
    width, height = _SQUARE * len(table[0]), _SQUARE * len(table)
    fills = [[to_rgba(BLUE, 0.3)] * len(table[0])] * len(table)
    _cells(axes, x, y, table, _SQUARE, fills, _SQUARE)
    _add(axes, Rectangle((x, y), width, height, fill=False, ec=BLUE, lw=2.2))


def _draw_state(axes: Axes, state: Mapping[str, Sequence[str]], left: Real, top: Real) -> None:
    """What each row of the tile keeps, beside it."""
    for place, (heading, entries) in enumerate(state.items()):
        x = left + (place + 0.5) * (WIDTH / 2 - left) / len(state)
        _write(axes, x, 10, heading, SMALL)
        for i, entry in enumerate(entries):
            _write(axes, x, top + (i + 0.5) * _SQUARE, entry, SMALL)


def _draw_tile(
    axes: Axes, rows: slice, cols: slice, left: Real, top: Real, *, done: bool, skipped: bool
) -> None:
    """A frame: grey if its numbers are used up, with a cross if it is never visited."""
    x, y = left + _SQUARE * cols.start, top + _SQUARE * rows.start
    width, height = (_SQUARE * (part.stop - part.start) for part in (cols, rows))
    _add(axes, Rectangle((x, y), width, height, fc=(0, 0, 0, 0.16 * done), ec=FAINT, lw=0.8))
    if skipped:
        across, down = np.array([0.25, 0.75]) * width, np.array([0.25, 0.75]) * height
        for ends in (down, down[::-1]):
            axes.plot(x + across, y + ends, color=FAINT, lw=1.2, clip_on=False)


def _draw_labels(
    axes: Axes, tokens: Sequence[str], rows: slice, cols: slice, left: Real, top: Real
) -> None:
    """The tokens at both sides; those whose queries and keys are in use are bold."""
    weight = {True: "bold", False: "normal"}
    for i, token in enumerate(tokens):
        middle = (i + 0.5) * _SQUARE
        asks, is_asked = (part.start <= i < part.stop for part in (rows, cols))
        _write(axes, left - 9, top + middle, token, weight=weight[asks])
        _write(axes, left + middle, top - 9, token, weight=weight[is_asked])
