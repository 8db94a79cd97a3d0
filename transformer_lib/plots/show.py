"""A figure ready for a page."""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from matplotlib.figure import Figure

from transformer_lib.plots.svg import named_svg


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
    element.append(named_svg(figure, alt, caption))
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
        step.append(named_svg(figure, alt, note))
        add(step, "p").text = note
    buttons = add(stepper, "div", {"class": "book-steps-buttons", "hidden": "hidden"})
    for word in ("Back", "Next"):
        add(buttons, "button", {"type": "button"}).text = word
    add(element, "figcaption").text = caption
    return BookFigure(ElementTree.tostring(element, encoding="unicode"), steps[0][1])


_SIDE_BY_SIDE = (
    "display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr))"
)
