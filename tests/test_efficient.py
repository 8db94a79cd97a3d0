"""linear_attention against its definition, weight by weight; windows against the mask."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.test_flash import LargestStorage, qkv, with_gradients
from transformer_lib import (
    causal_mask,
    flash_attention,
    linear_attention,
    scaled_dot_product_attention,
    sliding_window_mask,
)


def by_definition(q, k, v, causal=False):
    """Weights φ(q_i)·φ(k_j), each row divided by its sum."""
    weights = (F.elu(q) + 1) @ (F.elu(k) + 1).mT
    if causal:
        weights = weights.masked_fill(~causal_mask(*weights.shape[-2:]), 0)
    return weights / weights.sum(-1, keepdim=True) @ v


sizes = st.integers(1, 150)
SHAPES = st.fixed_dictionaries(
    {"n_k": sizes, "d_k": st.integers(1, 6), "d_v": st.integers(1, 6), "seed": st.integers(0, 99)}
)


@settings(deadline=None)
@given(st.lists(st.integers(1, 3), max_size=2), SHAPES, st.booleans(), st.data())
def test_it_equals_the_definition(batch, shape, causal, data):
    n_q = data.draw(st.integers(1, shape["n_k"]) if causal else sizes)
    arguments = qkv(*batch, n_q=n_q, **shape)
    ours = with_gradients(lambda *a: linear_attention(*a, causal=causal), arguments)
    theirs = with_gradients(lambda *a: by_definition(*a, causal=causal), arguments)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("causal", [False, True])
def test_gradients_are_right(causal):
    arguments = [t.requires_grad_() for t in qkv(2, n_q=4, n_k=70, d_k=2, d_v=2)]
    attend = lambda *a: linear_attention(*a, causal=causal)  # noqa: E731
    assert torch.autograd.gradcheck(attend, arguments, fast_mode=True)
    assert torch.autograd.gradgradcheck(attend, arguments, fast_mode=True)


def test_the_gradient_at_zero_is_that_of_elu():
    zeros = [torch.zeros(2, 3, 1, dtype=torch.float64), *qkv(2, n_q=3, n_k=3, d_k=1)[1:]]
    for a, b in zip(
        with_gradients(linear_attention, zeros), with_gradients(by_definition, zeros), strict=True
    ):
        torch.testing.assert_close(a, b)


def test_the_future_changes_no_bit_of_the_past():
    q, k, v = qkv(2, n_q=150, n_k=150, dtype=torch.float32)
    before = linear_attention(q, k, v, causal=True)
    k[:, 100:], v[:, 100:] = 50.0, 1e6
    after = linear_attention(q, k, v, causal=True)
    assert torch.equal(before[:, :100], after[:, :100])
    assert not torch.equal(before[:, 100:], after[:, 100:])


@pytest.mark.parametrize("causal", [False, True])
def test_memory_grows_with_n_alone(causal):
    def largest(n):
        with LargestStorage() as watch:
            arguments = qkv(2, n_q=n, n_k=n, d_k=8, d_v=8, dtype=torch.float32)
            with_gradients(lambda *a: linear_attention(*a, causal=causal), arguments)
        return watch.largest

    assert largest(4096) == 2 * largest(2048)


@pytest.mark.parametrize("causal", [False, True])
def test_very_negative_keys_still_have_a_weighted_mean(causal):
    """elu(−30) + 1 is 0 in float32, and 0 / 0 no mean; exp(−30) is a number."""
    q, k, v = qkv(2, n_q=53, dtype=torch.float32)
    exact = by_definition(q.double(), (k - 15).double(), v.double(), causal)
    output = linear_attention(q, k - 15, v, causal=causal)
    torch.testing.assert_close(output.double(), exact, rtol=1e-4, atol=1e-4)
    shifted = linear_attention(q, k - 60, v, causal=causal)  # a common factor of all weights
    torch.testing.assert_close(shifted, output, rtol=1e-4, atol=1e-4)
    assert (linear_attention(q - 200, k - 200, v, causal=causal) == 0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_sums_in_single(dtype):
    q, k, v = qkv(2, n_q=3000, n_k=3000, dtype=dtype)
    v += 1  # so that the means of many values are no smaller than those of few
    output = linear_attention(q, k, v, causal=True)
    exact = by_definition(q.double(), k.double(), v.double(), causal=True)
    assert output.dtype == dtype
    # Half an eps is the rounding of the output itself.
    assert (output - exact).abs().max() <= 0.6 * torch.finfo(dtype).eps * exact.abs().max()


@pytest.mark.parametrize("causal", [False, True])
def test_sums_are_not_lowered_by_autocast(causal):
    q, k, v = qkv(2, dtype=torch.float32)
    expected = linear_attention(q, k, v, causal=causal)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(linear_attention(q, k, v, causal=causal), expected)


def test_no_keys_give_zero():
    assert (linear_attention(*qkv(2, n_k=0)) == 0).all()


@pytest.mark.parametrize("window", [1, 3, 64, 100])
def test_a_window_of_flash_attention_is_the_window_of_the_mask(window):
    arguments = qkv(2, 3, n_q=64, n_k=64)
    mask = sliding_window_mask(64, window)
    ours = with_gradients(
        lambda *a: flash_attention(*a, causal=True, window=window, block_q=8, block_k=8), arguments
    )
    theirs = with_gradients(lambda *a: scaled_dot_product_attention(*a, mask)[0], arguments)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-11, atol=1e-12)


Q, K, V = qkv(2, 3)
BAD_INPUT = {
    "integers": (lambda: linear_attention(Q.long(), K, V), TypeError, "q must be floating point"),
    "heads": (lambda: linear_attention(Q, K[:, :1], V), ValueError, "share batch and heads"),
    "d_k": (lambda: linear_attention(Q, K[..., 1:], V), ValueError, "same d_k"),
    "n_k": (lambda: linear_attention(Q, K, V[..., 1:, :]), ValueError, "one value per key"),
    "causal": (
        lambda: linear_attention(Q, K, V, causal=1.5),
        TypeError,
        "causal must be True or False",
    ),
    "causal, n_q": (
        lambda: linear_attention(K, Q, V[..., :37, :], causal=True),
        ValueError,
        r"n_q \(53\) must not exceed n_k \(37\)",
    ),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_refused(case, unchecked):
    call, error, message = BAD_INPUT[case]
    with pytest.raises(error, match=message):
        call()
