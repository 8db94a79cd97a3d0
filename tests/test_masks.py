"""Masks: True = may attend; and what book/notation.md says of PyTorch's conventions."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from transformer_lib import causal_mask, padding_mask, sliding_window_mask


@pytest.mark.parametrize(("n_q", "n_k"), [(1, 1), (4, 4), (2, 5), (0, 3)])
def test_causal_mask_hides_exactly_the_future(n_q, n_k):
    mask = causal_mask(n_q, n_k)
    assert mask.shape == (n_q, n_k) and mask.dtype == torch.bool
    for i in range(n_q):
        for j in range(n_k):
            assert mask[i, j] == (j <= i + n_k - n_q)  # query i stands at n_k − n_q + i


def test_causal_mask_is_square_by_default():
    assert torch.equal(causal_mask(3), torch.ones(3, 3).tril().bool())


def test_padding_mask_hides_keys_only():
    mask = padding_mask(torch.tensor([[5, 6, 0], [7, 0, 0]]), pad_id=0)
    assert mask.shape == (2, 1, 1, 3)
    assert mask.flatten(1).tolist() == [[True, True, False], [True, False, False]]
    assert mask.expand(2, 8, 3, 3)[0, 0].tolist() == [[True, True, False]] * 3


@pytest.mark.parametrize(("n", "window"), [(1, 1), (5, 1), (5, 2), (5, 5), (5, 2**80), (0, 3)])
def test_sliding_window_mask_shows_itself_and_those_before(n, window):
    mask = sliding_window_mask(n, window)
    assert mask.shape == (n, n) and mask.dtype == torch.bool
    for i in range(n):
        seen = [j for j in range(n) if mask[i, j]]
        assert seen == list(range(max(0, i - window + 1), i + 1))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: causal_mask(2.0), TypeError, "n_q must be an int, got float"),
        (lambda: causal_mask(True), TypeError, "n_q must be an int, got bool"),
        (lambda: causal_mask(2, "3"), TypeError, "n_k must be an int, got str"),
        (lambda: causal_mask(-1), ValueError, "n_q must be 0 or more, got -1"),
        (lambda: causal_mask(4, 3), ValueError, r"n_q \(4\) must not exceed n_k \(3\)"),
        (lambda: sliding_window_mask(4, 0), ValueError, "window must be 1 or more, got 0"),
        (lambda: sliding_window_mask(4, 2.0), TypeError, "window must be an int, got float"),
        (lambda: sliding_window_mask(-1, 2), ValueError, "n must be 0 or more, got -1"),
        (lambda: padding_mask([[1]], 0), TypeError, "torch tensor of integers, got list"),
        (lambda: padding_mask(torch.ones(1, 2), 0), TypeError, r"float32.*\.long\(\)"),
        (lambda: padding_mask(torch.ones(1, 2).bool(), 0), TypeError, "got torch.bool"),
        (lambda: padding_mask(torch.tensor([[1]]), None), TypeError, "pad_id must be an int"),
        (lambda: padding_mask(torch.tensor([1, 2]), 0), ValueError, r"\(batch, n\), got \(2,\)"),
    ],
)
def test_bad_input_is_refused(call, error, message, unchecked):
    with pytest.raises(error, match=message):
        call()


# --- the table in book/notation.md --------------------------------------------------------


@pytest.fixture
def qkv():
    torch.manual_seed(0)
    return torch.randn(3, 1, 2, 3, 4)


def test_sdpa_boolean_mask_true_may_attend_and_blind_rows_are_zero(qkv):
    mask = torch.tensor([[True, False, False], [False] * 3, [True] * 3])
    output = F.scaled_dot_product_attention(*qkv, attn_mask=mask)
    assert torch.allclose(output[..., 0, :], qkv[2][..., 0, :])  # sees the first value alone
    assert (output[..., 1, :] == 0).all()


def test_sdpa_float_mask_is_added():
    q, k, v = torch.randn(3, 1, 1, 2, 4, generator=torch.Generator().manual_seed(0))
    bias = torch.tensor([[0.0, 1.0], [2.0, 0.0]])
    weights = (q @ k.mT / 2 + bias).softmax(-1)
    assert torch.allclose(F.scaled_dot_product_attention(q, k, v, attn_mask=bias), weights @ v)
    blind = torch.full((2, 2), -torch.inf)
    assert (F.scaled_dot_product_attention(q, k, v, attn_mask=blind) == 0).all()


@pytest.fixture
def attention():
    torch.manual_seed(0)
    return nn.MultiheadAttention(4, 2, batch_first=True)


@pytest.mark.parametrize("argument", ["attn_mask", "key_padding_mask"])
def test_multihead_attention_true_must_not_attend(attention, argument):
    x = torch.randn(1, 3, 4)
    hidden = torch.tensor([False, False, True])
    mask = hidden.expand(3, 3) if argument == "attn_mask" else hidden[None]
    _, weights = attention(x, x, x, **{argument: mask})
    assert (weights[..., 2] == 0).all() and (weights[..., :2] > 0).all()
    output, _ = attention(x, x, x, **{argument: torch.ones_like(mask)})
    assert output.isnan().all()
