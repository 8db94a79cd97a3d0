"""What several exercises of chapter 9 share."""

import math

import torch
import torch.nn.functional as F

from transformer_lib.exercises.data import Mistake, Text

A_SHORT_LAST_BLOCK = Text("a last block that is shorter", "最後一塊比較短")
A_BLOCK_LARGER_THAN_ALL = Text("a block larger than the whole", "一塊就比全部還大")
MANY_TOKENS = Text("many tokens", "很多標記")
LAST_BLOCK = Text(
    "the last block is left out where it is shorter than the others. n // block_size counts only the full ones.",
    "最後一塊比較短的時候，你就漏掉它了。n // block_size 只算得到完整的塊。",
)
FIRST_BLOCK = Text(
    "the first block is left out. Where does your loop start?",
    "漏掉了第一塊。你的迴圈從哪裡開始？",
)
NO_MAXIMUM = Text(
    "right for small scores, but exp overflows for large ones. Keep a running maximum and subtract it.",
    "分數小的時候正確，但分數一大，exp 就會溢位。請邊讀邊記住目前的最大值，並把它減掉。",
)
FIRST_MAXIMUM_INFINITE = Text(
    "NaN: at the first block the old maximum is −∞, so old − new, exp(new − old), exp(x − old) and old / new are ±∞, and ∞ · 0 is NaN. Is your factor an exp, of which difference, and which maximum do the new terms subtract?",
    "出現 NaN：讀第一塊時，舊的最大值是 −∞，所以 old − new、exp(new − old)、exp(x − old)、old / new 都是 ±∞，而 ∞ · 0 是 NaN。你的係數有取 exp 嗎？裡面是誰減誰？新的項減的是哪一個最大值？",
)
OLD_MAXIMUM_SUBTRACTED = Text(
    "the new terms overflow: they subtract the old maximum, which is far below everything at the start. Which maximum are the old terms brought to? The new ones subtract the same.",
    "新的項溢位了：它們減的是舊的最大值，而一開始那比所有的數都小得多。舊的項換到哪一個最大值？新的項也要減同一個。",
)
FACTOR_WITHOUT_EXP = Text(
    "the difference of the maxima itself is the factor. Another number subtracted in the exponent is a factor exp(old − new).",
    "你把兩個最大值的差直接當係數了。指數裡多減一個數，係數是 exp(old − new)。",
)
EXP_OF_THE_QUOTIENT = Text(
    "the factor is exp(old / new). exp(a) / exp(b) is exp(a − b): subtract the maxima.",
    "你的係數是 exp(old / new)。但 exp(a) / exp(b) 等於 exp(a − b)：兩個最大值要相減。",
)


def positions(n_q, n_k, block_size):
    """Where queries (a column) and keys stand in the sequence: the queries are the last."""
    return torch.arange(n_k - n_q, n_k)[:, None], torch.arange(n_k)


def starts(n_k, block_size):
    return range(0, n_k, block_size)


def scale(q, k, v):
    return q.size(-1) ** -0.5


def hide(scores, seen):
    return scores.masked_fill(~seen, -torch.inf)


def highest(old, scores):
    return torch.maximum(old, scores.amax(-1, keepdim=True))


def rescale(old, new):
    """exp(old − new); 0 while nothing has been seen, where both are −∞."""
    return (old - new.masked_fill(new.isinf(), 0.0)).exp()


def update(
    highest=highest,
    rescale_total=rescale,
    rescale_output=rescale,
    weigh=lambda scores, new, seen: rescale(scores, new),
):
    """One block more: the step from (maximum, total, output) to the next."""

    def update(state, scores, seen, v):
        maximum, total, output = state
        new = highest(maximum, scores)
        weights = weigh(scores, new, seen)
        total = total * rescale_total(maximum, new) + weights.sum(-1, keepdim=True)
        output = output * rescale_output(maximum, new) + weights @ v
        return new, total, output

    return update


next_state = update()


def divide(maximum, total, output):
    """The total is at least exp(0) = 1, except for a query that saw nothing: its output is 0."""
    return output / total.clamp(min=1.0)


def flash(
    tiled=False,
    positions=positions,
    starts=starts,
    seen=lambda i, j: j <= i,
    scale=scale,
    hide=hide,
    update=next_state,
    finish=divide,
    join_dim=-2,
):
    """Attention in blocks of keys (if ``tiled``, of queries too), with a place for each slip."""

    def answer(q, k, v, block_size, causal):
        i, j = positions(q.size(-2), k.size(-2), block_size)

        def attend(q, i):
            maximum = q.new_full((*q.shape[:-1], 1), -torch.inf)
            state = maximum, torch.zeros_like(maximum), q.new_zeros(*q.shape[:-1], v.size(-1))
            for first in starts(k.size(-2), block_size):
                block = slice(first, first + block_size)
                scores = q @ k[..., block, :].mT * scale(q, k, v)
                visible = seen(i, j[block]) | torch.tensor(not causal)
                state = update(state, hide(scores, visible), visible, v[..., block, :])
            return finish(*state)

        size = block_size if tiled else q.size(-2)
        return torch.cat(list(map(attend, q.split(size, -2), i.split(size))), join_dim)

    return answer


flash_attention = flash(tiled=True)


def softmax_of_all(q, k, causal, dim=-1):
    """The weights as in chapter 4, all of them in one matrix."""
    scores = q @ k.mT * scale(q, k, k)
    i, j = positions(q.size(-2), k.size(-2), 1)
    return hide(scores, (j <= i) | torch.tensor(not causal)).softmax(dim).nan_to_num(0.0)


def feature(x):
    return F.elu(x) + 1


def identity(x):
    return x


def both(phi):
    return {"phi_q": phi, "phi_k": phi}


# Slips in φ, which both exercises on linear attention know: arguments of linear, and the hint.
WRONG_FEATURES = (
    (
        "no-feature-map",
        {"phi_q": identity, "phi_k": identity},
        Text(
            "φ is missing: with the plain q and k, weights may be negative, and their sum may "
            "be 0.",
            "少了 φ：直接用 q 和 k，權重可能是負的，加起來也可能是 0。",
        ),
    ),
    (
        "feature-map-on-q-only",
        {"phi_k": identity},
        Text(
            "φ is applied to the queries only. The keys need it too.",
            "φ 只用在查詢上。鍵也要。",
        ),
    ),
    (
        "feature-map-on-k-only",
        {"phi_q": identity},
        Text(
            "φ is applied to the keys only. The queries need it too.",
            "φ 只用在鍵上。查詢也要。",
        ),
    ),
    (
        "feature-map-on-v",
        {"phi_v": feature},
        Text(
            "φ is applied to the values as well. It is there to make weights positive; the "
            "values stay as they are.",
            "你連值也套上 φ 了。它的作用是讓權重變成正的；值要保持原樣。",
        ),
    ),
    (
        "elu-without-1",
        both(F.elu),
        Text(
            "φ is elu without the + 1: it goes down to −1, so weights may be negative.",
            "φ 只有 elu，沒有 + 1：它最低會到 −1，權重就可能是負的。",
        ),
    ),
    (
        "one-added-inside",
        both(lambda x: F.elu(x + 1)),
        Text(
            "the 1 is added inside of elu. It lifts the result: elu(x) + 1.",
            "1 加到 elu 裡面去了。它要加在結果上：elu(x) + 1。",
        ),
    ),
    (
        "relu",
        both(torch.relu),
        Text(
            "φ is relu, which is exactly 0 for half of the numbers. elu(x) + 1 is positive "
            "everywhere.",
            "φ 用了 relu，有一半的數會剛好變成 0。elu(x) + 1 則處處都是正的。",
        ),
    ),
    (
        "relu-plus-1",
        both(lambda x: x.relu() + 1),
        Text(
            "φ is relu(x) + 1: below 0 it is flat. elu(x) + 1 falls towards 0 there, like exp.",
            "φ 用了 relu(x) + 1：小於 0 的地方是平的。elu(x) + 1 在那裡會像 exp 一樣降到 0。",
        ),
    ),
    (
        "exp",
        both(torch.exp),
        Text(
            "φ is exp. elu(x) + 1 agrees with it below 0, but above 0 it grows like x + 1 only.",
            "φ 用了 exp。小於 0 時，elu(x) + 1 和它一樣；但大於 0 時，只像 x + 1 那樣成長。",
        ),
    ),
    (
        "softmax-as-feature-map",
        both(lambda x: x.softmax(-1)),
        Text(
            "φ is a softmax over the features. Here each number is mapped by itself, with "
            "elu(x) + 1.",
            "φ 用了沿著特徵做的 softmax。這裡是每個數各自轉換：elu(x) + 1。",
        ),
    ),
    (
        "sigmoid",
        both(torch.sigmoid),
        Text(
            "φ is the sigmoid. It is positive too, but asked for is elu(x) + 1.",
            "φ 用了 sigmoid。它也是正的，但題目要的是 elu(x) + 1。",
        ),
    ),
    (
        "scaled",
        {"phi_q": lambda x: feature(x / math.sqrt(x.size(-1)))},
        Text(
            "q is divided by √d_k. That scale keeps a softmax out of saturation; here there is "
            "no softmax.",
            "你把 q 除以 √d_k 了。那個縮放是為了不讓 softmax 飽和；這裡沒有 softmax。",
        ),
    ),
    (
        "both-scaled",
        both(lambda x: feature(x / math.sqrt(x.size(-1)))),
        Text(
            "q and k are divided by √d_k. That scale keeps a softmax out of saturation; here there "
            "is no softmax.",
            "你把 q 和 k 都除以 √d_k 了。那個縮放是為了不讓 softmax 飽和；這裡沒有 softmax。",
        ),
    ),
    (
        "branches-exchanged",
        both(lambda x: torch.where(x > 0, x.exp(), x + 1)),
        Text(
            "the two branches of φ have changed places: above 0 it is x + 1, below it is exp(x).",
            "φ 的兩段對調了：大於 0 時是 x + 1，其他時候才是 exp(x)。",
        ),
    ),
    (
        "x-plus-1",
        both(lambda x: x + 1),
        Text(
            "φ is x + 1, also below 0, where it may become negative. There elu(x) + 1 is exp(x).",
            "φ 用了 x + 1，連小於 0 的時候也是，這樣可能變成負的。那裡的 elu(x) + 1 是 exp(x)。",
        ),
    ),
    (
        "1-minus-elu",
        both(lambda x: 1 - F.elu(x)),
        Text(
            "the sign is wrong: elu is subtracted from 1, or 1 from elu. φ is elu(x) + 1.",
            "正負號不對：你用 1 減 elu，或用 elu 減 1。φ 是 elu(x) + 1。",
        ),
    ),
    (
        "softplus",
        both(F.softplus),
        Text(
            "φ is softplus, ln(1 + exp(x)). It is positive too, but asked for is elu(x) + 1.",
            "φ 用了 softplus，也就是 ln(1 + exp(x))。它也是正的，但題目要的是 elu(x) + 1。",
        ),
    ),
    (
        "absolute-values",
        both(torch.abs),
        Text(
            "φ is the absolute value: a number and its opposite look the same. It is elu(x) + 1.",
            "φ 用了絕對值：正數和負數就分不出來了。應該是 elu(x) + 1。",
        ),
    ),
    (
        "squares",
        both(torch.square),
        Text(
            "φ is the square: a number and its opposite look the same. It is elu(x) + 1.",
            "φ 用了平方：正數和負數就分不出來了。應該是 elu(x) + 1。",
        ),
    ),
)


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
    features = (Mistake(name, linear(**phi), hint) for name, phi, hint in WRONG_FEATURES)
    return (
        Mistake("no-normaliser", undivided, no_normaliser),
        Mistake("output-sums-to-1", rows_that_sum_to_1(undivided), entries_summed),
        *features,
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
