"""Exercises from the command line.

python -m transformer_lib.exercises                      list all exercises
python -m transformer_lib.exercises grade NOTEBOOK ...   say which are solved in these notebooks
"""

import argparse
import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path

from transformer_lib.exercises import CheckResult, catalog, check


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m transformer_lib.exercises",
        description="List the book's exercises, or grade the answers written into notebooks.",
    )
    commands = parser.add_subparsers(dest="command")
    grade = commands.add_parser("grade", help="say which exercises are solved")
    grade.add_argument("notebooks", nargs="+", type=Path, help="notebooks, or folders of them")
    arguments = parser.parse_args()
    if arguments.command == "grade":
        missing = [str(path) for path in arguments.notebooks if not path.exists()]
        if missing:
            parser.error(f"no such notebook or folder: {', '.join(missing)}")
        print_grades(arguments.notebooks)
    else:
        print_catalog()


def print_catalog() -> None:
    print("| chapter | name | exercise | level | minutes |\n|---|---|---|---|---|")
    for e in catalog.values():
        print(f"| {e.chapter} | {e.name} | {e.title} | {e.difficulty} | {e.minutes} |")


def print_grades(paths: list[Path]) -> None:
    """A Markdown table of all exercises found, and how many are solved."""
    print("| notebook | exercise | result |\n|---|---|---|")
    results = [
        (notebook.stem, name, result)
        for path in paths
        for notebook in (sorted(path.glob("*.ipynb")) if path.is_dir() else [path])
        for name, result in grade(notebook)
    ]
    for notebook, name, result in results:
        word = "solved" if result.passed else "not yet right" if result.attempted else "open"
        print(f"| {notebook} | {name} | {word} |")
    print(f"\n{sum(result.passed for _, _, result in results)} of {len(results)} solved")


def grade(notebook: Path) -> Iterator[tuple[str, CheckResult]]:
    """The result of each ``check`` in a notebook's exercise cells.

    Runs the setup cell and the cells tagged ``exercise``, nothing else: the solutions in the
    notebook do not count. A cell that fails counts as attempted.
    """
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    namespace: dict = {}
    found: list[tuple[str, CheckResult]] = []
    for cell in cells:
        tags = cell["metadata"].get("tags", [])
        source = "".join(cell["source"])
        if "setup" in tags:
            exec(compile(source, f"{notebook.name}: setup", "exec"), namespace)
            namespace["check"] = lambda name, answer: found.append((name, _quiet(name, answer)))
        elif "exercise" in tags:
            before = len(found)
            try:
                exec(compile(source, f"{notebook.name}: exercise", "exec"), namespace)
            except (Exception, SystemExit) as error:  # a broken cell: say so, go on with the next
                failed = CheckResult(False, True, f"{type(error).__name__}: {error}")
                found[before:] = [(_asked(source), failed)]
    yield from found


def _quiet(name: str, answer: object) -> CheckResult:
    with contextlib.redirect_stdout(io.StringIO()):
        return check(name, answer)


def _asked(source: str) -> str:
    """The exercise a cell is about, though the cell could not be run."""
    return next((name for name in catalog if f'"{name}"' in source), "?")


if __name__ == "__main__":
    main()
