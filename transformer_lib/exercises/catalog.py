"""All exercises by name, gathered from the modules ``chapter_NN`` beside this one."""

import importlib
import pkgutil
from pathlib import Path

from transformer_lib.exercises.data import Exercise


def load_catalog() -> dict[str, Exercise]:
    """Import every ``chapter_NN`` in order and index its EXERCISES by name.

    Raises:
        ValueError: two exercises have one name.
    """
    beside = pkgutil.iter_modules([str(Path(__file__).parent)])
    chapters = sorted(module.name for module in beside if module.name.startswith("chapter_"))
    modules = [importlib.import_module(f"{__package__}.{chapter}") for chapter in chapters]
    return index([exercise for module in modules for exercise in module.EXERCISES])


def index(exercises: list[Exercise]) -> dict[str, Exercise]:
    by_name = {exercise.name: exercise for exercise in exercises}
    if len(by_name) < len(exercises):
        names = [exercise.name for exercise in exercises]
        raise ValueError(f"two exercises are called {max(names, key=names.count)!r}")
    return by_name


catalog = load_catalog()
