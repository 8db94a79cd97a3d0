"""Exercises that check themselves: ``check("softmax", my_softmax)``."""

from transformer_lib.exercises.catalog import catalog
from transformer_lib.exercises.data import Case, CheckResult, Exercise, Mistake, Text
from transformer_lib.exercises.engine import check

__all__ = ["Case", "CheckResult", "Exercise", "Mistake", "Text", "catalog", "check"]
