"""Equations, exercises and figures are numbered by chapter: (4.1) is the first of chapter 4.

Sphinx would take the chapter from a numbered table of contents, which also writes a number before
every heading; ours say theirs in words, and pages that are no chapters have none. So the chapter
is read from the file's name, as everywhere: 4 from notebooks/04_self_attention. With
`math_numfig` an equation is counted like a figure, and both what stands beside it and what refers
to it read the number set here.
"""

import re

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

CHAPTER = re.compile(r"notebooks/(\d+)_")


def number_by_chapter(_app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Begin with 1 in each chapter, for each kind of thing that has a number."""
    for page, kinds in env.toc_fignumbers.items():
        if chapter := CHAPTER.match(page):
            for numbers in kinds.values():
                for place, label in enumerate(numbers, start=1):
                    numbers[label] = (int(chapter[1]), place)
    return []


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("env-get-updated", number_by_chapter, priority=600)  # after Sphinx's numbers (500)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
