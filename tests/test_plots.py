"""The figures: SVG that takes its ink, fonts and size from the page, and can be translated."""

import re
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from transformer_lib import plots
from transformer_lib.plots import (
    Block,
    Box,
    Panel,
    Sheet,
    bars,
    blocks,
    clocks,
    curves,
    hull,
    lookup,
    matrices,
    pipeline,
    sheets,
    show,
    show_steps,
    tiles,
    verdicts,
)
from transformer_lib.plots.labels import number
from transformer_lib.plots.style import STRONGEST

TOKENS = ["狗", "咬", "人"]
WEIGHTS = np.array([[0.67, 0.24, 0.09], [0.09, 0.24, 0.67], [0.09, 0.67, 0.24]])
VALUES = np.array([[1.0, 0, 2, 1], [0, 3, -1, 0], [2, 1, 0, -1]])
SQUARE = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
LAST = Block("add & norm", group="layer", colour=plots.GREEN)
THEMES = {"light": ("#ffffff", "#222222"), "dark": ("#121212", "#ced6dd")}  # paper, ink

FIGURES = {
    "matrices": lambda: matrices(
        [Panel(WEIGHTS, "weights", TOKENS, TOKENS), "·", Panel(VALUES, "V", TOKENS)]
    ),
    "lookup": lambda: lookup(TOKENS, WEIGHTS[1], VALUES, WEIGHTS[1] @ VALUES, query="咬"),
    "curves": lambda: curves(
        [4, 16, 64],
        {"theory: dₖ": [4, 16, 64]},
        points={"measured": [4.1, 15.8, 64.3]},
        reference={"one": 1},
        xlabel="dₖ",
        ylabel="variance of q·k",
        log="xy",
    ),
    "hull": lambda: hull(
        dict(zip(("v₁", "v₂", "v₃"), VALUES[:, :2], strict=True)),
        dict(zip(("o₁", "o₂", "o₃"), WEIGHTS @ VALUES[:, :2], strict=True)),
        xlabel="first coordinate",
        ylabel="second coordinate",
    ),
    "pipeline": lambda: pipeline(
        [[Box("X", (3, 4))], [Box("Q", (3, 2), "X W_Q", ["X"]), Box("K", (3, 2), "X W_K", ["X"])]]
    ),
    "blocks": lambda: blocks(
        [
            [Block("source ids"), Block("attention", residual=True, group="layer"), LAST],
            [None, Block("target ids"), Block("cross-attention", "masked"), Block("logits")],
        ],
        [("add & norm", "cross-attention")],
    ),
    "bars": lambda: bars({"base": {"norms": 0.25, "attention": 4}, "big": {"norms": 0.5}}),
    "clocks": lambda: clocks(
        np.outer([1, 0.01], [0, 1, 2]), rows=["ω = 1", "ω = 1/100"], columns=["0", "1", "2"]
    ),
    "verdicts": lambda: verdicts(
        [[True, False], [True, True]], rows=["no scale", "right"], columns=["A", "B"]
    ),
    "sheets": lambda: sheets(
        [
            Sheet("sheet", [("A", SQUARE), ("B", -SQUARE)]),
            Sheet("folded", [("", SQUARE), ("B", SQUARE)], [[0, 1], [1, 0]]),
        ]
    ),
    "tiles": lambda: moment(2),
}
LABELS = {
    "matrices": {"weights", "·", "狗", "0.67", "−1"},
    "lookup": {"query", "keys", "weighted sum", "咬", "0.24", "1.00", "1.43", "−0.58"},
    "curves": {"theory: dₖ", "measured", "one", "variance of q·k", "dₖ", "4", "16", "64"},
    "hull": {"v₁", "o₃", "first coordinate", "second coordinate"},
    "pipeline": {"X", "3 × 4", "X W_Q", "3 × 2"},
    "blocks": {"source ids", "layer", "add & norm", "target ids", "masked", "logits"},
    "bars": {"base", "norms", "attention", "big", "0.25", "4"},
    "tiles": {"狗", "sum", "11", "1.5"},
    "clocks": {"ω = 1/100", "2", "sin", "cos", "0.84", "0.54", "0.91", "−0.42", "0.01"},
    "verdicts": {"no scale", "right", "A", "B", "✓", "✗"},
    "sheets": {"sheet", "folded", "A", "B"},
}


def moment(now: int) -> Figure:
    """Three tokens in blocks of two; the upper right tile is never visited."""
    order, state = [(0, 0), (1, 0), (1, 1)], {"sum": ["1.5"]}
    return tiles(np.arange(3, 12).reshape(3, 3), order, now, block=2, tokens="狗咬人", state=state)


def test_only_the_tile_in_use_shows_its_numbers():
    page = show(moment(1), alt="a", caption="c").html
    assert all(f">{number}<" in page for number in (9, 10))
    assert not any(f">{number}<" in page for number in (3, 4, 5, 6, 7, 8, 11))


def test_steps_stand_side_by_side_each_with_its_words():
    steps = [(moment(now), f"alt {now}", f"note {now}") for now in range(3)]
    page = ElementTree.fromstring(show_steps(steps, caption="c").html)
    assert [svg.get("aria-label") for svg in page.iterfind(".//{*}svg")] == [
        "alt 0",
        "alt 1",
        "alt 2",
    ]
    assert [note.text for note in page.iter("p")] == ["note 0", "note 1", "note 2"]
    assert page.find("div/div[@hidden]/button") is not None  # the site's script shows them


@pytest.mark.parametrize("name", [*FIGURES, "show"])
def test_a_figure_is_drawn_in_the_file_of_its_name(name):
    assert getattr(plots, name).__module__ == f"transformer_lib.plots.{name}"


@pytest.fixture(params=FIGURES)
def name(request):
    return request.param


def shown(name: str) -> ElementTree.Element:
    """The figure as a parsed element; parsing also proves that it is well-formed."""
    picture = show(FIGURES[name](), alt=f'the "{name}" <figure> & more', caption="A & B < C")
    return ElementTree.fromstring(picture.html.replace(' xmlns="http://www.w3.org/2000/svg"', ""))


def test_description_and_caption_survive_escaping(name):
    figure = shown(name)
    assert figure.get("class") == "book-figure"
    assert figure.find("svg").get("role") == "img"
    assert figure.find("svg").get("aria-label") == f'the "{name}" <figure> & more'
    assert figure.find("figcaption").text == "A & B < C"


def test_a_label_is_one_text_element_in_the_page_s_font_and_ink(name):
    texts = shown(name).findall(".//text")
    assert {text.text for text in texts} >= LABELS[name]
    for text in texts:
        assert len(text) == 0
        assert "$" not in text.text
        assert "#" not in text.get("style")
        assert "font-family" not in text.get("style")


def test_the_page_sets_the_size_and_nothing_leaks_into_it(name):
    figure = shown(name)
    assert not {"width", "height"} & set(figure.find("svg").attrib)
    assert not list(figure.iter("style")) + list(figure.iter("metadata"))
    assert "#000000" not in ElementTree.tostring(figure, encoding="unicode")


def test_labels_lie_within_the_picture(name):
    svg = shown(name).find("svg")
    width, height = map(float, svg.get("viewBox").split()[2:])
    for text in svg.iter("text"):
        assert 0 <= float(text.get("x")) <= width
        assert 8 <= float(text.get("y")) <= height


def test_the_same_figure_gives_the_same_text_and_another_clashes_with_no_id(name):
    first, again = (show(FIGURES[name](), alt="one", caption="c").html for _ in range(2))
    other = show(FIGURES[name](), alt="two", caption="c").html
    ids = re.compile(r'\bid="([^"]+)"')
    assert first == again
    assert not set(ids.findall(first)) & set(ids.findall(other))
    assert len(ids.findall(first)) == len(set(ids.findall(first)))


def test_numbers_are_rounded_to_keep_notebooks_small(name):
    numbers = show(FIGURES[name](), alt="a", caption="c").html
    assert not re.search(r"\d\.\d{3}", numbers)
    assert len(numbers) < 20_000


def test_notebook_shows_html_and_terminal_the_description():
    bundle = show(FIGURES["hull"](), alt="three points", caption="c")._repr_mimebundle_()
    assert bundle["text/plain"] == "Figure: three points"
    assert bundle["text/html"].startswith('<figure class="book-figure"><svg ')


def test_drawing_leaves_matplotlib_s_settings_alone(name):
    before = dict(matplotlib.rcParams)
    show(FIGURES[name](), alt="a", caption="c")
    assert dict(matplotlib.rcParams) == before


def test_tensors_are_accepted():
    assert "−2" in show(matrices([Panel(torch.tensor([[-2, 1]]))]), alt="a", caption="c").html


def rgb(colour: str) -> np.ndarray:
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255


def contrast(one: np.ndarray, other: np.ndarray) -> float:
    """Contrast ratio of two sRGB colours, from 1 to 21 (WCAG 2.2)."""
    linear = [np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) for c in (one, other)]
    dark, light = sorted(float(c @ [0.2126, 0.7152, 0.0722]) for c in linear)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("colour", plots.COLOURS)
def test_colours_can_be_seen_and_ink_read_on_them_in_both_themes(theme, colour):
    paper, ink = map(rgb, THEMES[theme])
    fullest_cell = STRONGEST * rgb(colour) + (1 - STRONGEST) * paper
    assert contrast(rgb(colour), paper) >= 3
    assert contrast(ink, fullest_cell) >= 4.5


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (-1, 0, "−1"),
        (-0.001, 2, "0.00"),
        (-np.inf, None, "−∞"),
        (0.25, None, "0.25"),
        (1000, None, "1000"),
        (1e5, None, "10⁵"),
        (2.5e-7, None, "2.5·10⁻⁷"),
    ],
)
def test_numbers_as_a_book_prints_them(value, decimals, text):
    assert number(value, decimals) == text


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: show(FIGURES["hull"](), alt=" ", caption="c"), "alt must say something"),
        (lambda: matrices(["="]), "at least one Panel"),
        (lambda: Panel(WEIGHTS, rows=["狗"]), "rows must be 3 labels or none, got 1"),
        (lambda: Panel(np.zeros((2, 2, 2))), r"one or two dimensions, got \(2, 2, 2\)"),
        (lambda: lookup(TOKENS, WEIGHTS, VALUES, VALUES[0], query="咬"), "need weights"),
        (lambda: curves([1, 2], {"y": [1]}, xlabel="x", ylabel="y"), r"got \(2,\) and \(1,\)"),
        (
            lambda: curves([1], {c: [1] for c in "abcde"}, xlabel="x", ylabel="y"),
            "draw two figures",
        ),
        (lambda: hull({"v": [1, 2, 3]}, {}, xlabel="x", ylabel="y"), "two coordinates"),
        (lambda: pipeline([[Box("Q", (1, 1), inputs=["X"])]]), "Q has the input 'X'"),
        (lambda: pipeline([]), "at least one Box"),
        (lambda: blocks([[Block("A")], []]), "one or two columns with blocks, got 2"),
        (lambda: blocks([[Block("A"), None, Block("B")]]), "not between blocks"),
        (lambda: blocks([[Block("A")], [Block("B")]], [("A", "C")]), "no block is named 'C'"),
        (lambda: blocks([[Block("A")]], [("A", "A")]), "links need two columns"),
        (lambda: moment(3), "one of 0 … 2, got 3"),
        (lambda: show_steps([], caption="c"), "at least one step"),
        (lambda: show_steps([(moment(0), "a", " ")], caption="c"), "caption must say something"),
        (lambda: bars({}), "at least 0"),
        (lambda: bars({"a": {"b": -1}}), r"at least 0, got \[-1\]"),
        (lambda: bars({name: {"x": 1} for name in "abcde"}), "at most 4 groups"),
        (lambda: clocks([[1, 2]], rows=["a"], columns=["b"]), r"must be \(1, 1\), got \(1, 2\)"),
        (lambda: verdicts([True], rows=["a"], columns=["b"]), r"must be \(1, 1\), got \(1,\)"),
        (lambda: sheets([]), "one to three of them, got 0"),
        (lambda: sheets([Sheet("s", [("A", [1, 2])])]), r"corners must be \(n, 2\), got \(2,\)"),
    ],
)
def test_errors_say_what_was_expected(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()


def test_ticks_of_one_axis_are_written_alike():
    def ticks(top):
        figure = curves([1, 2], {"y": [0.01, top]}, xlabel="x", ylabel="y", log="y")
        figure.draw_without_rendering()
        return {label.get_text() for label in figure.axes[0].get_yticklabels()}

    assert {"0.01", "0.1", "1", "100"} <= ticks(100)
    assert {"10⁻²", "1", "10²", "10⁵"} <= ticks(1e5)


def test_labels_that_had_to_move_show_which_line_is_theirs():
    def pieces(*ends):
        lines = {f"line {end}": [0, end] for end in ends}
        figure = curves([1, 2], lines, xlabel="x", ylabel="y")
        axes = figure.axes[0]
        return [line for line in axes.lines if line.get_transform() == axes.transAxes]

    assert not pieces(0, 1)
    own = pieces(1, 1.001, 2)
    assert len({line.get_color() for line in own}) == len(own) == 3
