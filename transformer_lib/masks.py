"""Attention masks. One convention everywhere: Boolean, ``True`` = may attend.

A mask is ``(n_q, n_k)`` or has all of ``(batch, heads, n_q, n_k)``, each full or 1: of three
dimensions nobody could say whether the first is the batch or the heads. Where n_q ≠ n_k, the
queries are the *last* n_q positions (aligned bottom-right), as in decoding with a cache.
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from transformer_lib.checks import check_ids, check_int, check_size


def causal_mask(n_q: int, n_k: int | None = None) -> Bool[Tensor, "{n_q} n_k"]:
    """Which keys each query may see when nobody may look ahead.

    Args:
        n_q: number of queries, the last n_q of the n_k positions.
        n_k: number of keys; n_q if not given.

    Returns:
        Boolean (n_q, n_k), ``True`` where key j is not later than query i.

    Raises:
        TypeError: a length is not an int.
        ValueError: a length is negative, or there are more queries than positions.

    Source: Vaswani et al. (2017), §3.2.3.
    """
    n_k = n_q if n_k is None else n_k
    check_size("n_q", n_q, least=0)
    check_size("n_k", n_k, least=0)
    if n_q > n_k:
        raise ValueError(
            f"the queries are the last of n_k positions: n_q ({n_q}) must not exceed n_k ({n_k})"
        )
    return torch.ones(n_q, n_k, dtype=torch.bool).tril(n_k - n_q)


def padding_mask(token_ids: Int[Tensor, "batch n"], pad_id: int) -> Bool[Tensor, "batch 1 1 n"]:
    """Hide padding from every query, as keys only: the query rows are left alone.

    Args:
        token_ids: integer ids, (batch, n).
        pad_id: the id that stands for padding.

    Returns:
        Boolean (batch, 1, 1, n), ``True`` where the token is real.

    Raises:
        TypeError: token_ids is not an integer tensor, pad_id not an int.
        ValueError: token_ids is not (batch, n), or n is 0.

    Source: Vaswani et al. (2017), §3.2.3 (masking by −∞); the shape is this library's convention.
    """
    check_ids("token_ids", token_ids)
    check_int("pad_id", pad_id)
    return (token_ids != pad_id)[:, None, None, :]


def sliding_window_mask(n: int, window: int) -> Bool[Tensor, "{n} {n}"]:
    """Which keys each query may see when it sees itself and the window − 1 before it.

    Args:
        n: number of positions.
        window: how many positions a query sees.

    Returns:
        Boolean (n, n), ``True`` where i − window < j ≤ i.

    Raises:
        TypeError: n or window is not an int.
        ValueError: n is negative, or window is below 1.

    Source: Beltagy et al. (2020), §3.1, here without the keys that come later.
    """
    check_size("n", n, least=0)
    check_size("window", window)
    return causal_mask(n).triu(1 - min(window, n))
