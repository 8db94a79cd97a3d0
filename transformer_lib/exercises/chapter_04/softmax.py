"""Exercise softmax of chapter 4: A softmax that never overflows."""

import math

import torch
import torch.nn.functional as F

from transformer_lib.exercises.data import Case, Exercise, Mistake, Text, mistakes
from transformer_lib.exercises.inputs import LARGE_SCORES, normal


def softmax(x, dim):
    return x.softmax(dim)


def _softmax_cases():
    randn = normal(43)
    large = randn(3, 5)
    uneven = randn(3, 5) + torch.tensor([[0.0], [-2000.0], [3000.0]], dtype=torch.float64)
    # exp holds up to 709 in float64. Taking 4 away, the place of the maximum, would be enough here.
    brink = torch.tensor([[708.0, 709.0, 707.0, 708.5, 711.0]], dtype=torch.float64)
    return [
        Case(Text("a matrix, over the last dimension", "矩陣，沿最後一個維度"), (randn(3, 5), -1)),
        Case(Text("a matrix, over dimension 0", "矩陣，沿第 0 個維度"), (randn(3, 5), 0)),
        Case(Text("a batch, over dimension 1", "批次，沿第 1 個維度"), (randn(2, 3, 5), 1)),
        Case(Text("a square matrix", "方陣"), (randn(4, 4), -1)),
        Case(LARGE_SCORES, (1000 * (large + large.sign()), -1)),  # none between -1000 and 1000
        Case(
            Text("rows of very different size", "各列數值大小懸殊的矩陣"),
            (torch.cat([uneven, brink]), -1),
        ),
    ]


def _softmax_by_slices(x, dim):
    rows = x.movedim(dim, -1)
    flat = [(row - row.max()).exp() for row in rows.reshape(-1, rows.size(-1))]
    return torch.stack([e / e.sum() for e in flat]).reshape(rows.shape).movedim(-1, dim)


def _softmax_of(prepare, total=None):
    """exp of ``prepare(x, dim)`` over its sum along dim, or over ``total(e, x, dim)``."""

    def answer(x, dim):
        e = prepare(x, dim).exp()
        return e / (e.sum(dim, keepdim=True) if total is None else total(e, x, dim))

    return answer


def _minus_max(x, dim):
    return x - x.amax(dim, keepdim=True)


_AND_OVERFLOW = Text(" Also, exp overflows for large scores.", "另外，分數很大時 exp 會溢位。")


def _softmax_mistakes(name, hint, total):
    """One wrong total, twice: with the maximum taken out, and without."""
    overflowing = Text("", "").join([hint, _AND_OVERFLOW])
    return (
        Mistake(name, _softmax_of(_minus_max, total), hint),
        Mistake(f"{name}-and-overflow", _softmax_of(lambda x, dim: x, total), overflowing),
    )


def _minus_max_without_keepdim(x, dim):
    return x - x.max(dim).values


MISTAKES = mistakes(
    ("dim-ignored", lambda x, dim: x.softmax(-1),
     "always over the last dimension: the argument dim is not used.",
     "你永遠沿最後一個維度計算：參數 dim 沒有用到。"),
    ("dim-0", lambda x, dim: x.softmax(0),
     "always over dimension 0: the argument dim is not used.",
     "你永遠沿第 0 個維度計算：參數 dim 沒有用到。"),
    ("dim-ignored-and-overflow",
     _softmax_of(lambda x, dim: x, lambda e, x, dim: e.sum(-1, keepdim=True)),
     "the sum always runs over the last dimension: the argument dim is not used. Also, exp overflows for large scores.",
     "你的總和永遠沿最後一個維度計算：參數 dim 沒有用到。另外，分數很大時 exp 會溢位。"),
    ("no-maximum", _softmax_of(lambda x, dim: x),
     "right for small scores, NaN for large ones: exp overflows above about 709 in float64 and about 88 in float32. What may you subtract from every score of a row without changing the result?",
     "分數小的時候正確，分數一大就變成 NaN：exp 在 float64 超過約 709、在 float32 超過約 88 就會溢位。一列裡的每個分數都減去什麼，結果還是一樣？"),
    ("maximum-of-everything", _softmax_of(lambda x, dim: x - x.max()),
     "you subtract the maximum of the whole tensor. A row whose scores lie far below it becomes 0/0. Take each row's own maximum.",
     "你減掉的是整個張量的最大值。如果某一列的分數全都遠低於它，那一列就會變成 0/0。每一列要減自己的最大值。"),
    ("minimum", _softmax_of(lambda x, dim: x - x.amin(dim, keepdim=True)),
     "you subtract the minimum, so the largest score stays large and exp overflows. Subtract the maximum: then no exponent is above 0.",
     "你減掉的是最小值，最大的分數還是很大，exp 照樣溢位。要減最大值，這樣指數都不會超過 0。"),
    ("clamped", _softmax_of(lambda x, dim: x.clamp(-700, 700)),
     "the scores are clamped before exp, which makes different large scores equal. Subtracting the maximum changes nothing in the result.",
     "你在 exp 之前把分數截斷了，不同的大分數會變得一樣。改成減去最大值，結果完全不受影響。"),
    *_softmax_mistakes("no-keepdim",
     Text("the sum has lost its dimension, so it lines up with the wrong one when you divide. keepdim=True keeps it in place.",
          "加總之後少了一個維度，相除時就對到錯的維度上去了。加上 keepdim=True 就能保留它。"),
     lambda e, x, dim: e.sum(dim)),
    *_softmax_mistakes("over-everything",
     Text("all entries together sum to 1. Each slice along dim should sum to 1 by itself.",
          "你的結果是全部加起來等於 1。應該是沿 dim 的方向，每一條各自加起來等於 1。"),
     lambda e, x, dim: e.sum()),
    ("maximum-and-sum-of-everything",
     _softmax_of(lambda x, dim: x - x.max(), lambda e, x, dim: e.sum()),
     "maximum and sum are both taken over the whole tensor. Each slice along dim should sum to 1 by itself.",
     "最大值和總和都是對整個張量算的。應該是沿 dim 的方向，每一條各自加起來等於 1。"),
    ("no-exp", lambda x, dim: x / x.sum(dim, keepdim=True),
     "the scores are divided by their sum, without exp. Negative scores give negative “probabilities” that way.",
     "你直接把分數除以總和，沒有取 exp。這樣負的分數會變成負的「機率」。"),
    ("log-softmax", lambda x, dim: x.log_softmax(dim),
     "these are the logarithms of the probabilities. One exp is missing.",
     "這些是機率的對數，還差一個 exp。"),
    ("sigmoid", lambda x, dim: x.sigmoid(),
     "each score is squeezed by itself (a sigmoid). In a softmax the scores compete: their weights sum to 1.",
     "你把每個分數各自壓到 0 和 1 之間（sigmoid）。在 softmax 裡，分數要互相競爭，權重加起來是 1。"),
    ("eps-in-the-denominator",
     _softmax_of(_minus_max, lambda e, x, dim: e.sum(dim, keepdim=True) + 1e-05),
     "something small is added to the denominator, so the weights sum to a little less than 1. It is not needed: with the maximum taken out, the sum is at least 1.",
     "分母多加了一個很小的數，權重的總和就略小於 1。其實不需要：減去最大值之後，總和至少是 1。"),
    ("powers-of-two", lambda x, dim: (x * math.log(2)).softmax(dim),
     "the powers are of 2 instead of e.",
     "你用的底數是 2，應該是 e。"),
    ("negated", lambda x, dim: (-x).softmax(dim),
     "the smallest score gets the largest weight: there is a minus sign too many.",
     "分數最小的反而拿到最大的權重：多了一個負號。"),
    ("place-of-the-maximum", _softmax_of(lambda x, dim: x - x.argmax(dim, keepdim=True)),
     "you subtract the place of the maximum (its index), not its value. max(dim) returns two things; which of them did you take?",
     "你減掉的是最大值的位置（索引），不是它的值。max(dim) 會傳回兩樣東西，你拿的是哪一個？"),
    ("mean", _softmax_of(lambda x, dim: x - x.mean(dim, keepdim=True)),
     "you subtract the mean, so scores far above it still overflow in exp. What must you subtract so that no exponent is above 0?",
     "你減掉的是平均，遠高於平均的分數取 exp 還是會溢位。要減掉什麼，指數才都不會超過 0？"),
    ("divided-by-the-maximum", _softmax_of(lambda x, dim: x / x.amax(dim, keepdim=True)),
     "the scores are divided by their maximum, and that changes the result. The softmax stays the same only when every score is moved by the same amount.",
     "你把分數除以最大值，結果就變了。只有每個分數都加減同一個數時，softmax 才不會變。"),
    ("max-over-the-last-dimension", _softmax_of(lambda x, dim: x - x.amax(-1, keepdim=True)),
     "the maximum is taken over the last dimension, but the sum over dim. Both belong to the same slice.",
     "最大值是沿最後一個維度取的，總和卻是沿 dim 算的。兩個要沿同一個方向。"),
    ("sum-over-the-last-dimension", _softmax_of(_minus_max, lambda e, x, dim: e.sum(-1, keepdim=True)),
     "the maximum is taken over dim, but the sum over the last dimension. Both belong to the same slice.",
     "最大值是沿 dim 取的，總和卻是沿最後一個維度算的。兩個要沿同一個方向。"),
    ("only-the-numerator-shifted",
     _softmax_of(_minus_max, lambda e, x, dim: x.exp().sum(dim, keepdim=True)),
     "the maximum is subtracted above the fraction line but not below. It cancels only when both use the same exponents.",
     "你只在分子減去最大值，分母沒有減。分子和分母用同樣的指數，才會互相抵消。"),
    ("max-without-keepdim", _softmax_of(_minus_max_without_keepdim),
     "the maximum has lost its dimension, so it lines up with the wrong one when you subtract. Look at keepdim.",
     "取最大值之後少了一個維度，相減時就對到錯的維度上去了。請看看 keepdim。"),
    ("no-keepdim-at-all", _softmax_of(_minus_max_without_keepdim, lambda e, x, dim: e.sum(dim)),
     "maximum and sum have both lost their dimension, so they line up with the wrong one. Look at keepdim.",
     "最大值和總和都少了一個維度，就對到錯的維度上去了。請看看 keepdim。"),
    ("not-normalised", lambda x, dim: x.exp(),
     "this is exp alone. A softmax shares out 1: what is each entry still to be divided by? (And exp overflows for large scores.)",
     "這只有 exp。softmax 是把總和 1 分給每一項：每個數還要除以什麼？（而且分數很大時，exp 會溢位。）"),
    ("shifted-but-not-normalised", lambda x, dim: _minus_max(x, dim).exp(),
     "the maximum is taken out well, but the entries do not sum to 1 yet: what is each to be divided by?",
     "減去最大值的部分做對了，但每一項加起來還不是 1：還要除以什麼？"),
    ("clamped-above", _softmax_of(lambda x, dim: x.clamp(max=700)),
     "the scores are clamped from above, so different large scores become equal; and where all lie far below 0, it is still 0/0. Moving a whole row changes nothing in the result.",
     "你把太大的分數截斷了，不同的大分數會變得一樣；整列都遠低於 0 時，還是會變成 0/0。整列一起平移，結果才不會變。"),
    ("clamped-below", _softmax_of(lambda x, dim: x.clamp(min=-700)),
     "the scores are clamped from below: that does not stop exp from overflowing at large scores, and makes different small ones equal. Moving a whole row changes nothing in the result.",
     "你把太小的分數截斷了：分數很大時 exp 照樣溢位，不同的小分數也會變得一樣。整列一起平移，結果才不會變。"),
    ("nan-to-num", lambda x, dim: _softmax_of(lambda x, dim: x)(x, dim).nan_to_num(0.0),
     "nan_to_num hides that exp has overflowed: large scores get weight 0, the wrong way round. Keep exp from overflowing in the first place.",
     "nan_to_num 只是把 exp 溢位的事蓋住：分數大的反而得到 0。要從一開始就不讓 exp 溢位。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="softmax",
    chapter=4,
    title=Text("A softmax that never overflows", "不會溢位的 softmax"),
    difficulty=2,
    minutes=10,
    reference=softmax,
    cases=_softmax_cases,
    alternatives=(
        lambda x, dim: (x - x.logsumexp(dim, keepdim=True)).exp(),
        lambda x, dim: x.log_softmax(dim).exp(),
        lambda x, dim: F.softmax(x - x.amax(dim, keepdim=True).detach(), dim=dim),
        lambda x, dim: x.double().softmax(dim).to(x.dtype),
        lambda x, dim: torch.softmax(x - x.mean(dim, keepdim=True), dim),
        _softmax_of(lambda x, dim: _minus_max(x, dim).clamp(min=-700)),
        _softmax_by_slices,
    ),
    mistakes=MISTAKES,
)
