"""Every notebook is built as CONTRIBUTING.md says, and nbval notices when one is not true.

Whether the stored outputs are what the code gives, nbval decides (``python -m tests nbval``).
"""

import ast
import copy
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tests import NOTEBOOKS
from tests.__main__ import NBVAL_OPTIONS, NO_NETWORK
from tests.markdown import directive_label, directive_name, tokens
from transformer_lib import exercises

MAX_LINES = 15
ABOVE_REASONS = "# Why this number:"  # the first line of a pencil exercise's solution
UNLIMITED = {"setup", "exercise", "solution"}
TAGS = UNLIMITED | {"hide-input", "remove-input", "hide-output", "raises-exception"}
TAGS |= {"nbval-ignore-output"}  # only where the cell asserts what its output must show
ABSOLUTE_PATH = re.compile(r"(?<![\w<./:])/(?:[\w.-]+/)+[\w.-]*|\b[A-Z]:\\")

Rule = Callable[[NotebookNode], Iterator[str]]


def code_cells(
    notebook: NotebookNode, tag: str | None = None
) -> Iterator[tuple[str, NotebookNode]]:
    """The code cells (with that tag) and how to name them; numbered as nbval numbers them."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(cells):
        if tag is None or tag in cell.metadata.get("tags", []):
            yield f"Cell {number} ({cell.source[:40]!r})", cell


def prose(notebook: NotebookNode) -> str:
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def output_texts(cell: NotebookNode) -> Iterator[tuple[str, str]]:
    """What the cell's outputs hold, as (kind, text): a MIME type, or stdout, stderr, error."""
    for output in cell.outputs:
        if output.output_type == "stream":
            yield output.name, output.text
        elif output.output_type == "error":
            yield "error", "\n".join(output.traceback)
        else:
            yield from output.data.items()


def called_names(cell: NotebookNode) -> list[str]:
    """The names of the functions the cell calls, without their module."""
    calls = [node.func for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Call)]
    return [getattr(func, "attr", getattr(func, "id", "")) for func in calls]


def checked_names(cell: NotebookNode) -> list[str]:
    """The exercises the cell calls ``check`` for."""
    calls = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Call)]
    return [c.args[0].value for c in calls if getattr(c.func, "id", "") == "check" and c.args]


def proves_something(cell: NotebookNode) -> bool:
    statements = ast.walk(ast.parse(cell.source))
    is_assert = any(isinstance(node, ast.Assert) for node in statements)
    return is_assert or any(name.startswith("assert") for name in called_names(cell))


# The rules. Each yields what is wrong, naming the cell.


def outputs_are_committed(notebook: NotebookNode) -> Iterator[str]:
    for number, (name, cell) in enumerate(code_cells(notebook), start=1):
        if cell.execution_count != number:
            count = cell.execution_count
            yield f"{name}: execution count {count}, not {number}; restart the kernel and run all"


def outputs_are_clean(notebook: NotebookNode) -> Iterator[str]:
    for name, cell in code_cells(notebook):
        for kind, text in output_texts(cell):
            if kind == "stderr" or (
                kind == "error" and "raises-exception" not in cell.metadata.tags
            ):
                yield f"{name}: output holds {kind}: {text[:80]!r}"
            if kind.startswith("image/"):
                yield f"{name}: figure stored as {kind}; use transformer_lib.plots, which gives SVG"
            if path := ABSOLUTE_PATH.search(str(text)):
                yield f"{name}: output holds an absolute path: {path[0]}"


def ignored_outputs_are_asserted(notebook: NotebookNode) -> Iterator[str]:
    for name, cell in code_cells(notebook, "nbval-ignore-output"):
        if not proves_something(cell):
            yield f"{name}: its output is not compared, so it must assert what the output shows"


def metadata_is_small(notebook: NotebookNode) -> Iterator[str]:
    if extra := set(notebook.metadata) - {"kernelspec", "language_info"}:
        yield f"notebook metadata {sorted(extra)} is not needed"
    for index, cell in enumerate(notebook.cells):
        if extra := set(cell.metadata) - {"tags", "proves", "jupyter"}:
            yield f"cells[{index}]: metadata {sorted(extra)} is not needed"
        if unknown := set(cell.metadata.get("tags", [])) - TAGS:
            yield f"cells[{index}]: unknown tags {sorted(unknown)}"


def cells_are_short(notebook: NotebookNode) -> Iterator[str]:
    for name, cell in code_cells(notebook):
        lines = len(cell.source.splitlines())
        if lines > MAX_LINES and not UNLIMITED & set(cell.metadata.get("tags", [])):
            yield f"{name}: {lines} lines; at most {MAX_LINES}"


def setup_comes_first(notebook: NotebookNode) -> Iterator[str]:
    if [name[:7] for name, _ in code_cells(notebook, "setup")] != ["Cell 0 "]:
        yield "exactly one code cell, the first, must be tagged setup"


def exercises_are_complete(notebook: NotebookNode) -> Iterator[str]:
    """Statement, exercise cell, solution cell and catalogue entry go together."""
    found = {
        tag: Counter(name for _, cell in code_cells(notebook, tag) for name in checked_names(cell))
        for tag in ("exercise", "solution")
    }
    fences = [token for token in tokens(prose(notebook)) if directive_name(token) == "exercise"]
    found["{exercise} directive"] = Counter(
        directive_label(token).removeprefix("ex-") for token in fences
    )
    for name in sorted(set().union(*found.values())):
        for kind, counter in found.items():
            if counter[name] != 1:
                yield f"exercise {name!r}: {counter[name]} × {kind}, must be 1"
        if name not in exercises.catalog:
            yield f"exercise {name!r}: not in transformer_lib.exercises.catalog"
    for tag in ("exercise", "solution"):
        for cell_name, cell in code_cells(notebook, tag):
            if len(checked_names(cell)) != 1:
                yield f"{cell_name}: tagged {tag}, must call check once with the exercise's name"


def solutions_are_folded(notebook: NotebookNode) -> Iterator[str]:
    """In JupyterLab too, and nothing else is: a learner decides when to look."""
    for name, cell in code_cells(notebook):
        folded = cell.metadata.get("jupyter", {}) == {"source_hidden": True}
        if folded != ("solution" in cell.metadata.get("tags", [])):
            yield f'{name}: a solution, and only that, has "jupyter": {{"source_hidden": true}}'


def folded_solutions_give_nothing_away(notebook: NotebookNode) -> Iterator[str]:
    """JupyterLab shows the first line of a folded cell, whatever its metadata say.

    So that line is one the exercise shows too, the signature; above a pencil's reasons it is
    always the same.
    """
    given: list[str] = []
    for name, cell in code_cells(notebook):
        tags = cell.metadata.get("tags", [])
        if "exercise" in tags:
            given = [*cell.source.splitlines(), ABOVE_REASONS]
        elif "solution" in tags and cell.source.splitlines()[0] not in given:
            yield f"{name}: shows its first line while folded; put {ABOVE_REASONS!r} above it"


def statements_agree_with_the_catalogue(notebook: NotebookNode) -> Iterator[str]:
    """Title, level and minutes are those that the list of all exercises shows."""
    for token in tokens(prose(notebook)):
        name = directive_name(token) == "exercise" and directive_label(token).removeprefix("ex-")
        if name in exercises.catalog:
            exercise = exercises.catalog[name]
            kind = " · pencil" if exercise.is_number else ""
            first = f"**Level {exercise.difficulty} · {exercise.minutes} minutes{kind}.**"
            if not token.info.endswith(f"}} {exercise.title.en}") or first not in token.content:
                title = exercise.title.en
                yield f"exercise {name!r}: must be called {title!r} and begin with {first}"


def exercises_stand_alone(notebook: NotebookNode) -> Iterator[str]:
    """The setup cell is all that an exercise or a solution needs."""
    setup = [cell for _, cell in code_cells(notebook, "setup")]
    for tag in ("exercise", "solution"):
        for name, cell in code_cells(notebook, tag):
            results = run_recording_checks([*setup, cell])
            if isinstance(results, Exception):
                yield f"{name}: after the setup cell alone: {results!r}"
            elif not all(r.passed if tag == "solution" else not r.attempted for r in results):
                yield f"{name}: tagged {tag}, but check says: {results[0].message}"


def run_recording_checks(cells: list[NotebookNode]) -> list[exercises.CheckResult] | Exception:
    """Run the cells in one fresh namespace; what ``check`` returned, or the error raised."""
    results, real_check = [], exercises.check

    def check(name: str, answer: object) -> exercises.CheckResult:
        results.append(real_check(name, answer))
        return results[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exercises, "check", check)
        namespace: dict[str, object] = {"__name__": "__main__"}
        try:
            for cell in cells:
                exec(compile(cell.source, "<cell>", "exec"), namespace)
        except Exception as error:
            return error
    return results


def figures_can_be_read_aloud(notebook: NotebookNode) -> Iterator[str]:
    for name, cell in code_cells(notebook):
        for kind, html in output_texts(cell):
            if kind == "text/html" and "<svg" in html:
                yield from (f"{name}: {problem}" for problem in figure_problems(html))


def figure_problems(html: str) -> Iterator[str]:
    soup = BeautifulSoup(html, "html.parser")
    for svg in soup.find_all("svg"):
        figure = svg.find_parent("figure", class_="book-figure")
        if svg.get("role") != "img" or not svg.get("aria-label", "").strip():
            yield 'the <svg> needs role="img" and an aria-label that says what it shows'
        if figure is None:
            yield '<svg> outside <figure class="book-figure">'
        elif figure.figcaption is None or not figure.figcaption.get_text(strip=True):
            yield "the figure needs a <figcaption>"


def equations_are_proved(notebook: NotebookNode) -> Iterator[str]:
    """Every numbered equation is named in the ``proves`` of a cell that asserts something."""
    found = list(tokens(prose(notebook)))
    labels = {token.info for token in found if token.type == "math_block_label"}
    if any(directive_name(token) == "math" for token in found):
        yield "{math} directive: write $$ … $$ (label), which needs no directive"
    proved = set()
    for name, cell in code_cells(notebook):
        claims = set(cell.metadata.get("proves", []))
        if claims and not proves_something(cell):
            yield f"{name}: says it proves {sorted(claims)}, but asserts nothing"
        if stale := claims - labels:
            yield f"{name}: proves {sorted(stale)}, which no equation is called"
        proved |= claims
    for label in sorted(labels - proved):
        yield f'equation ({label}): no code cell has it in its metadata "proves"'


RULES: list[Rule] = [
    outputs_are_committed,
    outputs_are_clean,
    ignored_outputs_are_asserted,
    metadata_is_small,
    cells_are_short,
    setup_comes_first,
    exercises_are_complete,
    solutions_are_folded,
    folded_solutions_give_nothing_away,
    statements_agree_with_the_catalogue,
    exercises_stand_alone,
    figures_can_be_read_aloud,
    equations_are_proved,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebook(path: Path, rule: Rule) -> None:
    problems = list(rule(nbformat.read(path, as_version=4)))
    assert not problems, f"{path.name}:\n" + "\n".join(problems)


# The rules themselves: each finds the fault made for it in a sample that is otherwise sound.

FIGURE = (
    '<figure class="book-figure"><svg role="img" aria-label="A line" viewBox="0 0 9 9">'
    '<g id="line_1"><path d="M 1.25 2.5 L 3.75 4.5" style="stroke: #123456"/></g>'
    '<text x="1.25" y="4.5">slope 2</text></svg><figcaption>One line.</figcaption></figure>'
)
NAME = "softmax"
STATEMENT = f"""\
```{{exercise}} {exercises.catalog[NAME].title.en}
:label: ex-{NAME}

**Level {exercises.catalog[NAME].difficulty} · {exercises.catalog[NAME].minutes} minutes.**
```"""


def code(source: str, *tags: str, **metadata: object) -> NotebookNode:
    return new_code_cell(source, metadata={"tags": list(tags)} | metadata)


def sample() -> NotebookNode:
    """A small sound notebook, outputs stored."""
    cells = [
        new_markdown_cell("# Sums\n\n$$\n1 + 1 = 2\n$$ (sum)"),
        code("import torch\nfrom transformer_lib.exercises import check", "setup"),
        code("assert 1 + 1 == 2\nprint('one')\nprint('two')", proves=["sum"]),
        code(f"from IPython.display import HTML\nHTML({FIGURE!r})"),
        new_markdown_cell(STATEMENT),
        code(
            f"def answer(x, dim):\n    raise NotImplementedError\n\n\ncheck('{NAME}', answer);",
            "exercise",
        ),
        code(
            f"def answer(x, dim):\n    return torch.softmax(x, dim)\n\n\ncheck('{NAME}', answer);",
            "solution",
            jupyter={"source_hidden": True},
        ),
    ]
    notebook = new_notebook(cells=cells)
    for number, (_, cell) in enumerate(code_cells(notebook), start=1):
        cell.execution_count = number
    cells[2].outputs = [new_output("stream", name="stdout", text="one\ntwo\n")]
    data = {"text/plain": "<IPython.core.display.HTML object>", "text/html": FIGURE}
    cells[3].outputs = [new_output("execute_result", data=data, execution_count=3)]
    return notebook


def spoil(change: Callable[[list[NotebookNode]], object]) -> NotebookNode:
    notebook = copy.deepcopy(sample())
    change(notebook.cells)
    return notebook


def set_source(index: int, source: str) -> Callable[[list[NotebookNode]], None]:
    return lambda cells: cells[index].update(source=source)


def set_output(kind: str, text: str) -> Callable[[list[NotebookNode]], None]:
    output = (
        new_output("stream", name=kind, text=text)
        if kind.startswith("std")
        else new_output("display_data", data={kind: text})
    )
    return lambda cells: cells[2].outputs.append(output)


FAULTS = {
    "run out of order": (outputs_are_committed, lambda c: c[2].update(execution_count=7)),
    "not run": (outputs_are_committed, lambda c: c[2].update(execution_count=None)),
    "a warning stored": (outputs_are_clean, set_output("stderr", "UserWarning: x")),
    "a bitmap": (outputs_are_clean, set_output("image/png", "iVBORw0KGgo=")),
    "somebody's folder": (outputs_are_clean, set_output("stdout", "in /home/me/book/x.py")),
    "a Windows folder": (outputs_are_clean, set_output("stdout", r"in C:\Users\me")),
    "nothing compared": (
        ignored_outputs_are_asserted,
        lambda c: c[3].metadata.update(tags=["nbval-ignore-output"]),
    ),
    "editor's metadata": (metadata_is_small, lambda c: c[2].metadata.update(collapsed=True)),
    "a misspelt tag": (metadata_is_small, lambda c: c[2].metadata.update(tags=["excercise"])),
    "a long cell": (cells_are_short, set_source(2, "x = 1\n" * 16)),
    "no setup": (setup_comes_first, lambda c: c[1].metadata.update(tags=[])),
    "late setup": (setup_comes_first, lambda c: c.insert(1, code("1"))),
    "an open solution": (solutions_are_folded, lambda c: c[6].metadata.pop("jupyter")),
    "a reason in sight": (
        folded_solutions_give_nothing_away,
        set_source(6, f"# exp, then divide\n{ABOVE_REASONS}"),
    ),
    "another title": (
        statements_agree_with_the_catalogue,
        set_source(4, STATEMENT.replace(exercises.catalog[NAME].title.en, "Soft")),
    ),
    "other minutes": (
        statements_agree_with_the_catalogue,
        set_source(4, STATEMENT.replace("· ", "· 9")),
    ),
    "no solution": (exercises_are_complete, lambda c: c.pop(6)),
    "no statement": (exercises_are_complete, lambda c: c.pop(4)),
    "no exercise": (exercises_are_complete, lambda c: c.pop(5)),
    "unknown exercise": (exercises_are_complete, set_source(5, "check('no-such', None)")),
    "nothing checked": (exercises_are_complete, set_source(5, "pass")),
    "needs more than setup": (exercises_stand_alone, set_source(6, "check('x', from_above)")),
    "a wrong solution": (
        exercises_stand_alone,
        set_source(6, f"check('{NAME}', lambda x, dim: x)"),
    ),
    "a solved exercise": (
        exercises_stand_alone,
        set_source(5, f"check('{NAME}', lambda x, dim: torch.softmax(x, dim))"),
    ),
    "no alt text": (
        figures_can_be_read_aloud,
        set_output("text/html", FIGURE.replace("A line", "")),
    ),
    "no caption": (
        figures_can_be_read_aloud,
        set_output("text/html", FIGURE.replace("One line.", "")),
    ),
    "a bare svg": (
        figures_can_be_read_aloud,
        set_output("text/html", '<svg role="img" aria-label="A line"></svg>'),
    ),
    "an equation nobody proves": (
        equations_are_proved,
        lambda c: c[2].metadata.update(proves=[]),
    ),
    "a proof of nothing": (
        equations_are_proved,
        lambda c: c[2].metadata.update(proves=["sum", "gone"]),
    ),
    "a proof without assert": (equations_are_proved, set_source(2, "print(1 + 1)")),
    "a hidden equation": (
        equations_are_proved,
        lambda c: c.append(new_markdown_cell("```{math}\n:label: b\n1\n```")),
    ),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule_accepts_a_sound_notebook(rule: Rule) -> None:
    assert list(rule(sample())) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_rule_finds(fault: str) -> None:
    rule, change = FAULTS[fault]
    assert list(rule(spoil(change)))


# nbval with the project's options and sanitizer: one notebook, each cell stored another way.

SHOW_FIGURE = f"from IPython.display import HTML\nHTML({FIGURE!r})"


def stored(source: str, *texts: str, kind: str = "stdout") -> NotebookNode:
    """A code cell with these outputs stored, whatever it really gives."""
    outputs = [new_output("stream", name=kind, text=text) for text in texts]
    return new_code_cell(source, outputs=outputs, execution_count=1)


def stored_figure(old: str = "", new: str = "") -> NotebookNode:
    data = {"text/plain": "<IPython.core.display.HTML object>"}
    data["text/html"] = FIGURE.replace(old, new)
    output = new_output("execute_result", data=data, execution_count=1)
    return new_code_cell(SHOW_FIGURE, outputs=[output], execution_count=1)


NBVAL_CASES = {
    "what the code prints": (stored("print('1.25')", "1.25\n"), "passed"),
    "a changed number": (stored("print('1.25')", "1.26\n"), "failed"),
    "an output that is gone": (stored("pass", "1.25\n"), "failed"),
    "an output not stored": (stored("print('1.25')"), "failed"),
    "an error": (stored("1 / 0"), "failed"),
    "a warning not stored": (stored("import warnings; warnings.warn('old')"), "failed"),
    "a stream cut in two": (stored("print('a')\nprint('b')", "a\n", "b\n"), "passed"),
    "the network": (
        stored("from urllib.request import urlopen\nurlopen('http://example.org')"),
        "failed",
    ),
    "a figure": (stored_figure(), "passed"),
    "a figure, last digits": (stored_figure("4.5", "4.51"), "passed"),
    "a figure, other ids": (stored_figure('id="line_1"', 'id="line_2"'), "passed"),
    "a figure, other word": (stored_figure("slope 2", "slope 3"), "failed"),
    "a figure, other colour": (stored_figure("#123456", "#123457"), "failed"),
    "a figure, other alt text": (stored_figure("A line", "A curve"), "failed"),
    "a figure, other caption": (stored_figure("One line.", "Two."), "failed"),
}


@pytest.fixture(scope="module")
def nbval_results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the nbval stage says about each cell of NBVAL_CASES: passed or failed."""
    folder = tmp_path_factory.mktemp("nbval")
    cells = [copy.deepcopy(cell) for cell, _ in NBVAL_CASES.values()]
    nbformat.write(new_notebook(cells=cells), folder / "sample.ipynb")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", *NBVAL_OPTIONS]
    env = os.environ | {"PYTHONUTF8": "1", "NO_COLOR": "1"} | NO_NETWORK
    run = subprocess.run(
        [*command, "sample.ipynb"], cwd=folder, env=env, capture_output=True, encoding="utf-8"
    )
    lines = re.findall(r"^(PASSED|FAILED) sample\.ipynb::Cell (\d+)", run.stdout, re.MULTILINE)
    names = list(NBVAL_CASES)
    return {names[int(number)]: outcome.lower() for outcome, number in lines}


@pytest.mark.slow
@pytest.mark.parametrize("case", NBVAL_CASES)
def test_nbval(case: str, nbval_results: dict[str, str]) -> None:
    assert nbval_results.get(case) == NBVAL_CASES[case][1]
