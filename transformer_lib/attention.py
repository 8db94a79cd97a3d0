"""Attention: a query looks keys up and gets values back. As functions, then as a module.

``q`` (..., n_q, d_k), ``k`` (..., n_k, d_k), ``v`` (..., n_k, d_v); usually the leading
dimensions are (batch, heads). Masks follow :mod:`transformer_lib.masks`.
"""

import math
from numbers import Real

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_lib.checks import (
    check_attention,
    check_batch,
    check_flag,
    check_heads,
    check_mask,
    check_probability,
    check_tokens,
)
from transformer_lib.flash import flash_attention, flash_pays
from transformer_lib.layers import rope


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
        mask: Boolean, (n_q, n_k) or all of (..., n_q, n_k), each full or 1, ``True`` = may
            attend. A query that may attend to nothing gets output 0 and gradient 0.

    In float16 the scaled scores must stay below 65,504; ``flash_attention``, which sums in
    float32, has no such limit.

    Returns:
        output (..., n_q, d_v) and weights (..., n_q, n_k), each row summing to 1 (or 0).

    Raises:
        TypeError: not floating-point tensors of one dtype, or a mask that is not Boolean.
        ValueError: shapes that do not fit each other.

    Source: Vaswani et al. (2017), eq. 1.
    """
    check_attention(q, k, v, mask)
    # Divided first: float16 ends at 65,504, and the products before the division may lie beyond.
    scores = (q / math.sqrt(q.size(-1))) @ k.transpose(-2, -1)  # (..., n_q, n_k)
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


class KeyValueCache:
    """The keys and values one attention layer has seen so far; ``k`` and ``v`` are None at first.

    Self-attention appends to it; cross-attention fills it once, since its context stays.
    """

    def __init__(self, k: Tensor | None = None, v: Tensor | None = None):
        self.k = k  # (batch, h_kv, n so far, d_k), turned where the attention turns
        self.v = v

    def __len__(self) -> int:
        return 0 if self.k is None else self.k.size(-2)

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Add keys and values at the end; return all of them."""
        if self.k is not None:
            k, v = torch.cat([self.k, k], dim=-2), torch.cat([self.v, v], dim=-2)
        self.k, self.v = k, v
        return k, v

    def select(self, rows: Int[Tensor, "new_batch"]) -> None:
        """Keep these sequences of the batch, in this order (for beam search)."""
        if self.k is not None:
            self.k, self.v = self.k[rows], self.v[rows]


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, each in its own d_k = d_model / n_heads dimensions.

    Concat(head_1, …, head_h) W_O with head_i = Attention(x W_Q,i, context W_K,i, context W_V,i).
    The matrices of all heads stand side by side in one: head i has the columns i·d_k … (i+1)·d_k.

    Args:
        d_model: length of a vector.
        n_heads: number of heads; divides d_model.
        n_kv_heads: number of key/value heads, each for n_heads / n_kv_heads neighbouring query
            heads (grouped-query attention); n_heads if not given. Above, h_kv.
        bias: whether the projections have biases (the paper's have none).
        dropout: on the weights, while training.
        rope_base: turn queries and keys of self-attention by their positions (see ``rope``), with
            this base; None: positions are not looked at.

    Raises:
        TypeError, ValueError: sizes that are no positive ints or do not divide, an odd d_k to be
            turned, a bias that is no bool, dropout not in [0, 1).

    Source: Vaswani et al. (2017), §3.2.2; Ainslie et al. (2023), §2.2, for groups; Su et al.
    (2021), §3.2, for turning.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        n_kv_heads: int | None = None,
        bias: bool = False,
        dropout: float = 0.0,
        rope_base: Real | None = None,
    ):
        super().__init__()
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        check_heads(d_model, n_heads, n_kv_heads, turned=rope_base is not None)
        check_flag("bias", bias)
        check_probability("dropout", dropout)
        self.n_heads = n_heads
        self.n_kv_heads = n_kv_heads
        self.dropout = dropout
        self.rope_base = rope_base
        d_kv = n_kv_heads * (d_model // n_heads)
        self.W_QKV = nn.Linear(d_model, d_model + 2 * d_kv, bias=bias)
        self.W_O = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "batch n_q d_model"],
        context: Float[Tensor, "batch n_k d_model"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        *,
        cache: KeyValueCache | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Each vector of x asks; those of ``context`` answer, or x itself where it is None.

        Args:
            x: (batch, n_q, d_model).
            context: (batch, n_k, d_model), or None for self-attention.
            mask: Boolean, (n_q, n_k) or all of (batch, heads, n_q, n_k), each full or 1, True =
                may attend.
            cache: keys and values so far; x is then what comes after them.
            return_weights: whether to return the weights, before dropout, as well (slower).

        Returns:
            output (batch, n_q, d_model); with return_weights also weights (batch, heads, n_q, n_k).

        Raises:
            TypeError, ValueError: tensors that do not fit the weights or each other.
        """
        self._check(x, context, cache)
        q, k, v = self._project(x, context, cache)  # (batch, h, n, d_k), k and v of h_kv heads
        dropout = self.dropout if self.training else 0.0
        if return_weights:
            k, v = (repeat_heads(t, self.n_heads) for t in (k, v))
            _, weights = scaled_dot_product_attention(q, k, v, mask)
            return self.W_O(merge_heads(F.dropout(weights, dropout) @ v)), weights
        if mask is not None:
            check_mask(mask, (*q.shape[:-1], k.size(-2)), q.device)
            mask = torch.atleast_2d(mask)  # PyTorch's kernels take no mask of fewer dimensions
        if not dropout and flash_pays(q, k, v, mask):
            output = flash_attention(q, k, v, mask=mask)
        else:
            options = {"dropout_p": dropout, "enable_gqa": self.n_kv_heads < self.n_heads}
            output = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, **options)
        return self.W_O(merge_heads(output))

    def _project(
        self, x: Tensor, context: Tensor | None, cache: KeyValueCache | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries of x; keys and values of x or the context, the cached ones before them."""
        if context is None:
            heads = self.n_heads, self.n_kv_heads, self.n_kv_heads
            q, k, v = split_heads(self.W_QKV(x), sum(heads)).split(heads, dim=1)
            if self.rope_base is not None:
                q, k = self._turn(q, k, start=0 if cache is None else len(cache))
            return q, *(cache.append(k, v) if cache is not None else (k, v))
        d_model = x.size(-1)
        weight, bias = self.W_QKV.weight, self.W_QKV.bias
        b_Q, b_KV = (None, None) if bias is None else (bias[:d_model], bias[d_model:])
        q = split_heads(F.linear(x, weight[:d_model], b_Q), self.n_heads)
        if cache is not None and len(cache):
            return q, cache.k, cache.v  # the context is the same at every step
        projected = F.linear(context, weight[d_model:], b_KV)
        k, v = split_heads(projected, 2 * self.n_kv_heads).chunk(2, dim=1)
        return q, *(cache.append(k, v) if cache is not None else (k, v))

    def _turn(self, q: Tensor, k: Tensor, start: int) -> tuple[Tensor, Tensor]:
        """Queries and keys of positions start, start + 1, … turned; never the values."""
        positions = torch.arange(start, start + q.size(-2))
        return rope(q, positions, self.rope_base), rope(k, positions, self.rope_base)

    def _check(self, x: Tensor, context: Tensor | None, cache: KeyValueCache | None) -> None:
        d_model = self.W_O.in_features
        check_tokens("x", x, d_model, self.W_O.weight)
        if context is not None:
            check_tokens("context", context, d_model, self.W_O.weight)
            check_batch("context", context.size(0), "x", x.size(0))
        if cache is not None and len(cache):
            check_batch("cache", cache.k.size(0), "x", x.size(0))


def split_heads(
    x: Float[Tensor, "batch n d_model"], n_heads: int
) -> Float[Tensor, "batch {n_heads} n d_k"]:
    """(batch, n, d_model) -> (batch, n_heads, n, d_k): to head i the columns i·d_k … (i+1)·d_k."""
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def merge_heads(x: Float[Tensor, "batch n_heads n d_k"]) -> Float[Tensor, "batch n d_model"]:
    """(batch, n_heads, n, d_k) -> (batch, n, d_model): the heads side by side again."""
    return x.transpose(1, 2).flatten(2)


def repeat_heads(
    x: Float[Tensor, "batch n_kv_heads n d"], n_heads: int
) -> Float[Tensor, "batch {n_heads} n d"]:
    """(batch, n_kv_heads, n, d) -> (batch, n_heads, n, d): head by head, 0 0 0 1 1 1 …"""
    times = n_heads // x.size(1)
    return x if times == 1 else x.repeat_interleave(times, dim=1)
