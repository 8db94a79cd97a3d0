"""scaled_dot_product_attention against the formulas and PyTorch, and what it refuses."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer_lib import causal_mask, formulas, padding_mask, scaled_dot_product_attention
from transformer_lib.attention import masked_softmax


def qkv(*batch, n_q=3, n_k=4, d_k=5, d_v=2, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)

    def randn(n, d):
        return torch.randn(*batch, n, d, generator=generator, dtype=torch.float64).to(dtype)

    return randn(n_q, d_k), randn(n_k, d_k), randn(n_k, d_v)


sizes = st.integers(1, 6)
shapes = st.fixed_dictionaries(
    {"n_q": sizes, "n_k": sizes, "d_k": sizes, "d_v": sizes, "seed": st.integers(0, 99)}
)
batches = st.lists(st.integers(1, 3), max_size=2)


@settings(deadline=None)
@given(batches, shapes)
def test_it_equals_the_formula(batch, shape):
    q, k, v = qkv(*batch, **shape)
    output, weights = scaled_dot_product_attention(q, k, v)
    arrays = (t.numpy() for t in (q, k, v))
    np.testing.assert_allclose(output, formulas.attention(*arrays), rtol=1e-12, atol=1e-14)
    expected = formulas.softmax(formulas.scaled_scores(q.numpy(), k.numpy()))
    np.testing.assert_allclose(weights, expected, rtol=1e-12)


@settings(deadline=None)
@given(batches, shapes, st.data())
def test_output_and_gradients_equal_pytorch_under_any_mask(batch, shape, data):
    n_q, n_k = shape["n_q"], shape["n_k"]
    bits = st.lists(st.booleans(), min_size=n_q * n_k, max_size=n_q * n_k)
    mask = torch.tensor(data.draw(bits)).view(n_q, n_k)
    mine = [t.requires_grad_() for t in qkv(*batch, **shape)]
    theirs = [t.detach().clone().requires_grad_() for t in mine]
    output, _ = scaled_dot_product_attention(*mine, mask)
    expected = F.scaled_dot_product_attention(*theirs, attn_mask=mask)
    torch.testing.assert_close(output, expected, rtol=1e-12, atol=1e-13)
    cotangent = torch.randn(output.shape, dtype=output.dtype)
    output.backward(cotangent)
    expected.backward(cotangent)
    for a, b in zip(mine, theirs, strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-11, atol=1e-12)


def test_masked_softmax_equals_the_formula():
    scores, mask = torch.randn(2, 3, 4, dtype=torch.float64), causal_mask(3, 4)
    expected = formulas.masked_softmax(scores.numpy(), mask.expand(2, 3, 4).numpy())
    np.testing.assert_allclose(masked_softmax(scores, mask), expected, rtol=1e-12)


def test_gradients_are_right():
    arguments = tuple(t.requires_grad_() for t in qkv(2, n_q=2, n_k=3))
    mask = torch.tensor([[True, False, True], [False, False, False]])
    attend = lambda q, k, v: scaled_dot_product_attention(q, k, v, mask)[0]  # noqa: E731
    assert torch.autograd.gradcheck(attend, arguments)


def test_a_blind_query_gets_zero_and_gives_zero_gradient():
    q, k, v = (t.requires_grad_() for t in qkv(n_q=2))
    mask = torch.tensor([[False] * 4, [True] * 4])
    output, weights = scaled_dot_product_attention(q, k, v, mask)
    output.backward(torch.randn(2, 2, dtype=torch.float64))
    assert (output[0] == 0).all() and (weights[0] == 0).all()
    assert (q.grad[0] == 0).all()
    assert not any(t.grad.isnan().any() for t in (q, k, v))


def test_no_keys_at_all_give_zero():
    output, weights = scaled_dot_product_attention(*qkv(n_k=0))
    assert output.shape == (3, 2) and (output == 0).all() and weights.shape == (3, 0)


def test_the_future_changes_nothing():
    q, k, v = qkv(n_q=4)
    before, _ = scaled_dot_product_attention(q, k, v, causal_mask(4))
    k[-1], v[-1] = 100.0, 100.0
    after, _ = scaled_dot_product_attention(q, k, v, causal_mask(4))
    assert torch.equal(before[:3], after[:3]) and not torch.equal(before[3], after[3])


def test_padding_changes_nothing():
    q, k, v = qkv(1, 1)
    mask = padding_mask(torch.tensor([[7, 8, 9, 0]]), pad_id=0)
    padded, _ = scaled_dot_product_attention(q, k, v, mask)
    short, _ = scaled_dot_product_attention(q, k[..., :3, :], v[..., :3, :])
    torch.testing.assert_close(padded, short, rtol=1e-14, atol=0)


def test_shuffled_tokens_give_shuffled_outputs():
    q, k, v = qkv(n_q=4)
    order = torch.tensor([2, 0, 3, 1])
    output, _ = scaled_dot_product_attention(q, k, v)
    shuffled, _ = scaled_dot_product_attention(q[order], k[order], v[order])
    torch.testing.assert_close(shuffled, output[order], rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_low_precision_stays_finite_under_a_mask(dtype):
    q, k, v = qkv(2, 3, n_q=4, dtype=dtype)
    output, weights = scaled_dot_product_attention(10 * q, 10 * k, v, causal_mask(4))
    assert output.dtype == dtype and output.isfinite().all()
    assert (weights[..., 0, 1:] == 0).all()


@pytest.mark.parametrize("size", [20, 40])
def test_float16_overflows_no_sooner_than_the_scaled_scores(size):
    q, k, v = (t.half() for t in qkv(2, n_q=4, d_k=64, d_v=3))
    q, k = size * (q + 1), size * (k + 1)
    assert (q @ k.mT).isinf().any() == (size == 40)
    output, weights = scaled_dot_product_attention(q, k, v)
    assert output.isfinite().all() and weights.isfinite().all()


@pytest.mark.parametrize("dim", [0, 1])
def test_a_mask_for_each_sequence_or_each_head_says_which_by_its_place(dim):
    q, k, v = qkv(2, 2)
    mask = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0)) < 0.5
    output, _ = scaled_dot_product_attention(q, k, v, mask.unsqueeze(1 - dim))
    for i in range(2):
        here = (slice(None),) * dim + (i,)
        alone, _ = scaled_dot_product_attention(q[here], k[here], v[here], mask[i])
        assert torch.equal(output[here], alone)


def test_arguments_are_left_alone():
    arguments = qkv()
    before = [t.clone() for t in arguments]
    scaled_dot_product_attention(*arguments, torch.zeros(3, 4, dtype=torch.bool))
    assert all(torch.equal(a, b) for a, b in zip(arguments, before, strict=True))


Q, K, V = qkv(2, 1)
BAD_INPUT = {
    "a list": (([[1.0]], K, V), TypeError, "q must be a torch tensor, got list"),
    "a NumPy array": ((Q, K.numpy(), V), TypeError, "k must be a torch tensor, got ndarray"),
    "integer q": ((Q.long(), K, V), TypeError, r"q must be floating point, got torch.int64.*float"),
    "integer v": ((Q, K, V.int()), TypeError, "v must be floating point, got torch.int32"),
    "mixed dtypes": (
        (Q, K.float(), V),
        TypeError,
        r"dtype of q, torch\.float64, got torch\.float32",
    ),
    "one dimension": ((Q[0, 0, 0], K, V), ValueError, r"q must have at least.*\(5,\)"),
    "d_k": ((Q, K[..., :3], V), ValueError, r"same d_k.*q \(2, 1, 3, 5\), k \(2, 1, 4, 3\)"),
    "n_k": (
        (Q, K, V[..., :2, :]),
        ValueError,
        r"one value per key.*\(2, 1, 4, 5\).*\(2, 1, 2, 2\)",
    ),
    "batch": ((Q, K[:1], V), ValueError, r"share batch and heads.*k \(1, 1, 4, 5\)"),
    "heads": ((Q, K, V.expand(2, 3, 4, 2)), ValueError, r"share batch and heads.*v \(2, 3, 4, 2\)"),
    "no batch": ((Q, K[0], V), ValueError, r"share batch and heads.*k \(1, 4, 5\)"),
    "float mask": (
        (Q, K, V, torch.ones(3, 4)),
        TypeError,
        r"Boolean.*float32.*mask != 0.*mask == 0",
    ),
    "integer mask": ((Q, K, V, torch.ones(3, 4).int()), TypeError, "Boolean.*int32"),
    "a mask as a list": ((Q, K, V, [[True]]), TypeError, "Boolean torch tensor, got list"),
    "mask n_k": ((Q, K, V, torch.ones(3, 5).bool()), ValueError, r"\(2, 1, 3, 4\), got \(3, 5\)"),
    "mask n_q": ((Q, K, V, torch.ones(2, 4).bool()), ValueError, r"got \(2, 4\)"),
    "mask heads": ((Q, K, V, torch.ones(2, 5, 3, 4).bool()), ValueError, r"got \(2, 5, 3, 4\)"),
    "a mask for each sequence": (
        (*qkv(2, 2), torch.ones(2, 3, 4).bool()),
        ValueError,
        r"all dimensions.*\(2, 2, 3, 4\) or only the last two, got \(2, 3, 4\).*mask\[:, None\]",
    ),
    "mask too deep": ((Q, K, V, torch.ones(1, 1, 1, 3, 4).bool()), ValueError, "broadcast"),
    "mask elsewhere": (
        (Q, K, V, torch.ones(3, 4, device="meta").bool()),
        ValueError,
        r"mask must be on the device of q \(cpu\), got meta",
    ),
    "mixed devices": ((Q, K.to("meta"), V), ValueError, "on the device of q, cpu, got meta"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_refused(case, unchecked):
    arguments, error, message = BAD_INPUT[case]
    with pytest.raises(error, match=message):
        scaled_dot_product_attention(*arguments)


def test_shapes_are_checked_while_the_tests_run():
    """The jaxtyping hook is on: a wrong shape fails inside the library, with its name."""
    with pytest.raises(TypeError, match=r"Type-check"):
        masked_softmax(torch.zeros(3), None)
