"""The parts of a Transformer beside attention: embedding, position, feed-forward, norm, residual.

Tensors are (batch, n, d_model). A module holds weights; what it computes is a function of its own.
"""

import math
from collections.abc import Callable
from numbers import Real

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_lib.checks import (
    check_alike,
    check_choice,
    check_flag,
    check_float_tensor,
    check_id,
    check_ids,
    check_int,
    check_integers,
    check_positive,
    check_probability,
    check_size,
    check_tokens,
)

# --- embedding ----------------------------------------------------------------------------


class TokenEmbedding(nn.Module):
    """Look up each token's row and scale it: W_E[id] · √d_model, or leave it as it is.

    The same matrix can turn vectors back into scores over the vocabulary: ``logits`` (tying).

    Args:
        vocab_size: number of token ids, 0 … vocab_size − 1.
        d_model: length of a row.
        pad_id: an id whose row starts as 0 and gets no gradient from ``forward``, or None.
            (``logits`` scores every id, that one too: tied, the row learns to be improbable.)
        scale: whether to multiply by √d_model, as the paper does and later models do not.

    Raises:
        TypeError, ValueError: sizes that are not positive ints, a pad_id outside the vocabulary.

    Source: Vaswani et al. (2017), §3.4.
    """

    def __init__(
        self, vocab_size: int, d_model: int, pad_id: int | None = None, *, scale: bool = True
    ):
        super().__init__()
        check_size("vocab_size", vocab_size)
        check_size("d_model", d_model)
        if pad_id is not None:
            check_id("pad_id", pad_id, vocab_size)
        check_flag("scale", scale)
        self.pad_id = pad_id
        self.factor = math.sqrt(d_model) if scale else 1.0
        # Variance 1/d_model: times √d_model the vectors have variance 1, and so have the logits.
        self.weight = nn.Parameter(torch.randn(vocab_size, d_model) / math.sqrt(d_model))
        if pad_id is not None:
            self.weight.data[pad_id] = 0

    def forward(self, token_ids: Int[Tensor, "batch n"]) -> Float[Tensor, "batch n d_model"]:
        """Token ids to vectors.

        Raises:
            TypeError: ids that are not an integer tensor.
            ValueError: not (batch, n), empty, or an id outside the vocabulary. (On a GPU torch
                itself stops at such an id; looking first would make every step wait for it.)
        """
        check_ids("token_ids", token_ids)
        if token_ids.device != self.weight.device:
            raise ValueError(
                f"token_ids must be on the device of the weights, {self.weight.device}, "
                f"got {token_ids.device}"
            )
        try:
            rows = F.embedding(token_ids, self.weight, self.pad_id)
        except IndexError:
            raise ValueError(
                f"token_ids must be in 0 … {self.weight.size(0) - 1}, "
                f"got {token_ids.min()} … {token_ids.max()}"
            ) from None
        return rows * self.factor

    def logits(self, x: Float[Tensor, "batch n d_model"]) -> Float[Tensor, "batch n vocab"]:
        """Scores over the vocabulary with the same matrix: x W_Eᵀ."""
        check_tokens("x", x, self.weight.size(1), self.weight)
        return F.linear(x, self.weight)


# --- position -----------------------------------------------------------------------------


def sinusoidal_encoding(n: int, d_model: int) -> Float[Tensor, "{n} {d_model}"]:
    """Each position as the hands of d_model/2 clocks: sin and cos of pos / 10000^(2i/d_model).

    Args:
        n: number of positions, 0 … n − 1.
        d_model: length of a row; if odd, the last cosine is left out.

    Returns:
        float64 (n, d_model): even columns sines, odd columns cosines.

    Raises:
        TypeError, ValueError: sizes that are not ints, n < 0, d_model < 1.

    Source: Vaswani et al. (2017), §3.5.
    """
    check_size("n", n, least=0)
    check_size("d_model", d_model)
    positions = torch.arange(n, dtype=torch.float64)[:, None]
    angles = positions * _frequencies(d_model)  # (n, 1) * (⌈d_model/2⌉,)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d_model]


def shift_matrix(k: int, d_model: int) -> Float[Tensor, "{d_model} {d_model}"]:
    """M_k with PE(pos + k) = M_k PE(pos) for every position: a rotation in each sin/cos pair.

    Args:
        k: how many positions further; may be negative.
        d_model: even, since a sine alone cannot be turned.

    Returns:
        float64 (d_model, d_model), block diagonal. For rows: PE[pos + k] = PE[pos] @ M_k.T.

    Raises:
        TypeError, ValueError: k or d_model not an int, d_model odd or < 2.

    Source: Vaswani et al. (2017), §3.5; the blocks follow from the addition theorems.
    """
    check_int("k", k)
    check_size("d_model", d_model, least=2)
    if d_model % 2:
        raise ValueError(f"d_model must be even: each sine needs its cosine, got {d_model}")
    angles = k * _frequencies(d_model)
    cos, sin = angles.cos(), angles.sin()
    blocks = torch.stack([torch.stack([cos, sin], -1), torch.stack([-sin, cos], -1)], -2)
    return torch.block_diag(*blocks)


def rope(
    x: Float[Tensor, "*batch n d"], positions: Int[Tensor, "n"], base: Real = 10_000
) -> Float[Tensor, "*batch n d"]:
    """Turn each pair of neighbours (x_2i, x_2i+1) by the angle pos · base^(−2i/d).

    Of two vectors turned so, the scalar product depends on their distance alone.

    Args:
        x: queries or keys, (..., n, d), d even.
        positions: of the n vectors, integers.
        base: the larger, the slower the last pairs turn.

    Returns:
        x, turned, in its own dtype; the angles are computed in float64.

    Raises:
        TypeError, ValueError: x that is not floating point or of odd width, positions that are
            not n integers, a base that is not above 0.

    Source: Su et al. (2021), eq. 34.
    """
    _check_turnable(x, positions, base)
    places = positions.to("cpu", torch.float64)[:, None]  # not every device has float64
    angles = places * _frequencies(x.size(-1), base).cpu()  # (n, 1) * (d/2,)
    cos, sin = angles.cos().to(x), angles.sin().to(x)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


def _check_turnable(x: Tensor, positions: Tensor, base: Real) -> None:
    check_float_tensor("x", x)
    if x.size(-1) % 2:
        raise ValueError(f"x must have an even last dimension, to turn pairs, got {tuple(x.shape)}")
    check_integers("positions", positions)
    if positions.shape != x.shape[-2:-1]:
        raise ValueError(
            f"positions must have shape ({x.size(-2)},), one for each vector of x, "
            f"got {tuple(positions.shape)}"
        )
    check_positive("base", base)


def _frequencies(d_model: int, base: Real = 10_000) -> Float[Tensor, "pairs"]:
    exponents = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model  # 2i / d_model
    return float(base) ** -exponents


class PositionalEncoding(nn.Module):
    """Add the sinusoidal encoding to a sequence, then dropout.

    The table is a buffer, not a parameter; it is not saved, and grows when a sequence is longer.

    Args:
        d_model: length of a vector, odd or even.
        max_len: positions made in advance.
        dropout: probability of zeroing an entry of the sum.

    Raises:
        TypeError, ValueError: sizes that are not positive ints, dropout not in [0, 1).

    Source: Vaswani et al. (2017), §3.5 and §5.4.
    """

    table: Tensor

    def __init__(self, d_model: int, max_len: int = 512, dropout: float = 0.0):
        super().__init__()
        check_size("max_len", max_len)
        check_probability("dropout", dropout)
        table = sinusoidal_encoding(max_len, d_model).to(torch.get_default_dtype())
        self.register_buffer("table", table, persistent=False)
        self.dropout = nn.Dropout(dropout)

    def _apply(self, *args: object, **kwargs: object) -> "PositionalEncoding":
        """After ``.to``, ``.half``, ``.double`` …: a table that was rounded once is made anew."""
        super()._apply(*args, **kwargs)
        self.table = sinusoidal_encoding(*self.table.shape).to(self.table)
        return self

    def forward(
        self, x: Float[Tensor, "batch n d_model"], start: int = 0
    ) -> Float[Tensor, "batch n d_model"]:
        """x plus the encodings of positions start, start + 1, …"""
        _check_placeable(x, start, self.table)
        end = start + x.size(1)
        if end > self.table.size(0):
            longer = sinusoidal_encoding(max(end, 2 * self.table.size(0)), self.table.size(1))
            self.table = longer.to(self.table)
        return self.dropout(x + self.table[start:end])


class LearnedPositions(nn.Module):
    """Add a trained vector for each position, then dropout.

    Args:
        d_model: length of a vector.
        max_len: number of positions there are; a longer sequence is refused.
        dropout: probability of zeroing an entry of the sum.

    Raises:
        TypeError, ValueError: sizes that are not positive ints, dropout not in [0, 1).

    Source: Vaswani et al. (2017), table 3, row (E).
    """

    def __init__(self, d_model: int, max_len: int = 512, dropout: float = 0.0):
        super().__init__()
        check_size("d_model", d_model)
        check_size("max_len", max_len)
        check_probability("dropout", dropout)
        self.weight = nn.Parameter(torch.randn(max_len, d_model) / math.sqrt(d_model))
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "batch n d_model"], start: int = 0
    ) -> Float[Tensor, "batch n d_model"]:
        """x plus the vectors of positions start, start + 1, …; ValueError beyond max_len."""
        _check_placeable(x, start, self.weight)
        end = start + x.size(1)
        if end > self.weight.size(0):
            raise ValueError(f"sequences may be {self.weight.size(0)} long (max_len), got {end}")
        return self.dropout(x + self.weight[start:end])


class NoPositions(nn.Module):
    """Add nothing, then dropout: for attention that turns its queries and keys, or for none at all.

    Args:
        d_model, max_len: not used; for every kind of positions is made in the same way.
        dropout: probability of zeroing an entry.

    Raises:
        TypeError, ValueError: dropout not in [0, 1).
    """

    def __init__(self, d_model: int, max_len: int = 512, dropout: float = 0.0):
        super().__init__()
        check_probability("dropout", dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "batch n d_model"], start: int = 0
    ) -> Float[Tensor, "batch n d_model"]:
        """x as it is, wherever it starts."""
        return self.dropout(x)


def _check_placeable(x: Tensor, start: int, table: Tensor) -> None:
    check_tokens("x", x, table.size(1), table)
    check_size("start", start, least=0)


# --- feed-forward -------------------------------------------------------------------------

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "swiglu": F.silu,  # with a gate beside it
}


class FeedForward(nn.Module):
    """The same two-layer network at every position: activation(x W_1 + b_1) W_2 + b_2.

    With "swiglu": (SiLU(x W_1) ⊙ x W_3) W_2.

    Args:
        d_model: length of a vector.
        d_ff: hidden width.
        activation: "relu", "gelu" (exact) or "swiglu".
        bias: whether there are b_1 and b_2.
        dropout: on the hidden layer; the paper has none there.

    Raises:
        TypeError, ValueError: sizes that are not positive ints, an unknown activation, dropout
            not in [0, 1).

    Source: Vaswani et al. (2017), eq. 2; Shazeer (2020), eq. 6 for SwiGLU.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        activation: str = "relu",
        bias: bool = True,
        dropout: float = 0.0,
    ):
        super().__init__()
        check_size("d_model", d_model)
        check_size("d_ff", d_ff)
        check_choice("activation", activation, ACTIVATIONS)
        check_flag("bias", bias)
        check_probability("dropout", dropout)
        self.activation = ACTIVATIONS[activation]
        self.W_1 = nn.Linear(d_model, d_ff, bias=bias)
        self.W_2 = nn.Linear(d_ff, d_model, bias=bias)
        self.W_3 = nn.Linear(d_model, d_ff, bias=bias) if activation == "swiglu" else None
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch n d_model"]) -> Float[Tensor, "batch n d_model"]:
        """Each vector of x through the network, by itself."""
        check_tokens("x", x, self.W_1.in_features, self.W_1.weight)
        hidden = self.activation(self.W_1(x))  # (batch, n, d_ff)
        if self.W_3 is not None:
            hidden = hidden * self.W_3(x)
        return self.W_2(self.dropout(hidden))


# --- norm and residual --------------------------------------------------------------------


class LayerNorm(nn.Module):
    """Bring each vector to mean 0 and variance 1, then γ ⊙ x̂ + β.

    Args:
        d_model: length of a vector.
        eps: added to the variance, inside the root.

    Raises:
        TypeError, ValueError: a d_model that is no positive int, an eps that is not above 0.

    Source: Ba et al. (2016); Vaswani et al. (2017), §3.1.
    """

    def __init__(self, d_model: int, eps: float = 1e-5):
        super().__init__()
        check_size("d_model", d_model)
        check_positive("eps", eps)
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """Each vector of x normalised by its own mean and variance."""
        _check_normable(x, self.gamma)
        return F.layer_norm(x, self.gamma.shape, self.gamma, self.beta, self.eps)


class RMSNorm(nn.Module):
    """Divide each vector by its root mean square, then γ ⊙: no mean subtracted, no β.

    Args:
        d_model: length of a vector.
        eps: added to the mean square, inside the root.

    Raises:
        TypeError, ValueError: a d_model that is no positive int, an eps that is not above 0.

    Source: Zhang & Sennrich (2019), eq. 4.
    """

    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        check_size("d_model", d_model)
        check_positive("eps", eps)
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """Each vector of x divided by its own root mean square."""
        _check_normable(x, self.gamma)
        return F.rms_norm(x, self.gamma.shape, self.gamma, self.eps)


def _check_normable(x: Tensor, gamma: Tensor) -> None:
    check_float_tensor("x", x, least_dims=1)
    if x.size(-1) != gamma.size(0):
        raise ValueError(f"x must be (..., {gamma.size(0)}), got {tuple(x.shape)}")
    check_alike("x", x, "the weights", gamma)


class Residual(nn.Module):
    """A sublayer with a short cut around it, and a norm: post- or pre-norm.

    post: norm(x + dropout(sublayer(x))), as in the paper; pre: x + dropout(sublayer(norm(x))).

    Args:
        norm: a module such as LayerNorm(d_model).
        dropout: on the sublayer's output.
        pre_norm: where the norm stands.

    Raises:
        TypeError, ValueError: dropout not in [0, 1), a sublayer that changes the shape.

    Source: Vaswani et al. (2017), §3.1 and §5.4; Xiong et al. (2020) for pre-norm.
    """

    def __init__(self, norm: nn.Module, dropout: float = 0.0, *, pre_norm: bool = False):
        super().__init__()
        check_probability("dropout", dropout)
        check_flag("pre_norm", pre_norm)
        self.norm = norm
        self.dropout = nn.Dropout(dropout)
        self.pre_norm = pre_norm

    def forward(
        self, x: Float[Tensor, "batch n d_model"], sublayer: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "batch n d_model"]:
        """x with what the sublayer makes of it added, and normalised."""
        change = sublayer(self.norm(x) if self.pre_norm else x)
        if change.shape != x.shape:
            raise ValueError(
                f"a sublayer must keep the shape {tuple(x.shape)}, got {tuple(change.shape)}"
            )
        total = x + self.dropout(change)
        return total if self.pre_norm else self.norm(total)
