"""All exercises by name, gathered from the modules ``chapter_NN`` beside this one."""

import importlib
import pkgutil
from pathlib import Path

from transformer_lib.exercises.data import Exercise


def load_catalog() -> dict[str, Exercise]:
    """Import every ``chapter_NN`` in order and index its EXERCISES by name."""
    beside = pkgutil.iter_modules([str(Path(__file__).parent)])
    chapters = sorted(module.name for module in beside if module.name.startswith("chapter_"))
    modules = [importlib.import_module(f"{__package__}.{chapter}") for chapter in chapters]
    return {exercise.name: exercise for module in modules for exercise in module.EXERCISES}


catalog = load_catalog()
