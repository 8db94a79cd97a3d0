"""Exercise scaled-dot-product-attention of chapter 4: attention, assembled."""

import math

import torch
import torch.nn.functional as F

from transformer_lib import attention, masks
from transformer_lib.exercises.chapter_04.shared import D_MODEL_WITH_HEADS, all_heads_width
from transformer_lib.exercises.data import Case, Exercise, Mistake, Text, mistakes
from transformer_lib.exercises.families import (
    INFINITY_TIMES_0,
    MASK_AFTER_SOFTMAX,
    MASK_WITHOUT_EFFECT,
    SOFTMAX_OF_EVERYTHING,
)
from transformer_lib.exercises.inputs import (
    A_BLIND_QUERY,
    BATCH_AND_HEADS,
    LARGE_SCORES,
    MASK_OVER_LOW_SCORES,
    ONE_SEQUENCE,
    normal,
)


def scaled_dot_product_attention(q, k, v, mask=None):
    return attention.scaled_dot_product_attention(q, k, v, mask)


def _attention_cases():
    randn = normal(46)

    def qkv(*batch, n_q, n_k):
        return randn(*batch, n_q, 5), randn(*batch, n_k, 5), randn(*batch, n_k, 3)

    q, k, v = qkv(n_q=4, n_k=4)
    # Scores so far apart that a softmax picks one: "scores - 1e9" and "- 1e12" then give the same.
    blind_q, blind_k, blind_v = qkv(n_q=3, n_k=4)
    blind_q = blind_q * torch.tensor([[1.0], [1e4], [1.0]], dtype=torch.float64)
    tokens = torch.tensor([[7, 8, 9, 0, 0], [7, 8, 9, 5, 0]])
    blind = torch.tensor([[True, False, True, True], [False] * 4, [True, True, False, False]])
    return [
        Case(ONE_SEQUENCE, (*qkv(n_q=3, n_k=4), None)),
        Case(BATCH_AND_HEADS, (*qkv(2, 3, n_q=4, n_k=6), None)),
        Case(LARGE_SCORES, (1000 * q, k, v, None)),
        Case(Text("a causal mask", "因果遮罩"), (*qkv(2, 3, n_q=4, n_k=4), masks.causal_mask(4))),
        Case(
            Text("a causal mask with fewer queries than keys", "查詢比鍵少的因果遮罩"),
            (*qkv(n_q=2, n_k=5), masks.causal_mask(2, 5)),
        ),
        Case(
            Text("a padding mask", "填充遮罩"),
            (*qkv(2, 3, n_q=4, n_k=5), masks.padding_mask(tokens, 0)),
        ),
        Case(
            MASK_OVER_LOW_SCORES,
            (-4e5 * q.abs(), k.abs(), v, masks.causal_mask(4)),
        ),
        Case(
            A_BLIND_QUERY,
            (blind_q, blind_k, blind_v, blind),
        ),
    ]


def _attention_variant(
    scale=None,
    hidden=torch.logical_not,
    fill=-torch.inf,
    masked=None,
    dim=-1,
    finish=None,
    second=None,
):
    """Attention with one step exchanged: the alternatives and the mistakes are made of it."""

    def attend(q, k, v, mask=None):
        plain = q @ k.mT * (q.size(-1) ** -0.5 if scale is None else scale(q, k, v))
        scores = plain
        if mask is not None:
            scores = (
                plain.masked_fill(hidden(mask), fill) if masked is None else masked(plain, mask)
            )
        weights = scores.softmax(dim)
        if finish is not None:
            weights = finish(weights, scores, mask)
        return weights @ v, weights if second is None else second(plain, scores)

    return attend


def _zero_nan(weights, scores, mask):
    return weights.nan_to_num(0.0)


def _zero_masked(weights, scores, mask):
    return weights if mask is None else weights * mask


def _renormalised(weights, scores, mask):
    if mask is None:
        return weights
    return weights * mask / (weights * mask).sum(-1, keepdim=True)


def _added_infinity(scores, mask):
    return scores + torch.zeros_like(scores).masked_fill(~mask, -torch.inf)


def _written_in_place(scores, mask):
    scores[~mask] = -torch.inf
    return scores


def _nan_left_in_weights(q, k, v, mask=None):
    output, weights = _attention_variant()(q, k, v, mask)
    return output.nan_to_num(0.0), weights


def _nan_left_in_output(q, k, v, mask=None):
    output, weights = _attention_variant()(q, k, v, mask)
    return output, weights.nan_to_num(0.0)


def _torch_attention(q, k, v, mask=None):
    n = k.size(-2)
    eye = torch.eye(n, dtype=q.dtype).expand(*k.shape[:-1], n)

    def attend(values):
        out = F.scaled_dot_product_attention(q, k, values, attn_mask=mask)
        return out if mask is None else out.masked_fill(~mask.any(-1, keepdim=True), 0)

    return attend(v), attend(eye)


def _by_log_sum_exp(q, k, v, mask=None):
    scores = q @ k.mT / q.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()
    weights = weights if mask is None else weights.masked_fill(~mask, 0)
    return torch.einsum("...qk,...kd->...qd", weights, v), weights


def _by_hand(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(k.size(-1))
    allowed = torch.ones_like(scores) if mask is None else mask.expand_as(scores)
    scores = torch.where(allowed.bool(), scores, torch.finfo(scores.dtype).min)
    e = (scores - scores.amax(-1, keepdim=True)).exp() * allowed
    weights = e / e.sum(-1, keepdim=True).clamp(min=1.0)
    return weights @ v, weights


# A mistake often comes together with one of these, at a query that may attend to nothing.
_AND_NAN = Text(
    " Also, a query that may attend to nothing gets NaN; its weights and output should be 0.",
    "另外，什麼都不能關注的查詢會得到 NaN；它的權重和輸出都應該是 0。",
)
_AND_UNIFORM = Text(
    " Also, a query that may attend to nothing now averages over everything; its weights and output should be 0.",
    "另外，什麼都不能關注的查詢，現在會平均關注所有的鍵；它的權重和輸出都應該是 0。",
)


def _attention_mistakes(name, hint, and_nan=_AND_NAN, and_uniform=_AND_UNIFORM, **steps):
    """One mistake, three times: with the blind rows done right, left at NaN, and uniform."""
    return (
        Mistake(name, _attention_variant(**steps, finish=_zero_nan), hint),
        Mistake(f"{name}-and-nan", _attention_variant(**steps), Text("", "").join([hint, and_nan])),
        Mistake(
            f"{name}-and-uniform",
            _attention_variant(**steps, fill=-1e9),
            Text("", "").join([hint, and_uniform]),
        ),
    )


_BY_INDEX = Text(
    "right for one sequence, but scores[~mask] = … needs a mask of the full shape: indexing does not broadcast over batch and heads. masked_fill does.",
    "單一序列時是對的，但 scores[~mask] = … 的遮罩必須和分數形狀完全一樣：用布林索引寫入時，遮罩不會廣播到批次和頭，masked_fill 才會。",
)


MISTAKES = mistakes(
    *_attention_mistakes("not-scaled",
     Text("the scores are not divided by √d_k before the softmax.",
          "分數在 softmax 之前沒有除以 √d_k。"),
     scale=lambda q, k, v: 1.0),
    *_attention_mistakes("divided-by-d_k",
     Text("the scores are divided by d_k instead of √d_k.",
          "你除的是 d_k，應該是 √d_k。"),
     scale=lambda q, k, v: 1 / q.size(-1)),
    *_attention_mistakes("multiplied",
     Text("the scores are multiplied by √d_k instead of divided.",
          "分數應該除以 √d_k，你卻用乘的。"),
     scale=lambda q, k, v: q.size(-1) ** 0.5),
    *_attention_mistakes("value-width",
     Text("the scores are divided by √d_v, the width of the values. The dot product runs over d_k terms.",
          "你除的是 √d_v，用到了值的維度。但內積加的是 d_k 項。"),
     scale=lambda q, k, v: v.size(-1) ** (-0.5)),
    *_attention_mistakes("number-of-keys",
     Text("the scores are divided by the root of the number of keys. (After k = k.mT the last dimension of k is no longer d_k.)",
          "你除的是鍵的個數的平方根。（做了 k = k.mT 之後，k 的最後一個維度就不是 d_k 了。）"),
     scale=lambda q, k, v: k.size(-2) ** (-0.5)),
    *_attention_mistakes("d_model",
     D_MODEL_WITH_HEADS,
     scale=lambda q, k, v: all_heads_width(q) ** (-0.5)),
    *_attention_mistakes("softmax-over-queries",
     Text("your weights sum to 1 down each column: the softmax ran over the queries. Each query shares out its attention over the keys, so it is the rows that sum to 1.",
          "你的權重是每一行加起來等於 1：softmax 沿著查詢的方向算了。每個查詢要把注意力分給各個鍵，所以加起來等於 1 的應該是每一列。"),
     dim=-2,
     and_nan=Text(
         " NaN appears where a key is hidden from every query.",
         "如果有鍵對每個查詢都被遮住，那裡就會出現 NaN。",
     ),
     and_uniform=Text(
         " A key hidden from every query then gets weight from all of them.",
         "這樣一來，對每個查詢都被遮住的鍵，反而會從每個查詢得到權重。",
     )),
    *_attention_mistakes("softmax-over-dimension-1",
     Text("the softmax runs over dimension 1. Those are the keys for a single sequence only; with a batch and heads they are another dimension. Count from the end.",
          "softmax 是沿第 1 個維度算的。只有單一序列時，那才是鍵；有批次和頭的時候，鍵在別的維度。請從後面數。"),
     dim=1),
    *_attention_mistakes("mask-inverted",
     Text("the mask works the wrong way round: True means “may attend”, so False is what must be hidden.",
          "遮罩的意思弄反了：True 代表「可以關注」，該遮住的是 False。"),
     hidden=lambda m: m,
     and_nan=Text(
         " That is also where the NaN comes from: a query that may see every key now sees none.",
         "NaN 也是這樣來的：本來可以看到所有鍵的查詢，現在一個都看不到。",
     ),
     and_uniform=Text(
         " A query that may see every key now has them all hidden, and averages over them.",
         "本來可以看到所有鍵的查詢，現在所有的鍵都被遮住，反而變成取平均。",
     )),
    ("mask-without-effect", _attention_variant(masked=lambda s, m: s),
     MASK_WITHOUT_EFFECT),
    ("mask-added", _attention_variant(masked=lambda s, m: s + m),
     "the mask is added to the scores as 0 and 1: that only favours the allowed keys a little. A forbidden key must get score −∞, so that its weight is exactly 0.",
     "你把遮罩當成 0 和 1 加到分數上：這只是讓允許的鍵稍微有利一點。遮住的鍵，分數必須是 −∞，權重才會剛好是 0。"),
    ("mask-multiplied", _attention_variant(masked=lambda s, m: s * m),
     "a forbidden key has score 0 (or nearly), and exp(0) = 1 is a weight like any other. Which score makes exp give exactly 0?",
     "遮住的鍵，分數是 0（或非常接近 0），但 exp(0) = 1，一樣會有權重。分數要是多少，exp 才會剛好是 0？"),
    ("mask-after-softmax", _attention_variant(masked=lambda s, m: s, finish=_zero_masked),
     MASK_AFTER_SOFTMAX),
    ("renormalised-after-softmax", _attention_variant(masked=lambda s, m: s, finish=_renormalised),
     "masking after the softmax and dividing by the new sum is right only while something is left: a query that may attend to nothing divides 0 by 0. Its output should be 0.",
     "softmax 之後才遮，再除以新的總和，只有在還有鍵可看時才對：什麼都不能關注的查詢會變成 0 除以 0。它的輸出應該是 0。"),
    ("renormalised-and-zeroed",
     _attention_variant(masked=lambda s, m: s, finish=lambda *step: _renormalised(*step).nan_to_num(0.0)),
     "you mask after the softmax and divide by the new sum. A hidden key with a far larger score has then taken all the weight, and nothing is left to divide. Hide the scores before it.",
     "你在 softmax 之後才遮，再除以新的總和。如果被遮住的鍵分數大得多，權重早就全被它拿走，剩下的都是 0。應該在 softmax 之前先把分數遮住。"),
    ("softmax-overflows",
     _attention_variant(finish=lambda w, s, m: s.exp() / s.exp().sum(-1, keepdim=True)),
     "right for small scores, but your softmax takes exp of the scores as they are, and that overflows for large ones. Remember the exercise on the softmax.",
     "分數小的時候正確，但你的 softmax 直接對分數取 exp，分數一大就會溢位。想想 softmax 那一題。"),
    ("uniform-on-a-blind-row", _attention_variant(fill=-1000000000.0),
     "almost: a query that may attend to nothing now averages over everything, because all its scores are the same large negative number. Its weights and output should be 0.",
     "就差一點：什麼都不能關注的查詢，現在會平均關注所有的鍵，因為它的分數全是同一個很大的負數。它的權重和輸出都應該是 0。"),
    ("nan-on-a-blind-row", _attention_variant(),
     "almost: a query that may attend to nothing gets NaN, because the softmax of a row of −∞ is 0/0. Its weights and output should be 0.",
     "就差一點：什麼都不能關注的查詢會得到 NaN，因為整列都是 −∞ 時，softmax 是 0/0。它的權重和輸出都應該是 0。"),
    ("unmasked-on-a-blind-row",
     _attention_variant(masked=lambda s, m: s + (1 - m.to(s.dtype)) * -1000000000.0),
     "almost: a query that may attend to nothing behaves as if there were no mask. All its scores are moved by the same large number, and that changes nothing in a softmax. Its weights and output should be 0.",
     "就差一點：什麼都不能關注的查詢，結果像是沒有遮罩一樣。它的每個分數都加了同一個很大的負數，而 softmax 不受整列平移影響。它的權重和輸出都應該是 0。"),
    ("added-number-too-small",
     _attention_variant(masked=lambda s, m: s + (1 - m.to(s.dtype)) * -10000.0),
     "what you add to a forbidden key is not low enough: with large scores it stays visible, and a query that may attend to nothing behaves as if there were no mask. What is below every possible score?",
     "你加到被遮住的鍵上的數還不夠低：分數很大時遮不住；而什麼都不能關注的查詢，結果像是沒有遮罩一樣。什麼數比任何分數都小？"),
    ("fill-too-small", _attention_variant(fill=-10000.0, finish=_zero_masked),
     "a forbidden key gets a score that is not low enough: where the allowed scores lie even lower, it takes their weight before you set it to 0. What is below every possible score?",
     "被遮住的鍵分數還不夠低：如果允許的鍵分數更低，權重就先被它搶走，再被你設成 0。什麼數比任何分數都小？"),
    ("fill-too-small-and-uniform", _attention_variant(fill=-10000.0),
     "a forbidden key gets a score that is not low enough: where the allowed scores lie even lower, it gets all the weight. Also, a query that may attend to nothing should have weights 0.",
     "被遮住的鍵分數還不夠低：如果允許的鍵分數更低，權重就全跑到它那裡。另外，什麼都不能關注的查詢，權重應該是 0。"),
    ("nan-left-in-the-weights", _nan_left_in_weights,
     "almost: the output is clean, but the weights still hold NaN for a query that may attend to nothing. Both should be 0.",
     "就差一點：輸出沒問題了，但什麼都不能關注的查詢，權重裡還有 NaN。輸出和權重都應該是 0。"),
    ("nan-left-in-the-output", _nan_left_in_output,
     "almost: the weights are clean, but the output was computed before, with NaN in them. Look at the order of the steps.",
     "就差一點：權重沒問題了，但輸出是在那之前用含有 NaN 的權重算的。請看看步驟的順序。"),
    ("nan-in-the-gradient", _attention_variant(masked=_added_infinity, finish=_zero_nan),
     "the numbers are right, but the gradient is NaN: behind a query that may attend to nothing there is still a softmax of −∞ alone, and adding −∞ lets its gradient through. masked_fill and torch.where cut it off.",
     "數值是對的，但梯度是 NaN：什麼都不能關注的查詢，背後還是對整列 −∞ 做 softmax，−∞ 如果是用加的，梯度就會傳回去。masked_fill 和 torch.where 才會擋住它。"),
    ("minus-infinity-times-zero",
     _attention_variant(masked=lambda s, m: s + (~m).to(s.dtype) * -torch.inf),
     INFINITY_TIMES_0),
    *_attention_mistakes("scores-returned",
     Text("what you return as weights are the scores, before the softmax.",
          "你當成權重傳回的，是 softmax 之前的分數。"),
     second=lambda plain, masked: plain),
    *_attention_mistakes("masked-scores-returned",
     Text("what you return as weights are the masked scores. The weights are what the softmax makes of them.",
          "你當成權重傳回的是遮罩後的分數。權重是它們經過 softmax 之後的結果。"),
     second=lambda plain, masked: masked),
    ("order", lambda q, k, v, mask=None: scaled_dot_product_attention(q, k, v, mask)[::-1],
     "return the output first, then the weights.",
     "請先傳回輸出，再傳回權重。"),
    ("softmax-of-everything",
     _attention_variant(
         masked=lambda s, m: s.masked_fill(~m, -torch.inf),
         finish=lambda w, s, m: s.flatten(-2).softmax(-1).view_as(s).nan_to_num(0.0),
     ),
     SOFTMAX_OF_EVERYTHING),
    ("written-by-index", _attention_variant(masked=_written_in_place, finish=_zero_nan), _BY_INDEX),
    ("written-by-index-and-nan", _attention_variant(masked=_written_in_place),
     Text("", "").join([_BY_INDEX, _AND_NAN])),
)  # fmt: skip

EXERCISE = Exercise(
    name="scaled-dot-product-attention",
    chapter=4,
    title=Text("Attention, assembled", "組裝注意力"),
    difficulty=3,
    minutes=15,
    reference=scaled_dot_product_attention,
    results=("output", "weights"),
    cases=_attention_cases,
    alternatives=(
        _attention_variant(finish=_zero_nan),
        _attention_variant(fill=-1e300, finish=_zero_masked),
        _attention_variant(
            masked=lambda s, m: torch.where(m, s, -torch.inf),
            finish=lambda w, s, m: torch.where(w.isnan(), 0.0, w),
        ),
        _torch_attention,
        _by_log_sum_exp,
        _by_hand,
    ),
    mistakes=MISTAKES,
)
