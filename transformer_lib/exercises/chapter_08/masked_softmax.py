"""Exercise masked-softmax of chapter 8: A masked softmax."""

import math

import torch

from transformer_lib import attention, masks
from transformer_lib.exercises.chapter_08.shared import SOFTMAX_TWICE
from transformer_lib.exercises.data import Case, Exercise, Text, mistakes
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
    normal,
)


def masked_softmax(scores, mask):
    return attention.masked_softmax(scores, mask)


def _masked_cases():
    randn = normal(83)
    real = torch.tensor([[7, 8, 9, 0, 0], [7, 8, 9, 5, 0]]) != 0
    blind = torch.tensor([[True, False, True, True], [False] * 4, [True, True, False, False]])
    # So far apart that a softmax picks one: "scores - 1e9" and "- 1e12" then give the same.
    blind_scores = randn(3, 4) * torch.tensor([[1.0], [1e4], [1.0]], dtype=torch.float64)
    large = randn(4, 4)
    return [
        Case(Text("a causal mask", "因果遮罩"), (randn(4, 4), masks.causal_mask(4))),
        Case(BATCH_AND_HEADS, (randn(2, 3, 4, 6), masks.causal_mask(4, 6))),
        Case(
            Text("a padding mask", "填充遮罩"),
            (randn(2, 3, 4, 5), real[:, None, None, :]),
        ),
        Case(LARGE_SCORES, (1000 * (large + large.sign()), masks.causal_mask(4))),
        Case(
            MASK_OVER_LOW_SCORES,
            (-4e5 - 1e5 * randn(4, 4).abs(), masks.causal_mask(4)),
        ),
        Case(
            A_BLIND_QUERY,
            (blind_scores, blind),
        ),
        Case(
            Text("scores lower than a number you may fill in", "分數比你填進去的數還低"),
            (-1e30 * (1 + randn(3, 3).abs()), masks.causal_mask(3)),
        ),
    ]


def _softmax_variant(masked=None, finish=None, dim=-1):
    """A masked softmax with one step exchanged: alternatives and mistakes are made of it."""

    def answer(scores, mask):
        s = scores.masked_fill(~mask, -torch.inf) if masked is None else masked(scores, mask)
        weights = s.softmax(dim)
        return weights if finish is None else finish(weights, mask)

    return answer


def _zeroed(weights, mask):
    return weights.masked_fill(~mask, 0)


def _clean(weights, mask):
    return weights.nan_to_num(0.0)


def _renormalised(weights, mask):
    return weights * mask / (weights * mask).sum(-1, keepdim=True)


def _filled(number):
    return lambda scores, mask: scores.masked_fill(~mask, number)


def _plus_infinity(scores, mask):
    return scores + torch.zeros_like(scores).masked_fill(~mask, -torch.inf)


def _by_exp(shift, divide):
    """exp of ``shift(scores, mask)`` where allowed, ``divide``d by its sum."""

    def answer(scores, mask):
        e = torch.where(mask, shift(scores, mask).exp(), 0.0)
        return divide(e, e.sum(-1, keepdim=True))

    return answer


def _minus_allowed_maximum(scores, mask):
    top = scores.masked_fill(~mask, -torch.inf).amax(-1, keepdim=True)
    shifted = scores - top.masked_fill(top.isinf(), 0)
    return shifted.masked_fill(~mask, 0)


def _minus_maximum(scores, mask):
    return scores - scores.amax(-1, keepdim=True)


def _safe_division(e, total):
    return e / total.masked_fill(total == 0, 1)


def _exp_times_mask(scores, mask):
    e = scores.exp() * mask
    return e / (e.sum(-1, keepdim=True) + 1e-9)


def _indexed_by_mask(scores, mask):
    hidden = scores.clone()
    hidden[~mask] = -torch.inf
    return hidden.softmax(-1)


def _unmasked(scores, mask):
    return scores


MISTAKES = mistakes(
    ("nan-on-a-blind-row", _softmax_variant(),
     "almost: a query that may attend to nothing gets NaN: its sum is 0, and the softmax of a row of −∞ is 0/0. Its weights should be 0.",
     "就差一點：什麼都不能關注的查詢會得到 NaN，因為整列都是 −∞ 時，softmax 是 0/0。它的權重應該是 0。"),
    ("uniform-on-a-blind-row", _softmax_variant(_filled(-1000000000.0)),
     "almost: a query that may attend to nothing now averages over everything, because all its scores are the same large negative number. Its weights should be 0.",
     "就差一點：什麼都不能關注的查詢，現在會平均關注所有的鍵，因為它的分數全是同一個很大的負數。它的權重應該是 0。"),
    ("uniform-on-a-blind-row-lowest",
     _softmax_variant(lambda s, m: s.masked_fill(~m, torch.finfo(s.dtype).min)),
     "almost: a query that may attend to nothing now averages over everything, because all its scores are the same, the lowest number there is. Its weights should be 0.",
     "就差一點：什麼都不能關注的查詢，現在會平均關注所有的鍵，因為它的分數全是同一個數，也就是最小的浮點數。它的權重應該是 0。"),
    ("filled-and-multiplied", _softmax_variant(_filled(-1000000000.0), lambda w, m: w * m),
     "almost: a large negative number is filled in, and the hidden weights are set to 0 afterwards. But real scores may be lower still; then a hidden key takes all, and the row sums to 0.",
     "就差一點：你填入很大的負數，softmax 之後再把遮住的權重改成 0。可是真正的分數有可能更低，這時遮住的鍵會拿走全部的權重，整列的和就成了 0。"),
    ("added-number", _softmax_variant(lambda s, m: s + (1 - m.to(s.dtype)) * -1000000000.0),
     "almost: a query that may attend to nothing behaves as if there were no mask, for all its scores are moved by the same number. Its weights should be 0.",
     "就差一點：什麼都不能關注的查詢，結果像是沒有遮罩一樣，因為整列都加了同一個數。它的權重應該是 0。"),
    ("nan-in-the-gradient", _softmax_variant(_plus_infinity, _clean),
     "the numbers are right, but the gradient is NaN: −∞ that is added lets the gradient of the row's NaN through. masked_fill and torch.where cut it off.",
     "數值是對的，但梯度是 NaN：−∞ 如果是用加的，那一列 NaN 的梯度就會傳回去。masked_fill 和 torch.where 才會擋住它。"),
    ("added-infinity", _softmax_variant(lambda s, m: s + (~m).to(s.dtype) * -torch.inf),
     INFINITY_TIMES_0),
    ("inverted", _softmax_variant(lambda s, m: s.masked_fill(m, -torch.inf)),
     "inverted: masked_fill fills where its mask is True, and here True = may attend. Where everything is allowed that even gives NaN.",
     "真假顛倒了：masked_fill 填的是 True 的地方，但這裡 True 代表可以關注。全部都可以看的那一列還會變成 NaN。"),
    ("inverted-and-cleaned", _softmax_variant(lambda s, m: s.masked_fill(m, -torch.inf), _clean),
     "inverted: masked_fill fills where its mask is True, and here True = may attend. (nan_to_num has only hidden the rows that lost everything.)",
     "真假顛倒了：masked_fill 填的是 True 的地方，但這裡 True 代表可以關注。（nan_to_num 只是掩蓋了整列都遮住的問題。）"),
    ("without-effect", _softmax_variant(_unmasked),
     MASK_WITHOUT_EFFECT),
    ("mask-added", _softmax_variant(lambda s, m: s + m),
     "the mask is added to the scores as 0 and 1: that only favours the allowed keys a little. A hidden key needs score −∞.",
     "你把遮罩當成 0 和 1 加到分數上：這只是讓允許的鍵稍微有利一點。遮住的鍵，分數要是 −∞。"),
    ("mask-multiplied", _softmax_variant(lambda s, m: s * m),
     "a hidden key has score 0, and exp(0) = 1 is a weight like any other. Which score makes exp give exactly 0?",
     "遮住的鍵，分數是 0，但 exp(0) = 1，一樣會有權重。分數要是多少，exp 才會剛好是 0？"),
    ("filled-with-zero", _softmax_variant(_filled(0.0), _zeroed),
     "the hidden weights are 0 in the end, but in the softmax these keys took part with score 0. So the rows do not sum to 1.",
     "遮住的權重最後是 0，但 softmax 的時候，這些鍵還用 0 分參加了。所以每一列加起來不是 1。"),
    ("after-softmax", _softmax_variant(_unmasked, lambda w, m: w * m),
     MASK_AFTER_SOFTMAX),
    ("renormalised", _softmax_variant(_unmasked, _renormalised),
     "masking after the softmax and dividing by the new sum divides 0 by 0 where nothing is left: on a blind row, and where a hidden key took all the weight.",
     "softmax 之後才遮，再除以新的總和，什麼都不剩時就變成 0 除以 0：什麼都不能看的列會這樣，權重全被遮住的鍵拿走時也會。"),
    ("renormalised-and-cleaned",
     _softmax_variant(_unmasked, lambda w, m: _renormalised(w, m).nan_to_num(0.0)),
     "a hidden key with a far larger score takes all the weight before you remove it: either you mask after the softmax and divide by the new sum, or your maximum runs over the hidden keys too. Hide the scores first of all.",
     "被遮住的鍵如果分數大得多，還沒去掉它，權重就全被它拿走了：可能是 softmax 之後才遮、再除以新的總和，也可能是取最大值時連遮住的鍵也算了。應該一開始就把分數遮住。"),
    ("fill-not-low-enough", _softmax_variant(_filled(-10000.0), _zeroed),
     "a hidden key gets a score that is not low enough: where the allowed scores lie lower still, it takes their weight before you set it to 0. What is below every score?",
     "被遮住的鍵分數還不夠低：如果允許的鍵分數更低，權重就先被它搶走，再被你設成 0。什麼數比任何分數都小？"),
    ("fill-not-low-enough-and-uniform", _softmax_variant(_filled(-10000.0)),
     "a hidden key gets a score that is not low enough: where the allowed scores lie lower still, it gets all the weight. And a row that allows nothing should be 0.",
     "被遮住的鍵分數還不夠低：如果允許的鍵分數更低，權重就全跑到它那裡。另外，什麼都不能看的列應該是 0。"),
    ("added-not-low-enough", _softmax_variant(lambda s, m: s + (1 - m.to(s.dtype)) * -10000.0),
     "what you add to a hidden key is not low enough: scores that lie far apart make up for it. And a row that allows nothing behaves as if there were no mask.",
     "你加到被遮住的鍵上的數還不夠低：分數相差很大時就遮不住。而什麼都不能看的列，結果像是沒有遮罩一樣。"),
    ("over-the-queries", _softmax_variant(finish=_clean, dim=-2),
     "the columns sum to 1: the softmax runs over the queries. For each query the weights on its keys should sum to 1.",
     "是每一行加起來等於 1：你的 softmax 沿著查詢的方向做了。應該是每個查詢對各個鍵的權重加起來等於 1。"),
    ("over-the-queries-with-nan", _softmax_variant(dim=-2),
     "the columns sum to 1: the softmax runs over the queries. (And a key that nobody may see gives NaN.) For each query the weights on its keys should sum to 1.",
     "是每一行加起來等於 1：你的 softmax 沿著查詢的方向做了。（沒人看得到的鍵還會變成 NaN。）應該是每個查詢對各個鍵的權重加起來等於 1。"),
    ("over-everything",
     lambda scores, mask: scores.masked_fill(~mask, -torch.inf).flatten(-2).softmax(-1).view_as(scores),
     SOFTMAX_OF_EVERYTHING),
    ("overflow", _by_exp(_unmasked, _safe_division),
     "right for small scores, but exp is taken of the scores as they are: it overflows for large ones, and becomes 0 everywhere far below 0.",
     "分數小的時候正確，但你直接對分數取 exp：分數一大就溢位，遠低於 0 時又全變成 0。"),
    ("scaled-again", lambda scores, mask: masked_softmax(scores / math.sqrt(scores.size(-1)), mask),
     "the scores are divided by a root once more. They are scaled already.",
     "分數又除了一次根號。它們已經縮放過了。"),
    ("not-normalised", _by_exp(_minus_allowed_maximum, lambda e, total: e),
     "this is exp alone. What is each row still to be divided by?",
     "這只有 exp。每一列還要除以什麼？"),
    ("softmax-twice", lambda scores, mask: masked_softmax(masked_softmax(scores, mask), mask),
     SOFTMAX_TWICE),
    ("masked-scores-returned", lambda scores, mask: scores.masked_fill(~mask, -torch.inf),
     "these are the masked scores. The softmax is still to come.",
     "這是遮罩後的分數，還沒做 softmax。"),
    ("log-softmax", lambda scores, mask: scores.masked_fill(~mask, -torch.inf).log_softmax(-1),
     "these are the logarithms of the weights. One exp is missing.",
     "這些是權重的對數，還差一個 exp。"),
    ("indexed-by-the-mask", _indexed_by_mask,
     "right where the mask has the shape of the scores. An index such as scores[~mask] does not broadcast; masked_fill and torch.where do.",
     "遮罩和分數形狀相同時是對的。scores[~mask] 這種索引不會廣播，masked_fill 和 torch.where 才會。"),
    ("indexed-by-the-mask-and-cleaned",
     lambda scores, mask: _indexed_by_mask(scores, mask).nan_to_num(0.0),
     "the blind row is right, but scores[~mask] needs a mask of the very shape of the scores. masked_fill and torch.where broadcast it.",
     "什麼都不能看的列是對的，但 scores[~mask] 要求遮罩和分數的形狀一模一樣。masked_fill 和 torch.where 才會廣播。"),
    ("inverted-and-added", _softmax_variant(lambda s, m: s + m * -1000000000.0),
     "inverted: −10⁹ is added where the mask is True, and here True = may attend.",
     "真假顛倒了：你在遮罩是 True 的地方加了 −10⁹，但這裡 True 代表可以關注。"),
    ("plus-infinity", _softmax_variant(_filled(torch.inf)),
     "a hidden key gets score +∞. Its exp should be 0: mind the sign.",
     "遮住的鍵，分數成了 +∞。它取 exp 之後應該是 0：注意正負號。"),
    ("epsilon-in-the-sum", _by_exp(_minus_allowed_maximum, lambda e, total: e / (total + 1e-06)),
     "a small number is added to the sum, to keep it from 0; so no row sums to exactly 1. Treat the row that allows nothing by itself.",
     "你為了避免除以 0，在總和上加了一個很小的數，結果每一列加起來都不是剛好 1。什麼都不能看的列，要另外處理。"),
    ("maximum-of-all", _by_exp(_minus_maximum, lambda e, total: e / (total + 1e-09)),
     "the maximum that you subtract runs over the hidden keys too. Where a hidden score is far larger, exp of all the allowed ones becomes 0. Hide first.",
     "你減去的最大值，連遮住的鍵也算了。遮住的分數大得多時，允許的分數取 exp 全變成 0。要先遮住。"),
    ("overflow-with-epsilon", _exp_times_mask,
     "exp is taken of the scores as they are: it overflows for large ones, and far below 0 it becomes 0 everywhere. Subtract the row's largest allowed score first.",
     "你直接對分數取 exp：分數一大就溢位，遠低於 0 時又全變成 0。先減去每一列允許的最大分數。"),
    ("filled-with-minus-100", _softmax_variant(_filled(-100.0), _zeroed),
     "−100 hides nothing where the allowed scores lie below it, and large scores do. What is below every score?",
     "允許的分數比 −100 還低時，−100 就遮不住了；大的分數很容易這樣。什麼數比任何分數都小？"),
    ("filled-just-below", _softmax_variant(lambda s, m: s.masked_fill(~m, s.min().item() - 1), _zeroed),
     "a hidden key gets a score just below all others, and in the softmax that still is a weight. Only with −∞ it is exactly 0.",
     "遮住的鍵，分數只比其他的低一點，在 softmax 裡還是有權重。要 −∞ 才會剛好是 0。"),
    ("always-causal",
     lambda scores, mask: masked_softmax(scores, masks.causal_mask(*scores.shape[-2:])),
     "you always use a causal mask; the argument mask is not used.",
     "你用的一直是因果遮罩，mask 這個參數沒有用到。"),
    ("dimension-1", _softmax_variant(finish=_clean, dim=1),
     "right for a matrix, but with batch and heads dimension 1 is no longer that of the keys. Counted from the end it is always -1.",
     "只有一個矩陣時是對的，但有批次和頭時，維度 1 就不是鍵的維度了。從後面數，鍵永遠是 -1。"),
    ("dimension-0", _softmax_variant(finish=_clean, dim=0),
     "the softmax runs along dimension 0: over the queries, or over the batch. The keys are the last dimension, -1.",
     "你的 softmax 沿著維度 0 做了：那是查詢，或是批次。鍵是最後一個維度，也就是 -1。"),
    ("masked-scores-with-a-number",
     lambda scores, mask: scores + (~mask).to(scores.dtype) * -1000000000.0,
     "these are scores with −10⁹ added to the hidden ones. The softmax is still to come.",
     "這是分數，遮住的加了 −10⁹，還沒做 softmax。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="masked-softmax",
    chapter=8,
    title=Text("A masked softmax", "有遮罩的 softmax"),
    difficulty=3,
    minutes=15,
    reference=masked_softmax,
    cases=_masked_cases,
    alternatives=(
        _softmax_variant(finish=_clean),
        _softmax_variant(finish=lambda w, m: torch.where(m, w, 0.0)),
        lambda scores, mask: torch.where(
            mask, torch.where(mask, scores, -torch.inf).softmax(-1), 0.0
        ),
        lambda scores, mask: _zeroed(
            scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1), mask
        ),
        lambda scores, mask: (
            scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) * mask
        ),
        _by_exp(_minus_allowed_maximum, _safe_division),
    ),
    mistakes=MISTAKES,
)
