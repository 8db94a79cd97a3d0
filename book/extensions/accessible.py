"""What screen readers stumble over in docutils' HTML: a list role on what is no list."""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

ROLE = re.compile(' role="[^"]*"')


def visit_citation(writer: HTML5Translator, node: nodes.citation) -> None:
    """Write an entry of the bibliography without roles that its contents contradict."""
    start = len(writer.body)
    HTML5Translator.visit_citation(writer, node)
    writer.body[start:] = [ROLE.sub("", html) for html in writer.body[start:]]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(
        nodes.citation, override=True, html=(visit_citation, HTML5Translator.depart_citation)
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
