"""Linear attention with a place for each slip, and the slips that are the same causal or not."""

import math

import torch
import torch.nn.functional as F

from transformer_lib.exercises.chapter_09.tiles import positions
from transformer_lib.exercises.data import Text, mistakes


def feature(x):
    return F.elu(x) + 1


def identity(x):
    return x


def both(phi):
    return {"phi_q": phi, "phi_k": phi}


# Slips in φ, which both exercises on linear attention know: arguments of linear, and the hint.
WRONG_FEATURES = (
    ("no-feature-map", {"phi_q": identity, "phi_k": identity},
     "φ is missing: with the plain q and k, weights may be negative, and their sum may be 0.",
     "少了 φ：直接用 q 和 k，權重可能是負的，加起來也可能是 0。"),
    ("feature-map-on-q-only", {"phi_k": identity},
     "φ is applied to the queries only. The keys need it too.",
     "φ 只用在查詢上。鍵也要。"),
    ("feature-map-on-k-only", {"phi_q": identity},
     "φ is applied to the keys only. The queries need it too.",
     "φ 只用在鍵上。查詢也要。"),
    ("feature-map-on-v", {"phi_v": feature},
     "φ is applied to the values as well. It is there to make weights positive; the values stay as they are.",
     "你連值也套上 φ 了。它的作用是讓權重變成正的；值要保持原樣。"),
    ("elu-without-1", both(F.elu),
     "φ is elu without the + 1: it goes down to −1, so weights may be negative.",
     "φ 只有 elu，沒有 + 1：它最低會到 −1，權重就可能是負的。"),
    ("one-added-inside", both(lambda x: F.elu(x + 1)),
     "the 1 is added inside of elu. It lifts the result: elu(x) + 1.",
     "1 加到 elu 裡面去了。它要加在結果上：elu(x) + 1。"),
    ("relu", both(torch.relu),
     "φ is relu, which is exactly 0 for half of the numbers. elu(x) + 1 is positive everywhere.",
     "φ 用了 relu，有一半的數會剛好變成 0。elu(x) + 1 則處處都是正的。"),
    ("relu-plus-1", both(lambda x: x.relu() + 1),
     "φ is relu(x) + 1: below 0 it is flat. elu(x) + 1 falls towards 0 there, like exp.",
     "φ 用了 relu(x) + 1：小於 0 的地方是平的。elu(x) + 1 在那裡會像 exp 一樣降到 0。"),
    ("exp", both(torch.exp),
     "φ is exp. elu(x) + 1 agrees with it below 0, but above 0 it grows like x + 1 only.",
     "φ 用了 exp。小於 0 時，elu(x) + 1 和它一樣；但大於 0 時，只像 x + 1 那樣成長。"),
    ("softmax-as-feature-map", both(lambda x: x.softmax(-1)),
     "φ is a softmax over the features. Here each number is mapped by itself, with elu(x) + 1.",
     "φ 用了沿著特徵做的 softmax。這裡是每個數各自轉換：elu(x) + 1。"),
    ("sigmoid", both(torch.sigmoid),
     "φ is the sigmoid. It is positive too, but asked for is elu(x) + 1.",
     "φ 用了 sigmoid。它也是正的，但題目要的是 elu(x) + 1。"),
    ("scaled", {"phi_q": lambda x: feature(x / math.sqrt(x.size(-1)))},
     "q is divided by √d_k. That scale keeps a softmax out of saturation; here there is no softmax.",
     "你把 q 除以 √d_k 了。那個縮放是為了不讓 softmax 飽和；這裡沒有 softmax。"),
    ("both-scaled", both(lambda x: feature(x / math.sqrt(x.size(-1)))),
     "q and k are divided by √d_k. That scale keeps a softmax out of saturation; here there is no softmax.",
     "你把 q 和 k 都除以 √d_k 了。那個縮放是為了不讓 softmax 飽和；這裡沒有 softmax。"),
    ("branches-exchanged", both(lambda x: torch.where(x > 0, x.exp(), x + 1)),
     "the two branches of φ have changed places: above 0 it is x + 1, below it is exp(x).",
     "φ 的兩段對調了：大於 0 時是 x + 1，其他時候才是 exp(x)。"),
    ("x-plus-1", both(lambda x: x + 1),
     "φ is x + 1, also below 0, where it may become negative. There elu(x) + 1 is exp(x).",
     "φ 用了 x + 1，連小於 0 的時候也是，這樣可能變成負的。那裡的 elu(x) + 1 是 exp(x)。"),
    ("1-minus-elu", both(lambda x: 1 - F.elu(x)),
     "the sign is wrong: elu is subtracted from 1, or 1 from elu. φ is elu(x) + 1.",
     "正負號不對：你用 1 減 elu，或用 elu 減 1。φ 是 elu(x) + 1。"),
    ("softplus", both(F.softplus),
     "φ is softplus, ln(1 + exp(x)). It is positive too, but asked for is elu(x) + 1.",
     "φ 用了 softplus，也就是 ln(1 + exp(x))。它也是正的，但題目要的是 elu(x) + 1。"),
    ("absolute-values", both(torch.abs),
     "φ is the absolute value: a number and its opposite look the same. It is elu(x) + 1.",
     "φ 用了絕對值：正數和負數就分不出來了。應該是 elu(x) + 1。"),
    ("squares", both(torch.square),
     "φ is the square: a number and its opposite look the same. It is elu(x) + 1.",
     "φ 用了平方：正數和負數就分不出來了。應該是 elu(x) + 1。"),
)  # fmt: skip


def shared_mistakes(linear):
    """What goes wrong with linear attention, causal or not: the normaliser and φ."""
    no_normaliser = Text(
        "the rows are not normalised: divide by φ(q) · Σ φ(k), so that the weights of a "
        "query sum to 1.",
        "每一列沒有正規化：要除以 φ(q) · Σ φ(k)，一個查詢的權重加起來才會是 1。",
    )
    entries_summed = Text(
        "each row of the output is divided by the sum of its own entries. What has to sum to 1 are "
        "the weights of a query: divide by φ(q) · Σ φ(k).",
        "每一列輸出都除以自己各分量的總和了。加起來要等於 1 的是查詢的權重：要除以 φ(q) · Σ φ(k)。",
    )
    undivided = linear(normaliser=None)
    return mistakes(
        ("no-normaliser", undivided, no_normaliser),
        ("output-sums-to-1", rows_that_sum_to_1(undivided), entries_summed),
        *((name, linear(**phi), *hint) for name, phi, *hint in WRONG_FEATURES),
    )


def rows_that_sum_to_1(linear):
    def answer(q, k, v):
        output = linear(q, k, v)
        return output / output.sum(-1, keepdim=True)

    return answer


def all_keys(q, k):
    """φ(q) · Σ φ(k), a column."""
    return q @ k.sum(-2).unsqueeze(-1)


def linear(
    phi_q=feature,
    phi_k=feature,
    phi_v=identity,
    normaliser=all_keys,
    divide=torch.div,
    transpose=lambda k: k.mT,
):
    """Linear attention with a place for each slip."""

    def answer(q, k, v):
        q, k = phi_q(q), phi_k(k)
        output = q @ (transpose(k) @ phi_v(v))
        return divide(output, normaliser(q, k)) if normaliser else output

    return answer


linear_attention = linear()


def causal_where_it_fits(q, k, v):
    i, j = positions(q.size(-2), k.size(-2), 1)
    weights = feature(q) @ feature(k).mT * (j <= i)
    return weights @ v / weights.sum(-1, keepdim=True)
