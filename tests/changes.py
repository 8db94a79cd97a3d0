"""What the working tree changes, compared with the last commit: for ``python -m tests quick``."""

import subprocess
from itertools import groupby
from pathlib import Path

from tests import NOTEBOOKS, ROOT
from transformer_lib.exercises import Exercise, catalog

EXERCISES = Path("transformer_lib/exercises")


def since_last_commit() -> list[Path]:
    """Changed and new files, relative to the root; none where git does not say."""
    command = ["git", "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8")
    return [Path(entry[3:]) for entry in answer.stdout.split("\0") if entry]


def exercises(changed: list[Path]) -> list[str]:
    """The names of the exercises whose own file was changed, or one that its chapter shares.

    Where the engine or something that all share was changed: the first function of each chapter.
    """
    names = {name for path in changed for name in _touched_by(path)}
    if any(path.parent == EXERCISES for path in changed):
        functions = (e for e in catalog.values() if not e.is_number)
        names |= {next(es).name for _, es in groupby(functions, lambda e: e.chapter)}
    return [name for name in catalog if name in names]


def _touched_by(path: Path) -> set[str]:
    chapter = [e.name for e in catalog.values() if path.parent == _file(e).parent]
    own = [name for name in chapter if path == _file(catalog[name])]
    return set(own or chapter)


def _file(exercise: Exercise) -> Path:
    name = exercise.name.replace("-", "_")
    return EXERCISES / f"chapter_{exercise.chapter:02}" / f"{name}.py"


def notebooks(changed: list[Path]) -> list[Path]:
    return [path for path in NOTEBOOKS if path.relative_to(ROOT) in changed]


def left_out(changed: list[Path]) -> str:
    """What only the whole ``python -m tests`` checks."""
    library = any(path.parts[0] == "transformer_lib" for path in changed)
    felt = "every exercise and notebook that may feel the change in the library, " * library
    return f"{felt}slow tests, the site. `python -m tests` checks all."
