"""The book's pages that are not notebooks: the code on them runs, in order, and asserts."""

import ast
import re
from pathlib import Path

import pytest

from tests import ROOT
from tests.markdown import tokens

PAGES = sorted((ROOT / "book").glob("*.md"))
WITH_CODE = [page for page in PAGES if "```python" in page.read_text(encoding="utf-8")]


def code_blocks(text: str) -> list[str]:
    return [token.content for token in tokens(text) if token.info == "python"]


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.name)
def test_code_runs(page: Path) -> None:
    namespace: dict[str, object] = {}
    for number, block in enumerate(code_blocks(page.read_text(encoding="utf-8")), start=1):
        exec(compile(block, f"{page.name}, block {number}", "exec"), namespace)


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.name)
def test_every_section_asserts_what_it_says(page: Path) -> None:
    sections = re.split("^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    silent = [text.splitlines()[0] for text in sections if not asserts("".join(code_blocks(text)))]
    assert sections and not silent


def asserts(source: str) -> bool:
    return any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(source)))
