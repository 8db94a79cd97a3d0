"""Attention in tiles: exact, and never a tensor of n_q × n_k.

The scores of a block of queries are made and used up one tile of keys at a time. A tile gives, for
each query, its highest score m and the sums o = Σ exp(score − m) v and l = Σ exp(score − m); the
results over two sets of keys merge into the one over both, and the output is o / l at the end:

    m = max(m₁, m₂),   o = o₁ exp(m₁ − m) + o₂ exp(m₂ − m),   l = l₁ exp(m₁ − m) + l₂ exp(m₂ − m).

Backward makes each tile's weights once more, P = exp(score − m) / l, so that of forward only the
output and the log-sum-exp are kept: the latter in its two parts, lse = m + log l, so that its
rounding does not grow with the scores. With D = Σ dO ⊙ O, one number for each query,

    dV = Pᵀ dO,   dS = P ⊙ (dO Vᵀ − D),   dQ = dS K,   dK = dSᵀ Q.

Inside this module all leading dimensions are one: q (heads, n_q, d_k), k and v (kv_heads, n_k, d),
each key/value head serving heads / kv_heads neighbouring query heads. ``heads``, ``rows`` and
``cols`` are slices of heads, queries and keys.

Sources: Milakov & Gimelshein (2018); Rabe & Staats (2021); Dao et al. (2022), algorithms 1 and 4;
Dao (2023), §3.1.
"""

import math
import os
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product as pairs
from statistics import median
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from transformer_lib.calibration import once, take_turns
from transformer_lib.checks import check_attention, check_flag, check_number, check_size
from transformer_lib.memory import blocks

# oneDNN's matrix product for float32, which PyTorch's own compiler calls, uses the widest vector
# instructions of any processor; MKL's, behind torch.bmm, only those of some makers' processors, but
# there it may be the faster one. It is no public operation, and may be missing.
_LINEAR = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
_HAS_ONEDNN = torch.backends.mkldnn.is_available() and _LINEAR is not None
# Heads share each operation as long as they make fewer scores than this together: an operation
# has a cost of its own, on a graphics card much more of it.
_SMALL = {"cpu": 2**17, "other": 2**24}
# Tiles with a side below this MKL rounds otherwise the other way round, and weights unlike those of
# forward do not go with its totals.
_NARROW = 16
# Scores are made as exponents of 2, not e, for PyTorch's exp2 is three times as fast as its exp,
# and thirty times where numbers become too small to be held: exp(x) = 2^(x log₂ e).
_LOG2_E = math.log2(math.e)
# Scores, of all heads together, from which on it is worth a measurement how they are made.
_MANY = 2**21
# Scores (n_q · n_k) of a head and length of its vectors from which on flash attention may be
# faster; with shorter vectors too much of the work lies beside the matrix products.
_LONG, _WIDE = 2**22, 32


class Way(NamedTuple):
    """How tiles are computed: with which product, and how many queries and keys at once."""

    product: str  # a name in _PRODUCTS
    block_q: int
    block_k: int


# The larger the tile, the fewer operations have to be started; the smaller, the more of it stays in
# the cache beside a core.
_SIZES = (512, 1024), (256, 512)


def flash_attention(
    q: Float[Tensor, "*batch n_q d_k"],
    k: Float[Tensor, "*kv_batch n_k d_k"],
    v: Float[Tensor, "*kv_batch n_k d_v"],
    *,
    causal: bool = False,
    window: int | None = None,
    mask: Bool[Tensor, "..."] | None = None,
    scale: float | None = None,
    block_q: int | None = None,
    block_k: int | None = None,
    return_lse: bool = False,
) -> Float[Tensor, "*batch n_q d_v"] | tuple[Tensor, Tensor]:
    """softmax(scale · q kᵀ) v without ever holding the scores: memory grows with n, not n².

    The queries are the last n_q of the n_k positions (where n_q > n_k, the first ones stand
    before all keys). A query may attend where causal, window and mask all let it.

    Args:
        q: queries, (..., n_q, d_k).
        k: keys, (..., n_k, d_k). Their heads (the last leading dimension) may be fewer than
            those of q and divide them; each then serves as many neighbouring query heads.
        v: values, (..., n_k, d_v).
        causal: a query sees no later position.
        window: the query at position i sees only positions j with |i − j| < window.
        mask: Boolean, broadcastable to (..., n_q, n_k), ``True`` = may attend.
        scale: factor of the scores; 1 / √d_k if not given.
        block_q, block_k: queries and keys in a tile; if not given, what is fast here.
        return_lse: whether to return each query's log Σ exp(score) as well.

    Returns:
        output (..., n_q, d_v), 0 for a query that may attend to nothing. With return_lse also
        the lse (..., n_q), −∞ for such a query; float32, or float64 if q is.

    Raises:
        TypeError: not floating-point tensors of one dtype, a mask that is not Boolean, sizes
            that are no ints.
        ValueError: shapes that do not fit each other, a block or window below 1.
        RuntimeError: when differentiated twice, or after the mask was changed in place.

    On a CPU the matrix product and the blocks are those that are fastest on this machine: measured
    at the first long input, in a fraction of a second, and kept for the process. The environment
    variable ``TRANSFORMER_LIB_FLASH`` (``onednn`` or ``bmm``) names the product instead.

    Source: Dao (2023), algorithm 1.
    """
    check_attention(q, k, v, mask, grouped=True)
    check_flag("causal", causal)
    check_flag("return_lse", return_lse)
    for name, size in (("block_q", block_q), ("block_k", block_k), ("window", window)):
        if size is not None:
            check_size(name, size)
    check_size("d_k", q.size(-1))
    scale = 1 / math.sqrt(q.size(-1)) if scale is None else scale
    check_number("scale", scale)
    if not math.isfinite(scale):
        raise ValueError(f"scale must be finite, got {scale}")
    sight = _Sight(q.shape[:-1], k.size(-2), causal, window, mask)
    flat = [t.reshape(math.prod(t.shape[:-2]), *t.shape[-2:]) for t in (q, k, v)]
    differentiable = torch.is_grad_enabled() and any(t.requires_grad for t in flat)
    keep = return_lse or differentiable
    way = _way(flat[0], sight, block_q, block_k)
    output, lse = _FlashAttention.apply(*flat, scale, sight, way, keep)
    output = output.view(*q.shape[:-1], v.size(-1))
    return (output, lse.view(q.shape[:-1])) if return_lse else output


def flash_pays(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> bool:
    """Whether this is faster here than PyTorch's fused kernel.

    Never where vectors or sequences are short, on a graphics card, or in another precision than
    float32. Else both are measured, once in a process for each d_k and d_v, number of threads, with
    gradients and without, with each kind of mask and without. Tiles that the mask hides wholly cost
    nothing here, and PyTorch as much as others.
    """
    fits = q.device.type == "cpu" and q.dtype == torch.float32
    if not fits or q.size(-2) * k.size(-2) < _LONG or min(q.size(-1), v.size(-1)) < _WIDE:
        return False
    gradients = torch.is_grad_enabled() and any(t.requires_grad for t in (q, k, v))
    masked = "" if mask is None else "keys" if mask.size(-2) == 1 else "all"
    over = time_over_fused(q.size(-1), v.size(-1), masked, gradients, torch.get_num_threads())
    return over * (1 if mask is None else _share_seen(mask)) < 1


def _share_seen(mask: Tensor) -> float:
    """The share of the tiles in which some query sees a key."""
    rows, cols = (blocks(n, size) for n, size in zip(mask.shape[-2:], _SIZES[0], strict=True))
    tiles = (mask[..., i, j].view(torch.uint8).amax((-2, -1)) for i, j in pairs(rows, cols))
    return torch.stack(list(tiles)).float().mean().item()


@once
def time_over_fused(d_k: int, d_v: int, masked: str, gradients: bool, threads: int) -> float:
    """Our time over the fused kernel's, measured: the median of some turns.

    Of one length, for the ratio hardly changes with it; with a head for each thread, since heads
    are what PyTorch's backward shares out. ``masked``: "" not at all, "keys" the same for all
    queries, "all" any.
    """
    n_q, n_k, generator = 1024, 2048, torch.Generator().manual_seed(0)
    q, k, v = (
        torch.randn(1, threads, n, d, generator=generator, requires_grad=gradients)
        for n, d in ((n_q, d_k), (n_k, d_k), (n_k, d_v))
    )
    # Few keys are hidden: no tile is left out, and each has to be looked at.
    rows = {"": 0, "keys": 1, "all": n_q}[masked]
    mask = torch.rand(rows, n_k, generator=generator) > 0.1 if rows else None

    def attend(function: Callable[..., Tensor], **options: Tensor | None) -> None:
        output = function(q, k, v, **options)
        if gradients:
            output.sum().backward()

    ours, theirs = take_turns(
        partial(attend, flash_attention, mask=mask),
        partial(attend, F.scaled_dot_product_attention, attn_mask=mask),
    )
    return median(a / b for a, b in zip(ours, theirs, strict=True))


def _way(q: Tensor, sight: "_Sight", block_q: int | None, block_k: int | None) -> Way:
    """With the blocks asked for, else what is fast."""
    way = _product_and_blocks(q, sight)
    if sight.before < sight.n_k:  # a window: all that a block sees in one flat tile
        way = way._replace(block_q=256, block_k=2048)
    return way._replace(block_q=block_q or way.block_q, block_k=block_k or way.block_k)


def _product_and_blocks(q: Tensor, sight: "_Sight") -> Way:
    """As measured on this machine; what is short or not for oneDNN does without a measurement."""
    usual = Way("bmm", *_SIZES[0])
    single = torch.promote_types(q.dtype, torch.float32) == torch.float32
    if not (_HAS_ONEDNN and q.device.type == "cpu" and single):
        return usual
    asked = os.environ.get("TRANSFORMER_LIB_FLASH")
    if asked:
        if asked not in _PRODUCTS:
            names = " or ".join(_PRODUCTS)
            raise ValueError(f"TRANSFORMER_LIB_FLASH must be {names}, got {asked!r}")
        return usual._replace(product=asked)
    seen = min(sight.n_k, sight.before + sight.after + 1)
    return fastest_way() if q.size(0) * sight.n_q * seen >= _MANY else usual


@once
def fastest_way() -> Way:
    """The fastest on this machine, forward and backward, with as many threads as at its first use.

    By the least time of each, which other load on the machine touches last.
    """
    generator = torch.Generator().manual_seed(0)
    q, k, v = (
        torch.randn(2, n, 64, generator=generator, requires_grad=True) for n in (512, 1024, 1024)
    )
    sight = _Sight(q.shape[:-1], k.size(1), causal=False, window=None, mask=None)

    def attend(way: Way) -> None:
        _FlashAttention.apply(q, k, v, 1.0, sight, way, True)[0].sum().backward()

    ways = [Way(product, *size) for product in _PRODUCTS for size in _SIZES]
    least = map(min, take_turns(*(partial(attend, way) for way in ways)))
    return min(zip(least, ways, strict=True))[1]


class _FlashAttention(torch.autograd.Function):
    """Both passes over the blocks of queries, and what is kept from one to the other."""

    @staticmethod
    def forward(ctx, q, k, v, scale, sight, way, keep):
        output = q.new_zeros(*q.shape[:-1], v.size(-1))
        # Half precision is summed up in single precision.
        dtype = torch.promote_types(q.dtype, torch.float32)
        lowest = torch.finfo(dtype).min
        highest = q.new_full((*q.shape[:-1], 1), lowest, dtype=dtype) if keep else None
        total = torch.ones_like(highest) if keep else None
        product = _PRODUCTS[way.product]
        with torch.autocast(q.device.type, enabled=False):
            for heads, kv, rows in _query_blocks(q, k, way):
                at = heads, rows
                tiles = sight.tiles(heads, rows, way.block_k)
                queries = q[at].to(dtype) * (scale * _LOG2_E)
                result = _forward_block(product, queries, k[kv], v[kv], tiles)
                if result is not None:
                    output[at] = result[0].div_(result[2])
                    if sight.may_be_blind:
                        output[at].masked_fill_(result[1] == lowest, 0)
                    if keep:
                        highest[at], total[at] = result[1:]
                del result  # before the next one is made, not after
        if not keep:
            return output, None
        # The mask as well, though sight has it: so PyTorch notices if it is changed in place.
        ctx.save_for_backward(q, k, v, output, highest, total, sight.mask)
        ctx.rest = scale, sight, way
        lse = ((highest + total.log2()) / _LOG2_E).masked_fill_(highest == lowest, -torch.inf)
        return output, lse.squeeze(-1)

    @staticmethod
    def backward(ctx, d_output, d_lse):
        with torch.no_grad():
            gradients = _FlashAttention._gradients(ctx, d_output, d_lse)
        if torch.is_grad_enabled():  # with create_graph: they would pass for constants
            gradients = _Once.apply(*gradients, *ctx.saved_tensors[:3], d_output, d_lse)
        return *gradients, None, None, None, None, None

    @staticmethod
    def _gradients(ctx, d_output, d_lse) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v, output, highest, total, _ = ctx.saved_tensors
        scale, sight, way = ctx.rest
        dq, dk, dv = (torch.zeros_like(t, dtype=total.dtype) for t in (q, k, v))
        product = _PRODUCTS[way.product]
        with torch.autocast(q.device.type, enabled=False):
            for heads, kv, rows in _query_blocks(q, k, way):
                at = heads, rows
                queries = q[at].to(total.dtype) * (scale * _LOG2_E)
                # The weights are made without their denominator; what they meet is divided by it.
                d_block = d_output[at] / total[at]
                # The gradient of the lse adds P ⊙ dlse to dS, so it joins the row term D.
                row_term = (d_block * output[at]).sum(-1) - d_lse[at] / total[at].squeeze(-1)
                known = product, queries, highest[at].squeeze(-1), d_block, row_term
                tiles = sight.tiles(heads, rows, way.block_k)
                dq[at] = scale * _backward_block(*known, k[kv], v[kv], dk[kv], dv[kv], tiles)
        dk /= _LOG2_E  # the queries were multiplied by it
        return dq.to(q.dtype), dk.to(q.dtype), dv.to(q.dtype)


class _Once(torch.autograd.Function):
    """Gradients as they are, which say so when they are differentiated once more."""

    @staticmethod
    def forward(ctx, dq, dk, dv, *_sources):
        return dq, dk, dv

    @staticmethod
    def backward(ctx, *_gradients):
        raise RuntimeError(
            "flash_attention can be differentiated only once; for second derivatives take "
            "scaled_dot_product_attention"
        )


def _forward_block(product, q, k, v, tiles) -> tuple[Tensor, Tensor, Tensor] | None:
    """Sum, highest, total of scaled queries (g, rows, d_k), tiles merged; None of none."""
    result = None
    for cols, hidden in tiles:
        tile = product, q, _take(k, cols, q), _take(v, cols, q), hidden
        # A name for the tile's result would keep it until the next one is made.
        result = _forward_tile(*tile) if result is None else _merge(result, _forward_tile(*tile))
    return result


def _forward_tile(product, q, k, v, hidden) -> tuple[Tensor, Tensor, Tensor]:
    """Σ 2^(score − highest) v (g, rows, d_v), highest score and Σ 2^(score − highest)
    (g, rows, 1) over one tile."""
    scores = product(q, k)  # (g, rows, d_k), (g, cols, d_k) -> (g, rows, cols)
    hidden.lower(scores)
    highest = scores.amax(-1, keepdim=True)
    weights = scores.sub_(highest).exp2_()  # in their place: fresh memory is slow
    # (g, rows, cols), (g, d_v, cols) -> (g, rows, d_v)
    return product(weights, v.mT), highest, weights.sum(-1, keepdim=True)


def _merge(result_1, result_2) -> tuple[Tensor, Tensor, Tensor]:
    """The result over the keys of two, in the place of the first."""
    (sum_1, highest_1, total_1), (sum_2, highest_2, total_2) = result_1, result_2
    highest = torch.maximum(highest_1, highest_2)
    factor_1, factor_2 = highest_1.sub_(highest).exp2_(), highest_2.sub_(highest).exp2_()
    sum_1.mul_(factor_1).addcmul_(sum_2, factor_2)
    total_1.mul_(factor_1).addcmul_(total_2, factor_2)
    return sum_1, highest, total_1


def _backward_block(product, q, highest, d_output, row_term, k, v, dk, dv, tiles) -> Tensor:
    """dQ (g, rows, d_k) of a block of queries, but for the scale; adds its share to dk and dv."""
    dq = q.new_zeros(q.mT.shape)
    for cols, hidden in tiles:
        tile = _take(k, cols, q), _take(v, cols, q), hidden
        dq_part, dk_part, dv_part = _backward_tile(product, q, highest, d_output, row_term, *tile)
        dq += dq_part
        _add(dk[:, cols], dk_part)
        _add(dv[:, cols], dv_part)
    return dq.mT


def _backward_tile(
    product, q, highest, d_output, row_term, k, v, hidden
) -> tuple[Tensor, Tensor, Tensor]:
    """dQᵀ (g, d_k, rows), dK (g, cols, d_k) and dV (g, cols, d_v) of one tile.

    Scores and weights are made transposed: what is subtracted from each query's is then the
    bias of a product, which costs no pass of its own.
    """
    # (g, cols, d_k), (g, rows, d_k) -> (g, cols, rows). Made the other way round they are rounded
    # otherwise than in forward: a score may exceed the highest, a very high one by so much that its
    # weight is ∞.
    weights = product(k, q, -highest).clamp_(max=0).exp2_()
    hidden.clear(weights)
    d_scores = product(v, d_output, -row_term).mul_(weights)  # -> (g, cols, rows)
    return product(k.mT, d_scores.mT), product(d_scores, q.mT), product(weights, d_output.mT)


def _bmm(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    """a bᵀ + bias: (g, m, d) and (g, n, d) and (g, n) -> (g, m, n)."""
    if bias is None:
        return torch.bmm(a, b.mT)
    if min(a.size(1), b.size(1)) < _NARROW:  # b first, which are the queries, as in forward
        return torch.baddbmm(bias[..., None], b, a.mT).mT
    return torch.baddbmm(bias[:, None], a, b.mT)


def _onednn(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    """The same, of one head: it takes no more together. Nor does it sum up empty rows."""
    if a.size(0) != 1 or a.numel() == 0:
        return _bmm(a, b, bias)
    return _LINEAR(a[0], b[0], None if bias is None else bias[0], "none", [], "")[None]


_PRODUCTS = {"onednn": _onednn, "bmm": _bmm}


def _take(keys: Tensor, cols: slice, like: Tensor) -> Tensor:
    """These keys (or values) in the dtype and for each of the heads of ``like``."""
    # Contiguous, for oneDNN takes other strides to its slowest code, a hundred times as slow.
    tile = keys[:, cols].to(like.dtype).contiguous()
    repeats = like.size(0) // tile.size(0)
    return tile if repeats == 1 else tile.repeat_interleave(repeats, 0)


def _add(total: Tensor, part: Tensor) -> None:
    """Add the gradients of all heads that share a key to the one of the key."""
    repeats = part.size(0) // total.size(0)
    total += part if repeats == 1 else part.unflatten(0, (-1, repeats)).sum(1)


def _query_blocks(q: Tensor, k: Tensor, way: Way) -> Iterator[tuple[slice, ...]]:
    """Which heads, key/value heads and rows are worked on at once."""
    heads, n_q = q.shape[:2]
    shared = max(1, heads // max(1, k.size(0)))  # query heads of one key/value head
    tile = min(way.block_q, n_q) * min(way.block_k, k.size(1))
    group = _SMALL["cpu" if q.device.type == "cpu" else "other"] // max(1, tile)
    group = max(1, group // shared * shared)
    for together in blocks(heads, group):
        kv = slice(together.start // shared, -(-together.stop // shared))
        for rows in blocks(n_q, way.block_q):
            yield together, kv, rows


class _Sight:
    """Which keys each query may see: those from ``before`` its position to ``after`` it, if the
    mask lets it too. Without causal and window, before and after reach beyond all keys."""

    def __init__(self, shape, n_k: int, causal: bool, window: int | None, mask: Tensor | None):
        *self.batch, self.n_q = shape
        self.n_k = n_k
        self.shift = n_k - self.n_q  # query i stands at position i + shift
        beyond = self.n_q + n_k  # farther than any key; a larger window may not fit into 64 bits
        self.before = beyond if window is None else min(beyond, window - 1)
        self.after = 0 if causal else self.before
        if mask is not None:
            mask = torch.atleast_2d(mask)
            mask = mask.expand(*self.batch, *mask.shape[-2:])
        self.mask = mask
        self.may_be_blind = mask is not None or self.n_q > n_k  # else each sees at least itself
        self._lowest = {}

    def tiles(self, heads: slice, rows: slice, block_k: int) -> Iterator[tuple[slice, "_Hidden"]]:
        """The keys (cols) of each tile in which a query sees anything, and what it does not see."""
        first, last = rows.start + self.shift, rows.stop - 1 + self.shift
        low, high = max(0, first - self.before), min(self.n_k, last + self.after + 1)
        for cols in blocks(high, block_k, start=low):
            mask = self._mask_tile(heads, rows, cols)
            # As bytes, for their maximum is found faster than whether any is True.
            if mask is None or mask.view(torch.uint8).amax():
                yield cols, _Hidden(self, first, last, cols, mask)

    def lowest(self, rows: int, cols: int, offset: int, like: Tensor) -> Tensor:
        """The lowest number where distance j − i, ``offset`` at first, is too far, elsewhere 0."""
        key = rows, cols, offset
        if key not in self._lowest:  # most tiles on the diagonal have the same
            seen = like.new_ones(rows, cols).tril_(self.after - offset).triu_(-self.before - offset)
            self._lowest[key] = seen.sub_(1).mul_(torch.finfo(like.dtype).max)
        return self._lowest[key]

    def _mask_tile(self, heads: slice, rows: slice, cols: slice) -> Tensor | None:
        """The mask's part of a tile, (g, rows or 1, cols or 1)."""
        if self.mask is None:
            return None
        rows, cols = (
            within if size > 1 else slice(None)
            for within, size in zip((rows, cols), self.mask.shape[-2:], strict=True)
        )
        # Indexed head by head: to flatten an expanded mask would copy it.
        indices = (np.unravel_index(head, self.batch) for head in range(heads.start, heads.stop))
        return torch.stack([self.mask[index][rows, cols] for index in indices])


class _Hidden:
    """What in one tile its queries, at the positions first … last, do not see."""

    def __init__(self, sight: _Sight, first: int, last: int, cols: slice, mask: Tensor | None):
        self.sight = sight
        self.offset = cols.start - first  # distance j − i where the tile begins
        self.before, self.after = sight.before, sight.after
        self.mask = None if mask is None or mask.view(torch.uint8).amin() else ~mask
        self.parts = list(self._parts(last - first + 1, cols.stop - cols.start))

    def _parts(self, rows: int, cols: int) -> Iterator[slice]:
        """The columns that are hidden from some query: too early for the last, too late for the
        first."""
        early = min(cols, rows - 1 - self.before - self.offset)
        late = max(0, self.after + 1 - self.offset)
        if late < early:
            yield slice(0, cols)
            return
        if early > 0:
            yield slice(0, early)
        if late < cols:
            yield slice(late, cols)

    def lower(self, scores: Tensor) -> None:
        """Set hidden scores (g, rows, cols) to the lowest number: a row of −∞ would give NaN.

        By clearing and adding, five times as fast as masked_fill_, and NaN is cleared as well.
        """
        for part in self.parts:
            seen = scores[..., part]
            offset = self.offset + part.start
            seen.tril_(self.after - offset).triu_(-self.before - offset)
            seen += self.sight.lowest(*seen.shape[1:], offset, scores)
        if self.mask is not None:
            scores.masked_fill_(self.mask, torch.finfo(scores.dtype).min)

    def clear(self, weights: Tensor) -> None:
        """Set hidden weights (g, cols, rows) to 0."""
        for part in self.parts:
            offset = self.offset + part.start
            weights[:, part].triu_(offset - self.after).tril_(offset + self.before)
        if self.mask is not None:
            weights.masked_fill_(self.mask.mT, 0)
