"""Attention weights to explore: choose a layer, a head and a token, and see whom it attends to."""

import re
from collections.abc import Sequence
from numbers import Real
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np
import torch
from numpy.typing import ArrayLike

from transformer_lib.plots.show import BookFigure
from transformer_lib.plots.style import BLUE, GREEN
from transformer_lib.plots.svg import check_words

_DRAWN = 10  # hundredths: a thinner line is drawn only for the token that is chosen
_TOLD = 4  # of a token's partners, in words


def attention_view(
    tokens_q: Sequence[str],
    tokens_k: Sequence[str],
    weights: ArrayLike,
    *,
    alt: str,
    caption: str,
) -> BookFigure:
    """Queries and keys face to face, with a line as strong as the weight between them.

    Whoever points at a token, taps it or moves to it with the arrow keys sees its weights as
    numbers. Without JavaScript and on paper it is the picture of the first query, in the mean over
    the heads of the first layer. Weights are stored in hundredths.

    Args:
        tokens_q: n_q queries, the tokens that attend.
        tokens_k: n_k keys, the tokens attended to.
        weights: (layers, heads, n_q, n_k), (heads, n_q, n_k) or (n_q, n_k), of one sentence.
        alt: what somebody sees who cannot see the picture.
        caption: plain text under it.

    Raises:
        ValueError: shapes that do not fit the tokens, weights that are none, or an empty text.
    """
    check_words(alt=alt, caption=caption)
    queries, keys = ([_visible(token) for token in tokens] for tokens in (tokens_q, tokens_k))
    hundredths = _hundredths(_checked(weights, len(queries), len(keys)))
    figure = Element("figure", {"class": "book-figure"})
    view = SubElement(figure, "div", {"class": "attention-view"})
    view.set("style", f"--query: {BLUE}; --key: {GREEN}; --row: {_row_height(queries, keys)}rem")
    view.set("data-weights", ",".join(str(share or "") for share in hundredths.ravel()))
    view.set("data-lm-suppress-shortcuts", "true")  # JupyterLab's arrow keys choose cells
    _add_choices(view, *hundredths.shape[:2])
    _add_picture(view, queries, keys, hundredths[0, 0], alt)
    hint = SubElement(view, "p", {"class": "hint", "hidden": "hidden"})
    hint.text = "Point at a token, or tap it."
    SubElement(figure, "figcaption").text = caption
    html = tostring(figure, encoding="unicode")
    return BookFigure(html.replace("<figcaption>", _behaviour() + "<figcaption>"), alt)


def _behaviour() -> str:
    """Style and script, the same for every view; marked as CDATA, a translator passes over them."""
    parts = {"style": ".css", "script": ".js"}
    return "".join(
        f"<{tag}>/*<![CDATA[*/{_packed(Path(__file__).with_suffix(kind))}/*]]>*/</{tag}>"
        for tag, kind in parts.items()
    )


def _packed(path: Path) -> str:
    """A file on one line, without its comments: each view in a notebook stores it again."""
    text = re.sub(r"/\*.*?\*/|(?<!\S)//[^\n]*", "", path.read_text("utf-8"), flags=re.DOTALL)
    return " ".join(text.split())


def _visible(token: str) -> str:
    """A token that can be seen and pointed at, whatever its characters."""
    shown = token.replace(" ", "␣").replace("\n", "⏎").replace("\t", "⇥") or "∅"
    return "".join(character if character.isprintable() else "�" for character in shown)


def _checked(weights: ArrayLike, n_q: int, n_k: int) -> np.ndarray:
    """The weights as (layers, heads, n_q, n_k)."""
    if isinstance(weights, torch.Tensor):
        weights = weights.detach().double().cpu()
    array = np.asarray(weights, dtype=float)
    shapes = "(layers, heads, n_q, n_k), (heads, n_q, n_k) or (n_q, n_k)"
    if not 2 <= array.ndim <= 4:
        raise ValueError(f"weights must be {shapes}, got {array.shape}; take one sentence")
    if array.shape[-2:] != (n_q, n_k) or not array.size:
        raise ValueError(
            f"{n_q} tokens_q and {n_k} tokens_k need weights (…, {n_q}, {n_k}), got {array.shape}"
        )
    if not np.isfinite(array).all():
        place = tuple(np.argwhere(~np.isfinite(array))[0].tolist())
        raise ValueError(f"weights must be finite, got {array[place]} at {place}")
    if array.min() < -1e-3 or array.max() > 1 + 1e-3:
        raise ValueError(
            f"weights must lie between 0 and 1, got {array.min():.3g} … {array.max():.3g}; "
            "are these scores? take their softmax"
        )
    return array.reshape((1,) * (4 - array.ndim) + array.shape)


def _hundredths(array: np.ndarray) -> np.ndarray:
    """(layers, matrices, n_q, n_k), rounded; the first of several matrices is the heads' mean."""
    if array.shape[1] > 1:
        array = np.concatenate([array.mean(axis=1, keepdims=True), array], axis=1)
    return np.rint(100 * array.clip(0, 1)).astype(int)


def _row_height(queries: list[str], keys: list[str]) -> float:
    return 1.9 if max(len(queries), len(keys)) <= 12 else 1.5


def _add_choices(view: Element, n_layers: int, n_matrices: int) -> None:
    """What may be chosen; without the script it stands there as a legend."""
    heads = ["mean of all", *map(str, range(1, n_matrices))]
    kinds = {"Layer": [str(i + 1) for i in range(n_layers)], "Head": heads}
    choices = SubElement(view, "div", {"class": "choices"})
    for name, options in kinds.items():
        if len(options) > 1:
            label = SubElement(choices, "label")
            label.text = name
            select = SubElement(label, "select", {"class": name.lower(), "disabled": "disabled"})
            for option in options:
                SubElement(select, "option").text = option
    if not len(choices):
        view.remove(choices)


def _add_picture(
    view: Element, queries: list[str], keys: list[str], shares: np.ndarray, alt: str
) -> None:
    """Queries, lines, keys, and the same in words, with the first query chosen."""
    picture = SubElement(view, "div", {"class": "picture"})
    _add_tokens(picture, "queries", queries)[0].set("aria-pressed", "true")
    lines = SubElement(picture, "div", {"class": "lines"})
    svg = SubElement(lines, "svg", {"viewBox": "0 0 100 100", "preserveAspectRatio": "none"})
    svg.set("style", "position: absolute; inset: 0; width: 100%; height: 100%; overflow: visible")
    svg.attrib |= {"role": "img", "aria-label": alt}
    _add_lines(svg, shares)
    buttons = _add_tokens(picture, "keys", keys)
    for button, share in zip(buttons, shares[0], strict=True):
        button.set("data-weight", _written(share))
        button.set("style", f"--share: {share / 200:g}")
    most = sorted(zip(shares[0], keys, strict=True), key=lambda pair: -pair[0])[:_TOLD]
    readout = SubElement(view, "p", {"class": "readout", "aria-live": "polite", "translate": "no"})
    readout.text = f"{queries[0]} → " + " · ".join(
        f"{key} ({_written(share)})" for share, key in most
    )


def _written(share: Real) -> str:
    return f"{share / 100:.2f}"


def _add_tokens(picture: Element, name: str, tokens: list[str]) -> list[Element]:
    """One side, as buttons that the script turns on; its name stands above it."""
    side = SubElement(picture, "div", {"class": f"tokens {name}", "role": "toolbar"})
    side.attrib |= {"aria-label": name, "aria-orientation": "vertical"}
    for token in tokens:
        button = SubElement(side, "button", {"type": "button", "disabled": "disabled"})
        button.attrib |= {"aria-pressed": "false", "translate": "no"}
        button.text = token
    return list(side)


def _add_lines(svg: Element, shares: np.ndarray) -> None:
    """The first query's lines, and faintly in front of them the others' that are not thin."""
    faint = SubElement(svg, "g", {"class": "faint"})
    for (i, j), share in np.ndenumerate(shares):
        if share and (i == 0 or share >= _DRAWN):
            _add_line(svg if i == 0 else faint, i, j, shares)


def _add_line(parent: Element, i: int, j: int, shares: np.ndarray) -> None:
    """From query i to key j; the same curve as attention_view.js draws."""
    start, end = (
        f"{100 * (place + 0.5) / n:.1f}" for place, n in zip((i, j), shares.shape, strict=True)
    )
    share = shares[i, j] / 100
    line = SubElement(parent, "path", {"d": f"M0 {start}C50 {start} 50 {end} 100 {end}"})
    line.attrib |= {
        "stroke-width": f"{1 + 7 * share:.2f}",
        "stroke-opacity": f"{0.5 + 0.5 * share:.2f}",
    }
