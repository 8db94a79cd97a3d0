"""All exercises by name, gathered from the packages ``chapter_NN`` beside this one.

The exercise ``flash-attention`` of chapter 9 is EXERCISE in ``chapter_09/flash_attention.py``;
``chapter_09/__init__.py`` lists the chapter's names in order.
"""

import importlib
import pkgutil
from pathlib import Path

from transformer_lib.exercises.data import Exercise


def load_catalog() -> dict[str, Exercise]:
    """Import the exercises of every ``chapter_NN`` in order and index them by name.

    Raises:
        ValueError: two exercises have one name.
    """
    beside = pkgutil.iter_modules([str(Path(__file__).parent)])
    chapters = sorted(module.name for module in beside if module.name.startswith("chapter_"))
    return index([exercise for chapter in chapters for exercise in _load_chapter(chapter)])


def _load_chapter(chapter: str) -> list[Exercise]:
    package = f"{__package__}.{chapter}"
    files = (name.replace("-", "_") for name in importlib.import_module(package).NAMES)
    return [importlib.import_module(f"{package}.{file}").EXERCISE for file in files]


def index(exercises: list[Exercise]) -> dict[str, Exercise]:
    by_name = {exercise.name: exercise for exercise in exercises}
    if len(by_name) < len(exercises):
        names = [exercise.name for exercise in exercises]
        raise ValueError(f"two exercises are called {max(names, key=names.count)!r}")
    return by_name


catalog = load_catalog()
