"""Each layer against its formula and PyTorch's own module: outputs and all gradients."""

import numpy as np
import pytest
import torch
from torch import nn

from tests.torch_twins import (
    assert_equal,
    assert_equal_gradients,
    attention_twin,
    layer_norm_twin,
)
from transformer_lib import (
    FeedForward,
    KeyValueCache,
    LayerNorm,
    LearnedPositions,
    MultiHeadAttention,
    NoPositions,
    PositionalEncoding,
    Residual,
    RMSNorm,
    TokenEmbedding,
    causal_mask,
    formulas,
    padding_mask,
    rope,
    shift_matrix,
    sinusoidal_encoding,
)


def randn(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def shaken(module):
    """In float64 and with random weights, so that no bias is 0 and no γ is 1."""
    torch.manual_seed(1)
    for parameter in module.double().parameters():
        nn.init.normal_(parameter, std=0.5)
    return module


def arrays(*tensors):
    return [tensor.detach().numpy() for tensor in tensors]


def assert_is_formula(mine, formula):
    assert_equal(mine, torch.as_tensor(formula))


# --- embedding and position ---------------------------------------------------------------


def test_token_embedding_equals_the_formula_and_its_matrix_scores_too():
    layer, ids, x = shaken(TokenEmbedding(7, 6)), torch.tensor([[3, 0, 3]]), randn(1, 3, 6)
    W_E = layer.weight.detach().numpy()
    assert_is_formula(layer(ids)[0], formulas.scaled_embedding(ids[0].numpy(), W_E))
    assert_is_formula(layer.logits(x)[0], x[0].numpy() @ W_E.T)


def test_an_embedding_without_scale_gives_the_bare_rows():
    layer, ids = TokenEmbedding(7, 6, scale=False), torch.tensor([[3, 0, 3]])
    assert torch.equal(layer(ids), layer.weight[ids])


def test_padding_starts_as_zero_and_learns_nothing_as_an_input():
    layer = TokenEmbedding(7, 6, pad_id=0).double()
    output = layer(torch.tensor([[0, 2]]))
    output.backward(randn(1, 2, 6))
    assert (output[0, 0] == 0).all() and (layer.weight.grad[0] == 0).all()
    assert (layer.weight.grad[2] != 0).all()


def test_new_embeddings_have_variance_one():
    torch.manual_seed(0)
    vectors = TokenEmbedding(200, 300)(torch.arange(200)[None])
    assert vectors.var().item() == pytest.approx(1, rel=0.05)


@pytest.mark.parametrize("d_model", [1, 5, 6, 512])
def test_sinusoidal_encoding_equals_the_formula(d_model):
    assert_is_formula(sinusoidal_encoding(20, d_model), formulas.positional_encoding(20, d_model))
    assert sinusoidal_encoding(0, d_model).shape == (0, d_model)


@pytest.mark.parametrize("k", [-3, 0, 4])
def test_shift_matrix_equals_the_formula_and_shifts(k):
    assert_is_formula(shift_matrix(k, 6), formulas.shift_matrix(k, 6))
    table = sinusoidal_encoding(20, 6)
    assert_equal(table[5:10] @ shift_matrix(k, 6).T, table[5 + k : 10 + k])


@pytest.mark.parametrize("d_model", [5, 6])
def test_positional_encoding_adds_the_table_also_beyond_its_first_length(d_model):
    layer, x = PositionalEncoding(d_model, max_len=4).double(), randn(2, 9, d_model)
    assert_is_formula(layer(x)[1], formulas.model_input(x[1].numpy()))
    assert_equal(layer(x[:, 6:8], start=6), layer(x)[:, 6:8])
    assert not list(layer.parameters()) and not layer.state_dict()


def test_a_rounded_table_is_exact_again_in_float64():
    layer = PositionalEncoding(6, max_len=4).half().double()
    assert torch.equal(layer.table, sinusoidal_encoding(4, 6))


def test_learned_positions_add_their_rows():
    layer, x = LearnedPositions(6, max_len=9).double(), randn(2, 3, 6)
    assert torch.equal(layer(x, start=2), x + layer.weight[2:5])


@pytest.mark.parametrize("base", [10_000.0, 5.0])
def test_rope_equals_the_formula_wherever_it_starts(base):
    x, places = randn(2, 3, 5, 8), torch.tensor([4, 0, 7, 7, 8000])
    for head in (x[0, 1], x[1, 2]):
        expected = formulas.rope(head.numpy(), places.numpy(), base)
        assert_is_formula(rope(head, places, base), expected)
    assert_equal(rope(x, places, base)[1, 2], rope(x[1, 2], places, base))


def test_rope_is_the_shift_matrix_and_only_distance_counts():
    q, k = randn(1, 8), randn(1, 8, seed=1)
    for place in (0, 3, 70):
        assert_equal(rope(q, torch.tensor([place])), q @ shift_matrix(place, 8))
        turned = [rope(x, torch.tensor([place + at])) for x, at in ((q, 5), (k, 2))]
        assert_equal(turned[0] @ turned[1].T, q @ shift_matrix(3, 8) @ k.T)


def test_far_positions_are_turned_exactly_in_float32():
    x, far = randn(1, 8).float(), torch.tensor([1_000_003])
    assert torch.allclose(rope(x, far), rope(x.double(), far).float(), atol=1e-6)


def test_no_positions_add_nothing():
    x = randn(2, 3, 6)
    assert torch.equal(NoPositions(6)(x, start=2), x)


@pytest.mark.parametrize("positions", [PositionalEncoding, LearnedPositions, NoPositions])
def test_dropout_acts_on_the_sum_while_training_only(positions):
    layer, x = positions(6, dropout=0.5), torch.ones(1, 50, 6)
    assert (layer(x) == 0).float().mean().item() == pytest.approx(0.5, abs=0.15)
    assert (layer.eval()(x) != 0).all()


# --- attention ----------------------------------------------------------------------------

IDS = torch.tensor([[5, 6, 7, 8], [5, 6, 0, 0], [5, 0, 0, 0]])  # 0 is padding
MASKS = {  # ours, and how nn.MultiheadAttention is told the same
    "none": (None, {}),
    "causal": (causal_mask(4), {"attn_mask": ~causal_mask(4)}),
    "padding": (padding_mask(IDS, 0), {"key_padding_mask": IDS == 0}),
    "both": (
        causal_mask(4) & padding_mask(IDS, 0),
        {"attn_mask": ~causal_mask(4), "key_padding_mask": IDS == 0},
    ),
}


@pytest.mark.parametrize("with_weights", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("masks", MASKS)
def test_self_attention_equals_pytorch(masks, bias, with_weights):
    mine = shaken(MultiHeadAttention(6, 2, bias=bias))
    theirs = attention_twin(mine)
    mask, their_masks = MASKS[masks]
    x = randn(3, 4, 6).requires_grad_()
    y = x.detach().clone().requires_grad_()
    output = mine(x, mask=mask, return_weights=with_weights)
    expected, expected_weights = theirs(y, y, y, average_attn_weights=False, **their_masks)
    if with_weights:
        output, weights = output
        assert_equal(weights, expected_weights)
    assert_equal(output, expected)
    cotangent = randn(3, 4, 6, seed=1)
    output.backward(cotangent)
    expected.backward(cotangent)
    assert_equal(x.grad, y.grad)
    assert_equal_gradients(mine, theirs)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("n_q", [1, 3, 7])
def test_cross_attention_equals_pytorch(n_q, padded, bias):
    mine = shaken(MultiHeadAttention(6, 3, bias=bias))
    theirs = attention_twin(mine)
    mine_in = [randn(3, n_q, 6).requires_grad_(), randn(3, 4, 6, seed=1).requires_grad_()]
    x, context = (tensor.detach().clone().requires_grad_() for tensor in mine_in)
    hidden = {"key_padding_mask": IDS == 0} if padded else {}
    output = mine(*mine_in, padding_mask(IDS, 0) if padded else None)
    expected, _ = theirs(x, context, context, **hidden)
    assert_equal(output, expected)
    cotangent = randn(3, n_q, 6, seed=2)
    output.backward(cotangent)
    expected.backward(cotangent)
    assert_equal(mine_in[0].grad, x.grad)
    assert_equal(mine_in[1].grad, context.grad)
    assert_equal_gradients(mine, theirs)


@pytest.mark.parametrize("n_k", [None, 5])
def test_multi_head_attention_equals_the_formula(n_k):
    layer, x = shaken(MultiHeadAttention(6, 3)), randn(1, 4, 6)
    context = None if n_k is None else randn(1, n_k, 6, seed=1)
    W_Q, W_K, W_V = (list(W.T.reshape(6, 3, 2).swapaxes(0, 1)) for W in _projections(layer))
    expected = formulas.multi_head(
        *arrays(x[0], x[0] if context is None else context[0]),
        *(W_Q, W_K, W_V),
        layer.W_O.weight.detach().numpy().T,
    )
    assert_is_formula(layer(x, context)[0], expected)


def _projections(layer):
    return layer.W_QKV.weight.detach().numpy().reshape(3, 6, 6)


@pytest.mark.parametrize("with_weights", [False, True])
@pytest.mark.parametrize("n_kv_heads", [1, 2, 6])
def test_grouped_heads_equal_the_formula(n_kv_heads, with_weights):
    layer, x = shaken(MultiHeadAttention(12, 6, n_kv_heads=n_kv_heads)), randn(1, 4, 12)
    rows = layer.W_QKV.weight.detach().numpy().reshape(6 + 2 * n_kv_heads, 2, 12)
    heads = x[0].numpy() @ rows.swapaxes(1, 2)  # (h + 2 h_kv, n, d_k)
    grouped = formulas.grouped_query_attention(*np.split(heads, [6, 6 + n_kv_heads]))
    output = layer(x, return_weights=with_weights)
    output = output[0] if with_weights else output
    expected = formulas.concat(list(grouped)) @ layer.W_O.weight.detach().numpy().T
    assert_is_formula(output[0], expected)


def test_a_context_is_read_by_groups_too():
    layer = shaken(MultiHeadAttention(6, 3, n_kv_heads=1, bias=True))
    x = randn(2, 4, 6)
    assert_equal(layer(x, x), layer(x))


def test_turned_attention_sees_distances_only():
    """Shifted by three places, the same outputs; shuffled, others."""
    layer, x = shaken(MultiHeadAttention(8, 2, rope_base=100.0)), randn(1, 4, 8)
    started = KeyValueCache(torch.zeros(1, 2, 3, 4).double(), torch.zeros(1, 2, 3, 4).double())
    hidden = torch.tensor([False] * 3 + [True] * 4)  # the three places before are not attended to
    assert_equal(layer(x, mask=hidden, cache=started), layer(x))
    shuffled = layer(x[:, [2, 0, 3, 1]])
    assert not torch.allclose(shuffled, layer(x)[:, [2, 0, 3, 1]])


@pytest.mark.parametrize(
    "shape", [(), (1,), (5,), (4, 1), (1, 5), (1, 4, 5), (1, 3, 4, 5), (2, 1, 1, 5)]
)
def test_a_mask_of_any_shape_that_broadcasts_means_the_same_with_and_without_weights(shape):
    layer, x, context = shaken(MultiHeadAttention(6, 3)), randn(2, 4, 6), randn(2, 5, 6, seed=1)
    mask = randn(*shape, seed=2) < 0.5
    output, weights = layer(x, context, mask, return_weights=True)
    assert_equal(layer(x, context, mask), output)
    assert (weights[~mask.expand(2, 3, 4, 5)] == 0).all()


@pytest.mark.parametrize("with_weights", [False, True])
def test_dropout_acts_on_the_weights_while_training_only(with_weights):
    layer, x = shaken(MultiHeadAttention(6, 3, dropout=0.5)), randn(4, 5, 6)

    def output():
        result = layer(x, return_weights=with_weights)
        return result[0] if with_weights else result

    assert not torch.equal(output(), output())
    layer.eval()
    assert torch.equal(output(), output())


def test_the_weights_returned_are_those_before_dropout():
    layer = MultiHeadAttention(6, 3, dropout=0.5)
    _, weights = layer(torch.randn(4, 5, 6), return_weights=True)
    assert torch.allclose(weights.sum(-1), torch.ones(4, 3, 5))


def test_a_cross_attention_cache_keeps_its_context():
    layer, x, context = shaken(MultiHeadAttention(6, 2)), randn(2, 3, 6), randn(2, 4, 6, seed=1)
    cache = KeyValueCache()
    steps = [layer(x[:, i : i + 1], context, cache=cache) for i in range(3)]
    assert_equal(torch.cat(steps, 1), layer(x, context))
    assert len(cache) == 4


# --- feed-forward -------------------------------------------------------------------------


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_feed_forward_equals_the_formula(activation):
    layer, x = shaken(FeedForward(6, 10, activation=activation)), randn(1, 4, 6)
    W_1, b_1, W_2, b_2 = arrays(*layer.W_1.parameters(), *layer.W_2.parameters())
    act = getattr(formulas, activation)
    expected = formulas.feed_forward(x[0].numpy(), W_1.T, b_1, W_2.T, b_2, act)
    assert_is_formula(layer(x)[0], expected)


def test_swiglu_equals_the_formula():
    layer, x = shaken(FeedForward(6, 10, activation="swiglu", bias=False)), randn(1, 4, 6)
    matrices = arrays(layer.W_1.weight.T, layer.W_2.weight.T, layer.W_3.weight.T)
    assert_is_formula(layer(x)[0], formulas.swiglu(x[0].numpy(), *matrices))


@pytest.mark.parametrize("activation", ["relu", "gelu", "swiglu"])
def test_feed_forward_has_the_right_gradients(activation):
    layer, x = shaken(FeedForward(3, 4, activation=activation)), randn(1, 2, 3).requires_grad_()
    names, weights = zip(*layer.named_parameters(), strict=True)

    def run(x, *weights):
        return torch.func.functional_call(layer, dict(zip(names, weights, strict=True)), x)

    assert torch.autograd.gradcheck(run, (x, *weights))


# --- norm and residual --------------------------------------------------------------------


@pytest.mark.parametrize("eps", [1e-5, 0.1])
def test_layer_norm_equals_pytorch_and_the_formula(eps):
    mine = shaken(LayerNorm(6, eps))
    theirs = layer_norm_twin(mine)
    x = randn(3, 4, 6).requires_grad_()
    y = x.detach().clone().requires_grad_()
    output, expected = mine(x), theirs(y)
    assert_equal(output, expected)
    assert_is_formula(output.detach(), formulas.layer_norm(*arrays(x, mine.gamma, mine.beta), eps))
    cotangent = randn(3, 4, 6, seed=1)
    output.backward(cotangent)
    expected.backward(cotangent)
    assert_equal(x.grad, y.grad)
    assert_equal_gradients(mine, theirs)


@pytest.mark.parametrize("eps", [1e-6, 0.1])
def test_rms_norm_equals_the_formula_and_pytorch(eps):
    mine, theirs = shaken(RMSNorm(6, eps)), nn.RMSNorm(6, eps).double()
    theirs.load_state_dict({"weight": mine.gamma.detach()})
    x = randn(3, 4, 6)
    assert_is_formula(mine(x).detach(), formulas.rms_norm(*arrays(x, mine.gamma), eps))
    for layer in (mine, theirs):
        layer(x).backward(randn(3, 4, 6, seed=1))
    assert_equal(mine.gamma.grad, theirs.weight.grad)


@pytest.mark.parametrize("pre_norm", [False, True])
def test_residual_puts_the_norm_where_the_formula_does(pre_norm):
    norm, x = shaken(LayerNorm(6, eps=0.1)), randn(1, 4, 6)
    formula = formulas.pre_norm if pre_norm else formulas.post_norm
    gamma, beta = arrays(norm.gamma, norm.beta)
    expected = formula(x[0].numpy(), np.sin, lambda X: formulas.layer_norm(X, gamma, beta, eps=0.1))
    assert_is_formula(Residual(norm, pre_norm=pre_norm)(x, torch.sin)[0], expected)


def test_dropout_acts_on_the_sublayer_not_on_the_short_cut():
    residual, x = Residual(nn.Identity(), dropout=0.5), torch.ones(1, 50, 6)
    assert set(residual(x, lambda y: y).unique().tolist()) == {1.0, 3.0}  # x, and x + 2·x
    assert (residual.eval()(x, lambda y: y) == 2).all()


# --- low precision ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("with_weights", [False, True])
def test_low_precision_attention_is_finite_under_masks(dtype, with_weights):
    layer, x = MultiHeadAttention(6, 2).to(dtype), 30 * randn(3, 4, 6).to(dtype)
    mask = causal_mask(4) & padding_mask(torch.tensor([[0, 0, 7, 8]] * 3), 0)  # rows with nothing
    output = layer(x, mask=mask, return_weights=with_weights)
    output = output[0] if with_weights else output
    output.backward(torch.ones_like(output))
    assert output.dtype == dtype and output.isfinite().all() and (output[:, :2] == 0).all()
    assert all(parameter.grad.isfinite().all() for parameter in layer.parameters())


def test_positions_far_away_are_distinct_in_bfloat16():
    """Positions are counted in float64: in bfloat16 alone, 257 would round to 256."""
    table = PositionalEncoding(6, max_len=300).bfloat16().table
    assert torch.equal(table, sinusoidal_encoding(300, 6).bfloat16())
    assert not torch.equal(table[256], table[257])
