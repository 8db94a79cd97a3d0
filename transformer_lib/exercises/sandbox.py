"""Run somebody's answer and come back, whatever it does."""

import contextlib
import copy
import ctypes
import io
import random
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch._ops import OpOverload

from transformer_lib.memory import Watch

TIME_LIMIT = 10.0  # seconds for all calls of one check together
REDUCTIONS = {"amax", "logsumexp", "max", "mean", "sum"}  # what they work on counts as held


class TimeLimitReached(BaseException):
    """The answer did not end in time. No Exception, so that ``except Exception`` lets it out."""


class TooManyNumbers(BaseException):
    """The answer held a larger tensor than allowed. No Exception: see ``TimeLimitReached``."""

    def __init__(self, shape: tuple[int, ...]):
        super().__init__(shape)
        self.shape = shape


@dataclass(frozen=True)
class Outcome:
    """What one call did: returned a value, or raised an error; and what it left behind.

    ``gradients`` has an entry for each argument: the gradient of Σ cotangent · value, or None
    where there is none. It is None as a whole where no graph leads to the value, or where
    working it out raised ``gradient_error``.
    """

    value: Any = None
    error: BaseException | None = None
    changed: tuple[int, ...] = ()
    gradients: tuple[Tensor | None, ...] | None = None
    gradient_error: BaseException | None = None


def run(function: Callable, many_args: list[tuple], *, gradients: bool = True) -> list[Outcome]:
    """Call ``function`` on copies of each of ``many_args``: for the value, again for gradients.

    What it prints is shown for the first call only; the state it could disturb is put back.

    Returns:
        An outcome per argument tuple. Calls not reached in time end in ``TimeLimitReached``.
    """
    outcomes: list[Outcome] = []
    printed = _FirstPrints()

    def run_all() -> None:
        for args in many_args:
            value, error, changed = _call(function, args)
            printed.sealed = True
            wanted = gradients and error is None
            found = _gradients(function, args) if wanted else (None, None)
            outcomes.append(Outcome(_detach(value), error, changed, *found))

    # The streams are exchanged in this thread, so that a thread we must abandon cannot keep them.
    with _state_put_back(), _streams(printed):
        _in_thread(run_all, TIME_LIMIT)
    print(printed.getvalue(), end="")
    done = list(outcomes)
    return done + [Outcome(error=TimeLimitReached())] * (len(many_args) - len(done))


def run_within(largest: int, function: Callable, args: tuple) -> Outcome:
    """Call ``function`` once more, silently; ends in ``TooManyNumbers`` where a tensor is larger."""

    def watched(*mine: Any) -> Any:
        with _SizeLimit(largest):
            return function(*mine)

    with contextlib.redirect_stdout(io.StringIO()):
        return run(watched, [args], gradients=False)[0]


class _SizeLimit(Watch):
    """Raises where an operation makes, or reduces, a tensor of more than ``largest`` numbers.

    A view makes nothing: it shows numbers that are there already.
    """

    def __init__(self, largest: int):
        super().__init__()
        self.largest = largest

    def see(self, operation: OpOverload, inputs: list[Tensor], made: list[Tensor]) -> None:
        is_view = any(result.alias_info for result in operation._schema.returns)
        reduced = inputs if operation.overloadpacket.__name__ in REDUCTIONS else []
        for tensor in [*([] if is_view else made), *reduced]:
            if tensor.numel() > self.largest:
                raise TooManyNumbers(tuple(tensor.shape))


class _FirstPrints(io.StringIO):
    """Keeps what is printed until ``sealed`` is set, and of that no more than a screenful."""

    sealed = False
    most = 4000

    def write(self, text: str) -> int:
        if not self.sealed and self.tell() < self.most:
            super().write(text[: self.most - self.tell()])
        return len(text)


@contextlib.contextmanager
def _state_put_back() -> Iterator[None]:
    """Random generators and torch's default dtype, as they were before."""
    python, numpy, dtype = random.getstate(), np.random.get_state(), torch.get_default_dtype()  # noqa: NPY002
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
        torch.set_default_dtype(dtype)


@contextlib.contextmanager
def _streams(output: io.StringIO) -> Iterator[None]:
    """Send prints and warnings to ``output``, and let ``input()`` and ``exit()`` find no keyboard."""
    keyboard = sys.stdin
    sys.stdin = io.StringIO()
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            yield
    finally:
        sys.stdin = keyboard


def _call(function: Callable, args: tuple) -> tuple[Any, BaseException | None, tuple[int, ...]]:
    mine = copy.deepcopy(args)
    try:
        value = function(*mine)
    except TimeLimitReached:
        raise
    except BaseException as error:  # also SystemExit: exit() in an answer must not end the kernel
        return None, error, ()
    pairs = enumerate(zip(args, mine, strict=True))
    return value, None, tuple(number for number, (a, b) in pairs if not _same(a, b))


def _gradients(
    function: Callable, args: tuple
) -> tuple[tuple[Tensor | None, ...] | None, BaseException | None]:
    """Gradients of Σ cotangent · value in each floating-point argument, or None and the error.

    The cotangent is random: through ``.sum()`` every softmax would look right, with gradient 0.
    """
    leaves = tuple(_leaf(arg) for arg in args)
    try:
        values = _as_tuple(function(*leaves))
        values = [v for v in values if isinstance(v, Tensor) and v.requires_grad]
        if not values:
            return None, None
        generator = torch.Generator().manual_seed(1)
        cotangents = [torch.randn(v.shape, generator=generator).to(v.dtype) for v in values]
        torch.autograd.backward(values, cotangents)
    except TimeLimitReached:
        raise
    except BaseException as error:
        return None, error
    return tuple(leaf.grad if isinstance(leaf, Tensor) else None for leaf in leaves), None


def _leaf(arg: Any) -> Any:
    if isinstance(arg, Tensor) and arg.is_floating_point():
        return arg.clone().requires_grad_()
    return copy.deepcopy(arg)


def _in_thread(work: Callable[[], None], seconds: float) -> None:
    def until_limit() -> None:
        with contextlib.suppress(TimeLimitReached):
            work()

    thread = threading.Thread(target=until_limit, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        # The only way to stop a Python loop in another thread: raise an exception inside it.
        # A single call into C (time.sleep) cannot be stopped; we leave it behind after a second.
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident), ctypes.py_object(TimeLimitReached)
        )
        thread.join(1.0)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor):
        return isinstance(b, Tensor) and a.shape == b.shape and torch.equal(a, b)
    return callable(a) or a == b


def _as_tuple(value: Any) -> tuple:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _detach(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_detach(item) for item in value)
    return value.detach() if isinstance(value, Tensor) else value
