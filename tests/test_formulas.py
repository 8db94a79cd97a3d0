"""Layer 1 against its definitions: loops and finite differences, in float64."""

import math

import numpy as np
import pytest
import torch

from transformer_lib import formulas, running_example, training

rng = np.random.default_rng(0)
Q, K, V = rng.standard_normal((3, 5)), rng.standard_normal((4, 5)), rng.standard_normal((4, 2))


def test_scores_are_dot_products():
    S = formulas.scores(Q, K)
    for i in range(3):
        for j in range(4):
            assert S[i, j] == pytest.approx(sum(Q[i, m] * K[j, m] for m in range(5)))


def test_scaled_scores_have_variance_one():
    many_q, many_k = rng.standard_normal((400, 64)), rng.standard_normal((400, 64))
    assert formulas.scores(many_q, many_k).var() == pytest.approx(64, rel=0.1)
    assert formulas.scaled_scores(many_q, many_k).var() == pytest.approx(1, rel=0.1)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("size", [1, 1000])
def test_softmax_sums_to_one_and_keeps_ratios(axis, size):
    S = size * rng.standard_normal((3, 4))
    A = formulas.softmax(S, axis)
    assert A.sum(axis) == pytest.approx(1)
    top = S.max(axis, keepdims=True)
    assert A / A.max(axis, keepdims=True) == pytest.approx(np.exp(S - top))


def test_softmax_jacobian_is_the_derivative():
    s, h = rng.standard_normal(5), 1e-6
    J = formulas.softmax_jacobian(formulas.softmax(s))
    for j in range(5):
        step = h * np.eye(5)[j]
        slope = (formulas.softmax(s + step) - formulas.softmax(s - step)) / (2 * h)
        assert J[:, j] == pytest.approx(slope, abs=1e-9)


def test_masked_softmax():
    S = rng.standard_normal((3, 4))
    mask = np.array([[True, True, False, True], [False] * 4, [True] * 4])
    A = formulas.masked_softmax(S, mask)
    assert (A[~mask] == 0).all()
    assert A.sum(axis=-1) == pytest.approx([1, 0, 1])
    assert A[2] == pytest.approx(formulas.softmax(S[2]))
    assert A[0, :2] == pytest.approx(formulas.softmax(S[0, [0, 1, 3]])[:2])


def test_attention_is_a_weighted_sum():
    A = formulas.softmax(Q @ K.T / np.sqrt(5))
    Z = [sum(A[i, j] * V[j] for j in range(4)) for i in range(3)]
    assert formulas.attention(Q, K, V) == pytest.approx(np.array(Z))


def test_the_running_example_can_be_done_with_a_pencil():
    Q, K = (
        formulas.project(running_example.X, W) for W in (running_example.W_Q, running_example.W_K)
    )
    scaled = formulas.scaled_scores(Q, K)
    assert np.array_equal(np.sort(scaled, axis=1), [[0, 1, 2]] * 3)


# --- §1 recurrence ------------------------------------------------------------------------


def recurrence() -> tuple[np.ndarray, ...]:
    """X (4, 3), h_0 (2,), W_x (3, 2), W_h (2, 2), b (2,)."""
    draw = np.random.default_rng(1).standard_normal
    return draw((4, 3)), draw(2), draw((3, 2)), draw((2, 2)), draw(2)


def test_rnn_states_are_torchs():
    X, h_0, W_x, W_h, b = (torch.from_numpy(array) for array in recurrence())
    rnn = torch.nn.RNN(3, 2, bias=True).double()
    with torch.no_grad():
        for parameter, value in zip(rnn.parameters(), (W_x.T, W_h.T, b, 0 * b), strict=True):
            parameter.copy_(value)
        expected, _ = rnn(X, h_0[None])
    states = formulas.rnn_states(*recurrence())
    assert np.array_equal(states[0], h_0)
    assert states[1:] == pytest.approx(expected.numpy())


def test_rnn_chain_is_the_derivative():
    X, h_0, *weights = recurrence()
    J = formulas.rnn_chain(formulas.rnn_states(X, h_0, *weights), weights[1])
    for i in range(2):
        step = 1e-6 * np.eye(2)[i]
        ends = [formulas.rnn_states(X, h_0 + s * step, *weights)[-1] for s in (1, -1)]
        assert J[:, i] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-8)


# --- §3 embedding and position ------------------------------------------------------------


def test_embedding_looks_rows_up():
    W_E, ids = rng.standard_normal((7, 4)), np.array([3, 0, 3])
    assert np.array_equal(formulas.embedding(ids, W_E), W_E[ids])
    assert np.array_equal(formulas.embedding(ids, W_E)[0], W_E.T @ formulas.one_hot(ids, 7)[0])
    assert formulas.scaled_embedding(ids, W_E) == pytest.approx(2 * W_E[ids])


@pytest.mark.parametrize("d_model", [1, 5, 6])
def test_positional_encoding(d_model):
    PE = formulas.positional_encoding(9, d_model)
    for pos in range(9):
        for column in range(d_model):
            wave = math.cos if column % 2 else math.sin
            angle = pos / 10000 ** ((column - column % 2) / d_model)
            assert PE[pos, column] == pytest.approx(wave(angle))
    assert formulas.model_input(np.ones((9, d_model))) == pytest.approx(1 + PE)


@pytest.mark.parametrize("k", [-2, 0, 3])
def test_shift_matrix_turns_each_position_into_a_later_one(k):
    PE, M = formulas.positional_encoding(9, 6), formulas.shift_matrix(k, 6)
    for pos in range(2, 6):
        assert M @ PE[pos] == pytest.approx(PE[pos + k])
    assert np.allclose(M @ M.T, np.eye(6))  # a rotation


# --- §5 multi-head attention --------------------------------------------------------------


def test_multi_head_is_each_head_times_its_rows_of_W_O():
    X, context = rng.standard_normal((3, 6)), rng.standard_normal((4, 6))
    W_Q, W_K, W_V = (list(rng.standard_normal((2, 6, d))) for d in (5, 5, 3))
    W_O = rng.standard_normal((6, 6))
    expected = sum(
        formulas.attention(X @ W_Q[i], context @ W_K[i], context @ W_V[i])
        @ W_O[3 * i : 3 * (i + 1)]
        for i in range(2)
    )
    assert formulas.multi_head(X, context, W_Q, W_K, W_V, W_O) == pytest.approx(expected)


# --- §6 feed-forward network --------------------------------------------------------------


def test_activations():
    z = np.array([-800.0, -1.0, 0.0, 1.0, 800.0])
    assert np.array_equal(formulas.relu(z), [0, 0, 0, 1, 800])
    assert formulas.gelu(z) == pytest.approx([0, -0.15865525393145707, 0, 0.8413447460685429, 800])
    assert formulas.silu(z) == pytest.approx([0, -1 / (1 + math.e), 0, math.e / (1 + math.e), 800])


@pytest.mark.parametrize("activation", [formulas.relu, formulas.gelu])
def test_feed_forward_treats_each_position_alone(activation):
    X, W_1, b_1 = (rng.standard_normal(shape) for shape in ((3, 4), (4, 5), 5))
    W_2, b_2 = rng.standard_normal((5, 4)), rng.standard_normal(4)
    Y = formulas.feed_forward(X, W_1, b_1, W_2, b_2, activation)
    for x, y in zip(X, Y, strict=True):
        hidden = [activation(np.array([x @ W_1[:, m] + b_1[m]])) for m in range(5)]
        assert y == pytest.approx(sum(hidden[m] * W_2[m] for m in range(5)) + b_2)


def test_swiglu_is_a_gate():
    X, W_1, W_3, W_2 = (rng.standard_normal(shape) for shape in ((3, 4), (4, 5), (4, 5), (5, 4)))
    gate = X @ W_1 / (1 + np.exp(-(X @ W_1)))
    assert formulas.swiglu(X, W_1, W_2, W_3) == pytest.approx((gate * (X @ W_3)) @ W_2)


# --- §7 norm and residual -----------------------------------------------------------------


@pytest.mark.parametrize("eps", [1e-5, 0.1])
def test_layer_norm_and_rms_norm(eps):
    X, gamma, beta = rng.standard_normal((3, 4)), rng.standard_normal(4), rng.standard_normal(4)
    for x, y, r in zip(
        X, formulas.layer_norm(X, gamma, beta, eps), formulas.rms_norm(X, gamma, eps), strict=True
    ):
        mean = sum(x) / 4
        variance = sum((x - mean) ** 2) / 4
        assert y == pytest.approx((x - mean) / math.sqrt(variance + eps) * gamma + beta)
        assert r == pytest.approx(x / math.sqrt(sum(x**2) / 4 + eps) * gamma)


def test_where_the_norm_stands():
    X = np.array([[1.0, 2.0]])
    assert np.array_equal(formulas.post_norm(X, lambda x: 2 * x, lambda x: x + 1), 3 * X + 1)
    assert np.array_equal(formulas.pre_norm(X, lambda x: 2 * x, lambda x: x + 1), 3 * X + 2)


# --- §8 decoder ---------------------------------------------------------------------------


def test_the_causal_mask_hides_the_future():
    assert formulas.causal_mask(3, 3).tolist() == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]
    assert np.array_equal(formulas.causal_mask(2, 5), formulas.causal_mask(5, 5)[-2:])


def test_the_additive_mask_is_infinite_so_that_no_score_outweighs_it():
    mask = formulas.causal_mask(3, 3)
    M = formulas.additive_mask(mask)
    assert (M[mask] == 0).all() and (M[~mask] == -np.inf).all()


def test_masked_attention_is_what_the_additive_mask_gives():
    mask = formulas.causal_mask(3, 4)
    A = formulas.softmax((Q @ K.T + formulas.additive_mask(mask)) / np.sqrt(5))
    assert formulas.masked_attention(Q, K, V, mask) == pytest.approx(A @ V)


def test_cross_attention_asks_with_the_decoder_and_answers_with_the_encoder():
    X_dec, X_enc = rng.standard_normal((3, 6)), rng.standard_normal((4, 6))
    W_Q, W_K, W_V = (rng.standard_normal((6, d)) for d in (5, 5, 2))
    A = formulas.softmax(X_dec @ W_Q @ (X_enc @ W_K).T / np.sqrt(5))
    expected = A @ (X_enc @ W_V)
    assert formulas.cross_attention(X_dec, X_enc, W_Q, W_K, W_V) == pytest.approx(expected)


# --- §9 flash attention -------------------------------------------------------------------


def test_attention_flops_are_two_products():
    assert formulas.attention_flops(3, 4, 5, 2) == 2 * 3 * 4 * 5 + 2 * 3 * 4 * 2


def test_moved_numbers():
    assert formulas.moved_by_tiles(10, 2, 36) == 2 * 10 * 2 + 2 * 4 * 10 * 2  # 4 blocks of 3
    assert formulas.moved_step_by_step(10, 2, 36) == 400 + formulas.moved_by_tiles(10, 2, 36)


@pytest.mark.parametrize("size", [1, 1000])
def test_log_sum_exp(size):
    S = size * rng.standard_normal((3, 4))
    assert formulas.log_sum_exp(S) == pytest.approx(np.logaddexp.reduce(S, axis=1)[:, None])


def test_states_of_parts_merge_to_that_of_the_whole():
    S = 100 * rng.standard_normal((3, 4))
    first, second = (
        formulas.softmax_state(S[:, part], V[part]) for part in np.split(range(4), [1])
    )
    for merged, whole in zip(
        formulas.merge_states(first, second), formulas.softmax_state(S, V), strict=True
    ):
        assert merged == pytest.approx(whole)
    _, total, o = formulas.merge_states(second, first)
    assert o / total == pytest.approx(formulas.softmax(S) @ V)


def test_attention_gradients_are_torchs():
    d_output = rng.standard_normal((3, 2))
    tensors = [torch.tensor(x, requires_grad=True) for x in (Q, K, V)]
    q, k, v = tensors
    ((q @ k.T / math.sqrt(5)).softmax(-1) @ v).backward(torch.tensor(d_output))
    for gradient, tensor in zip(
        formulas.attention_gradients(Q, K, V, d_output), tensors, strict=True
    ):
        assert gradient == pytest.approx(tensor.grad.numpy())


def test_row_term_is_the_weighted_mean_of_the_weights_gradients():
    d_output = rng.standard_normal((3, 2))
    A = formulas.softmax(formulas.scaled_scores(Q, K))
    mean = (A * (d_output @ V.T)).sum(axis=1, keepdims=True)
    assert formulas.row_term(d_output, A @ V) == pytest.approx(mean)


def test_sliding_window_mask():
    assert formulas.sliding_window_mask(3, 2).tolist() == [
        [True, False, False],
        [True, True, False],
        [False, True, True],
    ]


def linear_weights(Q: np.ndarray, K: np.ndarray) -> np.ndarray:
    return formulas.feature_map(Q) @ formulas.feature_map(K).T


def test_feature_map_is_elu_plus_one():
    x = 1000 * rng.standard_normal((3, 4))
    elu = torch.nn.functional.elu(torch.tensor(x))
    assert formulas.feature_map(x) == pytest.approx(elu.numpy() + 1)


def test_linear_attention():
    A = linear_weights(Q, K)
    expected = A / A.sum(axis=1, keepdims=True) @ V
    assert formulas.linear_attention(Q, K, V) == pytest.approx(expected)


def test_causal_linear_attention():
    A = np.tril(linear_weights(K[:, ::-1], K))
    expected = A / A.sum(axis=1, keepdims=True) @ V
    assert formulas.causal_linear_attention(K[:, ::-1], K, V) == pytest.approx(expected)


# --- §10 training -------------------------------------------------------------------------


def test_log_softmax_survives_what_the_softmax_rounds_to_zero():
    S = np.array([0.0, 1.0, 2000.0])
    assert formulas.log_softmax(S) == pytest.approx([-2000, -1999, 0])
    assert formulas.log_softmax(S[:2]) == pytest.approx(np.log(formulas.softmax(S[:2])))


def test_smoothed_targets_are_probabilities():
    p = formulas.smoothed_targets(np.array([2, 0]), V=5, smoothing=0.4)
    assert p == pytest.approx(np.array([[0.1, 0.1, 0.6, 0.1, 0.1], [0.6, 0.1, 0.1, 0.1, 0.1]]))


def test_label_smoothing_loss_counts_real_tokens_only():
    logits, targets = rng.standard_normal((3, 5)), np.array([2, 0, 4])
    log_p = np.log(formulas.softmax(logits))
    plain = formulas.label_smoothing_loss(logits, targets, 0.0, pad_id=0)
    assert plain == pytest.approx(-(log_p[0, 2] + log_p[2, 4]) / 2)
    smooth = formulas.label_smoothing_loss(logits[:1], targets[:1], 0.4, pad_id=0)
    assert smooth == pytest.approx(-(0.6 * log_p[0, 2] + 0.1 * log_p[0, [0, 1, 3, 4]].sum()))
    assert formulas.label_smoothing_loss(logits[1:2], targets[1:2], 0.4, pad_id=0) == 0


def test_the_learning_rate_rises_to_the_end_of_the_warm_up_then_falls():
    rates = [formulas.learning_rate(step, 512, warmup=4000) for step in (1, 4000, 16000)]
    assert rates == pytest.approx([1.7469e-7, 6.9877e-4, 3.4939e-4], rel=1e-4)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_the_loss_that_trains_equals_the_formula(smoothing):
    logits, targets = rng.standard_normal((2, 3, 5)), np.array([[2, 0, 4], [1, 0, 0]])
    loss = training.label_smoothing_loss(*map(torch.as_tensor, (logits, targets)), smoothing, 0)
    rows = logits.reshape(-1, 5), targets.reshape(-1)
    expected = formulas.label_smoothing_loss(*rows, smoothing, pad_id=0)
    assert loss.item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("step", [1, 3999, 4000, 100_000])
def test_the_schedule_that_trains_equals_the_formula(step):
    rates = [f(step, 512, 4000) for f in (training.noam_learning_rate, formulas.learning_rate)]
    assert rates[0] == pytest.approx(rates[1], rel=1e-12)


@pytest.mark.parametrize("step", [1, 99, 100, 101, 450, 800])
def test_the_cosine_schedule_that_trains_equals_the_formula(step):
    functions = (training.cosine_learning_rate, formulas.cosine_learning_rate)
    rates = [f(step, peak=8e-3, warmup=100, steps=800) for f in functions]
    assert rates[0] == pytest.approx(rates[1], rel=1e-12, abs=1e-18)


# --- §13 real weights ---------------------------------------------------------------------


def test_rope_is_a_complex_product():
    """Each pair is a complex number, turning it a product with e^(i · pos · ω)."""
    X, positions = rng.standard_normal((4, 6)), np.array([0, 1, 7, 7])
    turns = np.exp(1j * positions[:, None] * np.array([1, 50 ** (-1 / 3), 50 ** (-2 / 3)]))
    Z = (X[:, 0::2] + 1j * X[:, 1::2]) * turns
    turned = formulas.rope(X, positions, base=50.0)
    assert turned[:, 0::2] == pytest.approx(Z.real) and turned[:, 1::2] == pytest.approx(Z.imag)
    assert turned[0] == pytest.approx(X[0])
    assert np.linalg.norm(turned, axis=1) == pytest.approx(np.linalg.norm(X, axis=1))


@pytest.mark.parametrize("shift", [-3, 1, 100])
def test_after_rope_only_the_distance_counts(shift):
    Q, K = rng.standard_normal((3, 8)), rng.standard_normal((3, 8))
    at_q, at_k = np.array([5, 9, 6]), np.array([4, 3, 8])
    products = [
        (formulas.rope(Q, at_q + s) * formulas.rope(K, at_k + s)).sum(axis=1) for s in (0, shift)
    ]
    assert products[0] == pytest.approx(products[1])
    assert products[0] != pytest.approx((Q * K).sum(axis=1))


def test_grouped_queries_are_heads_that_share_keys_and_values():
    Q, K, V = (rng.standard_normal(shape) for shape in ((6, 3, 5), (2, 4, 5), (2, 4, 7)))
    output = formulas.grouped_query_attention(Q, K, V)
    assert output == pytest.approx(
        formulas.attention(Q, K[[0, 0, 0, 1, 1, 1]], V[[0, 0, 0, 1, 1, 1]])
    )
    assert formulas.grouped_query_attention(K, K, V) == pytest.approx(formulas.attention(K, K, V))
