"""Attention in time proportional to n: without a softmax, keys and values are summed up once.

Sliding windows, which keep the softmax, are ``flash_attention(q, k, v, window=w)``.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from transformer_lib.checks import check_attention, check_flag

CHUNK = 64


def linear_attention(
    q: Float[Tensor, "*batch n_q d_k"],
    k: Float[Tensor, "*batch n_k d_k"],
    v: Float[Tensor, "*batch n_k d_v"],
    *,
    causal: bool = False,
) -> Float[Tensor, "*batch n_q d_v"]:
    """φ(q) (φ(k)ᵀ v) / (φ(q) φ(k)ᵀ 1) with φ(x) = elu(x) + 1: weights ∝ φ(q)·φ(k).

    It is another function than softmax attention, not a fast form of it. Time and memory grow
    with n_q + n_k.

    Args:
        q: queries, (..., n_q, d_k).
        k: keys, (..., n_k, d_k).
        v: values, (..., n_k, d_v).
        causal: a query sees no later position; the queries are the last n_q of n_k positions.

    Returns:
        output (..., n_q, d_v); 0 where all weights vanish.

    Raises:
        TypeError: not floating-point tensors of one dtype.
        ValueError: shapes that do not fit each other, or causal with n_q > n_k.

    Source: Katharopoulos et al. (2020), eq. 5, 7 and 9.
    """
    check_attention(q, k, v, None)
    check_flag("causal", causal)
    dtype = torch.promote_types(q.dtype, torch.float32)  # half precision would drown in the sums
    phi_q, phi_k = _feature_map(q.to(dtype)), _feature_map(k.to(dtype))
    # A value of 1 beside the others: its weighted sum is the sum of the weights.
    values = F.pad(v.to(dtype), (0, 1), value=1.0)
    with torch.autocast(q.device.type, enabled=False):  # which would sum in half precision too
        sums = (_causal_sums if causal else _sums)(phi_q, phi_k, values)
    weighted, total = sums[..., :-1], sums[..., -1:]
    return (weighted / total.clamp(min=torch.finfo(dtype).tiny)).to(q.dtype)


def _feature_map(x: Tensor) -> Tensor:
    """elu(x) + 1, without the −1 + 1 that would swallow a small exp(x)."""
    return F.relu(x) + x.clamp(max=0).exp()


def _sums(phi_q: Tensor, phi_k: Tensor, values: Tensor) -> Tensor:
    """φ(q) (φ(k)ᵀ v): from right to left, so that nothing is n_q × n_k."""
    return phi_q @ (phi_k.mT @ values)  # (..., n_q, d_k) @ ((..., d_k, n_k) @ (..., n_k, d_v))


def _causal_sums(phi_q: Tensor, phi_k: Tensor, values: Tensor) -> Tensor:
    """The same over the keys up to each query: chunks before its own as one sum, its own by key."""
    n_q, n_k = phi_q.size(-2), phi_k.size(-2)
    if n_q > n_k:
        raise ValueError(
            f"the queries are the last of n_k positions: n_q ({n_q}) must not exceed n_k ({n_k})"
        )
    behind = -n_k % CHUNK  # zeros: φ = 0 weighs nothing
    q, k, v = (
        F.pad(x, (0, 0, n_k - x.size(-2), behind)).unflatten(-2, (-1, CHUNK))
        for x in (phi_q, phi_k, values)
    )  # each (..., chunks, CHUNK, d)
    until = (k.mT @ v).cumsum(-3)  # (..., chunks, d_k, d_v)
    before = F.pad(until[..., :-1, :, :], (0, 0, 0, 0, 1, 0))
    output = q @ before + (q @ k.mT).tril() @ v
    return output.flatten(-3, -2)[..., n_k - n_q : n_k, :]
