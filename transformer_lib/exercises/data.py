"""What an exercise is: plain data. The engine and the tests both follow from it."""

import inspect
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Text:
    """One sentence for the learner in both languages of the book.

    ``str(text)`` is English, or Chinese where the environment has ``BOOK_LANGUAGE=zh-TW``.
    """

    en: str
    zh: str

    def __str__(self) -> str:
        return self.zh if os.environ.get("BOOK_LANGUAGE", "en").startswith("zh") else self.en

    def format(self, **values: object) -> "Text":
        """Fill the braces; a Text among the values is taken in the same language."""
        en = {k: v.en if isinstance(v, Text) else v for k, v in values.items()}
        zh = {k: v.zh if isinstance(v, Text) else v for k, v in values.items()}
        return Text(self.en.format(**en), self.zh.format(**zh))

    def join(self, texts: Iterable["Text"]) -> "Text":
        """The texts in a row, with this one between them, like ``str.join``."""
        texts = list(texts)
        return Text(self.en.join(t.en for t in texts), self.zh.join(t.zh for t in texts))


@dataclass(frozen=True)
class Case:
    """One call an answer has to get right. Tensors in ``args`` are float64, integer or Boolean.

    Args:
        label: what is special about these inputs, as a noun phrase ("a batch of two").
        args: the positional arguments.
        largest: where memory is the point, the most numbers a tensor may have that the answer
            makes, or takes a sum or a maximum of; None: as many as it likes.
    """

    label: Text
    args: tuple[Any, ...]
    largest: int | None = None


@dataclass(frozen=True)
class Mistake:
    """A wrong answer people really give, and the hint it earns.

    Args:
        name: a short slug that names the mistake in tests.
        implementation: a function that makes it. It may raise on some cases, not on all.
        hint: what the learner is told: where to look, not the solution.
    """

    name: str
    implementation: Callable
    hint: Text


def mistakes(*rows: "Mistake | tuple") -> tuple[Mistake, ...]:
    """An exercise's table of mistakes: (name, implementation, hint) in each row.

    The hint is a Text, or its English and its Chinese as two strings. The implementation is a
    function; for a pencil exercise, the wrong number itself. The tables are marked `# fmt: skip`,
    so that a mistake takes three lines: name and code, English, Chinese.
    """
    return tuple(row if isinstance(row, Mistake) else _mistake(*row) for row in rows)


def _mistake(name: str, implementation: Any, *hint: Any) -> Mistake:
    answer = implementation if callable(implementation) else lambda: implementation
    return Mistake(name, answer, hint[0] if len(hint) == 1 else Text(*hint))


@dataclass(frozen=True)
class Exercise:
    """An exercise with everything needed to check answers, and to check the check.

    Args:
        name: the name given to ``check``.
        chapter: the chapter's number.
        title: as the book shows it.
        difficulty: 1 (warm-up) to 3 (takes thought).
        minutes: about how long it takes.
        reference: the right answer; its parameters are the signature asked for.
            A pencil exercise has no parameters, and is answered with a number.
        cases: makes the inputs, the same ones at each call.
        mistakes: wrong answers, each with its hint.
        alternatives: right answers written differently; they must pass.
        wasteful: answers with the right numbers that hold more than a case's ``largest`` allows.
        results: the names of the parts, where the result is a tuple.
        tolerance: largest relative error accepted in float64 (wide for a pencil's rounding).
    """

    name: str
    chapter: int
    title: Text
    difficulty: int
    minutes: int
    reference: Callable
    cases: Callable[[], list[Case]]
    mistakes: tuple[Mistake, ...]
    alternatives: tuple[Callable, ...] = ()
    wasteful: tuple[Callable, ...] = ()
    results: tuple[str, ...] = ()
    tolerance: float = 1e-7

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(inspect.signature(self.reference).parameters)

    @property
    def is_number(self) -> bool:
        """Whether the answer is a number worked out by hand, not a function."""
        return not self.parameters


@dataclass(frozen=True)
class CheckResult:
    """What ``check`` found.

    Args:
        passed: the answer is right in every respect.
        attempted: False while the answer is still the empty stub.
        message: what the learner is told.
    """

    passed: bool
    attempted: bool
    message: str

    def _ipython_display_(self) -> None:
        """Show nothing more at the end of a notebook cell: ``check`` has printed the message."""
