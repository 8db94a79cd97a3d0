"""The executable specification: every numbered equation as a NumPy function.

Float64 arrays, the article's symbols, no batches except where ``...`` says so, no
checks, no speed. The PyTorch code in this library is tested equal to these lines.
Tokens are rows: ``X @ W``. Each docstring names its equation by the label it has in the book.
The order is the article's: §1 recurrence, §3 embedding and position, §4 attention, §5 heads,
§6 feed-forward, §7 norm and residual, §8 decoder, §9 flash attention, §10 training, and then
what came after the article: §13 real weights.
"""

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float, Int

Array = np.ndarray

# --- §1 recurrence ------------------------------------------------------------------------


def rnn_step(
    x: Float[Array, "d_in"],
    h: Float[Array, "d_h"],
    W_x: Float[Array, "d_in d_h"],
    W_h: Float[Array, "d_h d_h"],
    b: Float[Array, "d_h"],
) -> Float[Array, "d_h"]:
    """h_t = tanh(x_t W_x + h_{t−1} W_h + b) (eq-rnn-step; Elman 1990)."""
    return np.tanh(x @ W_x + h @ W_h + b)


def rnn_states(
    X: Float[Array, "n d_in"],
    h_0: Float[Array, "d_h"],
    W_x: Float[Array, "d_in d_h"],
    W_h: Float[Array, "d_h d_h"],
    b: Float[Array, "d_h"],
) -> Float[Array, "n_plus_1 d_h"]:
    """h_0, h_1, …, h_n as rows: one eq-rnn-step for each token, in order."""
    states = [h_0]
    for x in X:
        states.append(rnn_step(x, states[-1], W_x, W_h, b))
    return np.array(states)


def rnn_jacobian(h_t: Float[Array, "d_h"], W_h: Float[Array, "d_h d_h"]) -> Float[Array, "d_h d_h"]:
    """∂h_t/∂h_{t−1} = diag(1 − h_t²) W_hᵀ, from the new state alone (eq-rnn-jacobian)."""
    return np.diag(1 - h_t**2) @ W_h.T


def rnn_chain(
    states: Float[Array, "n_plus_1 d_h"], W_h: Float[Array, "d_h d_h"]
) -> Float[Array, "d_h d_h"]:
    """∂h_n/∂h_0 = J_n ⋯ J_2 J_1, with J_t of eq-rnn-jacobian (eq-rnn-chain)."""
    J = np.eye(len(W_h))
    for h_t in states[1:]:
        J = rnn_jacobian(h_t, W_h) @ J
    return J


# --- §3 embedding and position ------------------------------------------------------------


def one_hot(ids: Int[Array, "n"], V: int) -> Float[Array, "n {V}"]:
    """Row i is 1 at the token's id and 0 elsewhere (eq-one-hot)."""
    return np.eye(V)[ids]


def embedding(ids: Int[Array, "n"], W_E: Float[Array, "V d_model"]) -> Float[Array, "n d_model"]:
    """x_i = W_Eᵀ one_hot(w_i); as rows, X = one_hot(w) W_E (eq-embedding)."""
    return one_hot(ids, len(W_E)) @ W_E


def scaled_embedding(
    ids: Int[Array, "n"], W_E: Float[Array, "V d_model"]
) -> Float[Array, "n d_model"]:
    """√d_model · X (eq-scaled-embedding; Vaswani et al. 2017, §3.4)."""
    return np.sqrt(W_E.shape[1]) * embedding(ids, W_E)


def angular_frequency(
    i: int | Int[Array, "..."], d_model: int, base: float = 10_000.0
) -> float | Float[Array, "..."]:
    """ω_i = 1 / 10000^(2i / d_model), of the i-th sine and cosine (eq-frequency)."""
    return 1 / base ** (2 * i / d_model)


def positional_encoding(n: int, d_model: int) -> Float[Array, "{n} {d_model}"]:
    """PE(pos, 2i) = sin(pos ω_i), PE(pos, 2i+1) = cos(pos ω_i) (eq-positional-encoding)."""
    pos, column = np.arange(n)[:, None], np.arange(d_model)
    angle = pos * angular_frequency(column // 2, d_model)
    return np.where(column % 2 == 0, np.sin(angle), np.cos(angle))


def shift_matrix(k: int, d_model: int) -> Float[Array, "{d_model} {d_model}"]:
    """M_k with PE(pos + k) = M_k PE(pos): a rotation by k ω_i in each pair (eq-shift)."""
    M = np.zeros((d_model, d_model))
    for i in range(d_model // 2):
        angle = k * angular_frequency(i, d_model)
        cos, sin = np.cos(angle), np.sin(angle)
        M[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[cos, sin], [-sin, cos]]
    return M


def model_input(X: Float[Array, "n d_model"]) -> Float[Array, "n d_model"]:
    """X_input = X + PE (eq-input)."""
    return X + positional_encoding(*X.shape)


# --- §4 self-attention --------------------------------------------------------------------


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


def log_softmax(S: Float[Array, "*shape"], axis: int = -1) -> Float[Array, "*shape"]:
    """s_j − ln Σ_m exp(s_m), finite even where the softmax rounds to 0 (eq-log-softmax)."""
    S = S - S.max(axis=axis, keepdims=True)
    return S - np.log(np.exp(S).sum(axis=axis, keepdims=True))


def softmax_jacobian(p: Float[Array, "n"]) -> Float[Array, "n n"]:
    """∂p_i/∂s_j = p_i (δ_ij − p_j), from the probabilities alone (eq-softmax-jacobian)."""
    return np.diag(p) - np.outer(p, p)


def attention(
    Q: Float[Array, "... n_q d_k"],
    K: Float[Array, "... n_k d_k"],
    V: Float[Array, "... n_k d_v"],
) -> Float[Array, "... n_q d_v"]:
    """softmax(Q Kᵀ / √d_k) V (eq-attention; Vaswani et al. 2017, eq. 1)."""
    return softmax(scaled_scores(Q, K)) @ V


# --- §5 multi-head attention --------------------------------------------------------------


def head(
    X: Float[Array, "n_q d_model"],
    context: Float[Array, "n_k d_model"],
    W_Q: Float[Array, "d_model d_k"],
    W_K: Float[Array, "d_model d_k"],
    W_V: Float[Array, "d_model d_v"],
) -> Float[Array, "n_q d_v"]:
    """head_i = Attention(X W_Q,i, X W_K,i, X W_V,i), where context is X itself (eq-head)."""
    return attention(project(X, W_Q), project(context, W_K), project(context, W_V))


def concat(heads: list[Float[Array, "n d_v"]]) -> Float[Array, "n d_concat"]:
    """Concat(head_1, …, head_h): side by side (eq-concat)."""
    return np.concatenate(heads, axis=-1)


def multi_head(
    X: Float[Array, "n_q d_model"],
    context: Float[Array, "n_k d_model"],
    W_Q: list[Float[Array, "d_model d_k"]],
    W_K: list[Float[Array, "d_model d_k"]],
    W_V: list[Float[Array, "d_model d_v"]],
    W_O: Float[Array, "d_concat d_model"],
) -> Float[Array, "n_q d_model"]:
    """Concat(head_1, …, head_h) W_O, each head with matrices of its own (eq-multi-head)."""
    heads = [head(X, context, *matrices) for matrices in zip(W_Q, W_K, W_V, strict=True)]
    return concat(heads) @ W_O


# --- §6 feed-forward network --------------------------------------------------------------


def relu(z: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """max(0, z) (eq-relu)."""
    return np.maximum(0, z)


def gelu(z: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """z Φ(z), Φ the normal distribution, exactly (eq-gelu; Hendrycks & Gimpel 2016)."""
    return z * (1 + np.vectorize(math.erf, otypes=[float])(z / np.sqrt(2))) / 2


def silu(z: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """z σ(z), σ the logistic function, written so that exp never overflows (eq-silu)."""
    return z * (1 + np.tanh(z / 2)) / 2


def feed_forward(
    X: Float[Array, "n d_model"],
    W_1: Float[Array, "d_model d_ff"],
    b_1: Float[Array, "d_ff"],
    W_2: Float[Array, "d_ff d_model"],
    b_2: Float[Array, "d_model"],
    activation: Callable[[Array], Array] = relu,
) -> Float[Array, "n d_model"]:
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2 (eq-ffn; Vaswani et al. 2017, eq. 2)."""
    return activation(X @ W_1 + b_1) @ W_2 + b_2


def swiglu(
    X: Float[Array, "n d_model"],
    W_1: Float[Array, "d_model d_ff"],
    W_2: Float[Array, "d_ff d_model"],
    W_3: Float[Array, "d_model d_ff"],
) -> Float[Array, "n d_model"]:
    """(SiLU(x W_1) ⊙ x W_3) W_2 (eq-swiglu; Shazeer 2020, eq. 6)."""
    return (silu(X @ W_1) * (X @ W_3)) @ W_2


# --- §7 norm and residual -----------------------------------------------------------------


def layer_norm(
    X: Float[Array, "... d_model"],
    gamma: Float[Array, "d_model"],
    beta: Float[Array, "d_model"],
    eps: float,
) -> Float[Array, "... d_model"]:
    """(x − μ) / √(σ² + ε) ⊙ γ + β, σ² divided by d_model, not d_model − 1 (eq-layer-norm)."""
    mean = X.mean(axis=-1, keepdims=True)
    variance = ((X - mean) ** 2).mean(axis=-1, keepdims=True)
    return (X - mean) / np.sqrt(variance + eps) * gamma + beta


def rms_norm(
    X: Float[Array, "... d_model"], gamma: Float[Array, "d_model"], eps: float
) -> Float[Array, "... d_model"]:
    """x / √(mean(x²) + ε) ⊙ γ (eq-rms-norm; Zhang & Sennrich 2019, eq. 4)."""
    return X / np.sqrt((X**2).mean(axis=-1, keepdims=True) + eps) * gamma


def post_norm(
    X: Float[Array, "n d_model"],
    sublayer: Callable[[Array], Array],
    norm: Callable[[Array], Array],
) -> Float[Array, "n d_model"]:
    """Norm(x + Sublayer(x)), as in the paper (eq-post-norm)."""
    return norm(X + sublayer(X))


def pre_norm(
    X: Float[Array, "n d_model"],
    sublayer: Callable[[Array], Array],
    norm: Callable[[Array], Array],
) -> Float[Array, "n d_model"]:
    """x + Sublayer(Norm(x)) (eq-pre-norm; Xiong et al. 2020)."""
    return X + sublayer(norm(X))


# --- §8 decoder ---------------------------------------------------------------------------


def causal_mask(n_q: int, n_k: int) -> Bool[Array, "{n_q} {n_k}"]:
    """May query i see key j? j ≤ i, the queries being the last n_q positions (eq-causal-mask)."""
    i, j = np.arange(n_k - n_q, n_k)[:, None], np.arange(n_k)
    return j <= i


def additive_mask(mask: Bool[Array, "n_q n_k"]) -> Float[Array, "n_q n_k"]:
    """M_ij = 0 where i may see j, else −∞ (eq-additive-mask)."""
    return np.where(mask, 0.0, -np.inf)


def masked_softmax(
    S: Float[Array, "... n_q n_k"], mask: Bool[Array, "... n_q n_k"]
) -> Float[Array, "... n_q n_k"]:
    """Softmax over the allowed keys of each row; a row that allows none is 0 (eq-masked)."""
    top = np.where(mask, S, -np.inf).max(axis=-1, keepdims=True, initial=-np.inf)
    E = np.where(mask, np.exp(np.where(mask, S - np.where(np.isinf(top), 0, top), 0)), 0)
    total = E.sum(axis=-1, keepdims=True)
    return np.divide(E, total, out=np.zeros_like(E), where=total > 0)


def masked_attention(
    Q: Float[Array, "... n_q d_k"],
    K: Float[Array, "... n_k d_k"],
    V: Float[Array, "... n_k d_v"],
    mask: Bool[Array, "... n_q n_k"],
) -> Float[Array, "... n_q d_v"]:
    """softmax((Q Kᵀ + M) / √d_k) V (eq-masked-attention), with a Boolean mask in place of M."""
    return masked_softmax(scaled_scores(Q, K), mask) @ V


def cross_attention(
    X_dec: Float[Array, "n_q d_model"],
    X_enc: Float[Array, "n_k d_model"],
    W_Q: Float[Array, "d_model d_k"],
    W_K: Float[Array, "d_model d_k"],
    W_V: Float[Array, "d_model d_v"],
) -> Float[Array, "n_q d_v"]:
    """Q = X_dec W_Q, but K = X_enc W_K and V = X_enc W_V (eq-cross-attention)."""
    return head(X_dec, X_enc, W_Q, W_K, W_V)


# --- §9 flash attention -------------------------------------------------------------------


def attention_flops(n_q: int, n_k: int, d_k: int, d_v: int) -> int:
    """2 n_q n_k (d_k + d_v): the multiplications and additions in Q Kᵀ and A V (eq-flops)."""
    return 2 * n_q * n_k * (d_k + d_v)


def moved_by_tiles(n: int, d: int, M: int) -> int:
    """2nd + 2⌈n/B⌉nd numbers, B = ⌊M / 4(d+1)⌋, fast memory for M (eq-moved-tiled)."""
    B = M // (4 * (d + 1))
    return 2 * n * d + 2 * -(-n // B) * n * d


def moved_step_by_step(n: int, d: int, M: int) -> int:
    """4 n² more: the scores and the weights, each written and read (eq-moved-plain)."""
    return 4 * n**2 + moved_by_tiles(n, d, M)


def log_sum_exp(S: Float[Array, "... n_k"]) -> Float[Array, "... 1"]:
    """ln Σ_j exp(s_j), the logarithm of the softmax's denominator (eq-log-sum-exp)."""
    m = S.max(axis=-1, keepdims=True)
    return m + np.log(np.exp(S - m).sum(axis=-1, keepdims=True))


def softmax_state(
    S: Float[Array, "... n_k"], V: Float[Array, "n_k d_v"]
) -> tuple[Float[Array, "... 1"], Float[Array, "... 1"], Float[Array, "... d_v"]]:
    """m = max s_j, ℓ = Σ exp(s_j − m), o = Σ exp(s_j − m) v_j; the output is o / ℓ (eq-state)."""
    m = S.max(axis=-1, keepdims=True)
    E = np.exp(S - m)
    return m, E.sum(axis=-1, keepdims=True), E @ V


def merge_states(
    first: tuple[Array, Array, Array], second: tuple[Array, Array, Array]
) -> tuple[Array, Array, Array]:
    """The state over both: each is brought to the common maximum, then added (eq-merge)."""
    m = np.maximum(first[0], second[0])
    a, b = np.exp(first[0] - m), np.exp(second[0] - m)
    return m, a * first[1] + b * second[1], a * first[2] + b * second[2]


def row_term(
    d_output: Float[Array, "n_q d_v"], output: Float[Array, "n_q d_v"]
) -> Float[Array, "n_q 1"]:
    """D = rowsum(dO ⊙ O), one number for each query (eq-row-term; Dao et al. 2022, appendix B)."""
    return (d_output * output).sum(axis=-1, keepdims=True)


def attention_gradients(
    Q: Float[Array, "n_q d_k"],
    K: Float[Array, "n_k d_k"],
    V: Float[Array, "n_k d_v"],
    d_output: Float[Array, "n_q d_v"],
) -> tuple[Float[Array, "n_q d_k"], Float[Array, "n_k d_k"], Float[Array, "n_k d_v"]]:
    """dQ = dS K / √d_k, dK = dSᵀ Q / √d_k, dV = Pᵀ dO (eq-gradients)."""
    P = softmax(scaled_scores(Q, K))
    dS = P * (d_output @ V.T - row_term(d_output, P @ V)) / np.sqrt(Q.shape[-1])
    return dS @ K, dS.T @ Q, P.T @ d_output


def sliding_window_mask(n: int, window: int) -> Bool[Array, "{n} {n}"]:
    """0 ≤ i − j < w: a token sees itself and the w − 1 before it (eq-window)."""
    i, j = np.arange(n)[:, None], np.arange(n)
    return (j <= i) & (i - j < window)


def feature_map(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """φ(x) = elu(x) + 1: x + 1 where x > 0, else eˣ (eq-feature-map; Katharopoulos et al. 2020)."""
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))


def linear_attention(
    Q: Float[Array, "n_q d_k"], K: Float[Array, "n_k d_k"], V: Float[Array, "n_k d_v"]
) -> Float[Array, "n_q d_v"]:
    """φ(Q) (φ(K)ᵀ V), divided row by row by φ(Q) Σ_j φ(k_j) (eq-linear-order)."""
    phi_Q, phi_K = feature_map(Q), feature_map(K)
    return phi_Q @ (phi_K.T @ V) / (phi_Q @ phi_K.sum(axis=0))[:, None]


def causal_linear_attention(
    Q: Float[Array, "n d_k"], K: Float[Array, "n d_k"], V: Float[Array, "n d_v"]
) -> Float[Array, "n d_v"]:
    """The same over j ≤ i: H_i = H_{i−1} + φ(k_i)ᵀ v_i, z_i = z_{i−1} + φ(k_i) (eq-recurrence)."""
    H, z = np.zeros((K.shape[1], V.shape[1])), np.zeros(K.shape[1])
    rows = []
    for q, k, v in zip(feature_map(Q), feature_map(K), V, strict=True):
        H, z = H + np.outer(k, v), z + k
        rows.append(q @ H / (q @ z))
    return np.array(rows)


# --- §10 training -------------------------------------------------------------------------


def smoothed_targets(targets: Int[Array, "n"], V: int, smoothing: float) -> Float[Array, "n {V}"]:
    """1 − ε on the true token, ε shared evenly by the V − 1 others (eq-label-smoothing)."""
    p = np.full((len(targets), V), smoothing / (V - 1))
    p[np.arange(len(targets)), targets] = 1 - smoothing
    return p


def label_smoothing_loss(
    logits: Float[Array, "n V"], targets: Int[Array, "n"], smoothing: float, pad_id: int
) -> float:
    """−Σ_v p(v) ln softmax(logits)_v, the mean over real tokens, 0 if there is none (eq-loss)."""
    p = smoothed_targets(targets, logits.shape[1], smoothing)
    losses = -(p * log_softmax(logits)).sum(axis=-1)
    real = targets != pad_id
    return float(losses[real].sum() / max(real.sum(), 1))


def learning_rate(step: int, d_model: int, warmup: int) -> float:
    """d_model^−½ · min(step^−½, step · warmup^−3/2) (eq-schedule; Vaswani et al. 2017, eq. 3)."""
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


# --- §11 a translator ---------------------------------------------------------------------


def cosine_learning_rate(step: int, peak: float, warmup: int, steps: int) -> float:
    """peak · min(t / w, ½ (1 + cos(π max(t − w, 0) / (T − w)))) (eq-cosine-schedule)."""
    way = max(step - warmup, 0) / (steps - warmup)
    return peak * min(step / warmup, 0.5 * (1 + np.cos(np.pi * way)))


# --- §13 real weights ---------------------------------------------------------------------


def rope(
    X: Float[Array, "n d"], positions: Int[Array, "n"], base: float = 10_000.0
) -> Float[Array, "n d"]:
    """Each pair (x_2i, x_2i+1) turned by the angle pos ω_i (eq-rope; Su et al. 2021, eq. 34)."""
    d = X.shape[1]
    angle = np.outer(positions, angular_frequency(np.arange(d // 2), d, base))
    cos, sin = np.cos(angle), np.sin(angle)
    even, odd = X[:, 0::2], X[:, 1::2]
    return np.stack([even * cos - odd * sin, even * sin + odd * cos], axis=-1).reshape(X.shape)


def grouped_query_attention(
    Q: Float[Array, "h n_q d_k"], K: Float[Array, "h_kv n_k d_k"], V: Float[Array, "h_kv n_k d_v"]
) -> Float[Array, "h n_q d_v"]:
    """Query head i reads key/value head ⌊i · h_kv / h⌋ (eq-grouped; Ainslie et al. 2023, §2.2)."""
    group = len(Q) // len(K)  # query heads that share a key/value head
    return np.array([attention(Q[i], K[i // group], V[i // group]) for i in range(len(Q))])
