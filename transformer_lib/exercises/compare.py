"""Compare what an answer returned with what is right, and put the difference into words."""

import re
import textwrap
from typing import Any

import torch
from torch import Tensor

from transformer_lib.exercises import messages
from transformer_lib.exercises.data import Text
from transformer_lib.exercises.sandbox import Outcome


def kind(value: Any) -> Any:
    """What sort of thing it is: "tensor", "number", a list of kinds for a tuple, or a type's name."""
    if isinstance(value, tuple):
        return [kind(part) for part in value]
    if as_tensor(value) is None:
        return type(value).__name__
    return "tensor" if isinstance(value, Tensor) else "number"


def same_kind(got: Any, expected: Any) -> bool:
    """Whether two values are the same sort of thing; a number may be a tensor of shape ()."""
    if isinstance(expected, tuple):
        fits = isinstance(got, tuple) and len(got) == len(expected)
        return fits and all(map(same_kind, got, expected))
    if kind(got) == "tensor" and got.ndim == 0 and kind(expected) == "number":
        return True
    if kind(got) == "number" and kind(expected) == "tensor" and expected.ndim == 0:
        return True
    return kind(got) == kind(expected)


def same_value(got: Any, expected: Any, tolerance: float) -> bool:
    """Whether two returned values agree in kind, shape and numbers; dtypes may differ.

    The error allowed is relative to the largest entry of ``expected``.
    """
    if not same_kind(got, expected):
        return False
    if isinstance(expected, tuple):
        return all(same_value(a, b, tolerance) for a, b in zip(got, expected, strict=True))
    got, expected = as_tensor(got), as_tensor(expected)
    if got is None or expected is None or got.shape != expected.shape:
        return False
    return not wrong_entries(got, expected, tolerance).any()


def same_outcome(got: Outcome, expected: Outcome, tolerance: float) -> bool:
    """Whether two calls ended alike: in the same value, or in the same error."""
    if got.error or expected.error:
        return _error_kind(got.error) == _error_kind(expected.error)
    return same_value(got.value, expected.value, tolerance)


def _error_kind(error: BaseException | None) -> tuple[type, str]:
    """Type and text, sizes left out: "shapes 3x4 and 5x4" is the same error as "2x4 and 6x4"."""
    return type(error), re.sub(r"\d+", "#", str(error))


def same_gradients(got: Outcome, expected: Outcome, tolerance: float) -> bool:
    if got.gradients is None or expected.gradients is None:
        return got.gradients is expected.gradients
    pairs = zip(got.gradients, expected.gradients, strict=True)
    return all(a is b or same_value(a, b, tolerance) for a, b in pairs)


def wrong_entries(got: Tensor, expected: Tensor, tolerance: float) -> Tensor:
    """Boolean, True where ``got`` is not ``expected``; NaN equals NaN, ∞ equals ∞."""
    finite = expected[expected.isfinite()].abs()
    allowed = tolerance * max(1.0, finite.max().item() if finite.numel() else 0.0)
    return ~torch.isclose(got, expected, rtol=0.0, atol=allowed, equal_nan=True)


def as_tensor(value: Any) -> Tensor | None:
    """A float64 tensor of an ordinary real tensor or a number; None for everything else."""
    if isinstance(value, Tensor):
        return value.detach().double() if _is_ordinary(value) else None
    if isinstance(value, str) or getattr(value, "ndim", 0):
        return None
    try:
        return torch.tensor(float(value), dtype=torch.float64)
    except Exception:  # an object of the learner's own may raise anything
        return None


def _is_ordinary(tensor: Tensor) -> bool:
    dense = tensor.layout == torch.strided and not tensor.is_nested and not tensor.is_quantized
    return dense and not tensor.is_complex() and tensor.device.type != "meta"


def relation(got: Tensor, expected: Tensor, tolerance: float) -> Text | None:
    """A simple law that ties a wrong result to the right one, if there is one."""
    if got.ndim >= 2 and same_value(got.mT, expected, tolerance):
        return messages.TRANSPOSED
    if got.numel() < 2 or not got.isfinite().all() or not expected.isfinite().all():
        return None
    factor = (got * expected).sum() / (expected * expected).sum()
    if factor.abs() > 1e-6 and same_value(got, factor * expected, tolerance):
        return messages.RATIO.format(factor=two_numbers(torch.ones_like(factor), factor)[1])
    offset = (got - expected).mean()
    if same_value(got, expected + offset, tolerance):
        return messages.OFFSET.format(offset=f"{offset:.4g}")
    return None


def two_numbers(a: Tensor, b: Tensor) -> tuple[str, str]:
    """Both with as many digits as it takes to tell them apart, four at least."""
    for digits in range(4, 18):
        texts = f"{a:.{digits}g}", f"{b:.{digits}g}"
        if texts[0] != texts[1]:
            break
    return texts


def describe(value: Any) -> str:
    """An argument in a few characters: ``(2, 5)`` for a tensor, else its name or repr."""
    if isinstance(value, Tensor):
        return str(tuple(value.shape))
    return getattr(value, "__name__", textwrap.shorten(repr(value), 60, placeholder=" …"))
