"""flash_attention: the same numbers as the plain version, and never a tensor of n_q × n_k."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer_lib import (
    MultiHeadAttention,
    attention,
    causal_mask,
    flash,
    flash_attention,
    padding_mask,
    scaled_dot_product_attention,
)
from transformer_lib.calibration import once
from transformer_lib.flash import Way, flash_pays
from transformer_lib.memory import PeakMemory, Watch


def qkv(*batch, n_q=37, n_k=53, d_k=6, d_v=5, kv_heads=None, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)

    def randn(batch, n, d):
        return torch.randn(*batch, n, d, generator=generator, dtype=torch.float64).to(dtype)

    kv_batch = batch if kv_heads is None else (*batch[:-1], kv_heads)
    return randn(batch, n_q, d_k), randn(kv_batch, n_k, d_k), randn(kv_batch, n_k, d_v)


def visible(n_q, n_k, causal=False, window=None, mask=None):
    """The rule of who sees whom, as one dense mask."""
    distance = torch.arange(n_k) - (torch.arange(n_q)[:, None] + n_k - n_q)
    allowed = distance <= 0 if causal else torch.ones_like(distance, dtype=torch.bool)
    if window is not None:
        allowed = allowed & (distance.abs() < window)
    return allowed if mask is None else allowed & mask


def plain(q, k, v, *, scale=None, **rule):
    """The plain version, with each key/value head repeated for its query heads."""
    if q.ndim > 2:
        k, v = (t.repeat_interleave(q.size(-3) // t.size(-3), -3) for t in (k, v))
    q = q if scale is None else q * scale * math.sqrt(q.size(-1))
    mask = visible(q.size(-2), k.size(-2), **rule)
    return scaled_dot_product_attention(q, k, v, mask)[0]


def with_gradients(function, arguments, seed=1):
    """Output and the gradients of all arguments through a random cotangent."""
    arguments = [t.detach().requires_grad_() for t in arguments]
    output = function(*arguments)
    generator = torch.Generator().manual_seed(seed)
    cotangent = torch.randn(output.shape, generator=generator, dtype=torch.float64)
    return [output, *torch.autograd.grad(output, arguments, cotangent.to(output.dtype))]


def assert_same(arguments, tolerance=1e-12, blocks=(16, 8), **options):
    block_q, block_k = blocks
    rule = {name: options[name] for name in options if name != "return_lse"}
    ours = with_gradients(
        lambda *a: flash_attention(*a, block_q=block_q, block_k=block_k, **options), arguments
    )
    theirs = with_gradients(lambda *a: plain(*a, **rule), arguments)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


@pytest.fixture(params=["onednn", "bmm"])
def either_product(request, monkeypatch):
    """float32 is tested with both matrix products."""
    if request.param == "onednn" and not flash._HAS_ONEDNN:
        pytest.skip("this PyTorch has no oneDNN")
    monkeypatch.setenv("TRANSFORMER_LIB_FLASH", request.param)


# --- the same numbers -----------------------------------------------------------------------

GENERATOR = torch.Generator().manual_seed(0)
DENSE = torch.rand(37, 53, generator=GENERATOR) > 0.7
RULES = {
    "all": {},
    "causal": {"causal": True},
    "window": {"window": 5},
    "window 1": {"window": 1},
    "causal window": {"causal": True, "window": 9},
    "wide window": {"window": 999},
    "scale": {"scale": -0.7},
    "mask": {"mask": DENSE},
    "mask per head": {"mask": torch.rand(2, 4, 37, 53, generator=GENERATOR) > 0.5},
    "mask per batch": {"mask": torch.rand(2, 1, 1, 53, generator=GENERATOR) > 0.5},
    "mask of keys": {"mask": DENSE[0]},
    "mask of queries": {"mask": DENSE[:, :1]},
    "all at once": {"causal": True, "window": 20, "mask": DENSE, "scale": 0.3},
}


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [(16, 8), (7, 64), (512, 1024), (1, 1)], ids=str)
@pytest.mark.parametrize("rule", RULES)
def test_it_equals_the_plain_version(rule, blocks):
    assert_same(qkv(2, 4), blocks=blocks, **RULES[rule])


@pytest.mark.parametrize("rule", RULES)
def test_float32_does_with_either_product(rule, either_product):
    assert_same(qkv(2, 4, dtype=torch.float32), tolerance=2e-5, **RULES[rule])


sizes = st.integers(1, 20)
SHAPES = st.fixed_dictionaries(
    dict.fromkeys(("n_q", "n_k", "d_k", "d_v"), sizes) | {"seed": st.integers(0, 99)}
)


@settings(deadline=None)
@given(
    st.lists(st.integers(1, 3), max_size=3),
    SHAPES,
    st.booleans(),
    st.none() | sizes,
    st.tuples(sizes, sizes),
)
def test_any_shape_window_and_block(batch, shape, causal, window, blocks):
    assert_same(qkv(*batch, **shape), blocks=blocks, causal=causal, window=window)


def test_a_window_wider_than_64_bits():
    arguments = qkv(2)
    output = flash_attention(*arguments, causal=True, window=2**80, block_q=16, block_k=8)
    torch.testing.assert_close(output, plain(*arguments, causal=True))


@pytest.mark.parametrize("kv_heads", [1, 2, 3, 6])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("blocks", [(16, 8), (512, 512)], ids=str)
def test_neighbouring_query_heads_share_a_key_head(kv_heads, dtype, blocks):
    tolerance = 1e-12 if dtype == torch.float64 else 2e-5
    arguments = qkv(2, 6, kv_heads=kv_heads, dtype=dtype)
    assert_same(arguments, tolerance, blocks, causal=True)


@pytest.mark.parametrize("small", [1, 4, 10**6])
def test_however_many_heads_are_worked_on_at_once(small, monkeypatch):
    monkeypatch.setattr(flash, "_SMALL", dict.fromkeys(flash._SMALL, small * 16 * 8))
    assert_same(qkv(2, 6, kv_heads=2), mask=RULES["mask per batch"]["mask"])


@pytest.mark.parametrize(
    "strange",
    {
        "heads last": lambda t: t.transpose(1, 2).contiguous().transpose(1, 2),
        "transposed": lambda t: t.mT.contiguous().mT,
        "part of a whole": lambda t: torch.cat([t, t, t], -1)[..., 1 : t.size(-1) + 1],
        "every other row": lambda t: t.repeat_interleave(2, -2)[..., ::2, :],
        "one head for all": lambda t: t[:, :1].expand_as(t),
        "one row for all": lambda t: t[..., :1, :].expand_as(t),
        "one number for all": lambda t: t[..., :1].expand_as(t),
    }.items(),
    ids=lambda item: item[0],
)
def test_any_strides(strange, either_product):
    arguments = [strange[1](t) for t in qkv(2, 4, dtype=torch.float32)]
    ours = with_gradients(flash_attention, arguments)
    theirs = with_gradients(plain, [t.contiguous() for t in arguments])
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=2e-5, atol=2e-5)


def test_an_expanded_mask_is_read_where_it_lies():
    mask = RULES["mask per batch"]["mask"].expand(2, 4, 37, 53)
    assert_same(qkv(2, 4), mask=mask)


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [(64, 48), (16, 8), (None, None)], ids=str)
@pytest.mark.parametrize("large", [1, 30])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_error_is_at_most_twice_that_of_the_plain_version(dtype, large, blocks, either_product):
    """Against float64, as the authors of flash attention test theirs. Of a single entry it is a
    matter of luck, and of the processor; so there twice as much passes."""
    q, k, v = qkv(1, 3, n_q=300, n_k=400, d_k=32, d_v=16, dtype=dtype)
    arguments = large * q, k, v
    exact = with_gradients(plain, [t.double() for t in arguments])
    theirs = with_gradients(plain, arguments)
    options = dict(zip(("block_q", "block_k"), blocks, strict=True))
    ours = with_gradients(lambda *a: flash_attention(*a, **options), arguments)
    for a, b, true in zip(ours, theirs, exact, strict=True):
        assert a.dtype == dtype
        assert (a - true).norm() <= 2 * (b - true).norm()
        assert (a - true).abs().max() <= 4 * (b - true).abs().max()


def test_scores_beyond_the_range_of_exp():
    q, k, v = qkv(1, 2, dtype=torch.float32)
    for factor in (1e3, 1e15):
        output = flash_attention(factor * q, k, v, block_q=16, block_k=8)
        torch.testing.assert_close(output, plain(factor * q, k, v), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("n", "blocks"), [(64, (16, 8)), (519, (None, None))], ids=str)
def test_rounding_of_very_high_scores_lifts_no_weight_above_1(n, blocks, either_product):
    """Backward makes the scores again, the other way round: here rounded otherwise by 2^40."""
    q, k, v = qkv(1, n_q=n, n_k=n, d_k=16, dtype=torch.float32)
    options = dict(zip(("block_q", "block_k"), blocks, strict=True))
    results = with_gradients(lambda *a: flash_attention(*a, **options), (1e15 * q, k, v))
    assert all(t.isfinite().all() for t in results)
    assert results[3].abs().max() < 5 * n  # no query gives more than a number of the cotangent


# --- gradients ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "rule", [{}, {"causal": True}, {"window": 2}, {"mask": torch.eye(5, 6) == 0}], ids=str
)
def test_gradients_are_right(rule):
    arguments = [t.requires_grad_() for t in qkv(4, n_q=5, n_k=6, d_k=3, d_v=2, kv_heads=2)]

    def attend(*arguments):
        return flash_attention(*arguments, block_q=2, block_k=4, return_lse=True, **rule)

    assert torch.autograd.gradcheck(attend, arguments)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_gradients_are_summed_in_single(dtype):
    q, k, v = qkv(2, n_q=1000, n_k=8, dtype=dtype)
    flash_attention(q, k, v.requires_grad_(), block_q=8).sum().backward()
    weights = (q.double() @ k.double().mT / math.sqrt(6)).softmax(-1)
    exact = weights.sum(-2)[..., None]  # the same for each number of a value
    # Half an eps is the rounding of the gradient itself.
    assert (v.grad - exact).abs().max() <= 0.6 * torch.finfo(dtype).eps * exact.max()


def test_lse_is_the_logarithm_of_the_denominator():
    q, k, v = qkv(2, 4)
    output, lse = flash_attention(q, k, v, causal=True, return_lse=True, block_q=8, block_k=8)
    scores = (q @ k.mT / math.sqrt(6)).masked_fill(~causal_mask(37, 53), -torch.inf)
    torch.testing.assert_close(lse, scores.logsumexp(-1), rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(output, flash_attention(q, k, v, causal=True))


@pytest.mark.parametrize("loss", [torch.sum, lambda output: output.square().sum()])
@pytest.mark.parametrize("wanted", [0, 1, 2])
def test_the_second_derivative_is_refused(loss, wanted):
    """Also of a sum, of which the gradient that comes back is a constant."""
    arguments = [t.requires_grad_(i == wanted) for i, t in enumerate(qkv(1, n_q=2, n_k=3))]
    output = flash_attention(*arguments)
    (first,) = torch.autograd.grad(output.sum(), arguments[wanted], retain_graph=True)
    (grad,) = torch.autograd.grad(loss(output), arguments[wanted], create_graph=True)
    if loss is torch.sum:
        assert torch.equal(grad, first)
    with pytest.raises(RuntimeError, match="flash_attention can be differentiated only once"):
        grad.square().sum().backward()


@pytest.mark.parametrize("wanted", [(True, False, False), (False, True, False)])
def test_some_gradients_alone(wanted):
    arguments = [t.requires_grad_(w) for t, w in zip(qkv(2), (*wanted, False), strict=False)]
    flash_attention(*arguments).sum().backward()
    assert [t.grad is not None for t in arguments] == list(wanted)


def test_a_mask_changed_before_backward_is_noticed():
    arguments, mask = [t.requires_grad_() for t in qkv(2)], DENSE.clone()
    output = flash_attention(*arguments, mask=mask)
    mask.fill_(True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        output.sum().backward()


# --- who sees nothing, and what must not be seen ---------------------------------------------


@pytest.mark.parametrize("blocks", [(2, 2), (512, 512)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16])
def test_a_blind_query_gets_zero_and_gives_zero_gradient(blocks, dtype):
    arguments = [t.requires_grad_() for t in qkv(2, 3, n_q=5, n_k=7, dtype=dtype)]
    mask = torch.ones(5, 7, dtype=torch.bool)
    mask[1] = mask[4] = False
    mask[:, 6] = False
    options = dict(zip(("block_q", "block_k"), blocks, strict=True))
    output, lse = flash_attention(*arguments, mask=mask, return_lse=True, **options)
    output.backward(torch.randn(output.shape).to(dtype))
    q_grad, k_grad, v_grad = (t.grad for t in arguments)
    for blind in (1, 4):
        assert (output[..., blind, :] == 0).all() and (q_grad[..., blind, :] == 0).all()
        assert (lse[..., blind] == -torch.inf).all()
    assert (k_grad[..., 6, :] == 0).all() and (v_grad[..., 6, :] == 0).all()
    assert all(t.grad.isfinite().all() for t in arguments)


def test_a_block_may_be_wholly_blind():
    assert_same(qkv(1, n_q=40), blocks=(16, 8), mask=torch.arange(40)[:, None] >= 16)


def test_queries_before_all_keys_are_blind():
    q, k, v = qkv(2, n_q=5, n_k=3)
    output = flash_attention(q, k, v, causal=True)
    assert (output[:, :2] == 0).all() and (output[:, 2:] != 0).all()


def test_no_keys_or_no_queries_at_all():
    assert (flash_attention(*qkv(2, n_k=0)) == 0).all()
    assert flash_attention(*qkv(2, n_q=0)).shape == (2, 0, 5)
    assert flash_attention(*qkv(0, 3)).shape == (0, 3, 37, 5)


def test_values_without_numbers(either_product):
    shapes = [t.shape for t in with_gradients(flash_attention, qkv(1, d_v=0, dtype=torch.float32))]
    assert shapes == [(1, 37, 0), (1, 37, 6), (1, 53, 6), (1, 53, 0)]


def test_the_future_changes_no_bit_of_the_past():
    q, k, v = qkv(2, n_q=40, n_k=40, dtype=torch.float32)
    before = flash_attention(q, k, v, causal=True, block_q=16, block_k=8)
    k[:, 20:], v[:, 20:] = 100.0, 100.0
    after = flash_attention(q, k, v, causal=True, block_q=16, block_k=8)
    assert torch.equal(before[:, :20], after[:, :20])
    assert not torch.equal(before[:, 20:], after[:, 20:])


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_hidden_key_may_hold_anything(bad):
    q, k, v = qkv(2, 3, dtype=torch.float32)
    mask = torch.ones(53, dtype=torch.bool)
    mask[[3, 20, 50]] = False
    clean = flash_attention(q, k, v, mask=mask, block_q=16, block_k=8)
    k[..., ~mask, :] = bad
    assert torch.equal(flash_attention(q, k, v, mask=mask, block_q=16, block_k=8), clean)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize(
    ("keys", "queries"),
    [(slice(20, None), slice(20)), (slice(20), slice(28, None))],
    ids=["later", "before the window"],
)
def test_a_key_out_of_sight_may_hold_anything(keys, queries, bad):
    q, k, v = qkv(2, n_q=40, n_k=40, dtype=torch.float32)
    options = {"causal": True, "window": 9, "block_q": 16, "block_k": 8}
    clean = flash_attention(q, k, v, **options)
    k[:, keys] = bad  # to the middle of a tile of keys and of a block of queries
    assert torch.equal(flash_attention(q, k, v, **options)[:, queries], clean[:, queries])


def test_arguments_are_left_alone():
    arguments = qkv(2, dtype=torch.float32)
    before = [t.clone() for t in arguments]
    with_gradients(lambda *a: flash_attention(*a, mask=DENSE), arguments)
    assert all(torch.equal(a, b) for a, b in zip(arguments, before, strict=True))


@pytest.mark.skipif(not flash._HAS_ONEDNN, reason="then it is not called")
def test_onednn_gets_dense_matrices_only(monkeypatch):
    """With gaps between the rows it is right as well, but a hundred times as slow."""
    linear = flash._LINEAR

    def watching(a, b, *rest):
        assert all(t.is_contiguous() or t.mT.is_contiguous() for t in (a, b))
        return linear(a, b, *rest)

    monkeypatch.setattr(flash, "_LINEAR", watching)
    monkeypatch.setenv("TRANSFORMER_LIB_FLASH", "onednn")
    q, k, v = (
        t.unflatten(-1, (2, 3)).transpose(1, 2)  # as multi-head attention cuts them
        for t in torch.randn(1, 300, 18, requires_grad=True).chunk(3, -1)
    )
    flash_attention(q, k, v).backward(torch.randn(1, 2, 300, 3).mT.contiguous().mT)


# --- what is computed, and what is held ------------------------------------------------------


class LargestStorage(Watch):
    """The largest tensor that any operation gives, in elements of its storage."""

    largest = 0

    def see(self, operation, inputs, made):
        elements = [t.untyped_storage().nbytes() // t.element_size() for t in made]
        self.largest = max([self.largest, *elements])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize(
    "options", [{}, {"causal": True}, {"window": 40}, {"mask": torch.arange(600) % 7 > 0}], ids=str
)
def test_nothing_of_n_q_times_n_k_is_ever_held(options, dtype):
    arguments = qkv(2, 2, n_q=500, n_k=600, d_k=4, d_v=4, dtype=dtype)
    with LargestStorage() as watch:
        with_gradients(lambda *a: flash_attention(*a, block_q=32, block_k=64, **options), arguments)
    assert 2 * 2 * 500 * 4 <= watch.largest < 500 * 600 / 10


@pytest.mark.slow
@pytest.mark.parametrize("weights", [False, True])  # which want gradients, but not here
def test_without_gradients_nothing_but_the_output_grows(weights):
    def beyond_output(n):
        arguments = [t.requires_grad_(weights) for t in qkv(2, n_q=n, n_k=n)]
        with torch.set_grad_enabled(not weights), PeakMemory() as memory:
            output = flash_attention(*arguments, block_q=16, block_k=32)
        return memory.peak - output.nbytes

    assert beyond_output(128) == beyond_output(512)


def tiles_computed(monkeypatch, **options):
    """(rows, cols) of every block of scores that forward makes."""
    seen, product = [], flash._bmm

    def counting(a, b, bias=None):
        result = product(a, b, bias)
        seen.append((*result.shape[1:],))
        return result

    monkeypatch.setitem(flash._PRODUCTS, "bmm", counting)
    flash_attention(*qkv(1, n_q=64, n_k=64), **{"block_q": 16, "block_k": 16} | options)
    return seen[::2]  # between them the products with the values


@pytest.mark.parametrize(
    ("options", "tiles"),
    [
        ({}, 16),
        ({"causal": True}, 4 + 3 + 2 + 1),
        ({"window": 1}, 4),
        ({"window": 9}, 1.5 + 2 + 2 + 1.5),  # tiles end where the sight does
        ({"causal": True, "window": 17}, 4 + 3),
        ({"mask": torch.arange(64) < 20}, 8),
        ({"mask": torch.zeros(64, 64, dtype=torch.bool)}, 0),
        ({"mask": causal_mask(64)}, 10),
    ],
    ids=str,
)
def test_wholly_hidden_tiles_are_never_computed(options, tiles, monkeypatch):
    computed = tiles_computed(monkeypatch, **options)
    assert sum(rows * cols for rows, cols in computed) <= tiles * 16 * 16
    assert len(computed) >= tiles


def test_tiles_are_as_large_as_asked(monkeypatch):
    assert set(tiles_computed(monkeypatch, block_q=32, block_k=8)) == {(32, 8)}


def test_accumulation_is_not_lowered_by_autocast():
    arguments = qkv(1, 2, n_q=100, n_k=100, dtype=torch.float32)
    expected = with_gradients(flash_attention, arguments)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = with_gradients(flash_attention, arguments)
    assert all(torch.equal(a, b) for a, b in zip(output, expected, strict=True))


# --- the choice of what is fastest on this machine --------------------------------------------


@pytest.fixture
def measured(monkeypatch):
    """Where the choice was asked for; nothing was measured in this process yet."""
    fastest, asked = once(flash.fastest_way.__wrapped__), []
    monkeypatch.setattr(flash, "fastest_way", lambda: asked.append(0) or fastest())
    monkeypatch.delenv("TRANSFORMER_LIB_FLASH", raising=False)
    monkeypatch.setattr(flash, "_HAS_ONEDNN", flash._LINEAR is not None)
    return asked


LONG = qkv(1, n_q=1024, n_k=2048, d_k=8, d_v=8, dtype=torch.float32)


def test_a_short_input_is_not_measured(measured):
    flash_attention(*qkv(8, n_q=500, n_k=500, dtype=torch.float32))
    flash_attention(*(t.double() for t in LONG))
    flash_attention(*LONG, window=9)
    assert not measured


@pytest.mark.skipif(not flash._HAS_ONEDNN, reason="then there is no choice")
def test_the_choice_changes_no_bit_of_a_later_result(measured):
    short = qkv(2, dtype=torch.float32)
    first = flash_attention(*short), flash_attention(*LONG)
    with torch.inference_mode(), PeakMemory():
        second = flash_attention(*LONG)
    assert len(measured) == 2
    assert torch.equal(first[1], second) and torch.equal(first[0], flash_attention(*short))


def test_a_measurement_is_not_counted_and_leaves_randomness_alone(measured):
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    with torch.no_grad(), PeakMemory() as memory, torch.autocast("cpu", dtype=torch.bfloat16):
        flash.fastest_way()
    assert memory.peak == 0
    assert torch.rand(1) == expected


def test_the_choice_can_be_given(measured, monkeypatch):
    for product in flash._PRODUCTS:
        monkeypatch.setenv("TRANSFORMER_LIB_FLASH", product)
        torch.testing.assert_close(flash_attention(*LONG), plain(*LONG), rtol=1e-4, atol=1e-5)
    monkeypatch.setenv("TRANSFORMER_LIB_FLASH", "blas")
    with pytest.raises(ValueError, match="TRANSFORMER_LIB_FLASH must be onednn or bmm, got 'blas'"):
        flash_attention(*LONG)
    assert not measured


@pytest.mark.parametrize("way", [Way("onednn", 8, 16), Way("bmm", 8, 16)], ids=str)
def test_every_way_gives_the_same(way, measured, monkeypatch):
    monkeypatch.setattr(flash, "fastest_way", lambda: way)
    monkeypatch.setattr(flash, "_MANY", 1)
    assert_same(qkv(2, 4, dtype=torch.float32), 2e-5, blocks=(None, None), causal=True)


def test_it_pays_where_it_was_faster(monkeypatch):
    asked = []
    monkeypatch.setattr(flash, "time_over_fused", lambda *key: asked.append(key) or 1.2)
    q, k, v = qkv(1, 2, n_q=2048, n_k=2048, d_k=32, d_v=33, dtype=torch.float32)
    assert not flash_pays(q, k, v)
    assert not flash_pays(q, k, v.requires_grad_(), torch.ones(1, 2048, dtype=torch.bool))
    assert flash_pays(q, k, v, causal_mask(2048))  # computes three tiles of four
    keys = [(32, 33, kind, gradients) for kind, gradients in (("", 0), ("keys", 1), ("all", 1))]
    assert asked == [(*key, torch.get_num_threads()) for key in keys]


@pytest.mark.parametrize("masked", ["", "keys", "all"])
def test_both_are_timed(masked):
    assert 0.01 < flash.time_over_fused.__wrapped__(32, 40, masked, masked == "all", 1) < 100


# --- MultiHeadAttention ---------------------------------------------------------------------


@pytest.fixture
def calls(monkeypatch):
    """How often MultiHeadAttention called flash_attention, which it does from 1 score and vectors
    of 4 numbers on here."""
    counted = []

    def counting(*arguments, **options):
        counted.append(options)
        return flash_attention(*arguments, **options)

    monkeypatch.setattr(attention, "flash_attention", counting)
    monkeypatch.setattr(flash, "time_over_fused", lambda *_: 0.9)
    monkeypatch.setattr(flash, "_LONG", 1)
    monkeypatch.setattr(flash, "_WIDE", 4)
    return counted


MASKS = {
    "none": None,
    "padding": padding_mask(torch.tensor([[5, 6, 7, 0], [7, 0, 0, 0]]), 0),
    "causal": causal_mask(4),
    "one for all": torch.tensor(True),
}


@pytest.mark.parametrize("mask", MASKS)
def test_multi_head_attention_gives_the_same_with_it(mask, calls, monkeypatch):
    layer, x = MultiHeadAttention(8, 2), torch.randn(2, 4, 8, requires_grad=True)
    with_flash = with_gradients(lambda x: layer(x, mask=MASKS[mask]), [x])
    assert len(calls) == 1
    monkeypatch.setattr(flash, "_LONG", 10**9)
    without = with_gradients(lambda x: layer(x, mask=MASKS[mask]), [x])
    assert len(calls) == 1
    for a, b in zip(with_flash, without, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "other",
    [
        lambda x: MultiHeadAttention(8, 2)(x, return_weights=True),
        lambda x: MultiHeadAttention(8, 2, dropout=0.5)(x),
        lambda x: MultiHeadAttention(8, 2).double()(x.double()),
        lambda x: MultiHeadAttention(8, 4)(x),
    ],
)
def test_multi_head_attention_does_without_it(other, calls):
    other(torch.randn(2, 4, 8))
    assert not calls


# --- what is refused ------------------------------------------------------------------------

Q, K, V = qkv(2, 6, n_q=3, n_k=4, kv_heads=2)
BAD_INPUT = {
    "block 0": (lambda: flash_attention(Q, K, V, block_q=0), ValueError, "block_q must be 1 or"),
    "block 1.5": (lambda: flash_attention(Q, K, V, block_k=1.5), TypeError, "block_k must be an i"),
    "window 0": (lambda: flash_attention(Q, K, V, window=0), ValueError, "window must be 1 or.*0"),
    "window True": (lambda: flash_attention(Q, K, V, window=True), TypeError, "window must be an"),
    "causal": (lambda: flash_attention(Q, K, V, causal="no"), TypeError, "causal must be True or"),
    "a mask as causal": (
        lambda: flash_attention(Q, K, V, causal=torch.ones(3, 4).bool()),
        TypeError,
        "must be True or False, got Tensor",
    ),
    "scale": (lambda: flash_attention(Q, K, V, scale="1"), TypeError, "scale must be a number, g"),
    "scale NaN": (lambda: flash_attention(Q, K, V, scale=math.nan), ValueError, "must be finite"),
    "scale ∞": (lambda: flash_attention(Q, K, V, scale=math.inf), ValueError, "must be finite"),
    "integers": (lambda: flash_attention(Q.long(), K, V), TypeError, "q must be floating point"),
    "mixed": (lambda: flash_attention(Q, K.float(), V), TypeError, "k must have the dtype of q"),
    "heads": (
        lambda: flash_attention(Q[:, :5], K, V),
        ValueError,
        r"number of heads.*divides that of q, got q \(2, 5, 3, 6\), k \(2, 2, 4, 6\)",
    ),
    "more key heads": (lambda: flash_attention(Q[:, :1], K, V), ValueError, "divides that of q"),
    "heads of v": (lambda: flash_attention(Q, K, V[:, :1]), ValueError, "one number of heads"),
    "batch": (lambda: flash_attention(Q, K[:1], V[:1]), ValueError, "the batch of q"),
    "no heads": (lambda: flash_attention(Q, K[0, 0], V), ValueError, "the batch of q"),
    "q without heads": (
        lambda: flash_attention(Q[0, 0], K, V),
        ValueError,
        "share batch and heads",
    ),
    "only q without heads": (
        lambda: flash_attention(Q[0, 0], K[0, :1], V[0, :1]),
        ValueError,
        r"share batch and heads.*got q \(3, 6\) and k \(1, 4, 6\)",
    ),
    "d_k": (lambda: flash_attention(Q, K[..., 1:], V), ValueError, "same d_k"),
    "d_k 0": (lambda: flash_attention(Q[..., :0], K[..., :0], V), ValueError, "d_k.*1 or more"),
    "n_k": (lambda: flash_attention(Q, K, V[..., 1:, :]), ValueError, "one value per key"),
    "mask": (
        lambda: flash_attention(Q, K, V, mask=torch.ones(4, 4).bool()),
        ValueError,
        r"\(2, 6, 3, 4\), got \(4, 4\)",
    ),
    "float mask": (
        lambda: flash_attention(Q, K, V, mask=torch.ones(3, 4)),
        TypeError,
        "mask must be Boolean",
    ),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_refused(case, unchecked):
    call, error, message = BAD_INPUT[case]
    with pytest.raises(error, match=message):
        call()
