"""Scaled dot-product attention, as functions: a query looks keys up and gets values back.

``q`` (..., n_q, d_k), ``k`` (..., n_k, d_k), ``v`` (..., n_k, d_v); usually the leading
dimensions are (batch, heads). Masks follow :mod:`transformer_lib.masks`.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def scaled_dot_product_attention(
    q: Float[Tensor, "*batch n_q d_k"],
    k: Float[Tensor, "*batch n_k d_k"],
    v: Float[Tensor, "*batch n_k d_v"],
    mask: Bool[Tensor, "..."] | None = None,
) -> tuple[Float[Tensor, "*batch n_q d_v"], Float[Tensor, "*batch n_q n_k"]]:
    """Average the values, weighted by how well each key answers each query.

    Computes softmax(q kᵀ / √d_k) v.

    Args:
        q: queries, (..., n_q, d_k).
        k: keys, (..., n_k, d_k).
        v: values, (..., n_k, d_v).
        mask: Boolean, broadcastable to (..., n_q, n_k), ``True`` = may attend. A query
            that may attend to nothing gets output 0 and gradient 0.

    Returns:
        output (..., n_q, d_v) and weights (..., n_q, n_k), each row summing to 1 (or 0).

    Raises:
        TypeError: not floating-point tensors of one dtype, or a mask that is not Boolean.
        ValueError: shapes that do not fit each other.

    Source: Vaswani et al. (2017), eq. 1.
    """
    _check_attention_inputs(q, k, v, mask)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))  # (..., n_q, n_k)
    weights = masked_softmax(scores, mask)
    return weights @ v, weights  # (..., n_q, n_k) @ (..., n_k, d_v) -> (..., n_q, d_v)


def masked_softmax(
    scores: Float[Tensor, "*batch n_q n_k"], mask: Bool[Tensor, "..."] | None
) -> Float[Tensor, "*batch n_q n_k"]:
    """Softmax over the keys a query may see; a row with nothing to see is 0, not NaN.

    Args:
        scores: (..., n_q, n_k).
        mask: Boolean, broadcastable to scores, or None for no mask.

    Returns:
        weights (..., n_q, n_k).

    Source: Vaswani et al. (2017), §3.2.3; the zero row is this library's convention.
    """
    if mask is None:
        return scores.softmax(-1)
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    # softmax of a row of −∞ is NaN; the fill below replaces it, and its gradient, by 0.
    return weights.masked_fill(~mask, 0)


def _check_attention_inputs(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> None:
    _check_float_tensor("q", q)
    for name, tensor in (("k", k), ("v", v)):
        _check_float_tensor(name, tensor)
        _check_alike(q, name, tensor)
    shapes = f"got q {tuple(q.shape)}, k {tuple(k.shape)} and v {tuple(v.shape)}"
    if q.size(-1) != k.size(-1):
        raise ValueError(f"q and k must have the same d_k (last dimension), {shapes}")
    if k.size(-2) != v.size(-2):
        raise ValueError(f"k and v must have the same n_k (one value per key), {shapes}")
    if mask is not None:
        _check_mask(mask, (*q.shape[:-1], k.size(-2)), q.device)


def _check_float_tensor(name: str, tensor: Tensor) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"{name} must be a torch tensor, got {type(tensor).__name__}; "
            "convert with torch.as_tensor"
        )
    if not tensor.is_floating_point():
        raise TypeError(
            f"{name} must be floating point, got {tensor.dtype}; convert with {name}.float()"
        )
    if tensor.ndim < 2:
        raise ValueError(
            f"{name} must have at least the dimensions (n, d), got shape {tuple(tensor.shape)}"
        )


def _check_alike(q: Tensor, name: str, tensor: Tensor) -> None:
    if tensor.dtype != q.dtype:
        raise TypeError(f"{name} must have the dtype of q, {q.dtype}, got {tensor.dtype}")
    if tensor.device != q.device:
        raise ValueError(f"{name} must be on the device of q, {q.device}, got {tensor.device}")
    if tensor.shape[:-2] != q.shape[:-2]:
        raise ValueError(
            f"q and {name} must share batch and heads (all dimensions but the last two), "
            f"got q {tuple(q.shape)} and {name} {tuple(tensor.shape)}"
        )


def _check_mask(mask: Tensor, shape: tuple[int, ...], device: torch.device) -> None:
    if not isinstance(mask, Tensor):
        raise TypeError(f"mask must be a Boolean torch tensor, got {type(mask).__name__}")
    if mask.dtype != torch.bool:
        raise TypeError(
            f"mask must be Boolean (True = may attend), got {mask.dtype}; "
            "convert a 0/1 mask with mask != 0, an additive one (0 and −∞) with mask == 0"
        )
    if mask.device != device:
        raise ValueError(f"mask must be on the device of q ({device}), got {mask.device}")
    if not _broadcasts(mask.shape, shape):
        raise ValueError(
            f"mask must broadcast to (..., n_q, n_k) = {shape}, got {tuple(mask.shape)}"
        )


def _broadcasts(shape: torch.Size, target: tuple[int, ...]) -> bool:
    """Whether ``shape`` expands to ``target`` without enlarging it."""
    fits = zip(reversed(shape), reversed(target), strict=False)
    return len(shape) <= len(target) and all(size in (1, full) for size, full in fits)
