"""The executable specification: every numbered equation as a NumPy function.

Float64 arrays, the article's symbols, no batches except where ``...`` says so, no
checks, no speed. The PyTorch code in this library is tested equal to these lines.
Tokens are rows: ``X @ W``. Each docstring names its equation by the label it has in the book.
"""

import numpy as np
from jaxtyping import Bool, Float

Array = np.ndarray


def project(X: Float[Array, "n d_model"], W: Float[Array, "d_model d"]) -> Float[Array, "n d"]:
    """Q = X W_Q, K = X W_K, V = X W_V (eq-qkv)."""
    return X @ W


def scores(
    Q: Float[Array, "... n_q d_k"], K: Float[Array, "... n_k d_k"]
) -> Float[Array, "... n_q n_k"]:
    """S = Q Kᵀ: s_ij is the dot product of query i and key j (eq-scores)."""
    return Q @ np.swapaxes(K, -2, -1)


def scaled_scores(
    Q: Float[Array, "... n_q d_k"], K: Float[Array, "... n_k d_k"]
) -> Float[Array, "... n_q n_k"]:
    """Q Kᵀ / √d_k (eq-scaled-scores; Vaswani et al. 2017, eq. 1)."""
    return scores(Q, K) / np.sqrt(Q.shape[-1])


def softmax(S: Float[Array, "*shape"], axis: int = -1) -> Float[Array, "*shape"]:
    """exp(s_j) / Σ_m exp(s_m); the maximum is taken out, so exp never overflows (eq-softmax)."""
    E = np.exp(S - S.max(axis=axis, keepdims=True))
    return E / E.sum(axis=axis, keepdims=True)


def softmax_jacobian(p: Float[Array, "n"]) -> Float[Array, "n n"]:
    """∂p_i/∂s_j = p_i (δ_ij − p_j), from the probabilities alone (eq-softmax-jacobian)."""
    return np.diag(p) - np.outer(p, p)


def masked_softmax(
    S: Float[Array, "... n_q n_k"], mask: Bool[Array, "... n_q n_k"]
) -> Float[Array, "... n_q n_k"]:
    """Softmax over the allowed keys of each row; a row that allows none is 0 (eq-masked)."""
    top = np.where(mask, S, -np.inf).max(axis=-1, keepdims=True, initial=-np.inf)
    E = np.where(mask, np.exp(np.where(mask, S - np.where(np.isinf(top), 0, top), 0)), 0)
    total = E.sum(axis=-1, keepdims=True)
    return np.divide(E, total, out=np.zeros_like(E), where=total > 0)


def attention(
    Q: Float[Array, "... n_q d_k"],
    K: Float[Array, "... n_k d_k"],
    V: Float[Array, "... n_k d_v"],
) -> Float[Array, "... n_q d_v"]:
    """softmax(Q Kᵀ / √d_k) V (eq-attention; Vaswani et al. 2017, eq. 1)."""
    return softmax(scaled_scores(Q, K)) @ V
