"""The words inside figures, equations and answers of `check` can be translated like a paragraph.

A code cell's stored output holds a figure as HTML, `<figure class="book-figure"><svg …>`, or what
`check` printed; an equation may say `\\text{if } i = j`. Sphinx looks into none of them; here such
a node hands out its words to gettext and takes the translated ones back.
"""

import re
from collections.abc import Iterator
from typing import Any
from xml.dom import minidom
from xml.parsers.expat import ExpatError

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.domains.math import MathDomain
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform
from sphinx.util.nodes import get_node_line, get_node_source

FIGURE = 'class="book-figure"'
PHRASE = re.compile(r"(?<=\\text\{)[^{}]+")
CHECKED = {"tag_exercise", "tag_solution"}
SYMBOL = re.compile(r"\$[^$]+\$|`[^`]+`|\d+|\{\w+\}`[^`<]+`")  # mathematics, code, number, role
WORD = re.compile("[A-Za-z][a-z]")  # what needs a translator: dₖ, QKᵀ, 人 and 0.67 do not


class HiddenWords(addnodes.translatable):
    """A node that consists of code with words in it; a subclass tells where they are."""

    def phrases(self) -> list[str]:
        raise NotImplementedError

    def preserve_original_messages(self) -> None:
        self["phrases"] = list(dict.fromkeys(filter(WORD.search, self.phrases())))

    def extract_original_messages(self) -> list[str]:
        return self["phrases"]

    def set_code(self, code: str) -> None:
        self.children = [nodes.Text(code)]

    def __setitem__(self, key: str, value: Any) -> None:
        # Sphinx passes over a node once one of its messages needs no translation. Here there
        # are many, and "softmax" stays "softmax" while the others change.
        super().__setitem__(key, False if key == "translated" else value)


def text_nodes(node: minidom.Node) -> Iterator[minidom.Node]:
    """The text nodes and aria-label attributes in and below `node`, in reading order."""
    if node.nodeType == node.ELEMENT_NODE and node.getAttribute("translate") == "no":
        return
    if node.nodeType == node.TEXT_NODE:
        yield node
    elif node.nodeType == node.ELEMENT_NODE and node.hasAttribute("aria-label"):
        yield node.getAttributeNode("aria-label")
    for child in node.childNodes:
        yield from text_nodes(child)


def is_printed(node: nodes.Node) -> bool:
    return isinstance(node, nodes.literal_block) and "stream" in node["classes"]


def on_one_line(text: str) -> str:
    return " ".join(text.split())


class Figure(HiddenWords, nodes.raw):
    """A figure's HTML; its words are in texts, labels and the caption."""

    def phrases(self) -> list[str]:
        texts = text_nodes(minidom.parseString(self.astext()))
        return [on_one_line(text.nodeValue) for text in texts]

    def apply_translated_message(self, original_message: str, translated_message: str) -> None:
        tree = minidom.parseString(self.astext())
        for text in text_nodes(tree):
            if on_one_line(text.nodeValue) == original_message:
                text.nodeValue = translated_message
        self.set_code(tree.documentElement.toxml())


class Equation(HiddenWords, nodes.math_block):
    r"""A display equation; its words are in \text{…}."""

    def phrases(self) -> list[str]:
        return [phrase.strip() for phrase in PHRASE.findall(self.astext())]

    def apply_translated_message(self, original_message: str, translated_message: str) -> None:
        def translate(match: re.Match[str]) -> str:
            return match[0].replace(original_message, translated_message)

        self.set_code(PHRASE.sub(translate, self.astext()))


class CheckResult(HiddenWords, nodes.literal_block):
    """What `check` printed below an exercise or its solution."""

    def phrases(self) -> list[str]:
        return [on_one_line(self.astext())]

    def apply_translated_message(self, original_message: str, translated_message: str) -> None:
        self.set_code(translated_message)


class FindHiddenWords(SphinxTransform):
    """Turn what has hidden words into nodes that can be translated; leave lone symbols alone."""

    default_priority = 5  # before Sphinx keeps the original messages (10) and translates (20)

    def apply(self, **kwargs: Any) -> None:
        for equation in self.document.findall(nodes.math_block):
            self.convert(equation, Equation)
        for raw in self.document.findall(nodes.raw):
            if FIGURE in raw.astext():
                self.convert(raw, Figure)
        for cell in self.document.findall(nodes.container):
            if CHECKED.intersection(cell["classes"]):
                for text in cell.findall(is_printed):
                    self.convert(text, CheckResult)
        for text in self.document.findall(nodes.TextElement):
            if SYMBOL.fullmatch(text.rawsource):  # the same in every language
                text["translatable"] = False

    def convert(self, node: nodes.Element, kind: type[HiddenWords]) -> None:
        # The document's tables of labels hold this node, so it stays and changes its class.
        node.__class__ = kind
        node.source, node.line = get_node_source(node), get_node_line(node)
        try:
            node.phrases()
        except ExpatError as error:
            raise ExtensionError(f"{node.source}: figure is no XML: {error}") from error


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(Figure)
    app.add_node(Equation)
    app.add_node(CheckResult)
    MathDomain.enumerable_nodes[Equation] = MathDomain.enumerable_nodes[nodes.math_block]
    app.add_transform(FindHiddenWords)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
