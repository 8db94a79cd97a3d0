"""The page of all exercises: its tables are written from the catalogue at each build.

They take the place of the line `<!-- exercises -->` and are Markdown, so that translators see
them like any other text.
"""

from itertools import groupby
from typing import TYPE_CHECKING

from sphinx.application import Sphinx

if TYPE_CHECKING:
    from transformer_lib.exercises import Exercise

MARK = "<!-- exercises -->"
HEAD = "| exercise | name for `check` | with | level | minutes |\n|---|---|---|---|---|\n"


def link(title: str, name: str) -> str:
    return f"{{ref}}`{title} <ex-{name}>`"


def row(exercise: "Exercise") -> str:
    e, tool = exercise, "pencil" if exercise.is_number else "Python"
    return f"| {link(e.title.en, e.name)} | `{e.name}` | {tool} | {e.difficulty} | {e.minutes} |"


def chapter_page(app: Sphinx, number: int) -> str:
    return next(name for name in app.env.found_docs if name.startswith(f"notebooks/{number:02}_"))


def exercise_tables(app: Sphinx) -> str:
    """One section for each chapter, with a table of its exercises."""
    # Imported late: with torch in the process, sphinx_external_toc raises warnings of torch's.
    from transformer_lib.exercises import catalog

    sections = []
    for number, exercises in groupby(catalog.values(), key=lambda e: e.chapter):
        heading = f"## Chapter {number}\n\n{{doc}}`/{chapter_page(app, number)}`"
        sections.append(f"{heading}\n\n{HEAD}" + "\n".join(map(row, exercises)))
    return "\n\n".join(sections)


def write_tables(app: Sphinx, docname: str, source: list[str]) -> None:
    if docname == "book/exercises":
        source[0] = source[0].replace(MARK, exercise_tables(app))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", write_tables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
