"""Layer 1 against its definitions: loops and finite differences, in float64."""

import numpy as np
import pytest

from transformer_lib import formulas, running_example

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
