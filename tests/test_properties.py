"""What must hold for any model, sizes and seed: Hypothesis looks for a case where it does not."""

import dataclasses

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.torch_twins import assert_equal
from transformer_lib import Encoder, MultiHeadAttention, Transformer, TransformerConfig

PAD = 0
VOCAB = 11


def small_config(n_heads, n_kv_heads, d_k, **fields):
    """Key/value heads where they divide the heads; an even d_k where it has to be."""
    heads = {"n_heads": n_heads, "n_kv_heads": n_kv_heads if n_heads % n_kv_heads == 0 else None}
    d_k += d_k % 2 if fields["positions"] == "rotary" else 0
    fields |= {"d_model": n_heads * d_k, "dropout": 0.0, "max_len": 32}
    return TransformerConfig(VOCAB, **heads, **fields)


configs = st.builds(
    small_config,
    n_heads=st.integers(1, 4),
    n_kv_heads=st.integers(1, 2),
    d_k=st.integers(1, 4),
    d_ff=st.integers(1, 8),
    n_encoder_layers=st.integers(1, 2),
    n_decoder_layers=st.integers(1, 2),
    pre_norm=st.booleans(),
    bias=st.booleans(),
    feed_forward_bias=st.booleans(),
    embedding_norm=st.booleans(),
    scale_embeddings=st.booleans(),
    norm=st.sampled_from(["layer", "rms"]),
    activation=st.sampled_from(["relu", "gelu", "swiglu"]),
    positions=st.sampled_from(["sinusoidal", "learned", "rotary", "none"]),
    tie_embeddings=st.booleans(),
)
seeds = st.integers(0, 999)
lengths = st.integers(1, 6)
fast = settings(deadline=None, max_examples=40)


def made(config, seed):
    """A model in float64, and a generator for its inputs."""
    torch.manual_seed(seed)
    return Transformer(config).double(), torch.Generator().manual_seed(seed)


def tokens(batch, n, generator):
    """Ids without padding."""
    return torch.randint(1, VOCAB, (batch, n), generator=generator)


def decoder_only(config):
    return dataclasses.replace(config, n_encoder_layers=0)


def padded(ids, right, left=0):
    return torch.nn.functional.pad(ids, (left, right), value=PAD)


@pytest.mark.slow
@fast
@given(configs, seeds, lengths, lengths, st.data())
def test_causality_the_future_changes_no_bit_of_the_past(config, seed, n_source, n, data):
    model, generator = made(config, seed)
    source, target = tokens(2, n_source, generator), tokens(2, n, generator)
    now = data.draw(st.integers(0, n))
    other = torch.cat([target[:, :now], tokens(2, n - now, generator)], dim=1)
    assert torch.equal(model(source, target)[:, :now], model(source, other)[:, :now])
    # Nor does anything flow back: the gradient of the past is 0 at every future token.
    x = model.target_embedding(target).detach().requires_grad_()
    mask = torch.ones(n, n, dtype=torch.bool).tril()
    output = model.decoder(x, model.encode(source), mask)
    output[:, :now].backward(torch.randn(output[:, :now].shape, dtype=output.dtype))
    assert (x.grad[:, now:] == 0).all()


@pytest.mark.slow
@fast
@given(configs, seeds, lengths, lengths, st.integers(0, 4), st.integers(0, 4))
def test_more_padding_changes_nothing(config, seed, n_source, n, more_source, more):
    model, generator = made(config, seed)
    source, target = tokens(2, n_source, generator), tokens(2, n, generator)
    wider = model(padded(source, more_source), padded(target, more))
    assert_equal(wider[:, :n], model(source, target))


@pytest.mark.slow
@fast
@given(configs, seeds, st.lists(lengths, min_size=2, max_size=4), lengths)
def test_a_sequence_does_not_feel_its_neighbours_in_the_batch(config, seed, sizes, n):
    model, generator = made(config, seed)
    sources = [tokens(1, size, generator) for size in sizes]
    targets = tokens(len(sizes), n, generator)
    batch = torch.cat([padded(source, max(sizes) - source.size(1)) for source in sources])
    together = model(batch, targets)
    for i, source in enumerate(sources):
        assert_equal(together[i : i + 1], model(source, targets[i : i + 1]))


@fast
@given(configs, seeds, lengths, st.randoms())
def test_without_positions_the_encoder_does_not_know_the_order(config, seed, n, random):
    config = dataclasses.replace(config, positions="none")
    torch.manual_seed(seed)
    encoder, order = Encoder(config).double(), list(range(n))
    random.shuffle(order)
    x = torch.randn(2, n, config.d_model, dtype=torch.float64)
    assert_equal(encoder(x[:, order]), encoder(x)[:, order])


@fast
@given(configs, seeds, lengths)
def test_with_positions_the_model_does_know_the_order(config, seed, n):
    wide = dataclasses.replace(config, n_heads=1, n_kv_heads=1, d_model=8)
    model, _ = made(wide, seed)
    ids = torch.tensor([[4] + [3] * (n + 1)])  # one token, and another n + 1 times behind it
    encoded = model.encode(ids)[0]
    gap = (encoded[1] - encoded[-1]).abs().max()
    assert gap < 1e-12 if config.positions == "none" else gap > 1e-9


@pytest.mark.slow
@fast
@given(configs, seeds, lengths, st.lists(st.integers(1, 3), min_size=1, max_size=4), st.booleans())
def test_with_a_cache_as_without(config, seed, n_source, chunks, has_encoder):
    model, generator = made(config if has_encoder else decoder_only(config), seed)
    inputs = [tokens(2, n, generator) for n in (*[n_source] * has_encoder, sum(chunks))]
    inputs[0][1, 1:] = PAD  # of the source, or of the tokens themselves
    expected = model(*inputs)
    state = model.start(*inputs[:-1])
    steps = [model.step(chunk, state) for chunk in inputs[-1].split(chunks, dim=1)]
    assert_equal(torch.cat(steps, dim=1), expected)
    assert len(state) == sum(chunks)


@pytest.mark.slow
@fast
@given(configs, seeds, lengths, st.lists(st.integers(0, 2), min_size=1, max_size=4))
def test_selected_sequences_go_on_as_if_alone(config, seed, n, rows):
    model, generator = made(config, seed)
    source, target = tokens(3, n, generator), tokens(3, n + 1, generator)
    state, picked = model.start(source), torch.tensor(rows)
    model.step(target[:, :n], state)
    state.select(picked)
    last = model.step(target[picked, n:], state)
    assert_equal(last, model(source[picked], target[picked])[:, n:])


@fast
@given(seeds, st.integers(1, 3), lengths, lengths, st.booleans(), st.data())
def test_blind_queries_get_zero_and_give_zero_gradient(seed, heads, n_q, n_k, returned, data):
    torch.manual_seed(seed)
    layer = MultiHeadAttention(4 * heads, heads).double()
    x = torch.randn(2, n_q, 4 * heads, dtype=torch.float64, requires_grad=True)
    context = torch.randn(2, n_k, 4 * heads, dtype=torch.float64, requires_grad=True)
    bits = st.lists(st.booleans(), min_size=n_q * n_k, max_size=n_q * n_k)
    mask = torch.tensor(data.draw(bits)).view(n_q, n_k)
    output = layer(x, context, mask, return_weights=returned)
    output = output[0] if returned else output
    output.backward(torch.randn_like(output))
    blind, unseen = ~mask.any(dim=1), ~mask.any(dim=0)
    assert (output[:, blind] == 0).all() and (x.grad[:, blind] == 0).all()
    assert (context.grad[:, unseen] == 0).all()
    assert x.grad.isfinite().all() and context.grad.isfinite().all()


@pytest.mark.slow
@fast
@given(configs, seeds, lengths, lengths)
def test_a_source_of_padding_alone_is_ignored_and_nothing_is_nan(config, seed, n_source, n):
    model, generator = made(config, seed)
    target = tokens(2, n, generator)
    nothing = torch.full((2, n_source), PAD)
    logits = model(nothing, target)
    assert_equal(logits, model(nothing[:, :1], target))
    logits.backward(torch.randn_like(logits))
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


@fast
@given(configs, seeds, lengths, st.integers(1, 3))
def test_padding_on_the_left_is_never_nan(config, seed, n, left):
    """The first queries see nothing at all."""
    model, generator = made(decoder_only(config), seed)
    logits = model(padded(tokens(2, n, generator), right=0, left=left))
    logits.backward(torch.randn_like(logits))
    assert logits.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())
