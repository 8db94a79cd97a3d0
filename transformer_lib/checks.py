"""What public functions ask of their arguments, and how they say what came instead."""

import math
from collections.abc import Iterable
from numbers import Real

import torch
from torch import Tensor


def check_int(name: str, value: int) -> None:
    """A whole number."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be an int, got {type(value).__name__}")


def check_size(name: str, value: int, least: int = 1) -> None:
    """A whole number of at least ``least``."""
    check_int(name, value)
    if value < least:
        raise ValueError(f"{name} must be {least} or more, got {value}")


def check_number(name: str, value: Real) -> None:
    """A real number; True and False are none."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}")


def check_probability(name: str, value: Real) -> None:
    """A number from 0 up to, but not including, 1."""
    check_number(name, value)
    if not 0 <= value < 1:
        raise ValueError(f"{name} must be in [0, 1), got {value}")


def check_positive(name: str, value: Real) -> None:
    """A number above 0."""
    check_number(name, value)
    if not value > 0:
        raise ValueError(f"{name} must be above 0, got {value}")


def check_id(name: str, value: int, vocab_size: int) -> None:
    """A token id of the vocabulary."""
    check_size(name, value, least=0)
    if value >= vocab_size:
        raise ValueError(f"{name} must be in 0 … {vocab_size - 1}, got {value}")


def check_choice(name: str, value: str, choices: Iterable) -> None:
    """One of a few names. For True or False there is :func:`check_flag`: 1 is equal to True."""
    if value not in tuple(choices):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def check_flag(name: str, value: bool) -> None:
    """True or False, and nothing that only counts as one of them."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {type(value).__name__}")


def check_divides(name: str, value: int, by_name: str, by: int) -> None:
    """A size that is a multiple of another."""
    if value % by:
        raise ValueError(f"{name} ({value}) must be divisible by {by_name} ({by})")


def check_heads(d_model: int, n_heads: int, n_kv_heads: int, *, turned: bool = False) -> None:
    """Heads that divide d_model, key/value heads that divide them, pairs for rope to turn."""
    for name, value in (("d_model", d_model), ("n_heads", n_heads), ("n_kv_heads", n_kv_heads)):
        check_size(name, value)
    check_divides("d_model", d_model, "n_heads", n_heads)
    check_divides("n_heads", n_heads, "n_kv_heads", n_kv_heads)
    if turned and d_model // n_heads % 2:
        raise ValueError(
            f"rotary positions turn pairs: d_k = d_model / n_heads must be even, "
            f"got {d_model} / {n_heads} = {d_model // n_heads}"
        )


def check_float_tensor(name: str, tensor: Tensor, least_dims: int = 2) -> None:
    """A floating-point tensor of so many dimensions or more."""
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"{name} must be a torch tensor, got {type(tensor).__name__}; "
            "convert with torch.as_tensor"
        )
    if not tensor.is_floating_point():
        raise TypeError(
            f"{name} must be floating point, got {tensor.dtype}; convert with {name}.float()"
        )
    if tensor.ndim < least_dims:
        wanted = ("(d,)", "(n, d)", "(batch, n, d_model)")[least_dims - 1]
        raise ValueError(
            f"{name} must have at least the dimensions {wanted}, got shape {tuple(tensor.shape)}"
        )


def check_tokens(name: str, x: Tensor, d_model: int, like: Tensor) -> None:
    """Vectors (batch, n, d_model) in the dtype and on the device of a module's weights."""
    check_float_tensor(name, x, least_dims=3)
    if x.ndim != 3 or x.size(-1) != d_model:
        raise ValueError(f"{name} must have shape (batch, n, {d_model}), got {tuple(x.shape)}")
    check_alike(name, x, "the weights", like)


def check_batch(name: str, size: int, of: str, wanted: int) -> None:
    """As many sequences as ``of`` has."""
    if size != wanted:
        raise ValueError(
            f"{of} and {name} must have the same batch, got {wanted} and {size} sequences"
        )


def check_alike(name: str, tensor: Tensor, of: str, like: Tensor) -> None:
    """Same dtype and device."""
    if tensor.dtype != like.dtype:
        raise TypeError(f"{name} must have the dtype of {of}, {like.dtype}, got {tensor.dtype}")
    if tensor.device != like.device:
        raise ValueError(
            f"{name} must be on the device of {of}, {like.device}, got {tensor.device}"
        )


def check_integers(name: str, tensor: Tensor) -> None:
    """A tensor of whole numbers."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} must be a torch tensor of integers, got {type(tensor).__name__}")
    if tensor.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"{name} must be integers, got {tensor.dtype}; convert with {name}.long()")


def check_ids(name: str, token_ids: Tensor) -> None:
    """Integer ids (batch, n), at least one token long."""
    check_integers(name, token_ids)
    if token_ids.ndim != 2:
        raise ValueError(f"{name} must have shape (batch, n), got {tuple(token_ids.shape)}")
    if token_ids.size(1) == 0:
        raise ValueError(f"{name} holds empty sequences, shape {tuple(token_ids.shape)}")


def check_mask(mask: Tensor, shape: tuple[int, ...], device: torch.device) -> None:
    """A Boolean mask that expands to ``shape`` without enlarging it."""
    if not isinstance(mask, Tensor):
        raise TypeError(f"mask must be a Boolean torch tensor, got {type(mask).__name__}")
    if mask.dtype != torch.bool:
        raise TypeError(
            f"mask must be Boolean (True = may attend), got {mask.dtype}; "
            "convert a 0/1 mask with mask != 0, an additive one (0 and −∞) with mask == 0"
        )
    if mask.device != device:
        raise ValueError(f"mask must be on the device of q ({device}), got {mask.device}")
    _check_mask_dims(mask, shape)
    fits = zip(reversed(mask.shape), reversed(shape), strict=False)
    if mask.ndim > len(shape) or not all(size in (1, full) for size, full in fits):
        raise ValueError(
            f"mask must broadcast to (..., n_q, n_k) = {shape}, got {tuple(mask.shape)}; "
            "padding_mask(token_ids, pad_id) makes (batch, 1, 1, n_k)"
        )


def _check_mask_dims(mask: Tensor, shape: tuple[int, ...]) -> None:
    """All dimensions or the last two: broadcasting would take (batch, n_q, n_k) for one mask a
    head, and where there are as many heads as sequences nobody would notice."""
    if 2 < mask.ndim < len(shape) and math.prod(mask.shape[:-2]) != 1:
        raise ValueError(
            f"mask must have all dimensions of (batch, heads, n_q, n_k) = {shape} or only the last "
            f"two, got {tuple(mask.shape)}; write mask[:, None] if there is one for each sequence, "
            "mask[None] if one for each head"
        )


def check_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *, grouped: bool = False
) -> None:
    """Queries, keys, values and a mask that fit; grouped: k and v may have fewer heads."""
    check_float_tensor("q", q)
    for name, tensor in (("k", k), ("v", v)):
        check_float_tensor(name, tensor)
        check_alike(name, tensor, "q", q)
        if not grouped or q.ndim < 3:  # without heads there is nothing to group
            _check_leading(name, tensor, q)
    shapes = f"got q {tuple(q.shape)}, k {tuple(k.shape)} and v {tuple(v.shape)}"
    if grouped and q.ndim > 2:
        _check_grouped_heads(q, k, v, shapes)
    if q.size(-1) != k.size(-1):
        raise ValueError(f"q and k must have the same d_k (last dimension), {shapes}")
    if k.size(-2) != v.size(-2):
        raise ValueError(f"k and v must have the same n_k (one value per key), {shapes}")
    if mask is not None:
        check_mask(mask, (*q.shape[:-1], k.size(-2)), q.device)


def _check_leading(name: str, tensor: Tensor, q: Tensor) -> None:
    if tensor.shape[:-2] != q.shape[:-2]:
        raise ValueError(
            f"q and {name} must share batch and heads (all dimensions but the last two), "
            f"got q {tuple(q.shape)} and {name} {tuple(tensor.shape)}"
        )


def _check_grouped_heads(q: Tensor, k: Tensor, v: Tensor, shapes: str) -> None:
    batches_fit = k.shape[:-2] == v.shape[:-2] and k.shape[:-3] == q.shape[:-3]
    heads, kv_heads = q.size(-3), k.size(-3) if k.ndim > 2 else 0
    if not batches_fit or (heads and (not kv_heads or heads % kv_heads)):
        raise ValueError(
            "k and v must have the batch of q, and one number of heads (dimension −3) that "
            f"divides that of q, {shapes}"
        )
