"""Exercise cross-attention of chapter 8: cross-attention."""

import math

import torch
import torch.nn.functional as F

from transformer_lib import attention
from transformer_lib.exercises.chapter_08.shared import SOFTMAX_TWICE
from transformer_lib.exercises.data import Case, Exercise, Text, mistakes
from transformer_lib.exercises.inputs import A_BATCH, LARGE_SCORES, ONE_SEQUENCE, normal


def _attend(q, k, v):
    return (q @ k.mT / math.sqrt(q.size(-1))).softmax(-1) @ v


def cross_attention(x_dec, x_enc, W_Q, W_K, W_V):
    return _attend(x_dec @ W_Q, x_enc @ W_K, x_enc @ W_V)


def _cross_cases():
    randn = normal(84)
    W = randn(5, 3), randn(5, 3), randn(5, 7)
    return [
        Case(ONE_SEQUENCE, (randn(4, 5), randn(6, 5), *W)),
        Case(A_BATCH, (randn(2, 4, 5), randn(2, 6, 5), *W)),
        Case(
            Text("two batch dimensions", "兩個批次維度"),
            (randn(2, 3, 4, 5), randn(2, 3, 6, 5), *W),
        ),
        Case(
            Text("as many source tokens as target tokens", "來源和目標的標記一樣多"),
            (randn(4, 5), randn(4, 5), *W),
        ),
        Case(
            Text("square weight matrices", "權重矩陣是方陣"),
            (randn(4, 5), randn(6, 5), randn(5, 5), randn(5, 5), randn(5, 5)),
        ),
        Case(LARGE_SCORES, (1000 * randn(4, 5), randn(6, 5), *W)),
    ]


def _cross_variant(scale=None, masked=None, dim=-1, finish=None):
    """Cross-attention with one step exchanged."""

    def answer(x_dec, x_enc, W_Q, W_K, W_V):
        q, k, v = x_dec @ W_Q, x_enc @ W_K, x_enc @ W_V
        scores = q @ k.mT * (q.size(-1) ** -0.5 if scale is None else scale(x_dec, k, v))
        weights = (scores if masked is None else masked(scores)).softmax(dim)
        return weights @ v if finish is None else finish(weights, v)

    return answer


def _top_left_causal(scores):
    return scores.masked_fill(~torch.ones_like(scores).tril().bool(), -torch.inf)


def _bottom_right_causal(scores):
    n_q, n_k = scores.shape[-2:]
    hidden = ~torch.ones_like(scores).tril(n_k - n_q).bool()
    return scores.masked_fill(hidden, -torch.inf)


def _without_softmax(x_dec, x_enc, W_Q, W_K, W_V):
    return (x_dec @ W_Q) @ (x_enc @ W_K).mT / W_Q.size(-1) ** 0.5 @ (x_enc @ W_V)


def _with_k_transposed_by(transpose):
    def answer(x_dec, x_enc, W_Q, W_K, W_V):
        q, k, v = x_dec @ W_Q, x_enc @ W_K, x_enc @ W_V
        return (q @ transpose(k) / math.sqrt(q.size(-1))).softmax(-1) @ v

    return answer


def _over_both(x_dec, x_enc, W_Q, W_K, W_V):
    return cross_attention(x_dec, torch.cat([x_enc, x_dec], dim=-2), W_Q, W_K, W_V)


def _residual_added(x_dec, x_enc, W_Q, W_K, W_V):
    out = cross_attention(x_dec, x_enc, W_Q, W_K, W_V)
    return out + x_dec if out.shape == x_dec.shape else out


def _cross_by_torch(x_dec, x_enc, W_Q, W_K, W_V):
    return F.scaled_dot_product_attention(x_dec @ W_Q, x_enc @ W_K, x_enc @ W_V)


def _cross_by_einsum(x_dec, x_enc, W_Q, W_K, W_V):
    q, k = x_dec @ W_Q, x_enc @ W_K
    weights = torch.einsum("...qd,...kd->...qk", q / q.size(-1) ** 0.5, k).softmax(-1)
    return torch.einsum("...qk,...kv->...qv", weights, x_enc @ W_V)


MISTAKES = mistakes(
    ("roles-exchanged",
     lambda x_dec, x_enc, W_Q, W_K, W_V: cross_attention(x_enc, x_dec, W_Q, W_K, W_V),
     "the roles are exchanged: your queries come from the encoder, keys and values from the decoder. Who asks, and who answers?",
     "角色對調了：你的查詢來自編碼器，鍵和值來自解碼器。是誰在問，誰在答？"),
    ("self-attention", lambda x_dec, x_enc, W_Q, W_K, W_V: cross_attention(x_dec, x_dec, W_Q, W_K, W_V),
     "this is self-attention of the decoder: x_enc is not used.",
     "這是解碼器的自注意力：x_enc 沒有用到。"),
    ("self-attention-of-the-encoder",
     lambda x_dec, x_enc, W_Q, W_K, W_V: cross_attention(x_enc, x_enc, W_Q, W_K, W_V),
     "this is self-attention of the encoder: x_dec is not used.",
     "這是編碼器的自注意力：x_dec 沒有用到。"),
    ("keys-from-the-decoder",
     lambda x_dec, x_enc, W_Q, W_K, W_V: _attend(x_dec @ W_Q, x_dec @ W_K, x_enc @ W_V),
     "your keys come from the decoder, only the values from the encoder. It fits only where both are of the same length.",
     "你的鍵來自解碼器，只有值來自編碼器。兩邊一樣長時才對得上。"),
    ("values-from-the-decoder",
     lambda x_dec, x_enc, W_Q, W_K, W_V: _attend(x_dec @ W_Q, x_enc @ W_K, x_dec @ W_V),
     "your values come from the decoder: the source is searched, but nothing of it arrives. It fits only where both are of the same length.",
     "你的值來自解碼器：雖然是在來源裡找，卻什麼都沒拿回來。兩邊一樣長時才對得上。"),
    ("both", _over_both,
     "the decoder's own tokens stand among the keys as well. In cross-attention only the source answers.",
     "解碼器自己的標記也混進鍵裡了。交叉注意力只由來源回答。"),
    ("causal-on-the-memory", _cross_variant(masked=_top_left_causal),
     "a causal mask lies on the source: target token i sees only the first i source tokens. The source is known to its end.",
     "來源上蓋了因果遮罩：目標的第 i 個標記只看得到來源的前 i 個。來源的整句話本來就是已知的。"),
    ("causal-on-the-memory-bottom-right", _cross_variant(masked=_bottom_right_causal),
     "a causal mask (bottom right) lies on the source, and hides its last tokens from the first queries. The source is known to its end.",
     "來源上蓋了（靠右下角的）因果遮罩，前面的查詢看不到來源的最後幾個標記。來源的整句話本來就是已知的。"),
    ("not-scaled", _cross_variant(scale=lambda x, k, v: 1),
     "the scores are not scaled: the division by √d_k is missing.",
     "分數沒有縮放：少了除以 √d_k。"),
    ("divided-by-d_k", _cross_variant(scale=lambda x, k, v: 1 / k.size(-1)),
     "divided by d_k, where √d_k belongs: either without the root, or divided twice.",
     "你除的是 d_k，應該除以 √d_k：可能忘了開根號，也可能除了兩次。"),
    ("multiplied", _cross_variant(scale=lambda x, k, v: k.size(-1) ** 0.5),
     "multiplied by √d_k, where you should divide.",
     "應該除以 √d_k，你卻用乘的。"),
    ("d_model", _cross_variant(scale=lambda x, k, v: x.size(-1) ** (-0.5)),
     "divided by √d_model. The dot product adds d_k terms: take the length of a query.",
     "你除的是 √d_model。內積只加了 d_k 項：要用查詢的長度。"),
    ("d_v", _cross_variant(scale=lambda x, k, v: v.size(-1) ** (-0.5)),
     "divided by √d_v, the length of a value. The dot product is between query and key.",
     "你除的是 √d_v，也就是值的長度。內積是查詢和鍵之間的。"),
    ("number-of-keys", _cross_variant(scale=lambda x, k, v: k.size(-2) ** (-0.5)),
     "divided by the root of the number of source tokens. d_k is the length of one key.",
     "你除的是來源標記個數的平方根。d_k 是一個鍵的長度。"),
    ("over-the-queries", _cross_variant(dim=-2),
     "the softmax runs over the queries. For each query the weights on the source tokens should sum to 1.",
     "你的 softmax 沿著查詢的方向做了。應該是每個查詢對來源各標記的權重加起來等於 1。"),
    ("no-softmax", _without_softmax,
     "the softmax is missing: the scores are used as weights.",
     "少了 softmax：你直接拿分數當權重。"),
    ("weights-returned", _cross_variant(finish=lambda weights, v: weights),
     "these are the weights. The values are still to be blended with them.",
     "這是權重。還要用它們把值混合起來。"),
    ("values-not-projected",
     lambda x_dec, x_enc, W_Q, W_K, W_V: _attend(x_dec @ W_Q, x_enc @ W_K, x_enc),
     "your values are x_enc itself: W_V is not used.",
     "你的值就是 x_enc 本身：W_V 沒有用到。"),
    ("keys-not-projected", lambda x_dec, x_enc, W_Q, W_K, W_V: _attend(x_dec @ W_Q, x_enc, x_enc @ W_V),
     "your keys are x_enc itself: W_K is not used. It fits only where W_Q is square.",
     "你的鍵就是 x_enc 本身：W_K 沒有用到。W_Q 是方陣時才對得上。"),
    ("values-from-W_K",
     lambda x_dec, x_enc, W_Q, W_K, W_V: cross_attention(x_dec, x_enc, W_Q, W_K, W_K),
     "your values are made with W_K; W_V is not used.",
     "你的值用了 W_K，W_V 沒有用到。"),
    ("scaled-after-softmax",
     lambda x_dec, x_enc, W_Q, W_K, W_V: (
         cross_attention(x_dec * W_Q.size(-1) ** 0.5, x_enc, W_Q, W_K, W_V) / W_Q.size(-1) ** 0.5
     ),
     "the division by √d_k comes after the softmax, where it only makes the weights smaller. Divide the scores.",
     "你在 softmax 之後才除以 √d_k，只是讓權重變小而已。要除的是分數。"),
    ("one-batch-only",
     lambda x_dec, x_enc, W_Q, W_K, W_V: (
         (torch.bmm(x_dec @ W_Q, (x_enc @ W_K).mT) / W_Q.size(-1) ** 0.5).softmax(-1) @ (x_enc @ W_V)
     ),
     "right for one batch dimension, but torch.bmm takes exactly three dimensions. The operator @ takes any number.",
     "只有一個批次維度時是對的，但 torch.bmm 只接受剛好三個維度。用 @ 就不限維度。"),
    ("W_Q-and-W_K-exchanged",
     lambda x_dec, x_enc, W_Q, W_K, W_V: cross_attention(x_dec, x_enc, W_K, W_Q, W_V),
     "W_Q and W_K have changed places: the queries are made with W_Q.",
     "W_Q 和 W_K 對調了：查詢要用 W_Q 算。"),
    ("keys-from-W_Q", lambda x_dec, x_enc, W_Q, W_K, W_V: cross_attention(x_dec, x_enc, W_Q, W_Q, W_V),
     "your keys are made with W_Q; W_K is not used.",
     "你的鍵用了 W_Q，W_K 沒有用到。"),
    ("W_K-and-W_V-exchanged",
     lambda x_dec, x_enc, W_Q, W_K, W_V: cross_attention(x_dec, x_enc, W_Q, W_V, W_K),
     "W_K and W_V have changed places. It fits only where the matrices are square.",
     "W_K 和 W_V 對調了。權重矩陣是方陣時才對得上。"),
    ("weights-transposed",
     lambda x_dec, x_enc, W_Q, W_K, W_V: cross_attention(x_dec, x_enc, W_Q.T, W_K.T, W_V.T),
     "the weight matrices are transposed. Here x @ W fits as it stands.",
     "你把權重矩陣轉置了。這裡直接 x @ W 就對得上。"),
    ("T-on-a-batch", _with_k_transposed_by(lambda k: k.transpose(0, 1)),
     "right for one sequence, but with a batch the wrong dimensions are exchanged. Exchange the last two: transpose(-2, -1).",
     "單一序列時是對的，但有批次時就對調到錯的維度了。應該對調最後兩個維度：transpose(-2, -1)。"),
    ("transposed-for-three-dimensions", _with_k_transposed_by(lambda k: k.transpose(1, 2)),
     "right with exactly three dimensions only. Counted from the end, the last two are always -2 and -1: transpose(-2, -1).",
     "只有剛好三個維度時才對。從後面數的話，最後兩個維度永遠是 -2 和 -1：transpose(-2, -1)。"),
    ("reshaped", _with_k_transposed_by(lambda k: k.reshape(*k.shape[:-2], k.size(-1), k.size(-2))),
     "the keys are reshaped, not transposed: the shape fits, the numbers are mixed up.",
     "你用 reshape 代替轉置：形狀對了，裡面的數卻亂掉了。"),
    ("residual-added", _residual_added,
     "x_dec is added to the result where the shapes allow it. The residual connection comes later; it is not part of the attention.",
     "形狀剛好對得上時，你把 x_dec 加到結果裡了。殘差連接是之後的事，不屬於注意力。"),
    ("keys-times-queries",
     lambda x_dec, x_enc, W_Q, W_K, W_V: (
         ((x_enc @ W_K) @ (x_dec @ W_Q).mT / W_Q.size(-1) ** 0.5).softmax(-1) @ (x_enc @ W_V)
     ),
     "your scores are K Qᵀ: a row for each source token. A row belongs to a query: Q Kᵀ.",
     "你的分數是 K Qᵀ：每個來源標記一列。一列應該對應一個查詢：Q Kᵀ。"),
    ("queries-not-projected",
     lambda x_dec, x_enc, W_Q, W_K, W_V: _attend(x_dec, x_enc @ W_K, x_enc @ W_V),
     "your queries are x_dec itself: W_Q is not used. It fits only where W_K is square.",
     "你的查詢就是 x_dec 本身：W_Q 沒有用到。W_K 是方陣時才對得上。"),
    ("values-from-W_Q",
     lambda x_dec, x_enc, W_Q, W_K, W_V: cross_attention(x_dec, x_enc, W_Q, W_K, W_Q),
     "your values are made with W_Q; W_V is not used.",
     "你的值用了 W_Q，W_V 沒有用到。"),
    ("length-of-x", _cross_variant(scale=lambda x, k, v: len(x) ** (-0.5)),
     "divided by the root of len(x_dec), which is the number of tokens, or of sentences. d_k is the length of one query: its last dimension.",
     "你除的是 len(x_dec) 的平方根，那是標記的個數，或句子的個數。d_k 是一個查詢的長度，也就是最後一個維度。"),
    ("divided-by-the-square", _cross_variant(scale=lambda x, k, v: 1 / k.size(-1) ** 2),
     "divided by d_k squared, where the root √d_k belongs.",
     "你除的是 d_k 的平方，應該除以平方根 √d_k。"),
    ("dimension-1", _cross_variant(dim=1),
     "right for one sequence, but with a batch dimension 1 is that of the queries. The keys are always the last, -1.",
     "單一序列時是對的，但有批次時，維度 1 是查詢。鍵永遠是最後一個維度，也就是 -1。"),
    ("softmax-twice", _cross_variant(finish=lambda weights, v: weights.softmax(-1) @ v),
     SOFTMAX_TWICE),
    ("softmax-at-the-end", lambda *inputs: _without_softmax(*inputs).softmax(-1),
     "the softmax comes after the values have been blended. It makes weights of scores: apply it before.",
     "你把值混合完才做 softmax。它的用處是把分數變成權重，要在混合之前做。"),
    ("only-the-best",
     _cross_variant(finish=lambda w, v: (w == w.amax(-1, keepdim=True)).to(v.dtype) @ v),
     "each query takes only the value of its best key. The softmax blends all of them.",
     "每個查詢只拿了分數最高的鍵的值。softmax 會把所有的值混合起來。"),
    ("mean-of-the-values", _cross_variant(finish=lambda w, v: torch.ones_like(w) / w.size(-1) @ v),
     "every query gets the plain mean of the values: the scores have no effect.",
     "每個查詢得到的都是值的平均：分數沒有作用。"),
    ("overflow", _cross_variant(finish=None, masked=lambda s: s.exp().log()),
     "exp is taken of the scores as they are, and overflows for large ones. softmax takes care of that; by hand, subtract each row's maximum first.",
     "你直接對分數取 exp，分數一大就溢位。softmax 會處理好；如果自己算，就先減去每一列的最大值。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="cross-attention",
    chapter=8,
    title=Text("Cross-attention", "交叉注意力"),
    difficulty=2,
    minutes=10,
    reference=cross_attention,
    cases=_cross_cases,
    alternatives=(
        _cross_by_torch,
        _cross_by_einsum,
        lambda x_dec, x_enc, W_Q, W_K, W_V: attention.scaled_dot_product_attention(
            x_dec @ W_Q, x_enc @ W_K, x_enc @ W_V
        )[0],
        lambda x_dec, x_enc, W_Q, W_K, W_V: (
            (x_dec @ (W_Q @ W_K.mT) @ x_enc.mT / W_Q.size(-1) ** 0.5).softmax(-1) @ x_enc @ W_V
        ),
    ),
    mistakes=MISTAKES,
)
