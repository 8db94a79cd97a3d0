"""From matplotlib's drawing to SVG that follows its page."""

import io
import re
import warnings
from xml.etree import ElementTree

from matplotlib import rc_context
from matplotlib.figure import Figure

from transformer_lib.plots.style import STYLE, ZOOM


def check_words(**texts: str) -> None:
    """Refuse a figure that does not say what it shows."""
    for name, text in texts.items():
        if not text.strip():
            raise ValueError(f"{name} must say something about the figure, got {text!r}")


def named_svg(figure: Figure, alt: str, caption: str) -> ElementTree.Element:
    """The drawing, with a name for those who cannot see it."""
    check_words(alt=alt, caption=caption)
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
