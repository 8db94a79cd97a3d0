"""Decoding against brute force and slow specifications, cached or not; what it refuses."""

import itertools
import math
import re
from fractions import Fraction

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer_lib import Transformer, TransformerConfig, beam_search, greedy_decode, sample
from transformer_lib.decoding import top_k_filter, top_p_filter

PAD, BOS, EOS = 0, 1, 2
ENDS = {"bos_id": BOS, "eos_id": EOS}
DECODERS = [greedy_decode, beam_search, sample]


def make_model(n_encoder_layers=1, *, seed=0, dtype=torch.float64, eos_bias=0.0, **changes):
    """A small random model, its scores spread so that outputs vary; eos_bias: how soon it ends."""
    options = {"vocab_size": 7, "d_model": 8, "n_heads": 2, "d_ff": 12, "n_decoder_layers": 2}
    options |= {"tie_embeddings": False, "n_encoder_layers": n_encoder_layers, **changes}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = Transformer(TransformerConfig(**options)).to(dtype).eval()
    score = model.logits

    def logits(x):
        return 3 * score(x) + eos_bias * F.one_hot(torch.tensor(EOS), score(x).size(-1))

    model.logits = logits
    return model


def make_source(batch=3, n=5, *, seed=0, vocab=7):
    """Sentences of different lengths, padded."""
    generator = torch.Generator().manual_seed(seed)
    source = torch.randint(3, vocab, (batch, n), generator=generator)
    for row in range(batch):
        source[row, max(1, n - row) :] = PAD
    return source


def inputs_of(model, batch=3, seed=0):
    """What this kind of model writes from: a source, or a prompt."""
    if model.encoder is not None:
        return {"source_ids": make_source(batch, seed=seed)}
    return {"prompt_ids": make_source(batch, 1, seed=seed)}


def one_row(inputs, row):
    return {name: ids[row : row + 1] for name, ids in inputs.items()}


def next_log_probs(model, ids, source_ids=None):
    """log P of each possible next token after each row of ids, by the plain forward pass."""
    arguments = (ids,) if source_ids is None else (source_ids.expand(len(ids), -1), ids)
    logits = model(*arguments)[:, -1].clone()
    logits[:, PAD] = -torch.inf
    return logits.log_softmax(-1)


def start_of(inputs):
    return [BOS, *inputs["prompt_ids"][0].tolist()] if "prompt_ids" in inputs else [BOS]


@torch.no_grad()
def log_prob(model, inputs, tokens):
    """log P of tokens as a continuation, one forward pass for each token."""
    ids, total = start_of(inputs), 0.0
    for token in tokens:
        total += next_log_probs(model, torch.tensor([ids]), inputs.get("source_ids"))[0, token]
        ids = [*ids, token]
    return float(total)


def penalised(log_p, n, alpha):
    return log_p / ((5 + n) / 6) ** alpha


def unpadded(row):
    return [token for token in row.tolist() if token != PAD]


# --- greedy -------------------------------------------------------------------------------


@torch.no_grad()
def plain_greedy(model, inputs, max_len):
    """One sentence: the definition, in a loop."""
    ids = torch.tensor([start_of(inputs)])
    start = ids.size(1)
    while ids.size(1) < start + max_len and EOS not in ids[0, start:]:
        token = next_log_probs(model, ids, inputs.get("source_ids")).argmax(-1)
        ids = torch.cat([ids, token[:, None]], dim=1)
    return ids[0, start:].tolist()


@pytest.mark.parametrize("n_encoder_layers", [0, 1])
@pytest.mark.parametrize("seed", range(4))
def test_greedy_is_the_plain_loop_and_beam_width_1(n_encoder_layers, seed):
    model = make_model(n_encoder_layers, seed=seed, eos_bias=2.0)
    inputs = inputs_of(model, batch=4, seed=seed)
    ids = greedy_decode(model, **inputs, **ENDS, max_len=6)
    expected = [plain_greedy(model, one_row(inputs, row), 6) for row in range(4)]
    assert [unpadded(row) for row in ids] == expected
    assert ids.size(1) == max(map(len, expected))
    torch.testing.assert_close(
        beam_search(model, **inputs, **ENDS, max_len=6, beam_width=1), ids, rtol=0, atol=0
    )


def test_the_greedy_test_meets_sequences_that_end_and_that_do_not():
    lengths = set()
    for seed in range(4):
        model = make_model(seed=seed, eos_bias=2.0)
        ids = greedy_decode(model, **inputs_of(model, 4, seed), **ENDS, max_len=6)
        lengths |= {len(unpadded(row)) if EOS in row else "cut" for row in ids}
    assert "cut" in lengths and len(lengths) >= 3


# --- beam search --------------------------------------------------------------------------


@torch.no_grad()
def brute_force(model, inputs, max_len, alpha):
    """The best of all sequences that end within max_len, by its score."""
    vocab = [token for token in range(model.config.vocab_size) if token not in (PAD, EOS)]
    best = (-math.inf, None)
    for n in range(max_len):
        bodies = torch.tensor(list(itertools.product(vocab, repeat=n)), dtype=torch.long)
        start = torch.tensor([start_of(inputs)]).expand(len(bodies), -1)
        ids = torch.cat([start, bodies], dim=1)
        totals = torch.zeros(len(ids), dtype=torch.float64)
        for end in range(start.size(1), ids.size(1) + 1):
            log_probs = next_log_probs(model, ids[:, :end], inputs.get("source_ids"))
            token = ids[:, end] if end < ids.size(1) else torch.full((len(ids),), EOS)
            totals += log_probs.gather(1, token[:, None])[:, 0]
        score, row = penalised(totals, n + 1, alpha).max(0)
        best = max(best, (float(score), [*bodies[row].tolist(), EOS]))
    return best[1]


@pytest.mark.parametrize("alpha", [0, 0.6, 1.0, 3.0])
@pytest.mark.parametrize("n_encoder_layers", [0, 1])
def test_a_wide_beam_finds_the_best_of_all_sequences(alpha, n_encoder_layers):
    model = make_model(n_encoder_layers, seed=3, vocab_size=6)
    inputs = inputs_of(model)
    inputs = {name: ids.clamp(max=5) for name, ids in inputs.items()}
    # Wide enough to lose none: 4 tokens that do not end, in up to 3 places.
    options = {"max_len": 4, "beam_width": 4**3 + 4**2 + 4 + 1, "length_penalty": alpha}
    ids = beam_search(model, **inputs, **ENDS, **options)
    expected = [brute_force(model, one_row(inputs, row), 4, alpha) for row in range(3)]
    assert [unpadded(row) for row in ids] == expected


@torch.no_grad()
def plain_beam_search(model, inputs, max_len, width, alpha):
    """One sentence: the definition, with lists."""
    alive, ended = [(0.0, [])], []
    for n in range(1, max_len + 1):
        extensions = []
        for log_p, tokens in alive:
            ids = torch.tensor([start_of(inputs) + tokens])
            log_probs = next_log_probs(model, ids, inputs.get("source_ids"))[0].tolist()
            extensions += [(log_p + lp, [*tokens, token]) for token, lp in enumerate(log_probs)]
        extensions.sort(key=lambda extension: -extension[0])
        for log_p, tokens in extensions[:width]:
            if tokens[-1] == EOS:
                ended.append((penalised(log_p, n, alpha), tokens))
        alive = [e for e in extensions if e[1][-1] != EOS and e[0] > -math.inf][:width]
        bound = penalised(alive[0][0], max_len, alpha)
        if len(ended) >= width or (ended and max(ended)[0] >= bound):
            break
    return max(ended)[1] if ended else alive[0][1]


@pytest.mark.slow
@pytest.mark.parametrize("width", [2, 3, 5, 20])
@pytest.mark.parametrize("seed", range(3))
def test_a_batch_of_beams_is_the_plain_search_of_each_sentence(width, seed):
    for n_encoder_layers, alpha in ((0, 0.6), (1, 0), (1, 2.0)):
        model = make_model(n_encoder_layers, seed=seed, eos_bias=1.0)
        inputs = inputs_of(model, batch=4, seed=seed)
        options = {"beam_width": width, "length_penalty": alpha}
        ids = beam_search(model, **inputs, **ENDS, max_len=6, **options)
        expected = [
            plain_beam_search(model, one_row(inputs, row), 6, width, alpha) for row in range(4)
        ]
        assert [unpadded(row) for row in ids] == expected


def markov_model(after):
    """A decoder-only model whose next token has the probabilities after[last token]; no cache."""
    model = make_model(0, vocab_size=len(after))
    after = torch.tensor(after, dtype=torch.float64)
    model.decode = lambda ids, *_, **__: after.log()[ids]
    return model


NEVER = [0.0, 1.0, 0.0, 0.0, 0.0]


def test_the_length_penalty_is_that_of_the_paper():
    """Two sequences, (end) and (3, end); α where they are equal follows from Wu et al., eq. 14."""
    first, second = [0, 0, 0.4, 0.6, 0], [0, 0, 0.5, 0, 0.5]
    model = markov_model([NEVER, first, NEVER, second, NEVER])
    equal = math.log(math.log(0.6 * 0.5) / math.log(0.4)) / math.log((5 + 2) / (5 + 1))
    options = {**ENDS, "max_len": 2, "use_cache": False}
    for alpha, best in ((equal - 1e-3, [[EOS]]), (equal + 1e-3, [[3, EOS]])):
        assert beam_search(model, **options, length_penalty=alpha).tolist() == best


def test_the_search_goes_on_while_a_longer_sequence_can_win_and_no_longer():
    """P(end) = 0.5, P(3) = 0.3 each time: long is unlikely, but α may outweigh it."""
    model, steps = markov_model([[0, 0, 0.5, 0.3, 0.2]] * 5), []
    decode = model.decode
    model.decode = lambda *ids, **options: [steps.append(1), decode(*ids, **options)][1]
    options = {**ENDS, "max_len": 4, "beam_width": 50, "use_cache": False}
    for alpha, n, n_steps in ((0, 1, 1), (0.6, 1, 1), (1.5, 1, 2), (5.0, 4, 4)):
        steps.clear()
        assert beam_search(model, **options, length_penalty=alpha).size(1) == n
        assert len(steps) == n_steps


def test_beam_search_beats_greedy_where_the_likely_start_leads_nowhere():
    """3 is likelier than 4, but after 3 everything is unlikely; after 4 the end is certain."""
    first, after_3 = [0, 0, 0, 0.6, 0.4], [0, 0.25, 0.25, 0.25, 0.25]
    model = markov_model([NEVER, first, NEVER, after_3, [0, 0, 1.0, 0, 0]])
    options = {**ENDS, "max_len": 2, "use_cache": False}
    assert greedy_decode(model, **options)[0, 0] == 3
    assert beam_search(model, **options, beam_width=2).tolist() == [[4, EOS]]


# --- sampling -----------------------------------------------------------------------------


def constant_model(logits):
    """A decoder-only model that gives the same logits everywhere."""
    model = make_model(0, vocab_size=len(logits))
    model.logits = lambda x: torch.tensor(logits, dtype=x.dtype).repeat(*x.shape[:2], 1)
    return model


def draw(model, n=20_000, seed=0, **options):
    prompt, generator = torch.full((n, 1), 3), torch.Generator().manual_seed(seed)
    options |= {"bos_id": None, "eos_id": None, "max_len": 1, "generator": generator}
    return sample(model, prompt_ids=prompt, **options)[:, 0]


@pytest.mark.parametrize(
    ("options", "kept", "temperature"),
    [
        ({}, [1, 2, 3, 4, 5], 1.0),
        ({"temperature": 2.5}, [1, 2, 3, 4, 5], 2.5),
        ({"top_k": 3}, [3, 4, 5], 1.0),
        ({"top_p": 0.9}, [2, 3, 4, 5], 1.0),
        ({"top_k": 3, "top_p": 0.7, "temperature": 0.5}, [4, 5], 0.5),
    ],
)
def test_samples_follow_the_distribution(options, kept, temperature):
    logits = torch.tensor([9.0, 0.0, 0.5, 1.0, 1.5, 2.0])  # 0 is padding: never drawn
    drawn = draw(constant_model(logits.tolist()), **options)
    expected = torch.zeros(6)
    expected[kept] = (logits[kept] / temperature).softmax(-1)
    counts = torch.bincount(drawn, minlength=6)
    assert counts[expected == 0].sum() == 0
    chi_square = ((counts - 20_000 * expected) ** 2 / (20_000 * expected))[kept].sum()
    assert chi_square < 30  # 4 degrees of freedom: chance 5e-6


def test_a_generator_decides_and_none_is_the_global_one():
    model = make_model()
    source = make_source(8)

    def write(seed):
        generator = torch.Generator().manual_seed(seed)
        return sample(model, source, **ENDS, max_len=6, temperature=3.0, generator=generator)

    assert torch.equal(write(1), write(1))
    assert not torch.equal(write(1), write(2))
    with torch.random.fork_rng():
        torch.manual_seed(1)
        assert torch.equal(sample(model, source, **ENDS, max_len=6, temperature=3.0), write(1))


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": 1e-9},
        {"temperature": 1e-30},
        {"temperature": 5e-324},
        {"temperature": Fraction(1, 10**9)},
        {"top_k": 1},
        {"top_p": 1e-9},
        {"top_p": 5e-324},
        {"top_p": Fraction(1, 10**9)},
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_at_the_limit_sampling_is_greedy(options, dtype):
    model = make_model(dtype=dtype)
    expected = greedy_decode(model, make_source(6), **ENDS, max_len=6)
    assert torch.equal(sample(model, make_source(6), **ENDS, max_len=6, **options), expected)


def test_no_temperature_is_too_high():
    ids = sample(
        make_model(dtype=torch.float32), make_source(6), **ENDS, max_len=6, temperature=1e300
    )
    assert len(ids.unique()) > 4


# --- filters ------------------------------------------------------------------------------


def plain_top_k(row, k):
    """Indices, by the definition: the k largest, of equals the first."""
    return set(sorted(range(len(row)), key=lambda i: (-row[i], i))[:k])


def plain_top_p(row, p):
    """Indices, by the definition: the shortest list of the likeliest that holds p."""
    kept, held = set(), 0.0
    probabilities = torch.tensor(row, dtype=torch.float64).softmax(-1).tolist()
    for i in sorted(range(len(row)), key=lambda i: (-row[i], i)):
        if held < p:
            kept.add(i)
            held += probabilities[i]
    return kept


def kept_by(filtered):
    return [{i for i, value in enumerate(row) if value > -math.inf} for row in filtered.tolist()]


# Few different values: ties in most rows.
rows = st.lists(st.sampled_from([-2.0, 0.0, 0.25, 1.0, 3.0]), min_size=1, max_size=8)


@settings(deadline=None)
@given(rows, st.integers(1, 10), st.permutations(range(8)))
def test_top_k_keeps_the_k_largest_as_they_are(row, k, order):
    other = [row[i] for i in order if i < len(row)]
    logits = torch.tensor([row, other])
    filtered = top_k_filter(logits, k)
    assert kept_by(filtered) == [plain_top_k(row, k), plain_top_k(other, k)]
    assert torch.equal(filtered[filtered > -torch.inf], logits[filtered > -torch.inf])


@settings(deadline=None)
@given(rows, st.floats(0.01, 1))
def test_top_p_keeps_the_fewest_that_hold_p(row, p):
    logits = torch.tensor([row, row[::-1]], dtype=torch.float64)
    before = logits.clone()
    expected = [plain_top_p(row, p), plain_top_p(row[::-1], p)]
    if p == 1:
        expected = [set(range(len(row)))] * 2
    assert kept_by(top_p_filter(logits, p)) == expected
    assert torch.equal(logits, before)


def test_the_filters_work_on_any_leading_dimensions_and_on_what_is_already_out():
    logits = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0))
    for narrow in (lambda x: top_k_filter(x, 2), lambda x: top_p_filter(x, 0.5)):
        flat = torch.stack([narrow(row) for row in logits.view(-1, 5)])
        assert torch.equal(narrow(logits), flat.view_as(logits))
    out = torch.tensor([-torch.inf, 1.0, -torch.inf])
    assert torch.equal(top_k_filter(out, 2), out)
    assert torch.equal(top_p_filter(out, 0.99), out)


def test_top_p_keeps_everything_at_1_and_the_likeliest_always():
    logits = torch.tensor([50.0, 0.0, -50.0])  # in float32 the first holds 1 by itself
    assert torch.equal(top_p_filter(logits, 1), logits)
    assert kept_by(top_p_filter(logits[None], 1e-9)) == [{0}]


def test_top_p_stops_where_exactly_p_is_reached():
    assert kept_by(top_p_filter(torch.zeros(1, 4), 0.5)) == [{0, 1}]


# --- what all three promise ---------------------------------------------------------------


def decode_with(decoder, model, inputs, **options):
    if decoder is sample:
        options["generator"] = torch.Generator().manual_seed(7)
    return decoder(model, **inputs, **ENDS, **options)


# Always the same examples: in float32 one in thousands could be a tie but for rounding.
@pytest.mark.slow
@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    decoder=st.sampled_from(DECODERS),
    seed=st.integers(0, 999),
    batch=st.integers(1, 4),
    max_len=st.integers(1, 7),
    n_encoder_layers=st.integers(0, 2),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    positions=st.sampled_from(["sinusoidal", "learned", "rotary"]),
    n_kv_heads=st.integers(1, 2),
    pre_norm=st.booleans(),
)
def test_the_cache_changes_nothing(
    decoder, seed, batch, max_len, n_encoder_layers, dtype, **changes
):
    changes |= {"max_len": 9, "eos_bias": 1.0}
    model = make_model(n_encoder_layers, seed=seed, dtype=dtype, **changes)
    inputs = inputs_of(model, batch, seed)
    plain = decode_with(decoder, model, inputs, max_len=max_len, use_cache=False)
    assert torch.equal(decode_with(decoder, model, inputs, max_len=max_len), plain)


@pytest.mark.parametrize("decoder", [greedy_decode, beam_search])
@pytest.mark.parametrize("n_encoder_layers", [0, 1])
def test_a_sentence_alone_is_written_as_in_a_batch(decoder, n_encoder_layers):
    model = make_model(n_encoder_layers, eos_bias=2.0)
    inputs = inputs_of(model, batch=6)
    together = decode_with(decoder, model, inputs, max_len=6)
    for row in range(6):
        alone = decode_with(decoder, model, one_row(inputs, row), max_len=6)
        assert unpadded(alone[0]) == unpadded(together[row])


@pytest.mark.parametrize("decoder", DECODERS)
def test_after_the_end_there_is_only_padding_and_before_it_none(decoder):
    model = make_model(eos_bias=2.0)
    ids = decode_with(decoder, model, {"source_ids": make_source(16)}, max_len=8)
    assert ids.dtype == torch.int64 and (ids == EOS).any()
    for row in ids.tolist():
        n = row.index(EOS) + 1 if EOS in row else len(row)
        assert PAD not in row[:n] and set(row[n:]) <= {PAD}
    assert (ids[:, -1] != PAD).any()


@pytest.mark.parametrize("decoder", DECODERS)
def test_a_certain_end_stops_at_once_and_without_one_max_len_does(decoder):
    model = constant_model([0.0, 0.0, 100.0, 0.0])
    assert decode_with(decoder, model, {}, max_len=5).tolist() == [[EOS]]
    assert decoder(model, bos_id=BOS, eos_id=None, max_len=5).tolist() == [[2] * 5]


@pytest.mark.parametrize("decoder", [greedy_decode, beam_search])
def test_of_equal_scores_the_lowest_id_wins(decoder):
    model = constant_model([5.0] * 40)  # padding would be the lowest
    assert decoder(model, bos_id=BOS, eos_id=None, max_len=3).tolist() == [[1, 1, 1]]


@pytest.mark.parametrize("decoder", [greedy_decode, beam_search])
def test_a_difference_that_only_float64_can_hold_counts(decoder):
    model = constant_model([0.0, 1.0, 1.0, 1 + 1e-12])
    assert decoder(model, bos_id=BOS, eos_id=None, max_len=1).tolist() == [[3]]


@pytest.mark.parametrize("decoder", DECODERS)
def test_the_prompt_follows_bos_and_both_are_left_out(decoder):
    model = make_model(0)
    prompt = torch.tensor([[3, 4]], dtype=torch.int32)
    ids = decode_with(decoder, model, {"prompt_ids": prompt}, max_len=5)
    inputs = {"prompt_ids": torch.tensor([[BOS, 3, 4]]), "bos_id": None, "eos_id": EOS}
    seed = {"generator": torch.Generator().manual_seed(7)} if decoder is sample else {}
    assert torch.equal(decoder(model, **inputs, **seed, max_len=5), ids)
    assert ids.size(1) <= 5


@pytest.mark.parametrize("decoder", DECODERS)
def test_a_translation_can_be_begun_by_a_prompt(decoder):
    model = make_model()
    source, prompt = make_source(), torch.tensor([[3, 4]] * 3)
    options = {sample: {"top_k": 1}, beam_search: {"beam_width": 1}}.get(decoder, {})
    ids = decoder(model, source, prompt_ids=prompt, **ENDS, max_len=4, **options)
    logits = model(source, torch.cat([torch.full((3, 1), BOS), prompt], dim=1))[:, -1]
    assert torch.equal(ids[:, 0], logits[:, 1:].argmax(-1) + 1)  # without padding, id 0


@pytest.mark.parametrize("use_cache", [False, True])
@pytest.mark.parametrize("decoder", DECODERS)
def test_of_a_prompt_only_the_last_position_is_scored(decoder, use_cache):
    model, scored = make_model(0), []
    score = model.logits
    model.logits = lambda x: scored.append(x.size(1)) or score(x)
    prompt = torch.tensor([[3, 4, 5, 6]])
    decoder(model, bos_id=BOS, eos_id=None, max_len=3, prompt_ids=prompt, use_cache=use_cache)
    assert scored == [1, 1, 1]


@pytest.mark.parametrize("decoder", DECODERS)
def test_dropout_is_off_and_every_module_is_as_before(decoder):
    model = make_model(dropout=0.9)
    expected = decode_with(decoder, model, {"source_ids": make_source()}, max_len=5)
    model.train()
    model.encoder.eval()  # a frozen part
    before = [module.training for module in model.modules()]
    ids = decode_with(decoder, model, {"source_ids": make_source()}, max_len=5)
    assert torch.equal(ids, expected)
    assert [module.training for module in model.modules()] == before
    with pytest.raises(ValueError, match="max_len"):
        decode_with(decoder, model, {"source_ids": make_source()}, max_len=0)
    assert [module.training for module in model.modules()] == before


def test_what_was_written_can_be_trained_on():
    model = make_model()
    written = greedy_decode(model, make_source(), **ENDS, max_len=3)
    model(make_source(), written).sum().backward()
    assert model.output.weight.grad is not None


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_works(decoder, dtype):
    model = make_model(dtype=dtype)
    ids = decode_with(decoder, model, {"source_ids": make_source()}, max_len=5)
    assert ids.size(0) == 3 and (ids[:, 0] != PAD).all()


@pytest.mark.parametrize("decoder", DECODERS)
def test_learned_positions_reach_to_the_last_token_but_one(decoder):
    model = make_model(0, positions="learned", max_len=6)
    ids = decoder(model, bos_id=BOS, eos_id=None, max_len=5, prompt_ids=torch.tensor([[3]]))
    assert ids.shape == (1, 5)


# --- what it refuses ----------------------------------------------------------------------

FITS = {"source_ids": torch.tensor([[3, 4]]), **ENDS, "max_len": 5}
ALONE = {**ENDS, "max_len": 5}
BAD_INPUT = {
    "max_len 0": ({"max_len": 0}, ValueError, "max_len must be 1 or more, got 0"),
    "max_len float": ({"max_len": 5.0}, TypeError, "max_len must be an int, got float"),
    "no source": ({"source_ids": None}, ValueError, "this model has an encoder: give source_ids"),
    "source list": ({"source_ids": [[3, 4]]}, TypeError, "source_ids must be a torch tensor"),
    "source floats": (
        {"source_ids": torch.ones(1, 2)},
        TypeError,
        "source_ids must be integers, got torch.float32; convert with source_ids.long()",
    ),
    "source 1-D": (
        {"source_ids": torch.tensor([3, 4])},
        ValueError,
        "source_ids must have shape (batch, n), got (2,)",
    ),
    "source beyond vocabulary": (
        {"source_ids": torch.tensor([[3, 7]])},
        ValueError,
        "token_ids must be in 0 … 6, got 3 … 7",
    ),
    "source elsewhere": (
        {"source_ids": torch.zeros(1, 2, dtype=torch.long, device="meta")},
        ValueError,
        "source_ids must be on the model's device, cpu, got meta",
    ),
    "eos beyond vocabulary": (
        {"eos_id": 7},
        ValueError,
        "eos_id must be in the vocabulary, 0 … 6, got 7",
    ),
    "eos negative": ({"eos_id": -1}, ValueError, "eos_id must be 0 or more, got -1"),
    "eos tensor": ({"eos_id": torch.tensor(2)}, TypeError, "eos_id must be an int, got Tensor"),
    "eos is padding": ({"eos_id": 0}, ValueError, "eos_id must not be the pad_id (0)"),
    "bos beyond vocabulary": ({"bos_id": 9}, ValueError, "bos_id must be in the vocabulary"),
    "bos is padding": ({"bos_id": 0}, ValueError, "bos_id must not be the pad_id (0)"),
    "no beginning": ({"bos_id": None}, ValueError, "give bos_id or prompt_ids"),
    "prompt floats": ({"prompt_ids": torch.ones(1, 2)}, TypeError, "prompt_ids must be integers"),
    "prompt empty": (
        {"prompt_ids": torch.ones(1, 0, dtype=torch.long)},
        ValueError,
        "prompt_ids holds empty sequences",
    ),
    "prompt padded": (
        {"prompt_ids": torch.tensor([[0, 3]])},
        ValueError,
        "prompt_ids hold padding (0): give prompts of one length only",
    ),
    "prompt of another batch": (
        {"prompt_ids": torch.tensor([[3], [3]])},
        ValueError,
        "source_ids and prompt_ids must have the same batch, got 1 and 2",
    ),
}
BAD_OPTIONS = {
    "beam width 0": (
        beam_search,
        {"beam_width": 0},
        ValueError,
        "beam_width must be 1 or more, got 0",
    ),
    "beam width 2.0": (beam_search, {"beam_width": 2.0}, TypeError, "beam_width must be an int"),
    "penalty −1": (
        beam_search,
        {"length_penalty": -1},
        ValueError,
        "length_penalty must be 0 or more and finite, got -1",
    ),
    "penalty text": (
        beam_search,
        {"length_penalty": "0.6"},
        TypeError,
        "length_penalty must be a number, got str",
    ),
    "temperature 0": (
        sample,
        {"temperature": 0},
        ValueError,
        "temperature must be more than 0 and finite, got 0; for the most likely tokens use greedy",
    ),
    "temperature −1": (sample, {"temperature": -1.0}, ValueError, "temperature must be more than"),
    "temperature nan": (sample, {"temperature": math.nan}, ValueError, "temperature must be more"),
    "temperature text": (
        sample,
        {"temperature": "hot"},
        TypeError,
        "temperature must be a number, got str",
    ),
    "top_k 0": (sample, {"top_k": 0}, ValueError, "top_k must be 1 or more, got 0"),
    "top_k 2.5": (sample, {"top_k": 2.5}, TypeError, "top_k must be an int, got float"),
    "top_p 0": (sample, {"top_p": 0}, ValueError, "top_p must be in (0, 1], got 0"),
    "top_p 1.1": (sample, {"top_p": 1.1}, ValueError, "top_p must be in (0, 1], got 1.1"),
    "top_p True": (sample, {"top_p": True}, TypeError, "top_p must be a number, got bool"),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize(("changes", "error", "message"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input_is_refused(decoder, changes, error, message):
    with pytest.raises(error, match=re.escape(message)):
        decoder(make_model(), **(FITS | changes))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("decoder", "changes", "error", "message"), BAD_OPTIONS.values(), ids=BAD_OPTIONS
)
def test_bad_options_are_refused(decoder, changes, error, message):
    with pytest.raises(error, match=re.escape(message)):
        decoder(make_model(), **FITS, **changes)


@pytest.mark.parametrize("decoder", DECODERS)
def test_no_sentences_are_written_as_none(decoder):
    written = decode_with(decoder, make_model(1), {"source_ids": make_source(0)}, max_len=3)
    assert written.size(0) == 0 and written.dtype == torch.int64


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
def test_what_torch_compile_makes_of_a_model_writes_as_well():
    model = make_model(1)
    compiled = torch.compile(model, backend="eager")
    assert torch.equal(greedy_decode(compiled, **FITS), greedy_decode(model, **FITS))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("decoder", DECODERS)
def test_models_that_do_not_fit_are_refused(decoder):
    with pytest.raises(TypeError, match="model must be a Transformer, got Tensor"):
        decoder(make_source(1), **FITS)  # the model forgotten, or given second
    with pytest.raises(ValueError, match="cannot write: it has no decoder"):
        decoder(make_model(1, n_decoder_layers=0), **FITS)
    with pytest.raises(ValueError, match="has no encoder: give prompt_ids, not source_ids"):
        decoder(make_model(0), **FITS)
    learned = make_model(0, positions="learned", max_len=6)
    message = r"2 given tokens and max_len \(6\) need 7 positions, .* learned 6: .* 5 or less"
    with pytest.raises(ValueError, match=message):
        decoder(learned, **(ALONE | {"max_len": 6}), prompt_ids=torch.tensor([[3]]))
    broken = make_model(0)
    broken.logits = lambda x: torch.full((*x.shape[:2], 7), torch.nan)
    with pytest.raises(ValueError, match="logits are NaN or infinite"):
        decoder(broken, **ALONE)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("narrow", "error", "message"),
    [
        (lambda x: top_k_filter(x, 0), ValueError, "k must be 1 or more, got 0"),
        (lambda x: top_k_filter(x, 1.5), TypeError, "k must be an int, got float"),
        (lambda x: top_k_filter(x.long(), 1), TypeError, "logits must be floating point"),
        (lambda x: top_p_filter(x, 0.0), ValueError, "p must be in (0, 1], got 0.0"),
        (lambda x: top_p_filter(x, -0.1), ValueError, "p must be in (0, 1], got -0.1"),
        (lambda x: top_p_filter(x, 2), ValueError, "p must be in (0, 1], got 2"),
        (lambda x: top_p_filter(x, math.nan), ValueError, "p must be in (0, 1], got nan"),
        (lambda x: top_p_filter(x.tolist(), 1), TypeError, "logits must be a torch tensor"),
    ],
)
def test_the_filters_refuse_bad_input(narrow, error, message):
    with pytest.raises(error, match=re.escape(message)):
        narrow(torch.zeros(3))
