"""Ways to go wrong that many exercises know: each makes a wrong answer out of a right one."""

import inspect
from collections.abc import Callable


def edited(function: Callable, *edits: str) -> Callable:
    """The function with pieces of its source replaced: ``edited(f, "k.mT", "k", "+", "-")``.

    Raises:
        ValueError: a piece that is to be replaced does not stand in the source exactly once.
    """
    source = inspect.getsource(function)
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        if (found := source.count(old)) != 1:
            raise ValueError(f"{function.__name__} has {old!r} {found} times, not once:\n{source}")
        source = source.replace(old, new)
    scope = dict(function.__globals__)
    exec(compile(source, inspect.getfile(function), "exec"), scope)
    return scope[function.__name__]
