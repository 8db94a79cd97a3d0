"""Exercises of chapter 9, attention that fits: the right answers, and the wrong ones people give."""

import math

import torch
import torch.nn.functional as F

from transformer_lib.exercises.data import Case, Exercise, Mistake, Text
from transformer_lib.exercises.inputs import (
    BATCH_AND_HEADS,
    LARGE_SCORES,
    ONE_SEQUENCE,
    SQUARE,
    by_hand,
    normal,
)

A_SHORT_LAST_BLOCK = Text("a last block that is shorter", "最後一塊比較短")
A_BLOCK_LARGER_THAN_ALL = Text("a block larger than the whole", "一塊就比全部還大")
MANY_TOKENS = Text("many tokens", "很多標記")

# Hints that several exercises give.
_LAST_BLOCK = Text(
    "the last block is left out where it is shorter than the others. n // block_size counts only "
    "the full ones.",
    "最後一塊比較短的時候，你就漏掉它了。n // block_size 只算得到完整的塊。",
)
_FIRST_BLOCK = Text(
    "the first block is left out. Where does your loop start?",
    "漏掉了第一塊。你的迴圈從哪裡開始？",
)
_TOTAL_NOT_RESCALED = Text(
    "the old sum is not rescaled. Its terms were exp(x − old maximum); when the maximum rises, "
    "what do all of them have to be multiplied by?",
    "舊的總和沒有重新縮放。裡面每一項都是 exp(x − m)，m 是舊的最大值；最大值變大時，每一項都要乘上多少？",
)
_NO_MAXIMUM = Text(
    "right for small scores, but exp overflows for large ones. Keep a running maximum and subtract "
    "it.",
    "分數小的時候正確，但分數一大，exp 就會溢位。請邊讀邊記住目前的最大值，並把它減掉。",
)
_BLOCK_MAXIMUM = Text(
    "right while the blocks are alike. But your maximum is that of the block, so it may fall "
    "again, and then the old terms are blown up until they overflow. The maximum of all that was "
    "read so far never falls.",
    "各塊差不多大的時候是對的。但你用的是這一塊的最大值，它可能又變小，舊的項就會被放大到溢位。"
    "到目前為止讀過的最大值，只會變大，不會變小。",
)

_FIRST_MAXIMUM_INFINITE = Text(
    "NaN: at the first block the old maximum is −∞, so old − new, exp(new − old), exp(x − old) and "
    "old / new are ±∞, and ∞ · 0 is NaN. Is your factor an exp, of which difference, and which "
    "maximum do the new terms subtract?",
    "出現 NaN：讀第一塊時，舊的最大值是 −∞，所以 old − new、exp(new − old)、exp(x − old)、old / new "
    "都是 ±∞，而 ∞ · 0 是 NaN。你的係數有取 exp 嗎？裡面是誰減誰？新的項減的是哪一個最大值？",
)
_OLD_MAXIMUM_SUBTRACTED = Text(
    "the new terms overflow: they subtract the old maximum, which is far below everything at the "
    "start. Which maximum are the old terms brought to? The new ones subtract the same.",
    "新的項溢位了：它們減的是舊的最大值，而一開始那比所有的數都小得多。舊的項換到哪一個最大值？"
    "新的項也要減同一個。",
)
_FACTOR_WITHOUT_EXP = Text(
    "the difference of the maxima itself is the factor. Another number subtracted in the exponent "
    "is a factor exp(old − new).",
    "你把兩個最大值的差直接當係數了。指數裡多減一個數，係數是 exp(old − new)。",
)
_EXP_OF_THE_QUOTIENT = Text(
    "the factor is exp(old / new). exp(a) / exp(b) is exp(a − b): subtract the maxima.",
    "你的係數是 exp(old / new)。但 exp(a) / exp(b) 等於 exp(a − b)：兩個最大值要相減。",
)

# --- online-log-sum-exp -------------------------------------------------------------------


def _online_log_sum_exp(
    start=(-torch.inf, 0.0),
    blocks=torch.split,
    highest=lambda old, block: torch.maximum(old, block.max()),
    rescale=lambda old, new: (old - new).exp(),
    term=lambda block, old, new: (block - new).exp(),
    finish=lambda maximum, total: maximum + total.log(),
):
    """The online log-sum-exp with a place for each slip."""

    def answer(x, block_size):
        maximum, total = (x.new_tensor(number) for number in start)
        for block in blocks(x, block_size):
            new = highest(maximum, block)
            total = total * rescale(maximum, new) + term(block, maximum, new).sum()
            maximum = new
        return finish(maximum, total)

    return answer


online_log_sum_exp = _online_log_sum_exp()


def _log_sum_exp_cases():
    randn = normal(91)
    label = Text("numbers around {size}", "大小約 {size} 的數")
    return [
        Case(A_SHORT_LAST_BLOCK, (randn(8), 3)),
        Case(Text("blocks that fit exactly", "剛好切得完"), (randn(6), 2)),
        Case(A_BLOCK_LARGER_THAN_ALL, (randn(5), 7)),
        Case(Text("blocks of one", "一塊只有一個數"), (randn(4), 1)),
        Case(label.format(size=1000), (1000 + randn(7), 3)),
        Case(label.format(size=-1000), (-1000 + randn(7), 3)),
        Case(Text("numbers that fall", "越來越小的數"), (torch.arange(9.0).double() * -500, 2)),
        Case(Text("numbers that rise", "越來越大的數"), (torch.arange(9.0).double() * 500, 2)),
        Case(Text("many numbers", "很多數"), (randn(20), 8), largest=8),
    ]


def _log_sum_exp_one_by_one(x, block_size):
    maximum, total = x[0], torch.ones_like(x[0])
    for number in x[1:]:
        new = torch.maximum(maximum, number)
        total = total * (maximum - new).exp() + (number - new).exp()
        maximum = new
    return maximum + total.log()


def _log_sum_exp_merged(x, block_size):
    result = x.new_tensor(-torch.inf)
    for block in x.split(block_size):
        result = torch.logaddexp(result, block.logsumexp(0))
    return result


def _log_sum_exp_with_if(x, block_size):
    maximum, total = None, 0.0
    for first in range(0, len(x), block_size):
        block = x[first : first + block_size]
        if maximum is None or block.max() > maximum:
            total = total * (maximum - block.max()).exp() if first else total
            maximum = block.max()
        total = total + (block - maximum).exp().sum()
    return maximum + total.log()


def _full_blocks(x, block_size):
    return [x[i * block_size : (i + 1) * block_size] for i in range(len(x) // block_size)]


def _rescaled_after_adding(x, block_size):
    maximum, total = x.new_tensor(-torch.inf), x.new_tensor(0.0)
    for block in x.split(block_size):
        new = torch.maximum(maximum, block.max())
        total = (total + (block - new).exp().sum()) * (maximum - new).exp()
        maximum = new
    return maximum + total.log()


def _difference_added(x, block_size):
    maximum, total = x.new_tensor(0.0), x.new_tensor(0.0)
    for block in x.split(block_size):
        new = torch.maximum(maximum, block.max())
        total = total + (maximum - new) + (block - new).exp().sum()
        maximum = new
    return maximum + total.log()


def _combined(combine):
    """The blocks' log-sum-exps, combined in one step."""
    return lambda x, b: combine(torch.stack([block.logsumexp(0) for block in x.split(b)]))


ONLINE_LOG_SUM_EXP = Exercise(
    name="online-log-sum-exp",
    chapter=9,
    title=Text("Log-sum-exp, block by block", "一塊一塊算 log-sum-exp"),
    difficulty=2,
    minutes=12,
    reference=online_log_sum_exp,
    cases=_log_sum_exp_cases,
    alternatives=(
        _log_sum_exp_one_by_one,
        _log_sum_exp_merged,
        _log_sum_exp_with_if,
        _combined(lambda parts: parts.logsumexp(0)),
        _online_log_sum_exp(highest=lambda old, block: torch.maximum(old, block.max()).detach()),
    ),
    wasteful=(
        lambda x, block_size: x.logsumexp(0),
        lambda x, block_size: (x - x.max()).exp().sum().log() + x.max(),
        lambda x, block_size: x.logcumsumexp(0)[-1],
        lambda x, block_size: online_log_sum_exp(x, 2 * block_size),
    ),
    mistakes=(
        Mistake(
            "total-not-rescaled",
            _online_log_sum_exp(rescale=lambda old, new: 1.0),
            _TOTAL_NOT_RESCALED,
        ),
        Mistake(
            "rescaled-the-wrong-way",
            _online_log_sum_exp(
                rescale=lambda old, new: torch.where(old.isinf(), 0.0, (new - old).exp())
            ),
            Text(
                "rescaled the wrong way round: exp(new − old) is at least 1. When the maximum "
                "rises, the old terms become smaller.",
                "縮放的方向反了：exp(new − old) 至少是 1。最大值變大時，舊的項應該變小。",
            ),
        ),
        Mistake(
            "rescaled-the-wrong-way-from-the-start",
            _online_log_sum_exp(rescale=lambda old, new: (new - old).exp()),
            _FIRST_MAXIMUM_INFINITE,
        ),
        Mistake(
            "old-maximum-subtracted",
            _online_log_sum_exp(
                start=(torch.finfo(torch.float32).min, 0.0),
                term=lambda block, old, new: (block - old).exp(),
            ),
            _OLD_MAXIMUM_SUBTRACTED,
        ),
        Mistake(
            "factor-without-exp",
            _online_log_sum_exp(rescale=lambda old, new: torch.where(old.isinf(), 0.0, old - new)),
            _FACTOR_WITHOUT_EXP,
        ),
        Mistake(
            "exp-of-the-quotient",
            _online_log_sum_exp(rescale=lambda old, new: (old / new).exp()),
            _EXP_OF_THE_QUOTIENT,
        ),
        Mistake(
            "quotient-of-the-exps",
            _online_log_sum_exp(rescale=lambda old, new: old.exp() / new.exp()),
            Text(
                "right for numbers near 0, but the factor exp(old) / exp(new) becomes ∞ / ∞ for "
                "large ones and 0 / 0 far below 0. Subtract first: exp(old − new).",
                "數在 0 附近時是對的，但數一大，係數 exp(old) / exp(new) 就變成 ∞ / ∞，"
                "遠低於 0 時則是 0 / 0。要先相減：exp(old − new)。",
            ),
        ),
        Mistake(
            "maximum-of-the-first-block",
            _online_log_sum_exp(
                highest=lambda old, block: torch.where(old.isinf(), block.max(), old)
            ),
            Text(
                "right while no later number is much larger. Your maximum is that of the first "
                "block and never rises, so a large number further on overflows.",
                "後面沒有大得多的數時是對的。但你用的是第一塊的最大值，之後都沒有再變大，"
                "後面一出現很大的數就溢位了。",
            ),
        ),
        Mistake(
            "new-terms-rescaled",
            _rescaled_after_adding,
            Text(
                "the factor multiplies the new terms as well. They have subtracted the new maximum "
                "already; only the old sum needs it.",
                "新的項也乘上係數了。它們減的已經是新的最大值；只有舊的總和才要乘。",
            ),
        ),
        Mistake(
            "difference-added",
            _difference_added,
            Text(
                "the difference of the maxima is added to the sum. Another number subtracted in "
                "the exponent is a factor: exp(a + b) = exp(a) · exp(b).",
                "你把兩個最大值的差加到總和上了。指數裡多減一個數，等於乘上一個係數："
                "exp(a + b) = exp(a) · exp(b)。",
            ),
        ),
        Mistake(
            "mean-of-each-block",
            lambda x, b: torch.logsumexp(
                torch.stack([block.logsumexp(0) - math.log(len(block)) for block in x.split(b)]), 0
            ),
            Text(
                "each block adds the mean of its exponentials. Take their sum.",
                "每一塊加進去的是 exp 的平均。應該用總和。",
            ),
        ),
        Mistake(
            "first-block-alone",
            lambda x, b: x[:b].logsumexp(0),
            Text(
                "this is the first block alone. Does a return stand inside of the loop?",
                "這只算了第一塊。return 是不是寫在迴圈裡面了？",
            ),
        ),
        Mistake(
            "maximum-of-the-block",
            _online_log_sum_exp(highest=lambda old, block: block.max()),
            _BLOCK_MAXIMUM,
        ),
        Mistake(
            "maximum-of-the-block-and-not-rescaled",
            _online_log_sum_exp(
                highest=lambda old, block: block.max(), rescale=lambda old, new: 1.0
            ),
            Text(
                "each block subtracts a maximum of its own, and then the sums are added. Sums can "
                "only be added when the same number was subtracted in both.",
                "每一塊各減各的最大值，然後就把總和加起來了。兩邊減掉的數相同，總和才能相加。",
            ),
        ),
        Mistake(
            "no-maximum",
            lambda x, b: sum(block.exp().sum() for block in x.split(b)).log(),
            _NO_MAXIMUM,
        ),
        Mistake(
            "logarithm-outside-of-torch",
            _online_log_sum_exp(finish=lambda maximum, total: maximum + total.detach().log()),
            Text(
                "the numbers are right, but no gradient passes through the sum: math.log, float "
                "and .item() leave torch. Take torch.log.",
                "數是對的，但總和那邊沒有梯度：math.log、float 和 .item() 會離開 torch。"
                "請改用 torch.log。",
            ),
        ),
        Mistake(
            "maximum-of-the-last-block-added-back",
            lambda x, b: online_log_sum_exp(x, b) - x.max() + x.split(b)[-1].max(),
            Text(
                "right where the largest number stands in the last block. At the end, the maximum "
                "of the last block alone is added back, not that of everything read.",
                "最大的數在最後一塊時是對的。但最後加回來的只是最後一塊的最大值，"
                "應該是讀過的全部的最大值。",
            ),
        ),
        Mistake(
            "maxima-added-up",
            lambda x, b: (
                sum(block.max() for block in x.split(b))
                + sum((block - block.max()).exp().sum() for block in x.split(b)).log()
            ),
            Text(
                "the maxima of all blocks are added up. Only one number was to be subtracted from "
                "all, and only that one comes back.",
                "你把每一塊的最大值都加起來了。全部的數應該減同一個最大值，最後也只加回那一個。",
            ),
        ),
        Mistake(
            "maximum-not-added-back",
            _online_log_sum_exp(finish=lambda maximum, total: total.log()),
            Text(
                "the maximum that you subtracted is not added back. "
                "log Σ exp(x − m) is not log Σ exp(x) yet.",
                "減掉的最大值沒有加回來。log Σ exp(x − m) 還不是 log Σ exp(x)。",
            ),
        ),
        Mistake(
            "maximum-subtracted-again",
            _online_log_sum_exp(finish=lambda maximum, total: total.log() - maximum),
            Text(
                "the maximum is subtracted a second time at the end. It has to come back.",
                "最後又減了一次最大值。應該把它加回來。",
            ),
        ),
        Mistake(
            "logarithm-of-base-2",
            _online_log_sum_exp(finish=lambda maximum, total: maximum + total.log2()),
            Text(
                "that logarithm has base 2. It has to undo exp: which base does that need?",
                "這個對數以 2 為底。它要抵銷的是 exp：該用哪個底？",
            ),
        ),
        Mistake(
            "logarithm-of-base-10",
            _online_log_sum_exp(finish=lambda maximum, total: maximum + total.log10()),
            Text(
                "that logarithm has base 10. torch.log is the natural one, which undoes exp.",
                "這個對數以 10 為底。torch.log 才是自然對數，可以抵銷 exp。",
            ),
        ),
        Mistake(
            "logarithm-missing",
            _online_log_sum_exp(finish=lambda maximum, total: maximum + total),
            Text(
                "the logarithm of the sum is missing: m and the sum are added as they stand.",
                "總和沒有取對數：你直接把 m 和總和相加了。",
            ),
        ),
        Mistake(
            "only-the-sum",
            _online_log_sum_exp(finish=lambda maximum, total: total),
            Text(
                "this is the running sum Σ exp(x − m). Two steps are left: its logarithm, and the "
                "maximum.",
                "這是累積的總和 Σ exp(x − m)。還差兩步：取對數，再處理最大值。",
            ),
        ),
        Mistake(
            "logarithm-of-both",
            _online_log_sum_exp(finish=lambda maximum, total: (maximum + total).log()),
            Text(
                "the maximum has slipped into the logarithm. It was subtracted inside exp, so it "
                "comes back outside of the log.",
                "最大值跑進對數裡面了。它是在 exp 裡面減掉的，所以要在 log 外面加回來。",
            ),
        ),
        Mistake(
            "logarithm-undone",
            _online_log_sum_exp(finish=lambda maximum, total: maximum.exp() * total),
            Text(
                "this is Σ exp(x). Asked for is its logarithm, which does not overflow.",
                "這是 Σ exp(x)。題目要的是它的對數，這樣才不會溢位。",
            ),
        ),
        Mistake(
            "last-short-block-dropped",
            _online_log_sum_exp(blocks=_full_blocks),
            _LAST_BLOCK,
        ),
        Mistake(
            "last-block-dropped",
            _online_log_sum_exp(
                blocks=lambda x, b: [x[i : i + b] for i in range(0, len(x) - b, b)]
            ),
            Text(
                "the last block is always left out. How far does range(0, n − block_size, "
                "block_size) go?",
                "永遠漏掉最後一塊。range(0, n − block_size, block_size) 會跑到哪裡？",
            ),
        ),
        Mistake(
            "first-block-skipped",
            _online_log_sum_exp(blocks=lambda x, b: x.split(b)[1:]),
            _FIRST_BLOCK,
        ),
        Mistake(
            "blocks-overlap",
            _online_log_sum_exp(blocks=lambda x, b: [x[i : i + b] for i in range(len(x))]),
            Text(
                "numbers are counted more than once: the blocks overlap. By how much does the "
                "start of a block move on?",
                "有些數重複計算了：塊和塊之間重疊了。每一塊的起點應該往後移多少？",
            ),
        ),
        Mistake(
            "padded-with-zeros",
            _online_log_sum_exp(blocks=lambda x, b: F.pad(x, (0, -len(x) % b)).split(b)),
            Text(
                "the last block is filled up with zeros, and exp(0) = 1 counts. What must a filler "
                "be, so that its exp is 0?",
                "你用 0 把最後一塊補滿了，但 exp(0) = 1 會算進去。補的數要是多少，exp 才會是 0？",
            ),
        ),
        Mistake(
            "only-the-last-block",
            _online_log_sum_exp(rescale=lambda old, new: 0.0),
            Text(
                "only the last block is left in the sum. Is it added to the old sum, and is the "
                "maximum "
                "kept for the next block? (While the old one stays −∞, exp(old − new) is 0.)",
                "總和裡只剩最後一塊。你有加上舊的總和嗎？最大值有留給下一塊用嗎？"
                "（舊的最大值如果一直是 −∞，exp(old − new) 就是 0。）",
            ),
        ),
        Mistake(
            "maximum-starts-at-0",
            _online_log_sum_exp(start=(0.0, 0.0)),
            Text(
                "right unless all numbers are far below 0: then your maximum, which starts at 0, "
                "is far above them and every exp becomes 0. What is below every number?",
                "大多時候是對的，只有所有的數都遠低於 0 時會錯：你的最大值從 0 開始，比它們大太多，"
                "每個 exp 都變成 0。什麼數比所有的數都小？",
            ),
        ),
        Mistake(
            "an-extra-term",
            _online_log_sum_exp(start=(0.0, 1.0)),
            Text(
                "one term too many: with the maximum at 0 and the sum at 1 you start as if a 0 had "
                "been read already. Nothing has been read, so the sum is empty.",
                "多了一項：最大值從 0、總和從 1 開始，就好像已經讀過一個 0。什麼都還沒讀，"
                "總和應該是空的。",
            ),
        ),
        Mistake(
            "log-sum-exps-added",
            _combined(torch.sum),
            Text(
                "the log-sum-exps of the blocks are added. A sum of logarithms is the logarithm of "
                "a product: how are two of them merged?",
                "你把各塊的 log-sum-exp 加起來了。對數相加，等於相乘之後再取對數：兩個 log-sum-exp 該怎麼合併？",
            ),
        ),
        Mistake(
            "log-sum-exps-averaged",
            _combined(torch.mean),
            Text(
                "the log-sum-exps of the blocks are averaged. Merge what is inside of the "
                "logarithms.",
                "你把各塊的 log-sum-exp 平均了。要合併的是對數裡面的東西。",
            ),
        ),
        Mistake(
            "largest-log-sum-exp",
            _combined(torch.max),
            Text(
                "only the largest log-sum-exp among the blocks is left. The other blocks count too.",
                "你只留下各塊裡最大的 log-sum-exp。其他的塊也要算進去。",
            ),
        ),
        Mistake(
            "divided-by-n",
            lambda x, b: online_log_sum_exp(x, b) - math.log(len(x)),
            Text(
                "too small by log n: this is the logarithm of the mean. Asked for is the sum.",
                "少了 log n：這是平均的對數。題目要的是總和。",
            ),
        ),
        Mistake(
            "maximum-alone",
            lambda x, b: torch.stack([block.max() for block in x.split(b)]).max(),
            Text(
                "this is the maximum. The log-sum-exp is a little larger: the other terms count "
                "too.",
                "這是最大值。log-sum-exp 會再大一點：其他項也要算進去。",
            ),
        ),
    ),
)

# --- flash-attention ----------------------------------------------------------------------


def _positions(n_q, n_k, block_size):
    """Where queries (a column) and keys stand in the sequence: the queries are the last."""
    return torch.arange(n_k - n_q, n_k)[:, None], torch.arange(n_k)


def _starts(n_k, block_size):
    return range(0, n_k, block_size)


def _scale(q, k, v):
    return q.size(-1) ** -0.5


def _hide(scores, seen):
    return scores.masked_fill(~seen, -torch.inf)


def _highest(old, scores):
    return torch.maximum(old, scores.amax(-1, keepdim=True))


def _rescale(old, new):
    """exp(old − new); 0 while nothing has been seen, where both are −∞."""
    return (old - new.masked_fill(new.isinf(), 0.0)).exp()


def _update(
    highest=_highest,
    rescale_total=_rescale,
    rescale_output=_rescale,
    weigh=lambda scores, new, seen: _rescale(scores, new),
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


_next_state = _update()


def _weights_with_the_old_maximum(state, scores, seen, v):
    """exp(score − old maximum), where the first old maximum is the lowest number there is."""
    maximum = state[0].clamp(min=torch.finfo(scores.dtype).min)
    weigh = _update(rescale_total=_raw, rescale_output=_raw, weigh=lambda *_: _raw(scores, maximum))
    return weigh((maximum, *state[1:]), scores, seen, v)


def _divide(maximum, total, output):
    """The total is at least exp(0) = 1, except for a query that saw nothing: its output is 0."""
    return output / total.clamp(min=1.0)


def _divide_unless_0(maximum, total, output):
    """Where a slip may leave a total between 0 and 1."""
    return output / total.masked_fill(total == 0, 1.0)


def _flash(
    tiled=False,
    positions=_positions,
    starts=_starts,
    seen=lambda i, j: j <= i,
    scale=_scale,
    hide=_hide,
    update=_next_state,
    finish=_divide,
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


flash_attention = _flash(tiled=True)


def _flash_cases():
    randn = normal(92)

    def qkv(*batch, n_q, n_k, d_k=5):
        return randn(*batch, n_q, d_k), randn(*batch, n_k, d_k), randn(*batch, n_k, 2)

    q, k, v = qkv(n_q=6, n_k=6)
    fewer = Text("causal, fewer queries than keys", "因果，而且查詢比鍵少")
    batch = Text("causal, in a batch with heads", "因果，有批次，也有好幾個頭")
    blind = Text(
        "causal, more queries than keys: the first see none",
        "因果，而且查詢比鍵多：最前面的查詢看不到任何鍵",
    )
    return [
        Case(fewer, (*qkv(n_q=4, n_k=7), 3, True)),
        Case(A_SHORT_LAST_BLOCK, (*qkv(n_q=4, n_k=7), 3, False)),
        Case(batch, (*qkv(3, 2, n_q=7, n_k=7), 2, True)),
        Case(LARGE_SCORES, (1000 * q, k, v, 2, True)),
        Case(BATCH_AND_HEADS, (*qkv(3, 2, n_q=3, n_k=4), 2, False)),
        Case(A_BLOCK_LARGER_THAN_ALL, (*qkv(n_q=3, n_k=4), 6, False)),
        Case(blind, (*qkv(n_q=5, n_k=3), 2, True)),
        Case(MANY_TOKENS, (*qkv(n_q=60, n_k=64, d_k=3), 20, True), largest=60 * 64 // 2),
    ]


def _softmax_of_all(q, k, causal, dim=-1):
    """The weights as in chapter 4, all of them in one matrix."""
    scores = q @ k.mT * _scale(q, k, k)
    i, j = _positions(q.size(-2), k.size(-2), 1)
    return _hide(scores, (j <= i) | torch.tensor(not causal)).softmax(dim).nan_to_num(0.0)


def _flash_by_loops(q, k, v, block_size, causal):
    """One query after another, one key after another."""
    rows = []
    for i in range(q.size(-2)):
        maximum, total = q.new_full(q.shape[:-2], -torch.inf), 0.0
        output = q.new_zeros(*q.shape[:-2], v.size(-1))
        last = i + 1 + k.size(-2) - q.size(-2) if causal else k.size(-2)
        for j in range(last):
            score = (q[..., i, :] * k[..., j, :]).sum(-1) / math.sqrt(q.size(-1))
            new = torch.maximum(maximum, score)
            old_part, new_part = (maximum - new).exp(), (score - new).exp()
            total = total * old_part + new_part
            output = output * old_part[..., None] + new_part[..., None] * v[..., j, :]
            maximum = new
        rows.append(output / total[..., None] if last > 0 else output)
    return torch.stack(rows, dim=-2)


def _flash_merged(q, k, v, block_size, causal):
    """The output stays normalised: blocks are merged by their log-sum-exps."""
    lowest = torch.finfo(q.dtype).min / 2
    output, lse = q.new_zeros(*q.shape[:-1], v.size(-1)), q.new_full(q.shape[:-1], lowest)
    i, j = _positions(q.size(-2), k.size(-2), block_size)
    blocks = k.split(block_size, -2), v.split(block_size, -2), j.split(block_size)
    for k_j, v_j, j_j in zip(*blocks, strict=True):
        scores = torch.einsum("...qd,...kd->...qk", q, k_j) / math.sqrt(q.size(-1))
        scores = _hide(scores, j_j <= i) if causal else scores
        merged = torch.logaddexp(lse, scores.masked_fill(scores.isinf(), lowest).logsumexp(-1))
        weights = (scores - merged[..., None]).exp()
        output = output * (lse - merged).exp()[..., None] + weights @ v_j
        lse = merged
    return output


def _flash_normalised_in_each_block(state, scores, seen, v):
    """As in the first FlashAttention paper: divide each time, and undo it the next."""
    maximum, total, output = state
    new = _highest(maximum, scores)
    weights = _rescale(scores, new)
    old = total * _rescale(maximum, new)
    total = old + weights.sum(-1, keepdim=True)
    return new, total, (output * old + weights @ v) / total.clamp(min=1e-30)


def _divided_each_time(state, scores, seen, v):
    maximum, total, output = _next_state(state, scores, seen, v)
    return maximum, total, output / total.clamp(min=1.0)


def _each_block_by_itself(state, scores, seen, v):
    weights = scores.softmax(-1).nan_to_num(0.0)
    return state[0], state[1] + 1, state[2] + weights @ v


def _overwritten(state, scores, seen, v):
    maximum, total, _ = _next_state(state, scores, seen, v)
    return maximum, total, _rescale(scores, maximum) @ v


def _maximum_not_kept(state, scores, seen, v):
    """The next block starts from −∞ again; a hidden one changes nothing."""
    _, total, output = state
    new = _highest(torch.full_like(total, -torch.inf), scores)
    factor, weights = 1.0 * new.isinf(), _rescale(scores, new)
    total = total * factor + weights.sum(-1, keepdim=True)
    return state[0], total, output * factor + weights @ v


def _new_weights_rescaled(state, scores, seen, v):
    maximum, total, output = state
    new = _highest(maximum, scores)
    factor = _rescale(maximum, new)
    weights = factor * _rescale(scores, new)
    return new, total * factor + weights.sum(-1, keepdim=True), output * factor + weights @ v


def _mask_not_in_total(state, scores, seen, v):
    """exp first; then hides the weights from the output, but not from the total."""
    maximum, total, output = state
    new = _highest(maximum, scores)
    old, weights = _rescale(maximum, new), _rescale(scores, new)
    return new, total * old + weights.sum(-1, keepdim=True), output * old + weights * seen @ v


def _padded_with_zeros(q, k, v, block_size, causal):
    filler = -k.size(-2) % block_size

    def positions(n_q, n_k, block_size):
        return _positions(n_q, n_k - filler, block_size)[0], torch.arange(n_k)

    k, v = (F.pad(t, (0, 0, 0, filler)) for t in (k, v))
    return _flash(positions=positions)(q, k, v, block_size, causal)


def _cut_along_dim_0(q, k, v, block_size, causal):
    """k[first:last] cuts the batch where there is one."""
    return flash_attention(q, k if k.ndim == 2 else k[:block_size], v, block_size, causal)


def _infinity_times_the_mask(q, k, v, block_size, causal):
    """score − ∞ · hidden: NaN wherever a key is seen."""
    sees = _positions(q.size(-2), k.size(-2), block_size)[0] >= 0
    output = flash_attention(q, k, v, block_size, causal)
    return output.masked_fill(sees, torch.nan) if causal else output


def _only_diagonal_tiles_masked(top_left):
    def answer(q, k, v, block_size, causal):
        n_q, n_k = q.size(-2), k.size(-2)
        start = 0 if top_left else n_k - n_q

        def seen(i, j):
            return (j <= i) | ((i - start) // block_size != j // block_size)

        places = torch.arange(start, start + n_q)[:, None], torch.arange(n_k)
        return _flash(positions=lambda *_: places, seen=seen)(q, k, v, block_size, causal)

    return answer


def _tiles_skipped_by_number(q, k, v, block_size, causal):
    """Skips the tiles above the diagonal as if query 0 stood at position 0."""
    n_q, n_k = q.size(-2), k.size(-2)
    rows = []
    for first in range(0, n_q, block_size):
        i = _positions(n_q, n_k, block_size)[0][first : first + block_size]
        end = min(first + block_size, n_k) if causal else n_k
        attend = _flash(positions=lambda *_, i=i, end=end: (i, torch.arange(end)))
        q_i = q[..., first : first + block_size, :]
        rows.append(attend(q_i, k[..., :end, :], v[..., :end, :], block_size, causal))
    return torch.cat(rows, dim=-2)


def _raw(a, b):
    """exp(a − b) without a thought for −∞."""
    return (a - b).exp()


def _difference(old, new):
    return torch.where(old.isinf(), 0.0, old - new)


def _exp_of_quotient(old, new):
    quotient = old.clamp(min=torch.finfo(old.dtype).min) / new
    return quotient.masked_fill(new.isinf(), 0.0).exp()


def _power_of_2(a, b):
    return _rescale(a * math.log(2), b * math.log(2))


def _quotient(maximum, total, output):
    return output / total


def _modulo(of_queries, of_keys):
    """Positions that begin anew in each block of queries or of keys."""

    def positions(n_q, n_k, block_size):
        i, j = _positions(n_q, n_k, block_size)
        within = torch.arange(n_q)[:, None] % block_size + n_k - n_q
        return within if of_queries else i, j % block_size if of_keys else j

    return positions


_AND_NAN = Text(
    " Also, a query that sees no key divides 0 by 0 and gets NaN; its output should be 0.",
    "另外，看不到任何鍵的查詢會變成 0 除以 0，得到 NaN；它的輸出應該是 0。",
)


def _also_with_nan(name, answer, hint):
    """A slip by itself, and together with NaN for the queries that see no key."""

    def with_nan(q, k, v, block_size, causal):
        output = answer(q, k, v, block_size, causal)
        blind = _positions(q.size(-2), k.size(-2), block_size)[0] < 0
        return output.masked_fill(blind, torch.nan) if causal else output

    both = Text("", "").join([hint, _AND_NAN])
    return Mistake(name, answer, hint), Mistake(f"{name}-and-nan", with_nan, both)


def _wrong_way(old, new):
    return torch.where(old.isinf(), 0.0, _raw(new, old))


FLASH_ATTENTION = Exercise(
    name="flash-attention",
    chapter=9,
    title=Text("Attention in tiles", "分塊算注意力"),
    difficulty=3,
    minutes=30,
    reference=flash_attention,
    cases=_flash_cases,
    alternatives=(
        _flash(),
        _flash_by_loops,
        _flash_merged,
        _flash(update=_flash_normalised_in_each_block, finish=lambda m, total, output: output),
        _flash(tiled=True, update=_update(highest=lambda *step: _highest(*step).detach())),
    ),
    wasteful=(
        lambda q, k, v, block_size, causal: _softmax_of_all(q, k, causal) @ v,
        lambda q, k, v, block_size, causal: flash_attention(q, k, v, k.size(-2), causal),
    ),
    mistakes=(
        *_also_with_nan(
            "accumulator-not-rescaled",
            _flash(update=_update(rescale_output=lambda old, new: 1.0)),
            Text(
                "the sum of the weights is rescaled when the maximum rises, but the output "
                "collected so far is not. It was made with the same old exps.",
                "最大值變大時，權重的總和有重新縮放，但累積到現在的輸出沒有。"
                "它也是用舊的 exp 算出來的。",
            ),
        ),
        *_also_with_nan(
            "denominator-not-rescaled",
            _flash(update=_update(rescale_total=lambda old, new: 1.0)),
            Text(
                "the output collected so far is rescaled when the maximum rises, but the sum of "
                "the weights is not. It was made with the same old exps.",
                "最大值變大時，累積的輸出有重新縮放，但權重的總和沒有。它也是用舊的 exp 算出來的。",
            ),
        ),
        *_also_with_nan(
            "nothing-rescaled",
            _flash(
                update=_update(
                    rescale_total=lambda old, new: 1.0, rescale_output=lambda old, new: 1.0
                )
            ),
            Text(
                "when the maximum rises, neither the sum nor the output collected so far is "
                "rescaled. (Is the factor worked out before the old maximum is overwritten? "
                "Afterwards it is exp(0) = 1.)",
                "最大值變大時，累積的總和與輸出都沒有重新縮放。"
                "（縮放的係數有沒有在舊的最大值被蓋掉之前算好？蓋掉之後就變成 exp(0) = 1 了。）",
            ),
        ),
        *_also_with_nan(
            "rescaled-the-wrong-way",
            _flash(update=_update(_highest, _wrong_way, _wrong_way)),
            Text(
                "rescaled the wrong way round: exp(new − old) is at least 1. When the maximum "
                "rises, the old weights become smaller.",
                "縮放的方向反了：exp(new − old) 至少是 1。最大值變大時，舊的權重應該變小。",
            ),
        ),
        Mistake(
            "rescaled-the-wrong-way-from-the-start",
            _flash(
                update=_update(
                    _highest, lambda old, new: _raw(new, old), lambda old, new: _raw(new, old)
                )
            ),
            _FIRST_MAXIMUM_INFINITE,
        ),
        Mistake(
            "old-maximum-subtracted",
            _flash(update=_weights_with_the_old_maximum, finish=_divide_unless_0),
            _OLD_MAXIMUM_SUBTRACTED,
        ),
        *_also_with_nan(
            "factor-without-exp",
            _flash(
                update=_update(rescale_total=_difference, rescale_output=_difference),
                finish=_divide_unless_0,
            ),
            _FACTOR_WITHOUT_EXP,
        ),
        *_also_with_nan(
            "exp-of-the-quotient",
            _flash(
                update=_update(rescale_total=_exp_of_quotient, rescale_output=_exp_of_quotient),
                finish=_divide_unless_0,
            ),
            _EXP_OF_THE_QUOTIENT,
        ),
        *_also_with_nan(
            "powers-of-two",
            _flash(
                update=_update(
                    rescale_total=_power_of_2,
                    rescale_output=_power_of_2,
                    weigh=lambda scores, new, seen: _power_of_2(scores, new),
                )
            ),
            Text(
                "these are powers of 2, not of e. exp2 gives exp(x) only if x is multiplied by "
                "log₂ e before.",
                "你用的是 2 的次方，不是 e 的次方。用 exp2 的話，要先把 x 乘上 log₂ e，"
                "才會等於 exp(x)。",
            ),
        ),
        Mistake(
            "maximum-of-the-block",
            _flash(
                update=_update(
                    lambda old, scores: scores.amax(-1, keepdim=True),
                    _raw,
                    _raw,
                    lambda s, new, seen: _raw(s, new),
                ),
                finish=_quotient,
            ),
            Text(
                "your maximum is that of the block. It may fall again, so that old weights are "
                "blown up until they overflow; and in a block that is hidden as a whole it is −∞. "
                "The maximum of all that was read so far never falls.",
                "你用的是這一塊的最大值。它可能又變小，舊的權重就會被放大到溢位；整塊都被遮住時，"
                "它還會是 −∞。到目前為止讀過的最大值，只會變大，不會變小。",
            ),
        ),
        *_also_with_nan(
            "weights-with-the-maximum-of-the-block",
            _flash(
                update=_update(weigh=lambda s, new, seen: _rescale(s, s.amax(-1, keepdim=True)))
            ),
            Text(
                "the new weights are taken with the maximum of their own block, the old ones are "
                "rescaled to the running maximum. They can be added only when the same number was "
                "subtracted in both.",
                "新的權重減的是自己這一塊的最大值，舊的卻縮放到目前為止的最大值。兩邊減掉的數相同，"
                "才能相加。",
            ),
        ),
        Mistake(
            "no-maximum",
            _flash(
                update=_update(
                    lambda old, scores: torch.zeros_like(old),
                    lambda old, new: 1.0,
                    lambda old, new: 1.0,
                ),
                finish=_quotient,
            ),
            _NO_MAXIMUM,
        ),
        Mistake(
            "maximum-starts-at-0",
            _flash(
                update=_update(lambda old, scores: _highest(old, scores).clamp(min=0.0)),
                finish=_divide_unless_0,
            ),
            Text(
                "right unless all scores of a row are far below 0: then your maximum, which starts "
                "at 0, is far above them and every exp becomes 0. What is below every score?",
                "大多時候是對的，只有一列的分數全都遠低於 0 時會錯：你的最大值從 0 開始，比它們大太多，"
                "每個 exp 都變成 0。什麼數比所有的分數都小？",
            ),
        ),
        Mistake(
            "maximum-not-kept",
            _flash(update=_maximum_not_kept),
            Text(
                "the maximum is not kept for the next block, so that all blocks before the last "
                "are wiped out: the old maximum stays at its lowest, and exp(old − new) is 0.",
                "最大值沒有留給下一塊用，所以最後一塊之前的全被抹掉了：舊的最大值一直是最低的數，"
                "exp(old − new) 就是 0。",
            ),
        ),
        Mistake(
            "new-weights-rescaled",
            _flash(update=_new_weights_rescaled, finish=_divide_unless_0),
            Text(
                "the factor multiplies the new weights as well. They have subtracted the new "
                "maximum already; only what was collected before needs it.",
                "新的權重也乘上係數了。它們減的已經是新的最大值；只有先前累積的才要乘。",
            ),
        ),
        Mistake(
            "divided-by-the-last-sum",
            _flash(update=_update(rescale_total=lambda old, new: 0.0), finish=_quotient),
            Text(
                "the output is divided by the weights of the last block alone. Divide by the sum "
                "over all blocks, rescaled like the output.",
                "輸出只除以最後一塊的權重總和。應該除以所有塊的總和，而且要和輸出一樣重新縮放。",
            ),
        ),
        Mistake(
            "one-maximum-for-all-queries",
            _flash(
                update=_update(lambda old, scores: torch.maximum(old, scores.max())),
                finish=_quotient,
            ),
            Text(
                "one maximum is subtracted for all queries. A query whose scores lie far below it "
                "loses all its weights, and 0/0 is left. Each row needs a maximum of its own.",
                "所有查詢都減同一個最大值。如果某個查詢的分數比它低很多，權重就全部變成 0，"
                "只剩下 0/0。每一列要有自己的最大值。",
            ),
        ),
        *_also_with_nan(
            "last-short-block-dropped",
            _flash(starts=lambda n_k, b: range(0, n_k // b * b, b)),
            _LAST_BLOCK,
        ),
        *_also_with_nan(
            "last-block-dropped",
            _flash(starts=lambda n_k, b: range(0, n_k - b, b)),
            Text(
                "the last block of keys is always left out. How far does range(0, n − block_size, "
                "block_size) go?",
                "永遠漏掉最後一塊鍵。range(0, n − block_size, block_size) 會跑到哪裡？",
            ),
        ),
        *_also_with_nan(
            "first-block-skipped", _flash(starts=lambda n_k, b: range(b, n_k, b)), _FIRST_BLOCK
        ),
        *_also_with_nan(
            "blocks-overlap",
            _flash(starts=lambda n_k, b: range(n_k)),
            Text(
                "keys are counted more than once: the blocks overlap. By how much does the start "
                "of a block move on?",
                "有些鍵重複計算了：塊和塊之間重疊了。每一塊的起點應該往後移多少？",
            ),
        ),
        *_also_with_nan(
            "padded-with-zeros",
            _padded_with_zeros,
            Text(
                "the last block is filled up with zeros, and those keys count: a score of 0 is a "
                "weight of exp(0) = 1. Hide them, or leave the block short.",
                "你用 0 把最後一塊補滿，但那些鍵也算進去了：分數 0 的權重是 exp(0) = 1。"
                "把它們遮住，或是讓最後一塊短一點就好。",
            ),
        ),
        Mistake(
            "blocks-normalised-and-added",
            _flash(update=_each_block_by_itself, finish=lambda m, total, output: output),
            Text(
                "each block goes through a softmax of its own and the results are added: your "
                "weights sum to the number of blocks. A softmax needs the sum over all keys.",
                "每一塊各自做 softmax，再把結果加起來：權重的總和變成塊的個數。"
                "softmax 要除的是所有鍵的總和。",
            ),
        ),
        Mistake(
            "blocks-normalised-and-averaged",
            _flash(update=_each_block_by_itself),
            Text(
                "each block goes through a softmax of its own and the results are averaged, as if "
                "all blocks weighed the same. A block with larger scores must count for more.",
                "每一塊各自做 softmax，再把結果平均，好像每一塊都一樣重。分數比較大的塊，"
                "應該算得比較重。",
            ),
        ),
        Mistake(
            "final-division-forgotten",
            _flash(finish=lambda m, total, output: output),
            Text(
                "the output is not divided by the sum of the weights. That comes once, at the very "
                "end.",
                "輸出沒有除以權重的總和。全部讀完之後，要除一次。",
            ),
        ),
        Mistake(
            "divided-in-each-block",
            _flash(update=_divided_each_time, finish=lambda m, total, output: output),
            Text(
                "the output is divided by the sum in each block, so the first blocks are divided "
                "several times. Divide once, at the end (or undo the last division first).",
                "每讀一塊就除一次總和，前面的塊就重複除了好幾次。"
                "最後除一次就好（不然就要先把上一次的除法還原）。",
            ),
        ),
        Mistake(
            "divided-in-each-block-and-at-the-end",
            _flash(update=_divided_each_time),
            Text(
                "the output is divided by the sum in each block and once more at the end. Divide "
                "once, when all is added up.",
                "每讀一塊就除一次總和，最後又再除一次。全部加完之後除一次就好。",
            ),
        ),
        *_also_with_nan(
            "only-the-last-block",
            _flash(update=_update(_highest, lambda old, new: 0.0, lambda old, new: 0.0)),
            Text(
                "only the last block of keys is left. Are sum and output carried on, and is the "
                "maximum kept for the next block? (While the old one stays −∞, exp(old − new) is "
                "0.)",
                "只剩下最後一塊鍵。總和與輸出有累積下去嗎？最大值有留給下一塊用嗎？"
                "（舊的最大值如果一直是 −∞，exp(old − new) 就是 0。）",
            ),
        ),
        *_also_with_nan(
            "output-overwritten",
            _flash(update=_overwritten),
            Text(
                "the sum of the weights runs over all blocks, but the output holds the last one "
                "alone: it is overwritten where it should be added to.",
                "權重的總和有累積到所有的塊，輸出卻只剩最後一塊：應該要加上去，你卻把它蓋掉了。",
            ),
        ),
        *_also_with_nan(
            "key-offset-forgotten",
            _flash(positions=_modulo(False, True)),
            Text(
                "right for the first block of keys. In the causal test the keys of each block are "
                "counted from 0 again. Where in the sequence does the block begin?",
                "第一塊鍵是對的。但做因果判斷時，每一塊的鍵又從 0 開始數了。"
                "這一塊是從序列的哪裡開始的？",
            ),
        ),
        *_also_with_nan(
            "query-offset-forgotten",
            _flash(positions=_modulo(True, False)),
            Text(
                "right for the first block of queries. In the causal test the queries of each "
                "block are counted from the beginning again. Where in the sequence does the block "
                "begin?",
                "第一塊查詢是對的。但做因果判斷時，每一塊的查詢又從頭開始數了。"
                "這一塊是從序列的哪裡開始的？",
            ),
        ),
        *_also_with_nan(
            "both-offsets-forgotten",
            _flash(positions=_modulo(True, True)),
            Text(
                "every tile has a causal triangle of its own, as if each began at the first query "
                "and the first key. The test needs the places in the whole sequence.",
                "每一小塊都各有一個因果三角形，好像每塊都從第一個查詢、第一個鍵開始。"
                "判斷時要用整個序列裡的位置。",
            ),
        ),
        Mistake(
            "triangle-in-each-tile",
            _flash(
                positions=lambda n_q, n_k, b: (
                    torch.arange(n_q)[:, None] % b,
                    torch.arange(n_k) % b,
                )
            ),
            Text(
                "each tile is cut by a triangle that starts at its own upper left corner. The "
                "causal test needs the places in the whole sequence, where query 0 stands at "
                "n_k − n_q.",
                "每一小塊都從自己的左上角開始切三角形。做因果判斷要用整個序列裡的位置，"
                "而第 0 個查詢在 n_k − n_q。",
            ),
        ),
        Mistake(
            "only-the-diagonal-tiles-masked",
            _only_diagonal_tiles_masked(top_left=False),
            Text(
                "only the tiles whose numbers are equal are masked. Those further right are seen "
                "as a whole, where they hold nothing but later keys: test them too, or skip them.",
                "只有編號相同的小塊有遮。更右邊的整塊都看得到，但那裡全是後面的鍵：也要判斷，"
                "或是跳過。",
            ),
        ),
        Mistake(
            "only-the-diagonal-tiles-masked-from-the-top-left",
            _only_diagonal_tiles_masked(top_left=True),
            Text(
                "only the tiles whose numbers are equal are masked; those further right are seen "
                "as a whole. Also, the queries are the last positions: query 0 stands at "
                "n_k − n_q.",
                "只有編號相同的小塊有遮，更右邊的整塊都看得到。另外，查詢是最後幾個位置："
                "第 0 個查詢在 n_k − n_q。",
            ),
        ),
        *_also_with_nan(
            "tiles-skipped-by-number",
            _tiles_skipped_by_number,
            Text(
                "right where there are as many queries as keys. With fewer queries, too many tiles "
                "are skipped: block 0 of the queries starts at position n_k − n_q, not at 0.",
                "查詢和鍵一樣多的時候是對的。查詢比較少時，跳過的小塊太多了："
                "第 0 塊查詢從位置 n_k − n_q 開始，不是從 0。",
            ),
        ),
        *_also_with_nan(
            "offset-subtracted",
            _flash(
                positions=lambda n_q, n_k, b: (
                    torch.arange(n_q)[:, None] + n_q - n_k,
                    torch.arange(n_k),
                )
            ),
            Text(
                "the offset has the wrong sign: the last query stands at the last key, so query 0 "
                "stands at position n_k − n_q.",
                "位移的正負號反了：最後一個查詢站在最後一個鍵的位置，所以第 0 個查詢在位置 n_k − n_q。",
            ),
        ),
        Mistake(
            "top-left",
            _flash(positions=lambda n_q, n_k, b: (torch.arange(n_q)[:, None], torch.arange(n_k))),
            Text(
                "right where there are as many queries as keys. With fewer queries, these are the "
                "last positions, not the first: at which position does query 0 stand?",
                "查詢和鍵一樣多的時候是對的。查詢比較少時，它們是序列最後的幾個位置，不是最前面的："
                "第 0 個查詢站在哪個位置？",
            ),
        ),
        Mistake(
            "nan-where-nothing-is-seen",
            _flash(
                update=_update(_highest, _raw, _raw, lambda s, new, seen: _raw(s, new)),
                finish=_quotient,
            ),
            Text(
                "almost: a query that sees no key gets NaN, where it should get 0. Two things may "
                "do that: −∞ − (−∞), for the maximum of such a row is −∞ too, and 0 / 0 at the "
                "end.",
                "就差一點：看不到任何鍵的查詢，輸出應該是 0，現在卻是 NaN。有兩個地方會變成 NaN："
                "−∞ 減 −∞（這種列的最大值也是 −∞），以及最後的 0 除以 0。",
            ),
        ),
        Mistake(
            "nan-covered-up-at-the-end",
            _flash(
                tiled=True,
                update=_update(_highest, _raw, _raw, lambda s, new, seen: _raw(s, new)),
                finish=lambda m, total, output: (output / total).nan_to_num(0.0),
            ),
            Text(
                "the numbers are right, but NaN is only covered up at the end, and the gradients "
                "are NaN still. Let it not come up: no −∞ − (−∞), and no division by 0.",
                "數是對的，但你只是在最後把 NaN 蓋掉，梯度還是 NaN。要讓它根本不出現："
                "不要有 −∞ − (−∞)，也不要除以 0。",
            ),
        ),
        Mistake(
            "average-where-nothing-is-seen",
            _flash(hide=lambda scores, seen: scores.masked_fill(~seen, -1e9), finish=_quotient),
            Text(
                "almost: a query that sees no key averages over all of them, because all its "
                "scores are the same large negative number. Its output should be 0.",
                "就差一點：看不到任何鍵的查詢，現在會把所有的值平均，"
                "因為它的分數全是同一個很大的負數。它的輸出應該是 0。",
            ),
        ),
        Mistake(
            "softmax-where-nothing-is-seen",
            _flash(hide=lambda scores, seen: scores - 1e9 * ~seen, finish=_quotient),
            Text(
                "almost: a query that sees no key attends to all of them, because the same large "
                "number is subtracted from all its scores, and a softmax feels only differences. "
                "Its output should be 0.",
                "就差一點：看不到任何鍵的查詢，現在反而會看到全部，因為它的分數全都減掉同一個大數，"
                "而 softmax 只看分數的差。它的輸出應該是 0。",
            ),
        ),
        *_also_with_nan(
            "infinity-times-the-mask",
            _infinity_times_the_mask,
            Text(
                "right without a mask, but with causal all becomes NaN. Is −∞ multiplied by "
                "a mask of 0 and 1? −∞ · 0 is NaN. masked_fill puts −∞ only where it belongs.",
                "沒有遮罩時是對的，但有 causal 時，全部變成 NaN。你是不是把 −∞ 乘上 0 和 1 的遮罩？"
                "−∞ · 0 是 NaN。masked_fill 只會把 −∞ 填到該填的地方。",
            ),
        ),
        *_also_with_nan(
            "not-scaled",
            _flash(scale=lambda q, k, v: 1.0),
            Text("the scores are not divided by √d_k.", "分數沒有除以 √d_k。"),
        ),
        *_also_with_nan(
            "divided-by-d_k",
            _flash(scale=lambda q, k, v: 1 / q.size(-1)),
            Text(
                "the scores are divided by d_k instead of its root.",
                "分數除的是 d_k，應該除以它的平方根。",
            ),
        ),
        *_also_with_nan(
            "multiplied-by-the-root",
            _flash(scale=lambda q, k, v: q.size(-1) ** 0.5),
            Text(
                "the scores are multiplied by √d_k, where they should be divided.",
                "分數乘上 √d_k 了，應該用除的。",
            ),
        ),
        *_also_with_nan(
            "scaled-by-d_v",
            _flash(scale=lambda q, k, v: v.size(-1) ** -0.5),
            Text(
                "the scores are divided by √d_v. Which vectors is a score made of?",
                "分數除的是 √d_v。分數是由哪些向量算出來的？",
            ),
        ),
        *_also_with_nan(
            "scaled-by-n_q",
            _flash(scale=lambda q, k, v: q.size(-2) ** -0.5),
            Text(
                "the scores are divided by the root of the number of queries. It should be the "
                "length of a query: size(-1), not size(-2).",
                "分數除的是查詢的個數的平方根。應該用一個查詢的長度：size(-1)，不是 size(-2)。",
            ),
        ),
        *_also_with_nan(
            "scaled-by-n_k",
            _flash(scale=lambda q, k, v: k.size(-2) ** -0.5),
            Text(
                "the scores are divided by the root of the number of keys. It should be the length "
                "of a key.",
                "分數除的是鍵的個數的平方根。應該用一個鍵的長度。",
            ),
        ),
        Mistake(
            "causal-ignored",
            lambda q, k, v, block_size, causal: flash_attention(q, k, v, block_size, False),
            Text(
                "right without a mask, but the argument causal has no effect. (masked_fill returns "
                "a new tensor: is its result kept?)",
                "沒有遮罩時是對的，但參數 causal 沒有作用。（masked_fill 會傳回新的張量："
                "你有把結果留下來嗎？）",
            ),
        ),
        *_also_with_nan(
            "always-causal",
            lambda q, k, v, block_size, causal: flash_attention(q, k, v, block_size, True),
            Text(
                "right where causal is True, but it hides later keys also where causal is False.",
                "causal 是 True 時是對的，但 causal 是 False 時，也把後面的鍵遮住了。",
            ),
        ),
        Mistake(
            "past-hidden",
            _flash(seen=lambda i, j: j >= i),
            Text(
                "the causal triangle is the wrong one: each query sees the keys from its own on, "
                "the future. It should see those up to its own.",
                "因果的三角形反了：每個查詢看到的是自己和後面的鍵，也就是未來。"
                "應該看到自己和前面的鍵。",
            ),
        ),
        Mistake(
            "one-key-ahead",
            _flash(seen=lambda i, j: j <= i + 1),
            Text(
                "each query sees one key too many: the one right after its own place.",
                "每個查詢都多看了一個鍵：自己位置的下一個。",
            ),
        ),
        Mistake(
            "each-block-of-queries-is-the-last",
            lambda q, k, v, block_size, causal: torch.cat(
                [
                    flash_attention(rows, k, v, block_size, causal)
                    for rows in q.split(block_size, -2)
                ],
                -2,
            ),
            Text(
                "right without a mask. With causal, each block of queries is taken for the last "
                "one: its offset counts the queries of the block, where it should count all.",
                "沒有遮罩時是對的。有 causal 時，每一塊查詢都被當成最後一塊：算位移時，"
                "你用的是這一塊有幾個查詢，應該用全部的。",
            ),
        ),
        *_also_with_nan(
            "diagonal-hidden",
            _flash(seen=lambda i, j: j < i),
            Text(
                "a query does not see the key at its own place. j ≤ i is allowed, not only j < i.",
                "查詢看不到自己位置上的鍵。j ≤ i 都可以看，不是只有 j < i。",
            ),
        ),
        *_also_with_nan(
            "diagonal-blocks-skipped",
            _flash(seen=lambda i, j: (j[-1] <= i).expand(-1, len(j))),
            Text(
                "a block of keys counts only where all of it lies in the past. On the diagonal, a "
                "part of a block is seen: skip a block only if its first key is too late.",
                "整塊鍵都在過去，你才會算它。但對角線上的塊有一部分看得到：連第一個鍵都太晚的塊，"
                "才可以跳過。",
            ),
        ),
        *_also_with_nan(
            "diagonal-blocks-whole",
            _flash(seen=lambda i, j: (j[0] <= i).expand(-1, len(j))),
            Text(
                "a block whose first key is in the past is seen as a whole, later keys included. "
                "On the diagonal, each key needs the test.",
                "一塊的第一個鍵在過去，你就讓整塊都看得到，連後面的鍵也算進去。在對角線上，"
                "每個鍵都要判斷。",
            ),
        ),
        Mistake(
            "hidden-after-the-exp",
            _flash(
                hide=lambda scores, seen: scores,
                update=_update(weigh=lambda s, new, seen: _raw(s, new) * seen),
                finish=_quotient,
            ),
            Text(
                "hidden keys get weight 0, but after the maximum: where a hidden score is far "
                "larger than those that are seen, it wins the maximum and nothing is left. Hide "
                "the scores first.",
                "被遮住的鍵權重是 0，但你是在取最大值之後才遮：如果被遮住的分數大得多，"
                "最大值就是它，看得到的全都變成 0。應該先把分數遮住。",
            ),
        ),
        Mistake(
            "hidden-only-from-the-output",
            _flash(hide=lambda scores, seen: scores, update=_mask_not_in_total),
            Text(
                "hidden keys are left out of the output, but not out of the sum of the weights.",
                "被遮住的鍵沒有算進輸出，卻還是算進了權重的總和。",
            ),
        ),
        Mistake(
            "hidden-scores-are-0",
            _flash(hide=lambda scores, seen: scores * seen),
            Text(
                "a hidden key has score 0, and exp(0) = 1 is a weight like any other. Which score "
                "makes exp give exactly 0?",
                "被遮住的鍵分數是 0，但 exp(0) = 1，一樣會有權重。分數要是多少，exp 才會剛好是 0？",
            ),
        ),
        Mistake(
            "hidden-scores-are-1-lower",
            _flash(hide=lambda scores, seen: scores - 1.0 * ~seen),
            Text(
                "a hidden key's score is only a little lower. It has to be −∞, so that its weight "
                "is exactly 0.",
                "被遮住的鍵，分數只低了一點。要是 −∞，權重才會剛好是 0。",
            ),
        ),
        Mistake(
            "softmax-over-the-queries",
            lambda q, k, v, b, causal: _softmax_of_all(q, k, causal, dim=-2) @ v,
            Text(
                "the weights of each key sum to 1: maximum and sum run over the queries. They run "
                "over the keys, the last dimension of the scores.",
                "每個鍵的權重加起來是 1：最大值和總和是沿著查詢算的。應該沿著鍵，"
                "也就是分數的最後一個維度。",
            ),
        ),
        Mistake(
            "joined-along-dimension-0",
            _flash(tiled=True, join_dim=0),
            Text(
                "right for one sequence, but with a batch the blocks of queries are joined along "
                "dimension 0. Counted from the end, which one holds the queries?",
                "單一序列時是對的，但有批次時，各塊查詢沿著第 0 維接起來了。從後面數，"
                "查詢在哪一個維度？",
            ),
        ),
        Mistake(
            "cut-along-dimension-0",
            _cut_along_dim_0,
            Text(
                "right for one sequence, but with a batch k[a:b] cuts dimension 0, the batch, and "
                ".T turns all dimensions round. Count from the end: k[..., a:b, :], "
                "split(…, dim=-2), .mT.",
                "單一序列時是對的，但有批次時，k[a:b] 切的是第 0 維，也就是批次，"
                ".T 會把所有維度的順序都反過來。請從後面數：k[..., a:b, :]、split(…, dim=-2)、.mT。",
            ),
        ),
    ),
)

# --- flash-attention-backward -------------------------------------------------------------


def _backward(
    row_term=lambda grad, out: (grad * out).sum(-1, keepdim=True),
    weights=lambda scores, lse, root: (scores - lse).exp(),
    jacobian=lambda p, dp, D: p * (dp - D),
    dq_scale=lambda root: root,
    dk_scale=lambda root: root,
    dq=lambda ds, q, k: ds @ k,
    dk=lambda ds, q, k: ds.mT @ q,
    dv=lambda p, ds, dO, v: p.mT @ dO,
    collect=torch.add,
):
    """The backward pass in blocks of keys, with a place for each slip; ``root`` is 1 / √d_k."""

    @torch.no_grad()
    def answer(q, k, v, output, log_sum_exp, grad_output, block_size):
        root = q.size(-1) ** -0.5
        D, lse = row_term(grad_output, output), log_sum_exp[..., None]
        grad_q, grad_k, grad_v = torch.zeros_like(q), [], []
        for k_j, v_j in zip(k.split(block_size, -2), v.split(block_size, -2), strict=True):
            p = weights(q @ k_j.mT * root, lse, 1 / root)
            ds = jacobian(p, grad_output @ v_j.mT, D)
            grad_q = collect(grad_q, dq(ds, q, k_j) * dq_scale(root))
            grad_k.append(dk(ds, q, k_j) * dk_scale(root))
            grad_v.append(dv(p, ds, grad_output, v_j))
        return grad_q, torch.cat(grad_k, -2), torch.cat(grad_v, -2)

    return answer


flash_attention_backward = _backward()


def _backward_cases():
    randn = normal(93)

    def inputs(*batch, n_q, n_k, size=1.0):
        q, k, v = size * randn(*batch, n_q, 5), randn(*batch, n_k, 5), randn(*batch, n_k, 3)
        scores = q @ k.mT * _scale(q, k, v)
        grad_output = randn(*batch, n_q, 3)
        return q, k, v, scores.softmax(-1) @ v, scores.logsumexp(-1), grad_output

    return [
        Case(A_SHORT_LAST_BLOCK, (*inputs(n_q=4, n_k=7), 3)),
        Case(BATCH_AND_HEADS, (*inputs(3, 2, n_q=4, n_k=6), 3)),
        Case(SQUARE, (*inputs(n_q=5, n_k=5), 5)),
        Case(LARGE_SCORES, (*inputs(n_q=3, n_k=5, size=1000.0), 2)),
        Case(A_BLOCK_LARGER_THAN_ALL, (*inputs(n_q=2, n_k=4), 6)),
        Case(MANY_TOKENS, (*inputs(n_q=60, n_k=64), 12), largest=60 * 64 // 2),
    ]


def _backward_in_tiles(q, k, v, output, log_sum_exp, grad_output, block_size):
    """Blocks of queries outside, blocks of keys inside."""
    parts = (t.split(block_size, -2) for t in (q, output, log_sum_exp[..., None], grad_output))
    grad_q, grad_k, grad_v = [], torch.zeros_like(k), torch.zeros_like(v)
    for q_i, output_i, lse_i, grad_i in zip(*parts, strict=True):
        args = q_i, k, v, output_i, lse_i[..., 0], grad_i, block_size
        dq, dk, dv = flash_attention_backward(*args)
        grad_q.append(dq)
        grad_k, grad_v = grad_k + dk, grad_v + dv
    return torch.cat(grad_q, -2), grad_k, grad_v


def _backward_by_einsum(q, k, v, output, log_sum_exp, grad_output, block_size):
    dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    D = torch.einsum("...qe,...qe->...q", grad_output, output)
    q = q / math.sqrt(q.size(-1))
    for first in range(0, k.size(-2), block_size):
        block = ..., slice(first, first + block_size), slice(None)
        p = (torch.einsum("...qd,...kd->...qk", q, k[block]) - log_sum_exp[..., None]).exp()
        dp = torch.einsum("...qe,...ke->...qk", grad_output, v[block])
        ds = p * (dp - D[..., None])
        dq = dq + ds @ k[block] / math.sqrt(q.size(-1))
        dk[block] = ds.mT @ q
        dv[block] = p.mT @ grad_output
    return dq, dk, dv


def _backward_with_its_own_output(q, k, v, output, log_sum_exp, grad_output, block_size):
    """Makes the output anew, in blocks, rather than use the one it is given."""
    output = flash_attention(q, k, v, block_size, False)
    return flash_attention_backward(q, k, v, output, log_sum_exp, grad_output, block_size)


def _backward_of_everything(q, k, v, output, log_sum_exp, grad_output, block_size):
    """Right, but all the weights stand in one matrix."""
    return flash_attention_backward(q, k, v, output, log_sum_exp, grad_output, k.size(-2))


def _backward_of_full_blocks(q, k, v, output, log_sum_exp, grad_output, block_size):
    full = k.size(-2) // block_size * block_size
    args = output, log_sum_exp, grad_output, block_size
    return flash_attention_backward(q, k[..., :full, :], v[..., :full, :], *args)


def _backward_of_the_last_queries(*overwritten):
    """Those named hold what the last block of queries adds, and no more."""

    def answer(q, k, v, output, log_sum_exp, grad_output, block_size):
        given = q, k, v, output, log_sum_exp, grad_output
        right = flash_attention_backward(*given, block_size)
        first = (q.size(-2) - 1) // block_size * block_size
        rows = (t[..., first:, :] for t in (q, output, grad_output))
        q, output, grad_output = rows
        given = q, k, v, output, log_sum_exp[..., first:], grad_output
        last = flash_attention_backward(*given, block_size)
        names = "dq", "dk", "dv"
        return tuple(
            part if name in overwritten else whole
            for name, part, whole in zip(names, last, right, strict=True)
        )

    return answer


FLASH_ATTENTION_BACKWARD = Exercise(
    name="flash-attention-backward",
    chapter=9,
    title=Text("The backward pass in tiles", "分塊算反向傳播"),
    difficulty=3,
    minutes=30,
    reference=flash_attention_backward,
    results=("dq", "dk", "dv"),
    cases=_backward_cases,
    alternatives=(
        _backward_in_tiles,
        _backward_by_einsum,
        _backward_with_its_own_output,
    ),
    wasteful=(_backward_of_everything,),
    mistakes=(
        Mistake(
            "D-missing",
            _backward(jacobian=lambda p, dp, D: p * dp),
            Text(
                "the term D is missing from the gradient of the softmax: dS = P ⊙ (dP − D). "
                "Raising one score lowers all the other weights of its row.",
                "softmax 的梯度少了 D 那一項：dS = P ⊙ (dP − D)。一個分數變大，"
                "同一列的其他權重都會變小。",
            ),
        ),
        Mistake(
            "D-over-the-queries",
            _backward(row_term=lambda grad, out: (grad * out).sum(-2, keepdim=True)),
            Text(
                "D is summed over the queries. Each query has a number of its own: the sum runs "
                "along its row, over the components of the output.",
                "D 是沿著查詢加總的。每個查詢要有自己的一個數：沿著它那一列，"
                "把輸出的各個分量加起來。",
            ),
        ),
        Mistake(
            "D-is-one-number",
            _backward(row_term=lambda grad, out: (grad * out).sum((-2, -1), keepdim=True)),
            Text(
                "D is one number for all queries. Each query has its own: sum over its row only.",
                "D 變成所有查詢共用的一個數。每個查詢要有自己的 D：只加它那一列。",
            ),
        ),
        Mistake(
            "D-averaged",
            _backward(row_term=lambda grad, out: (grad * out).mean(-1, keepdim=True)),
            Text(
                "D is a mean over the components of the output. It is their sum, as in any dot "
                "product.",
                "D 是輸出各分量的平均。應該是總和，和一般的內積一樣。",
            ),
        ),
        Mistake(
            "D-without-the-output",
            _backward(row_term=lambda grad, out: grad.sum(-1, keepdim=True)),
            Text(
                "D is the sum of grad_output alone. Which two rows does the dot product take?",
                "你的 D 只是把 grad_output 加起來。D 是內積，用的是哪兩列？",
            ),
        ),
        Mistake(
            "D-without-grad-output",
            _backward(row_term=lambda grad, out: (out * out).sum(-1, keepdim=True)),
            Text(
                "D is the output times itself. Which two rows does the dot product take?",
                "D 是輸出和自己的內積。應該用哪兩列？",
            ),
        ),
        Mistake(
            "D-of-each-block",
            _backward(jacobian=lambda p, dp, D: p * (dp - (p * dp).sum(-1, keepdim=True))),
            Text(
                "D is worked out from the block alone. A row's D sums over all of its keys; that "
                "is why it is made from output and grad_output, before the loop.",
                "D 只用這一塊來算。一列的 D 要加總它所有的鍵；所以才會在迴圈之前，"
                "用 output 和 grad_output 先算好。",
            ),
        ),
        Mistake(
            "D-as-a-row",
            _backward(row_term=lambda grad, out: (grad * out).sum(-1)),
            Text(
                "D has one number for each query, but without a last dimension of 1 it lies along "
                "the keys (and fits only where a block has as many keys as there are queries). "
                "keepdim=True or [..., None] makes it a column.",
                "D 是一個查詢一個數，但最後少了大小為 1 的維度，"
                "就變成沿著鍵排了（只有一塊裡的鍵和查詢一樣多時才對得上）。"
                "keepdim=True 或 [..., None] 可以讓它變成一行。",
            ),
        ),
        Mistake(
            "log-sum-exp-as-a-row",
            _backward(weights=lambda s, lse, root: (s - lse[..., 0]).exp()),
            Text(
                "log_sum_exp has one number for each query, but without a last dimension of 1 it "
                "lies along the keys (and fits only where a block has as many keys as there are "
                "queries). [..., None] makes it a column.",
                "log_sum_exp 是一個查詢一個數，但最後少了大小為 1 的維度，"
                "就變成沿著鍵排了（只有一塊裡的鍵和查詢一樣多時才對得上）。"
                "[..., None] 可以讓它變成一行。",
            ),
        ),
        Mistake(
            "D-added",
            _backward(jacobian=lambda p, dp, D: p * (dp + D)),
            Text("D is added, where it should be subtracted.", "D 應該用減的，你用加的了。"),
        ),
        Mistake(
            "D-outside-the-product",
            _backward(jacobian=lambda p, dp, D: p * dp - D),
            Text(
                "D is subtracted after the multiplication with P. It stands inside of the bracket: "
                "P multiplies it too.",
                "你先乘 P 才減 D。D 在括號裡面，也要乘上 P。",
            ),
        ),
        Mistake(
            "P-forgotten-in-dS",
            _backward(jacobian=lambda p, dp, D: dp - D),
            Text(
                "the factor P is missing in dS: a key with a small weight has a small gradient.",
                "dS 少乘了 P：權重小的鍵，梯度也小。",
            ),
        ),
        Mistake(
            "D-minus-dP",
            _backward(jacobian=lambda p, dp, D: p * (D - dp)),
            Text(
                "dv is right; dq and dk have the wrong sign: dS = P ⊙ (dP − D), not P ⊙ (D − dP).",
                "dv 對了；dq 和 dk 的正負號反了：dS = P ⊙ (dP − D)，不是 P ⊙ (D − dP)。",
            ),
        ),
        Mistake(
            "diagonal-of-the-jacobian",
            _backward(jacobian=lambda p, dp, D: p * (1 - p) * dp),
            Text(
                "you use p (1 − p) only, the diagonal of the Jacobian. A score moves the other "
                "weights of its row as well.",
                "你只用了 p (1 − p)，也就是 Jacobian 的對角線。一個分數也會影響同一列的其他權重。",
            ),
        ),
        Mistake(
            "dq-not-scaled",
            _backward(dq_scale=lambda root: 1.0),
            Text(
                "dk and dv are right, but dq lacks the factor 1/√d_k, through which the scores "
                "were made.",
                "dk 和 dv 對了，但 dq 少了 1/√d_k：分數當初是乘過它才得到的。",
            ),
        ),
        Mistake(
            "dk-not-scaled",
            _backward(dk_scale=lambda root: 1.0),
            Text(
                "dq and dv are right, but dk lacks the factor 1/√d_k, through which the scores "
                "were made.",
                "dq 和 dv 對了，但 dk 少了 1/√d_k：分數當初是乘過它才得到的。",
            ),
        ),
        Mistake(
            "scaled-twice",
            _backward(dq_scale=lambda root: root**2, dk_scale=lambda root: root**2),
            Text(
                "dq and dk are divided by √d_k twice. It stands in the scores once, and so once in "
                "each gradient.",
                "dq 和 dk 除了兩次 √d_k。分數裡只出現一次，每個梯度裡也只有一次。",
            ),
        ),
        Mistake(
            "dq-and-dk-not-scaled",
            _backward(dq_scale=lambda root: 1.0, dk_scale=lambda root: 1.0),
            Text(
                "dv is right, but dq and dk lack the factor 1/√d_k, through which the scores were "
                "made.",
                "dv 對了，但 dq 和 dk 少了 1/√d_k：分數當初是乘過它才得到的。",
            ),
        ),
        Mistake(
            "multiplied-by-the-root",
            _backward(dq_scale=lambda root: 1 / root, dk_scale=lambda root: 1 / root),
            Text(
                "dq and dk are multiplied by √d_k, where they should be divided.",
                "dq 和 dk 乘上 √d_k 了，應該用除的。",
            ),
        ),
        Mistake(
            "scores-not-scaled",
            _backward(weights=lambda s, lse, root: (s * root - lse).exp()),
            Text(
                "the scores that P is recomputed from are not divided by √d_k. They have to be "
                "those of the forward pass.",
                "重新計算 P 時，分數沒有除以 √d_k。要和正向時的分數一樣。",
            ),
        ),
        Mistake(
            "log-sum-exp-not-subtracted",
            _backward(weights=lambda s, lse, root: s.exp()),
            Text(
                "P is exp(score), not normalised. What has the forward pass kept for each row?",
                "你的 P 只是分數取 exp，沒有正規化。正向時，每一列留下了哪個數？",
            ),
        ),
        Mistake(
            "softmax-of-each-block",
            _backward(weights=lambda s, lse, root: s.softmax(-1)),
            Text(
                "P is recomputed as a softmax of the block alone, so each block's weights sum to "
                "1. log_sum_exp knows the sum over all keys.",
                "你重新計算 P 時，只對這一塊做 softmax，所以每一塊的權重加起來都是 1。"
                "log_sum_exp 記著所有鍵的總和。",
            ),
        ),
        Mistake(
            "exp-forgotten",
            _backward(weights=lambda s, lse, root: s - lse),
            Text(
                "P is score − lse, the logarithm of a weight. The exp is missing.",
                "你的 P 是分數減 lse，那是權重的對數。還沒取 exp。",
            ),
        ),
        Mistake(
            "log-sum-exp-outside-of-the-exp",
            _backward(weights=lambda s, lse, root: s.exp() - lse),
            Text(
                "P is exp(score) − lse. The log-sum-exp is subtracted inside of the exp.",
                "你的 P 是分數取 exp 之後才減 lse。log-sum-exp 要放在 exp 裡面減。",
            ),
        ),
        Mistake(
            "divided-by-the-log-sum-exp",
            _backward(weights=lambda s, lse, root: s.exp() / lse),
            Text(
                "exp(score) is divided by the log-sum-exp itself. That is a logarithm: it belongs "
                "inside of the exp.",
                "你把分數取 exp 之後，直接除以 log-sum-exp。它是對數，應該放進 exp 裡面。",
            ),
        ),
        Mistake(
            "exp-before-dividing",
            _backward(weights=lambda s, lse, root: s.exp() / lse.exp()),
            Text(
                "right for small scores, but both exps overflow for large ones. Subtract first: "
                "exp(score − lse).",
                "分數小的時候正確，但分數一大，兩個 exp 都會溢位。要先相減：exp(score − lse)。",
            ),
        ),
        Mistake(
            "powers-of-two",
            _backward(weights=lambda s, lse, root: (s - lse).exp2()),
            Text(
                "P is recomputed with powers of 2. The log-sum-exp is a natural logarithm.",
                "重新計算 P 時用了 2 的次方。這裡的 log-sum-exp 是自然對數。",
            ),
        ),
        Mistake(
            "log-sum-exp-added",
            _backward(weights=lambda s, lse, root: (s + lse).exp()),
            Text(
                "the log-sum-exp is added to the scores. Dividing by the sum is subtracting its "
                "logarithm.",
                "你把 log-sum-exp 加到分數上了。除以總和，就是減掉它的對數。",
            ),
        ),
        Mistake(
            "dv-with-P-not-transposed",
            _backward(dv=lambda p, ds, dO, v: p @ dO),
            Text(
                "P is not transposed in dv. It fits only where there are as many queries as keys "
                "in a block; dv has a row for each key, so the sum runs over the queries.",
                "算 dv 時，P 沒有轉置。只有查詢和一塊裡的鍵一樣多時才對得上；dv 是一個鍵一列，"
                "所以要沿著查詢加總。",
            ),
        ),
        Mistake(
            "dv-with-dS",
            _backward(dv=lambda p, ds, dO, v: ds.mT @ dO),
            Text(
                "dv is made with dS. The values are weighted by P itself, without a detour through "
                "the scores.",
                "dv 用了 dS。值是直接用 P 加權的，不用繞到分數那邊。",
            ),
        ),
        Mistake(
            "dv-is-grad-output-weighted-equally",
            _backward(dv=lambda p, ds, dO, v: torch.ones_like(p).mT @ dO),
            Text(
                "P is missing in dv: every key gets the same gradient.",
                "dv 少了 P：每個鍵都拿到一樣的梯度。",
            ),
        ),
        Mistake(
            "dk-with-dS-not-transposed",
            _backward(dk=lambda ds, q, k: ds @ q),
            Text(
                "dS is not transposed in dk. It fits only where there are as many queries as keys "
                "in a block; dk has a row for each key.",
                "算 dk 時，dS 沒有轉置。只有查詢和一塊裡的鍵一樣多時才對得上；dk 是一個鍵一列。",
            ),
        ),
        Mistake(
            "dk-with-k",
            _backward(dk=lambda ds, q, k: ds.mT @ k),
            Text(
                "dk is made with the keys. A score is q · k: its gradient in k is q.",
                "dk 用了鍵。分數是 q · k：對 k 的梯度是 q。",
            ),
        ),
        Mistake(
            "dq-with-q",
            _backward(dq=lambda ds, q, k: ds @ q),
            Text(
                "dq is made with the queries. A score is q · k: its gradient in q is k.",
                "dq 用了查詢。分數是 q · k：對 q 的梯度是 k。",
            ),
        ),
        Mistake(
            "dq-overwritten",
            _backward(collect=lambda old, new: new),
            Text(
                "dk and dv are right, but dq holds the last block alone. Every block of keys adds "
                "its share to every query.",
                "dk 和 dv 對了，但 dq 只剩最後一塊。每一塊鍵都會對每個查詢貢獻一份，要加起來。",
            ),
        ),
        Mistake(
            "dk-and-dv-overwritten",
            _backward_of_the_last_queries("dk", "dv"),
            Text(
                "dq is right, but dk and dv hold the share of the last block of queries alone. "
                "Every block of queries adds its share to every key.",
                "dq 對了，但 dk 和 dv 只剩最後一塊查詢的那一份。每一塊查詢都會對每個鍵貢獻一份，"
                "要加起來。",
            ),
        ),
        Mistake(
            "dk-overwritten",
            _backward_of_the_last_queries("dk"),
            Text(
                "dq and dv are right, but dk holds the share of the last block of queries alone: "
                "add them up.",
                "dq 和 dv 對了，但 dk 只剩最後一塊查詢的那一份：要加起來。",
            ),
        ),
        Mistake(
            "dv-overwritten",
            _backward_of_the_last_queries("dv"),
            Text(
                "dq and dk are right, but dv holds the share of the last block of queries alone: "
                "add them up.",
                "dq 和 dk 對了，但 dv 只剩最後一塊查詢的那一份：要加起來。",
            ),
        ),
        Mistake("last-short-block-dropped", _backward_of_full_blocks, _LAST_BLOCK),
        Mistake(
            "keys-first",
            lambda *args: tuple(flash_attention_backward(*args)[i] for i in (1, 0, 2)),
            Text(
                "dq and dk have changed places: the order is dq, dk, dv.",
                "dq 和 dk 的位置對調了：順序是 dq、dk、dv。",
            ),
        ),
        Mistake(
            "values-first",
            lambda *args: flash_attention_backward(*args)[::-1],
            Text("return them in the order dq, dk, dv.", "傳回的順序應該是 dq、dk、dv。"),
        ),
        Mistake(
            "dv-scaled",
            _backward(dv=lambda p, ds, dO, v: p.mT @ dO / math.sqrt(dO.size(-1))),
            Text(
                "dv is scaled. The scale belongs to the scores; the values never met it.",
                "dv 多縮放了一次。縮放是分數的事，值沒有經過它。",
            ),
        ),
    ),
)

# --- linear-attention ---------------------------------------------------------------------


def _feature(x):
    return F.elu(x) + 1


def _identity(x):
    return x


def _both(phi):
    return {"phi_q": phi, "phi_k": phi}


# Slips in φ, which both exercises on linear attention know: arguments of _linear, and the hint.
_WRONG_FEATURES = (
    (
        "no-feature-map",
        {"phi_q": _identity, "phi_k": _identity},
        Text(
            "φ is missing: with the plain q and k, weights may be negative, and their sum may "
            "be 0.",
            "少了 φ：直接用 q 和 k，權重可能是負的，加起來也可能是 0。",
        ),
    ),
    (
        "feature-map-on-q-only",
        {"phi_k": _identity},
        Text(
            "φ is applied to the queries only. The keys need it too.",
            "φ 只用在查詢上。鍵也要。",
        ),
    ),
    (
        "feature-map-on-k-only",
        {"phi_q": _identity},
        Text(
            "φ is applied to the keys only. The queries need it too.",
            "φ 只用在鍵上。查詢也要。",
        ),
    ),
    (
        "feature-map-on-v",
        {"phi_v": _feature},
        Text(
            "φ is applied to the values as well. It is there to make weights positive; the "
            "values stay as they are.",
            "你連值也套上 φ 了。它的作用是讓權重變成正的；值要保持原樣。",
        ),
    ),
    (
        "elu-without-1",
        _both(F.elu),
        Text(
            "φ is elu without the + 1: it goes down to −1, so weights may be negative.",
            "φ 只有 elu，沒有 + 1：它最低會到 −1，權重就可能是負的。",
        ),
    ),
    (
        "one-added-inside",
        _both(lambda x: F.elu(x + 1)),
        Text(
            "the 1 is added inside of elu. It lifts the result: elu(x) + 1.",
            "1 加到 elu 裡面去了。它要加在結果上：elu(x) + 1。",
        ),
    ),
    (
        "relu",
        _both(torch.relu),
        Text(
            "φ is relu, which is exactly 0 for half of the numbers. elu(x) + 1 is positive "
            "everywhere.",
            "φ 用了 relu，有一半的數會剛好變成 0。elu(x) + 1 則處處都是正的。",
        ),
    ),
    (
        "relu-plus-1",
        _both(lambda x: x.relu() + 1),
        Text(
            "φ is relu(x) + 1: below 0 it is flat. elu(x) + 1 falls towards 0 there, like exp.",
            "φ 用了 relu(x) + 1：小於 0 的地方是平的。elu(x) + 1 在那裡會像 exp 一樣降到 0。",
        ),
    ),
    (
        "exp",
        _both(torch.exp),
        Text(
            "φ is exp. elu(x) + 1 agrees with it below 0, but above 0 it grows like x + 1 only.",
            "φ 用了 exp。小於 0 時，elu(x) + 1 和它一樣；但大於 0 時，只像 x + 1 那樣成長。",
        ),
    ),
    (
        "softmax-as-feature-map",
        _both(lambda x: x.softmax(-1)),
        Text(
            "φ is a softmax over the features. Here each number is mapped by itself, with "
            "elu(x) + 1.",
            "φ 用了沿著特徵做的 softmax。這裡是每個數各自轉換：elu(x) + 1。",
        ),
    ),
    (
        "sigmoid",
        _both(torch.sigmoid),
        Text(
            "φ is the sigmoid. It is positive too, but asked for is elu(x) + 1.",
            "φ 用了 sigmoid。它也是正的，但題目要的是 elu(x) + 1。",
        ),
    ),
    (
        "scaled",
        {"phi_q": lambda x: _feature(x / math.sqrt(x.size(-1)))},
        Text(
            "q is divided by √d_k. That scale keeps a softmax out of saturation; here there is "
            "no softmax.",
            "你把 q 除以 √d_k 了。那個縮放是為了不讓 softmax 飽和；這裡沒有 softmax。",
        ),
    ),
    (
        "both-scaled",
        _both(lambda x: _feature(x / math.sqrt(x.size(-1)))),
        Text(
            "q and k are divided by √d_k. That scale keeps a softmax out of saturation; here there "
            "is no softmax.",
            "你把 q 和 k 都除以 √d_k 了。那個縮放是為了不讓 softmax 飽和；這裡沒有 softmax。",
        ),
    ),
    (
        "branches-exchanged",
        _both(lambda x: torch.where(x > 0, x.exp(), x + 1)),
        Text(
            "the two branches of φ have changed places: above 0 it is x + 1, below it is exp(x).",
            "φ 的兩段對調了：大於 0 時是 x + 1，其他時候才是 exp(x)。",
        ),
    ),
    (
        "x-plus-1",
        _both(lambda x: x + 1),
        Text(
            "φ is x + 1, also below 0, where it may become negative. There elu(x) + 1 is exp(x).",
            "φ 用了 x + 1，連小於 0 的時候也是，這樣可能變成負的。那裡的 elu(x) + 1 是 exp(x)。",
        ),
    ),
    (
        "1-minus-elu",
        _both(lambda x: 1 - F.elu(x)),
        Text(
            "the sign is wrong: elu is subtracted from 1, or 1 from elu. φ is elu(x) + 1.",
            "正負號不對：你用 1 減 elu，或用 elu 減 1。φ 是 elu(x) + 1。",
        ),
    ),
    (
        "softplus",
        _both(F.softplus),
        Text(
            "φ is softplus, ln(1 + exp(x)). It is positive too, but asked for is elu(x) + 1.",
            "φ 用了 softplus，也就是 ln(1 + exp(x))。它也是正的，但題目要的是 elu(x) + 1。",
        ),
    ),
    (
        "absolute-values",
        _both(torch.abs),
        Text(
            "φ is the absolute value: a number and its opposite look the same. It is elu(x) + 1.",
            "φ 用了絕對值：正數和負數就分不出來了。應該是 elu(x) + 1。",
        ),
    ),
    (
        "squares",
        _both(torch.square),
        Text(
            "φ is the square: a number and its opposite look the same. It is elu(x) + 1.",
            "φ 用了平方：正數和負數就分不出來了。應該是 elu(x) + 1。",
        ),
    ),
)


def _shared_mistakes(linear):
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
    features = (Mistake(name, linear(**phi), hint) for name, phi, hint in _WRONG_FEATURES)
    return (
        Mistake("no-normaliser", undivided, no_normaliser),
        Mistake("output-sums-to-1", _rows_that_sum_to_1(undivided), entries_summed),
        *features,
    )


def _rows_that_sum_to_1(linear):
    def answer(q, k, v):
        output = linear(q, k, v)
        return output / output.sum(-1, keepdim=True)

    return answer


def _all_keys(q, k):
    """φ(q) · Σ φ(k), a column."""
    return q @ k.sum(-2).unsqueeze(-1)


def _linear(
    phi_q=_feature,
    phi_k=_feature,
    phi_v=_identity,
    normaliser=_all_keys,
    divide=torch.div,
    transpose=lambda k: k.mT,
):
    """Linear attention with a place for each slip."""

    def answer(q, k, v):
        q, k = phi_q(q), phi_k(k)
        output = q @ (transpose(k) @ phi_v(v))
        return divide(output, normaliser(q, k)) if normaliser else output

    return answer


linear_attention = _linear()


def _linear_cases():
    randn = normal(94)

    def qkv(*batch, n_q, n_k):
        return randn(*batch, n_q, 5), randn(*batch, n_k, 5), randn(*batch, n_k, 3)

    return [
        Case(ONE_SEQUENCE, qkv(n_q=4, n_k=6)),
        Case(BATCH_AND_HEADS, qkv(3, 2, n_q=4, n_k=7)),
        Case(SQUARE, qkv(n_q=4, n_k=4)),
        Case(MANY_TOKENS, qkv(n_q=60, n_k=64), largest=60 * 64 // 2),
    ]


def _linear_key_by_key(q, k, v):
    q, k = (torch.where(x > 0, x + 1, x.clamp(max=0).exp()) for x in (q, k))
    state, total = 0.0, 0.0
    for j in range(k.size(-2)):
        state = state + k[..., j, :, None] * v[..., j, None, :]
        total = total + k[..., j, :, None]
    return (q @ state) / (q @ total)


def _linear_by_einsum(q, k, v):
    q, k = 1 + F.elu(q), 1 + F.elu(k)
    state = torch.einsum("...nd,...ne->...de", k, v)
    above = torch.einsum("...nd,...de->...ne", q, state)
    return above / torch.einsum("...nd,...md->...n", q, k)[..., None]


def _linear_with_a_column_of_ones(q, k, v):
    """The normaliser as one more component of the values."""
    both = _feature(q) @ (_feature(k).mT @ torch.cat([v, torch.ones_like(v[..., :1])], -1))
    return both[..., :-1] / both[..., -1:]


def _linear_in_the_wrong_order(q, k, v):
    """Right, but it makes all n_q × n_k weights first."""
    weights = _feature(q) @ _feature(k).mT
    return weights / weights.sum(-1, keepdim=True) @ v


def _linear_over_queries(q, k, v):
    q, k = _feature(q), _feature(k)
    return q @ ((k / (k @ q.sum(-2).unsqueeze(-1))).mT @ v)


def _causal_where_it_fits(q, k, v):
    i, j = _positions(q.size(-2), k.size(-2), 1)
    weights = _feature(q) @ _feature(k).mT * (j <= i)
    return weights @ v / weights.sum(-1, keepdim=True)


LINEAR_ATTENTION = Exercise(
    name="linear-attention",
    chapter=9,
    title=Text("Linear attention", "線性注意力"),
    difficulty=2,
    minutes=12,
    reference=linear_attention,
    cases=_linear_cases,
    alternatives=(_linear_key_by_key, _linear_by_einsum, _linear_with_a_column_of_ones),
    wasteful=(_linear_in_the_wrong_order,),
    mistakes=(
        *_shared_mistakes(_linear),
        Mistake(
            "state-normalised",
            _linear(normaliser=None, transpose=lambda k: (k / k.sum(-2, True)).mT),
            Text(
                "each feature of the keys is divided by its sum, before the query comes in. Divide "
                "the output, by φ(q) · Σ φ(k), which is another number for each query.",
                "你在查詢用到之前，就把鍵的每個特徵除以自己的總和了。要除的是輸出，"
                "除以 φ(q) · Σ φ(k)，每個查詢各有一個。",
            ),
        ),
        Mistake(
            "output-scaled",
            lambda q, k, v: linear_attention(q, k, v) / math.sqrt(q.size(-1)),
            Text(
                "the output is divided by √d_k once more. That scale keeps a softmax out of "
                "saturation; here there is no softmax.",
                "輸出又多除了一次 √d_k。那個縮放是為了不讓 softmax 飽和；這裡沒有 softmax。",
            ),
        ),
        Mistake(
            "normalised-by-n",
            _linear(normaliser=lambda q, k: q.new_tensor(k.size(-2))),
            Text(
                "divided by the number of keys. Divide by the sum of the weights: φ(q) · Σ φ(k).",
                "你除的是鍵的個數。應該除以權重的總和：φ(q) · Σ φ(k)。",
            ),
        ),
        Mistake(
            "normaliser-without-q",
            _linear(normaliser=lambda q, k: k.sum((-2, -1), keepdim=True).expand(*q.shape[:-1], 1)),
            Text(
                "the normaliser is the same for all queries: φ(q) is missing in it.",
                "每個查詢除的都是同一個數：分母少了 φ(q)。",
            ),
        ),
        Mistake(
            "normaliser-without-k",
            _linear(normaliser=lambda q, k: q.sum(-1, keepdim=True)),
            Text(
                "the normaliser holds the query alone: Σ φ(k) is missing in it.",
                "分母裡只有查詢：少了 Σ φ(k)。",
            ),
        ),
        Mistake(
            "normaliser-of-plain-keys",
            lambda q, k, v: _linear(normaliser=lambda phi_q, _: _all_keys(phi_q, k))(q, k, v),
            Text(
                "the normaliser sums the plain keys. Sum φ(k), as in the numerator.",
                "分母加總的是原本的鍵。要加總的是 φ(k)，和分子一樣。",
            ),
        ),
        Mistake(
            "normaliser-of-plain-queries",
            lambda q, k, v: _linear(normaliser=lambda _, phi_k: _all_keys(q, phi_k))(q, k, v),
            Text(
                "the normaliser takes the plain query. It needs φ(q), as in the numerator.",
                "分母用的是原本的查詢。應該用 φ(q)，和分子一樣。",
            ),
        ),
        Mistake(
            "feature-map-of-the-sum",
            lambda q, k, v: _linear(
                normaliser=lambda phi_q, _: phi_q @ _feature(k.sum(-2)).unsqueeze(-1)
            )(q, k, v),
            Text(
                "the normaliser holds φ(Σ k). Apply φ to each key, and sum then: Σ φ(k).",
                "你的分母是 φ(Σ k)。要先把每個鍵代進 φ，再加總：Σ φ(k)。",
            ),
        ),
        Mistake(
            "normaliser-of-all-queries",
            _linear(normaliser=lambda q, k: (q @ k.mT.sum(-1, keepdim=True)).sum(-2, keepdim=True)),
            Text(
                "the weights of all queries are added up in the normaliser. Each query divides by "
                "its own sum.",
                "分母把所有查詢的權重都加起來了。每個查詢要除以自己的總和。",
            ),
        ),
        Mistake(
            "normaliser-averaged",
            _linear(normaliser=lambda q, k: q @ k.mT.mean(-1, keepdim=True)),
            Text(
                "the normaliser takes the mean of φ(k): everything is n_k times too large. It is a "
                "sum.",
                "分母用的是平均，不是 Σ φ(k)，結果全都大了 n_k 倍。應該用總和。",
            ),
        ),
        Mistake(
            "normalised-over-the-queries",
            _linear_over_queries,
            Text(
                "the weights are normalised over the queries, for each key. They have to sum to 1 "
                "for each query.",
                "權重是沿著查詢正規化的，每個鍵加起來是 1。應該是每個查詢的權重加起來等於 1。",
            ),
        ),
        Mistake(
            "multiplied-by-the-normaliser",
            _linear(divide=torch.mul),
            Text(
                "multiplied by the sum of the weights, where you should divide.",
                "應該除以權重的總和，你卻用乘的。",
            ),
        ),
        Mistake(
            "softmax-attention",
            lambda q, k, v: _softmax_of_all(q, k, False) @ v,
            Text(
                "this is the attention of chapter 4, with its softmax. Linear attention puts φ(q) "
                "· φ(k) in place of exp.",
                "這是第 4 章有 softmax 的注意力。線性注意力裡，取代 exp 的是 φ(q) · φ(k)。",
            ),
        ),
        Mistake(
            "softmax-of-the-features",
            lambda q, k, v: (_feature(q) @ _feature(k).mT).softmax(-1) @ v,
            Text(
                "φ(q) · φ(k) are weights already; a softmax over them is one exp too many. Only "
                "divide by their sum.",
                "權重就是 φ(q) · φ(k)，已經算好了；再做 softmax 就多取了一次 exp。只要除以總和就好。",
            ),
        ),
        Mistake(
            "causal",
            lambda q, k, v: _causal_where_it_fits(q, k, v),
            Text(
                "each query sees only the keys up to its own. That is the next exercise: here it "
                "sees all of them.",
                "每個查詢只看到自己和前面的鍵。那是下一題：這一題要看到所有的鍵。",
            ),
        ),
        Mistake(
            "mean-of-the-values",
            lambda q, k, v: (
                v.mean(-2, keepdim=True).expand(*q.shape[:-1], v.size(-1)) + 0 * (q.sum() + k.sum())
            ),
            Text(
                "this is the mean of the values: q and k have no effect.",
                "這是值的平均：q 和 k 沒有作用。",
            ),
        ),
        Mistake(
            "transposed-for-one-sequence",
            lambda q, k, v: _linear(transpose=lambda k: k.transpose(0, 1))(q, k, v),
            Text(
                "right for one sequence, but with a batch the wrong dimensions are exchanged or "
                "summed over: .T, transpose(0, 1) and sum(0) reach the batch. Count dimensions "
                "from the end: .mT, sum(-2).",
                "單一序列時是對的，但有批次時，對調或加總的維度就錯了："
                ".T、transpose(0, 1) 和 sum(0) 會動到批次。請從後面數維度：.mT、sum(-2)。",
            ),
        ),
    ),
)

# --- causal-linear-attention --------------------------------------------------------------


def _keys_so_far(q, k):
    """φ(qᵢ) · Σ φ(kⱼ) over j ≤ i, a column."""
    return (q * k.cumsum(-2)).sum(-1, keepdim=True)


def _causal_linear(
    phi_q=_feature,
    phi_k=_feature,
    phi_v=_identity,
    normaliser=_keys_so_far,
    states=lambda kv: kv.cumsum(-3),
    shift=0,
):
    """Causal linear attention with a place for each slip; with ``shift`` 1, i sees j ≤ i − 1."""

    def answer(q, k, v):
        q, k, v = phi_q(q), phi_k(k), phi_v(v)
        k, v = (F.pad(x, (0, 0, shift, -shift)) for x in (k, v))
        state = states(k.unsqueeze(-1) * v.unsqueeze(-2))  # (…, n, d_k, d_v)
        output = (q.unsqueeze(-2) @ state).squeeze(-2)
        return output / normaliser(q, k) if normaliser else output

    return answer


causal_linear_attention = _causal_linear()


def _causal_linear_cases():
    randn = normal(95)

    def qkv(*batch, n):
        return randn(*batch, n, 5), randn(*batch, n, 5), randn(*batch, n, 3)

    return [
        Case(ONE_SEQUENCE, qkv(n=6)),
        Case(BATCH_AND_HEADS, qkv(3, 2, n=4)),
        Case(Text("a single token", "只有一個標記"), qkv(n=1)),
        Case(MANY_TOKENS, qkv(n=40), largest=40 * 40 // 2),
    ]


def _as_a_recurrence(q, k, v):
    q, k, outputs = _feature(q), _feature(k), []
    state = q.new_zeros(*q.shape[:-2], q.size(-1), v.size(-1))
    total = q.new_zeros(*q.shape[:-2], q.size(-1))
    for q_i, k_i, v_i in zip(q.unbind(-2), k.unbind(-2), v.unbind(-2), strict=True):
        state = state + k_i[..., None] * v_i[..., None, :]
        total = total + k_i
        above = torch.einsum("...d,...de->...e", q_i, state)
        outputs.append(above / (q_i * total).sum(-1, keepdim=True))
    return torch.stack(outputs, dim=-2)


def _in_chunks(q, k, v, size=8):
    """Within a chunk by a small causal matrix, from chunk to chunk by the state."""
    v = torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)
    state, rows = 0.0, []
    for q_c, k_c, v_c in zip(
        *(x.split(size, -2) for x in (_feature(q), _feature(k), v)), strict=True
    ):
        rows.append((q_c @ k_c.mT).tril() @ v_c + (q_c @ state if rows else 0.0))
        state = state + k_c.mT @ v_c
    both = torch.cat(rows, dim=-2)
    return both[..., :-1] / both[..., -1:]


def _causal_by_einsum(q, k, v):
    q, k = _feature(q), _feature(k)
    state = torch.einsum("...nd,...ne->...nde", k, v).cumsum(-3)
    total = torch.einsum("...nd,...nd->...n", q, k.cumsum(-2))
    return torch.einsum("...nd,...nde->...ne", q, state) / total[..., None]


def _cumulative_outputs(q, k, v):
    q, k = _feature(q), _feature(k)
    return ((q * k).sum(-1, keepdim=True) * v).cumsum(-2) / _keys_so_far(q, k)


CAUSAL_LINEAR_ATTENTION = Exercise(
    name="causal-linear-attention",
    chapter=9,
    title=Text("Linear attention as a recurrence", "寫成遞迴的線性注意力"),
    difficulty=3,
    minutes=15,
    reference=causal_linear_attention,
    cases=_causal_linear_cases,
    alternatives=(_as_a_recurrence, _in_chunks, _causal_by_einsum),
    wasteful=(_causal_where_it_fits,),
    mistakes=(
        *_shared_mistakes(_causal_linear),
        Mistake(
            "not-causal",
            linear_attention,
            Text(
                "every position sees all keys, later ones included. Position i may use j ≤ i only: "
                "what has been added up by then?",
                "每個位置都看到所有的鍵，連後面的也算進去。位置 i 只能用 j ≤ i：到那時累積了什麼？",
            ),
        ),
        Mistake(
            "sees-only-the-past",
            _causal_linear(shift=1),
            Text(
                "position i does not see itself: its key is added to the state only after the "
                "state was read (so the first divides 0 by 0).",
                "位置 i 沒有看到自己：你先讀了狀態，才把它的鍵加進去，"
                "所以第一個位置變成 0 除以 0。",
            ),
        ),
        Mistake(
            "normaliser-one-behind",
            _causal_linear(normaliser=lambda q, k: (q * (k.cumsum(-2) - k)).sum(-1, keepdim=True)),
            Text(
                "the state is right, but the normaliser is one step behind: it is read before the "
                "key of the position is added (so the first divides by 0).",
                "狀態對了，但分母慢了一步：你先讀了分母，才把這個位置的鍵加進去"
                "（所以第一個位置會除以 0）。",
            ),
        ),
        Mistake(
            "normaliser-starts-at-1",
            _causal_linear(normaliser=lambda q, k: (q * (1 + k.cumsum(-2))).sum(-1, keepdim=True)),
            Text(
                "the sum of φ(k) starts at 1, as if a key had been read already. Nothing has been "
                "read: it starts at 0.",
                "分母裡的總和從 1 開始，就好像已經讀過一個鍵。什麼都還沒讀，應該從 0 開始。",
            ),
        ),
        Mistake(
            "keys-as-queries",
            lambda q, k, v: causal_linear_attention(k, k, v) + 0 * q.sum(),
            Text(
                "the state is asked with φ(k). The queries ask: φ(q).",
                "你拿鍵去問狀態了，也就是 φ(k)。提問的應該是查詢，用 φ(q)。",
            ),
        ),
        Mistake(
            "sees-one-ahead",
            _causal_linear(shift=-1),
            Text(
                "position i sees the key after it already: the state is one step ahead.",
                "位置 i 已經看到下一個鍵了：狀態多走了一步。",
            ),
        ),
        Mistake(
            "from-the-end",
            lambda q, k, v: causal_linear_attention(*(x.flip(-2) for x in (q, k, v))).flip(-2),
            Text(
                "the sums run from the end: position i sees j ≥ i, the future.",
                "累加的方向反了：位置 i 看到的是 j ≥ i，也就是未來。",
            ),
        ),
        Mistake(
            "normaliser-of-all-keys",
            _causal_linear(
                normaliser=lambda q, k: (q * k.sum(-2, keepdim=True)).sum(-1, keepdim=True)
            ),
            Text(
                "the output is causal, but the normaliser sums over all keys, later ones included: "
                "the weights no longer sum to 1.",
                "輸出是因果的，但分母把所有的鍵都加起來了，連後面的也算進去，"
                "權重加起來就不是 1 了。",
            ),
        ),
        Mistake(
            "state-of-all-keys",
            _causal_linear(states=lambda kv: kv.sum(-3, keepdim=True)),
            Text(
                "the normaliser is causal, but the state sums over all keys, later ones included.",
                "分母是因果的，但狀態把所有的鍵都加起來了，連後面的也算進去。",
            ),
        ),
        Mistake(
            "normaliser-not-added-up",
            _causal_linear(normaliser=lambda q, k: (q * k).sum(-1, keepdim=True)),
            Text(
                "the normaliser holds the key of the position alone. It adds up all keys until "
                "then, like the state.",
                "分母只用了這個位置的鍵。它要像狀態一樣，把到目前為止的鍵都加起來。",
            ),
        ),
        Mistake(
            "state-not-added-up",
            _causal_linear(states=_identity),
            Text(
                "the state is overwritten at each position instead of added to; only the "
                "normaliser adds up.",
                "狀態在每個位置都被蓋掉，沒有累加；只有分母在累加。",
            ),
        ),
        Mistake(
            "nothing-added-up",
            lambda q, k, v: v + 0 * (q.sum() + k.sum()),
            Text(
                "each position sees itself alone, so that its output is its own value. The state "
                "has to be carried on.",
                "每個位置只看到自己，輸出就是自己的值。狀態要一路累積下去。",
            ),
        ),
        Mistake(
            "normalised-by-the-count",
            _causal_linear(
                normaliser=lambda q, k: torch.arange(1, k.size(-2) + 1, dtype=k.dtype)[:, None]
            ),
            Text(
                "divided by the number of keys seen. Divide by the sum of their weights.",
                "你除的是看到幾個鍵。應該除以它們權重的總和。",
            ),
        ),
        Mistake(
            "normaliser-without-q",
            _causal_linear(normaliser=lambda q, k: k.cumsum(-2).sum(-1, keepdim=True)),
            Text("φ(q) is missing in the normaliser.", "分母少了 φ(q)。"),
        ),
        Mistake(
            "summed-over-dimension-0",
            _causal_linear(
                states=lambda kv: kv.cumsum(0),
                normaliser=lambda q, k: (q * k.cumsum(0)).sum(-1, keepdim=True),
            ),
            Text(
                "right for one sequence, but with a batch the running sums go over dimension 0, "
                "from one sequence to the next. Count the dimension from the end.",
                "單一序列時是對的，但有批次時，你沿著第 0 維累加，從一個序列加到下一個去了。"
                "請從後面數是第幾個維度。",
            ),
        ),
        Mistake(
            "summed-over-the-features",
            _causal_linear(states=lambda kv: kv.cumsum(-2)),
            Text(
                "the running sum goes over the features. It goes over the positions.",
                "你沿著特徵累加了。應該沿著位置累加。",
            ),
        ),
        Mistake(
            "product-of-sums",
            _causal_linear(
                phi_v=lambda v: v.cumsum(-2),
                phi_k=lambda k: _feature(k).cumsum(-2),
                states=_identity,
                normaliser=lambda q, k: (q * k).sum(-1, keepdim=True),
            ),
            Text(
                "keys and values are added up by themselves and then multiplied, so that each key "
                "meets the values of all others. Multiply first, then add up.",
                "你先把鍵和值各自累加，再相乘，這樣每個鍵都會碰到別人的值。要先相乘，再累加。",
            ),
        ),
        Mistake(
            "averaged-state",
            _causal_linear(
                states=lambda kv: (
                    kv.cumsum(-3) / torch.arange(1, kv.size(-3) + 1, dtype=kv.dtype)[:, None, None]
                )
            ),
            Text(
                "the state is a mean, the normaliser a sum. Both have to be sums (or both means).",
                "狀態用平均，分母卻用總和。兩個都要用總和（或都用平均）。",
            ),
        ),
        Mistake(
            "softmax-attention",
            lambda q, k, v: _softmax_of_all(q, k, True) @ v,
            Text(
                "this is causal attention with a softmax. Linear attention puts φ(q) · φ(k) in "
                "place of exp.",
                "這是有 softmax 的因果注意力。線性注意力裡，取代 exp 的是 φ(q) · φ(k)。",
            ),
        ),
        Mistake(
            "causal-sum-of-outputs",
            _cumulative_outputs,
            Text(
                "the running sum is taken over finished outputs. It belongs to the state, before "
                "the queries come in.",
                "你累加的是算好的輸出。要累加的是狀態，在查詢用到之前。",
            ),
        ),
    ),
)

# --- sliding-window-mask ------------------------------------------------------------------


def _window(seen):
    """The mask of those places where ``seen(i, j, window)``."""

    def answer(n, window):
        i = torch.arange(n)
        return seen(i[:, None], i, window)

    return answer


sliding_window_mask = _window(lambda i, j, window: (j <= i) & (i - j < window))


def _window_cases():
    label = Text("{n} tokens, window {window}", "{n} 個標記，視窗 {window}")
    sizes = (7, 3), (6, 2), (5, 1), (4, 9), (5, 4), (1, 1)
    return [Case(label.format(n=n, window=window), (n, window)) for n, window in sizes]


def _window_by_loops(n, window):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        mask[i, max(0, i - window + 1) : i + 1] = True
    return mask


def _window_with_a_negative_start(n, window):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        mask[i, i - window + 1 : i + 1] = True
    return mask


SLIDING_WINDOW_MASK = Exercise(
    name="sliding-window-mask",
    chapter=9,
    title=Text("A sliding window", "滑動視窗"),
    difficulty=1,
    minutes=8,
    reference=sliding_window_mask,
    cases=_window_cases,
    alternatives=(
        _window_by_loops,
        lambda n, window: torch.ones(n, n, dtype=torch.bool).tril().triu(1 - window),
        lambda n, window: torch.tensor([[0 <= i - j < window for j in range(n)] for i in range(n)]),
        lambda n, window: torch.ones(n, n).tril() - torch.ones(n, n).tril(-window) == 1,
    ),
    mistakes=(
        Mistake(
            "two-sided",
            _window(lambda i, j, w: (i - j).abs() < w),
            Text(
                "the window reaches as far ahead as back. In a causal model nobody sees what comes "
                "later.",
                "視窗往過去看多遠，往未來也看多遠。在因果模型裡，誰都不能看後面的標記。",
            ),
        ),
        Mistake(
            "centred",
            _window(lambda i, j, w: (i - j).abs() <= w // 2),
            Text(
                "the window is centred on the position, half of it lies ahead. It ends at the "
                "position itself.",
                "視窗以這個位置為中心，有一半在後面。視窗的終點應該是這個位置自己。",
            ),
        ),
        Mistake(
            "one-too-wide",
            _window(lambda i, j, w: (j <= i) & (i - j <= w)),
            Text(
                "one position too many: itself and the window − 1 before it make window in all.",
                "多看了一個位置：自己加上前面 window − 1 個，總共是 window 個。",
            ),
        ),
        Mistake(
            "one-too-narrow",
            _window(lambda i, j, w: (j <= i) & (i - j < w - 1)),
            Text(
                "one position too few: itself and the window − 1 before it make window in all.",
                "少看了一個位置：自己加上前面 window − 1 個，總共是 window 個。",
            ),
        ),
        Mistake(
            "itself-hidden",
            _window(lambda i, j, w: (j < i) & (i - j < w)),
            Text(
                "a position does not see itself. The diagonal is allowed.",
                "每個位置看不到自己。對角線應該是允許的。",
            ),
        ),
        Mistake(
            "the-window-before-it",
            _window(lambda i, j, w: (j < i) & (i - j <= w)),
            Text(
                "you take the window positions before it, without itself. It counts itself as one "
                "of them.",
                "你取的是它前面的 window 個，不包含自己。自己也要算一個。",
            ),
        ),
        Mistake(
            "no-window",
            _window(lambda i, j, w: j <= i),
            Text(
                "this is the causal mask: window has no effect. What is too far back has to go.",
                "這是因果遮罩：window 沒有作用。太前面的也要遮住。",
            ),
        ),
        Mistake(
            "not-causal",
            _window(lambda i, j, w: i - j < w),
            Text(
                "the past is cut off rightly, but the future is seen.",
                "過去遮對了，但還看得到未來。",
            ),
        ),
        Mistake(
            "the-future",
            _window(lambda i, j, w: (j >= i) & (j - i < w)),
            Text(
                "the band lies above the diagonal: position i sees itself and what comes after it. "
                "Rows are queries, columns are keys.",
                "這條帶子在對角線上方：位置 i 看到的是自己和後面的標記。列是查詢，行是鍵。",
            ),
        ),
        Mistake(
            "inverted",
            _window(lambda i, j, w: (j > i) | (i - j >= w)),
            Text(
                "inverted: here True means that a position may be seen.",
                "反了：這裡 True 代表可以看。",
            ),
        ),
        Mistake(
            "what-lies-outside",
            _window(lambda i, j, w: (j <= i) & (i - j >= w)),
            Text(
                "these are the positions too far back: just those that the window leaves out.",
                "這些是太前面的位置：正好是視窗看不到的。",
            ),
        ),
        Mistake(
            "blocks",
            _window(lambda i, j, w: i // w == j // w),
            Text(
                "the sequence is cut into blocks whose members see each other. The window moves "
                "along with each position.",
                "你把序列切成一塊一塊，同一塊裡互相看得到。視窗應該跟著每個位置移動。",
            ),
        ),
        Mistake(
            "causal-blocks",
            _window(lambda i, j, w: (i // w == j // w) & (j <= i)),
            Text(
                "the sequence is cut into blocks: the first position of each sees itself alone. "
                "The window moves along with each position.",
                "你把序列切成一塊一塊：每一塊的第一個位置只看得到自己。視窗應該跟著每個位置移動。",
            ),
        ),
        Mistake(
            "the-last-keys",
            _window(lambda i, j, w: (j <= i) & (j >= len(i) - w)),
            Text(
                "you count back from the end of the sequence. The window is counted back from each "
                "position.",
                "你是從序列的結尾往回數。視窗要從每個位置各自往回數。",
            ),
        ),
        Mistake(
            "the-first-keys",
            _window(lambda i, j, w: (j <= i) & (j < w)),
            Text(
                "only the first keys are seen. The window moves along with the position.",
                "只看得到最前面的鍵。視窗應該跟著位置移動。",
            ),
        ),
        Mistake(
            "only-the-edge",
            _window(lambda i, j, w: i - j == w - 1),
            Text(
                "only the farthest position of the window is seen. Those between it and i as well!",
                "只看得到視窗裡最遠的那一個。它和 i 之間的也要看得到。",
            ),
        ),
        Mistake(
            "dilated",
            _window(lambda i, j, w: (j <= i) & ((i - j) % w == 0)),
            Text(
                "you take every window-th position back to the beginning. A window holds "
                "neighbours.",
                "你每隔 window 個取一個，一路取到最前面。視窗裡應該是相鄰的位置。",
            ),
        ),
        Mistake(
            "diagonal-alone",
            _window(lambda i, j, w: i == j),
            Text(
                "each position sees itself alone, whatever the window.",
                "不管 window 是多少，每個位置都只看得到自己。",
            ),
        ),
        Mistake(
            "sign-of-the-diagonal",
            lambda n, window: torch.ones(n, n, dtype=torch.bool).tril().triu(window - 1),
            Text(
                "all is hidden but for a window of 1: triu(k) with a positive k begins above the "
                "diagonal, where tril has left nothing. Diagonals below are counted negative.",
                "除了視窗是 1 的時候，全都遮住了：triu(k) 的 k 是正數時，從對角線上方開始，"
                "而那裡已經被 tril 清掉了。對角線下方要用負數來數。",
            ),
        ),
        Mistake(
            "up-to-the-window-ahead",
            _window(lambda i, j, w: j - i < w),
            Text(
                "this hides only what lies window or more positions ahead: the future is seen, and "
                "all of the past. In tril(k), a positive k moves the edge up.",
                "這只遮住了後面第 window 個起的位置：看得到未來，過去也全都看得到。"
                "tril(k) 的 k 是正數時，邊界會往上移。",
            ),
        ),
        Mistake(
            "window-or-more-ahead",
            _window(lambda i, j, w: j - i >= w),
            Text(
                "these are the positions window or more ahead of each. In triu(k), a positive k "
                "moves the edge up; diagonals below are counted negative.",
                "這些是後面第 window 個起的位置。triu(k) 的 k 是正數時，邊界會往上移；"
                "對角線下方要用負數來數。",
            ),
        ),
        Mistake(
            "negative-start",
            _window_with_a_negative_start,
            Text(
                "right except for the first rows: there i − window + 1 is negative, and a slice "
                "counts a negative start from the end. Begin at max(0, …).",
                "除了最前面幾列，都是對的：那裡的 i − window + 1 是負數，"
                "而切片會把負的起點當成從結尾數。起點要用 max(0, …)。",
            ),
        ),
        Mistake(
            "starts-at-itself",
            _window(lambda i, j, w: (j >= i.clamp(max=(len(i) - w))) & (j < i + w)),
            Text(
                "the window starts at the position and reaches ahead. It ends at the position.",
                "你的視窗從這個位置開始，一路往後看。這個位置應該是視窗的終點。",
            ),
        ),
        Mistake(
            "always-full",
            _window(lambda i, j, w: (j > i - w) & (j < (i + 1).clamp(min=w))),
            Text(
                "the first rows are filled up to window positions with later ones. There are fewer "
                "before them, and the future stays hidden.",
                "最前面幾列用後面的位置補滿到 window 個了。前面不夠就少看幾個，未來還是要遮住。",
            ),
        ),
        Mistake(
            "added-numbers",
            lambda n, window: torch.zeros(n, n, dtype=torch.float64).masked_fill(
                ~sliding_window_mask(n, window), -torch.inf
            ),
            Text(
                "this is a mask to be added, 0 and −∞. Asked for is a Boolean one: True where a "
                "position may be seen.",
                "這是用來加的遮罩，內容是 0 和 −∞。題目要的是布林遮罩：可以看的地方是 True。",
            ),
        ),
        Mistake(
            "everything",
            _window(lambda i, j, w: (i >= 0) & (j >= 0)),
            Text(
                "everybody sees everything: neither the future nor what is too far back is hidden.",
                "誰都看得到全部：未來的、太前面的，都沒有遮住。",
            ),
        ),
    ),
)

# --- attention-flops ----------------------------------------------------------------------


def attention_flops(n_q, n_k, d_k, d_v):
    return 2 * n_q * n_k * (d_k + d_v)


def _flops_cases():
    label = Text(
        "{0[0]} queries, {0[1]} keys, widths {0[2]} and {0[3]}",
        "{0[0]} 個查詢、{0[1]} 個鍵，寬度 {0[2]} 和 {0[3]}",
    )
    sizes = (3, 5, 7, 2), (4, 4, 6, 6), (1, 8, 3, 5), (512, 1024, 64, 128)
    return [Case(Text(label.en.format(s), label.zh.format(s)), s) for s in sizes]


def _flops_by_loops(n_q, n_k, d_k, d_v):
    scores = sum(2 * d_k for _ in range(n_q) for _ in range(n_k))
    return scores + sum(2 * n_k for _ in range(n_q) for _ in range(d_v))


ATTENTION_FLOPS = Exercise(
    name="attention-flops",
    chapter=9,
    title=Text("What attention costs", "注意力要花多少運算"),
    difficulty=1,
    minutes=5,
    reference=attention_flops,
    cases=_flops_cases,
    tolerance=1e-9,  # of 200 million: every single operation counts
    alternatives=(
        lambda n_q, n_k, d_k, d_v: 2 * n_q * n_k * d_k + 2 * n_q * n_k * d_v,
        lambda n_q, n_k, d_k, d_v: 2.0 * n_q * (d_k + d_v) * n_k,
        lambda *sizes: torch.tensor(attention_flops(*sizes)),
        _flops_by_loops,
    ),
    mistakes=(
        Mistake(
            "adds-not-counted",
            lambda n_q, n_k, d_k, d_v: n_q * n_k * (d_k + d_v),
            Text(
                "you count a multiply-add once. It is a multiplication and an addition: two "
                "operations.",
                "一次乘加你只算一次運算。它是一次乘法加一次加法，要算兩次。",
            ),
        ),
        Mistake(
            "scores-only",
            lambda n_q, n_k, d_k, d_v: 2 * n_q * n_k * d_k,
            Text(
                "these are the scores, Q Kᵀ. There is a second product: the weights times the "
                "values.",
                "這是分數 Q Kᵀ 的部分。還有第二次矩陣乘法：權重乘上值。",
            ),
        ),
        Mistake(
            "scores-only-and-adds-not-counted",
            lambda n_q, n_k, d_k, d_v: n_q * n_k * d_k,
            Text(
                "these are the multiplications in the scores, Q Kᵀ. Each comes with an addition, "
                "and there is a second product: the weights times the values.",
                "這是分數 Q Kᵀ 裡的乘法次數。每次乘法還配一次加法，而且還有第二次矩陣乘法：權重乘上值。",
            ),
        ),
        Mistake(
            "adds-of-the-first-product-not-counted",
            lambda n_q, n_k, d_k, d_v: n_q * n_k * d_k + 2 * n_q * n_k * d_v,
            Text(
                "the weighted sum is right. In the scores, too, each multiplication comes with an "
                "addition: two operations.",
                "加權總和的部分對了。算分數也一樣，每次乘法都配一次加法，要算兩次運算。",
            ),
        ),
        Mistake(
            "weighted-sum-only",
            lambda n_q, n_k, d_k, d_v: 2 * n_q * n_k * d_v,
            Text(
                "this is the weighted sum of the values. The scores cost something too.",
                "這是值的加權總和的部分。算分數也要花運算。",
            ),
        ),
        Mistake(
            "queries-for-keys",
            lambda n_q, n_k, d_k, d_v: 2 * n_q * n_q * (d_k + d_v),
            Text(
                "you have squared n_q. There is a score for each pair of a query and a key.",
                "你把 n_q 平方了。每一對查詢和鍵都有一個分數。",
            ),
        ),
        Mistake(
            "keys-for-queries",
            lambda n_q, n_k, d_k, d_v: 2 * n_k * n_k * (d_k + d_v),
            Text(
                "you have squared n_k. There is a score for each pair of a query and a key.",
                "你把 n_k 平方了。每一對查詢和鍵都有一個分數。",
            ),
        ),
        Mistake(
            "d_k-twice",
            lambda n_q, n_k, d_k, d_v: 4 * n_q * n_k * d_k,
            Text(
                "right where d_v = d_k. How long is what the second product adds up: a key or a "
                "value?",
                "d_v = d_k 時是對的。第二次矩陣乘法加總的是鍵還是值？它有多長？",
            ),
        ),
        Mistake(
            "d_v-twice",
            lambda n_q, n_k, d_k, d_v: 4 * n_q * n_k * d_v,
            Text(
                "right where d_v = d_k. How long are the vectors whose dot product is a score?",
                "d_v = d_k 時是對的。分數是內積，那兩個向量有多長？",
            ),
        ),
        Mistake(
            "factor-4",
            lambda n_q, n_k, d_k, d_v: 4 * n_q * n_k * (d_k + d_v),
            Text(
                "twice too much. The two products are both in d_k + d_v already; a multiply-add is "
                "2 operations.",
                "多了一倍。d_k + d_v 已經包含兩次矩陣乘法了；一次乘加算 2 次運算。",
            ),
        ),
        Mistake(
            "widths-multiplied",
            lambda n_q, n_k, d_k, d_v: 2 * n_q * n_k * d_k * d_v,
            Text(
                "d_k and d_v are multiplied. The two products come one after the other, so their "
                "costs are added.",
                "你把 d_k 和 d_v 相乘了。兩次矩陣乘法是先後做的，所以成本要相加。",
            ),
        ),
        Mistake(
            "costs-multiplied",
            lambda n_q, n_k, d_k, d_v: 4 * n_q**2 * n_k**2 * d_k * d_v,
            Text(
                "the costs of the two products are multiplied. They come one after the other: add "
                "them.",
                "你把兩次矩陣乘法的成本相乘了。它們是先後做的，要相加。",
            ),
        ),
        Mistake(
            "lengths-added",
            lambda n_q, n_k, d_k, d_v: 2 * (n_q + n_k) * (d_k + d_v),
            Text(
                "n_q and n_k are added. Every query meets every key: how many pairs are there?",
                "你把 n_q 和 n_k 相加了。每個查詢都會碰到每個鍵：總共有幾對？",
            ),
        ),
        Mistake(
            "first-addition-left-out",
            lambda n_q, n_k, d_k, d_v: n_q * n_k * (2 * d_k - 1) + n_q * d_v * (2 * n_k - 1),
            Text(
                "you have counted exactly: d products need d − 1 additions only. Asked for is the "
                "usual count, 2 for each multiply-add.",
                "你算得很精確：d 個乘積只要加 d − 1 次。但題目要的是一般的算法：每次乘加算 2。",
            ),
        ),
        Mistake(
            "adds-of-the-second-product-not-counted",
            lambda n_q, n_k, d_k, d_v: 2 * n_q * n_k * d_k + n_q * n_k * d_v,
            Text(
                "the scores are right. In the second product, too, each multiplication comes with "
                "an addition: two operations.",
                "分數的部分對了。第二次矩陣乘法也一樣，每次乘法都配一次加法，要算兩次運算。",
            ),
        ),
        Mistake(
            "sizes-of-the-inputs",
            lambda n_q, n_k, d_k, d_v: 2 * n_q * d_k + 2 * n_k * d_v,
            Text(
                "this touches each number of Q and of V once. But every query meets every key: how "
                "many pairs are there?",
                "這樣 Q 和 V 的每個數只用到一次。但每個查詢都會碰到每個鍵：總共有幾對？",
            ),
        ),
        Mistake(
            "bracket-missing",
            lambda n_q, n_k, d_k, d_v: 2 * n_q * n_k * d_k + d_v,
            Text(
                "d_v stands alone at the end: a bracket is missing around d_k + d_v.",
                "最後只單獨加了一個 d_v：d_k + d_v 外面少了括號。",
            ),
        ),
        Mistake(
            "softmax-counted",
            lambda n_q, n_k, d_k, d_v: 2 * n_q * n_k * (d_k + d_v) + 3 * n_q * n_k,
            Text(
                "you have also counted the softmax. Here only the two products count.",
                "你把 softmax 也算進去了。這裡只算兩次矩陣乘法。",
            ),
        ),
        Mistake(
            "scaling-counted",
            lambda n_q, n_k, d_k, d_v: 2 * n_q * n_k * (d_k + d_v) + n_q * n_k,
            Text(
                "you have also counted an operation for each score, such as the scaling. Here only "
                "the two products count.",
                "你還多算了每個分數各一次的運算，例如縮放。這裡只算兩次矩陣乘法。",
            ),
        ),
        Mistake(
            "causal-half",
            lambda n_q, n_k, d_k, d_v: n_q * (n_k + 1) * (d_k + d_v),
            Text(
                "you have counted a causal triangle only. Without a mask every query meets every "
                "key.",
                "你只算了因果遮罩留下的三角形。沒有遮罩時，每個查詢都會碰到每個鍵。",
            ),
        ),
        Mistake(
            "linear-attention",
            lambda n_q, n_k, d_k, d_v: 2 * (n_q + n_k) * d_k * d_v,
            Text(
                "this is what linear attention costs. Here the scores are made first: the n_q × "
                "n_k matrix.",
                "這是線性注意力的成本。這裡要先算分數：n_q × n_k 的矩陣。",
            ),
        ),
        Mistake(
            "numbers-stored",
            lambda n_q, n_k, d_k, d_v: n_q * (d_k + d_v) + n_k * (d_k + d_v) + n_q * n_k,
            Text(
                "this counts the numbers that are stored. Asked for are the operations.",
                "你算的是存了幾個數。題目問的是運算次數。",
            ),
        ),
        Mistake(
            "scores-without-n_k",
            lambda n_q, n_k, d_k, d_v: 2 * n_q * d_k + 2 * n_q * n_k * d_v,
            Text(
                "the second product is right. In the first, each query meets one key only.",
                "第二次矩陣乘法對了。但第一次裡，你讓每個查詢只碰到一個鍵。",
            ),
        ),
        Mistake(
            "output-without-n_k",
            lambda n_q, n_k, d_k, d_v: 2 * n_q * n_k * d_k + 2 * n_q * d_v,
            Text(
                "the scores are right. In the second product, each number of the output is a sum "
                "over n_k keys.",
                "分數的部分對了。第二次矩陣乘法裡，輸出的每個數都是 n_k 個鍵的加總。",
            ),
        ),
    ),
)

# --- with a pencil ------------------------------------------------------------------------

# A query meets its keys in two blocks. After the first alone: maximum m = ln 2, total ℓ = 4,
# output o = 24 (not divided yet). The second alone: m = ln 8, ℓ = 2, o = 6. What is the output?
PENCIL_ONLINE_SOFTMAX = Exercise(
    name="pencil-online-softmax",
    chapter=9,
    title=Text("Two blocks, merged with a pencil", "用紙筆合併兩塊"),
    difficulty=1,
    minutes=4,
    reference=lambda: 4.0,
    cases=by_hand,
    tolerance=1e-3,
    alternatives=(
        lambda: 4,
        lambda: (24 * 2 / 8 + 6) / (4 * 2 / 8 + 2),
        lambda: torch.tensor((24 * 2 + 6 * 8) / (4 * 2 + 2 * 8)),
    ),
    mistakes=(
        Mistake(
            "not-rescaled",
            lambda: 5.0,
            Text(
                "5 = (24 + 6) / (4 + 2): you have added the two blocks as they stand. They "
                "subtracted different maxima; bring both to one maximum first.",
                "5 = (24 + 6) / (4 + 2)：你直接把兩塊加起來了。它們減掉的最大值不一樣，"
                "要先換成同一個。",
            ),
        ),
        Mistake(
            "averaged",
            lambda: 4.5,
            Text(
                "4.5 is the mean of 6 and 3, the outputs of the two blocks. The second block has "
                "larger scores and counts for more.",
                "4.5 是兩塊的輸出 6 和 3 的平均。第二塊的分數比較大，應該算得比較重。",
            ),
        ),
        Mistake(
            "wrong-way",
            lambda: 17 / 3,
            Text(
                "rescaled the wrong way round: the block with the lower maximum has to shrink, by "
                "exp(ln 2 − ln 8).",
                "縮放的方向反了：最大值比較小的那一塊要縮小，乘上 exp(ln 2 − ln 8)。",
            ),
        ),
        Mistake(
            "denominator-not-rescaled",
            lambda: 2.0,
            Text(
                "2 = 12 / 6: the output is rescaled, but the sum of the weights is not.",
                "2 = 12 / 6：輸出縮放了，但權重的總和沒有。",
            ),
        ),
        Mistake(
            "accumulator-not-rescaled",
            lambda: 10.0,
            Text(
                "10 = 30 / 3: the sum of the weights is rescaled, but the output is not.",
                "10 = 30 / 3：權重的總和縮放了，但輸出沒有。",
            ),
        ),
        Mistake(
            "not-divided",
            lambda: 12.0,
            Text(
                "12 is the output before the division. The sum of the weights is missing.",
                "12 是還沒除的輸出。請再除以權重的總和。",
            ),
        ),
        Mistake(
            "outputs-added",
            lambda: 30.0,
            Text(
                "30 = 24 + 6: the outputs are added as they stand. Bring both to one maximum "
                "first, and divide by the sum at the end.",
                "30 = 24 + 6：你直接把兩個輸出加起來了。要先換成同一個最大值，最後再除以總和。",
            ),
        ),
        Mistake(
            "exp-of-the-numbers",
            lambda: (24 * math.exp(-6) + 6) / (4 * math.exp(-6) + 2),
            Text(
                "the factor you use is exp(2 − 8). The maxima are ln 2 and ln 8: exp(ln 2 − ln 8).",
                "你用的係數是 exp(2 − 8)。最大值是 ln 2 和 ln 8：應該是 exp(ln 2 − ln 8)。",
            ),
        ),
        Mistake(
            "difference-as-factor",
            lambda: (24 * math.log(1 / 4) + 6) / (4 * math.log(1 / 4) + 2),
            Text(
                "the factor you use is the difference ln 2 − ln 8 itself. Its exp is the factor.",
                "你直接拿 ln 2 − ln 8 當係數了。取 exp 之後才是係數。",
            ),
        ),
        Mistake(
            "added",
            lambda: 9.0,
            Text(
                "9 = 6 + 3: each block is normalised by itself, and the results are added. Then "
                "the weights sum to 2.",
                "9 = 6 + 3：每一塊各自正規化，再相加。這樣權重的總和是 2。",
            ),
        ),
        Mistake(
            "ratio-of-logarithms",
            lambda: 4.2,
            Text(
                "the factor you use is ln 2 / ln 8 = 1/3. It is exp of the difference: exp(ln 2 − "
                "ln 8).",
                "你用的係數是 ln 2 / ln 8 = 1/3。應該先相減，再取 exp：exp(ln 2 − ln 8)。",
            ),
        ),
        Mistake(
            "second-block-or-the-sum",
            lambda: 3.0,
            Text(
                "3 is the sum of the weights after merging (or the output of the second block "
                "alone). The output is still to be divided by it.",
                "3 是合併後權重的總和（也剛好是第二塊自己的輸出）。輸出還要除以這個總和。",
            ),
        ),
        Mistake(
            "first-block-alone",
            lambda: 6.0,
            Text(
                "6 is the output of the first block alone (24 / 4). The second one counts too.",
                "6 只是第一塊自己的輸出（24 / 4）。第二塊也要算進去。",
            ),
        ),
    ),
)

# One head, n = 2048, d_k = d_v = 64, float16 (2 bytes). Attention step by step writes the n × n
# scores to the large memory and reads them again for the softmax; it writes the n × n weights and
# reads them again for the product with V. How many MiB do these two matrices make it move?
PENCIL_BYTES_MOVED = Exercise(
    name="pencil-bytes-moved",
    chapter=9,
    title=Text("Bytes moved", "搬了多少位元組"),
    difficulty=1,
    minutes=4,
    reference=lambda: 32.0,
    cases=by_hand,
    tolerance=1e-3,
    alternatives=(lambda: 32, lambda: 4 * 2048**2 * 2 / 2**20, lambda: torch.tensor(32)),
    mistakes=(
        Mistake(
            "once",
            lambda: 8.0,
            Text(
                "8 MiB is the matrix itself. How many times does it, or one of its size, travel?",
                "8 MiB 是矩陣本身的大小。這麼大的矩陣，總共搬了幾趟？",
            ),
        ),
        Mistake(
            "twice",
            lambda: 16.0,
            Text(
                "16: either two of the four trips are missing (scores: out and in; weights: out "
                "and in), or you count numbers, not bytes.",
                "16：可能是四趟裡漏了兩趟（分數寫出、讀回；權重寫出、讀回），"
                "也可能是你算的是幾個數，不是幾個位元組。",
            ),
        ),
        Mistake(
            "three-times",
            lambda: 24.0,
            Text(
                "24 MiB is three trips. Both matrices, scores and weights, go out and come in "
                "again.",
                "24 MiB 是三趟。分數和權重這兩個矩陣，都要寫出去再讀回來。",
            ),
        ),
        Mistake(
            "float32",
            lambda: 64.0,
            Text(
                "64 MiB would be right with 4 bytes for each number (float32). Here they have 2.",
                "如果每個數是 4 個位元組（float32），64 MiB 就對了。這裡是 2 個。",
            ),
        ),
        Mistake(
            "bits",
            lambda: 256.0,
            Text(
                "256 counts bits. A byte has eight of them.",
                "256 算的是位元。一個位元組有 8 個位元。",
            ),
        ),
        Mistake(
            "bytes",
            lambda: 33554432.0,
            Text(
                "that is the number of bytes. One MiB is 1024 · 1024 of them.",
                "這是位元組的個數。1 MiB 是 1024 · 1024 個位元組。",
            ),
        ),
        Mistake(
            "entries",
            lambda: 4194304.0,
            Text(
                "that is how many numbers one matrix holds. How many bytes has each, and how many "
                "times does a matrix travel?",
                "這是一個矩陣裡有幾個數。每個數有幾個位元組？矩陣總共搬了幾趟？",
            ),
        ),
        Mistake(
            "numbers",
            lambda: 16777216.0,
            Text(
                "that is how many numbers travel. Each has 2 bytes, and the answer is in MiB.",
                "這是總共搬了幾個數。每個數有 2 個位元組，答案要用 MiB。",
            ),
        ),
        Mistake(
            "kib",
            lambda: 32768.0,
            Text("those are KiB. One MiB is 1024 of them.", "這是幾 KiB。1 MiB 是 1024 KiB。"),
        ),
        Mistake(
            "megabytes",
            lambda: 33.554432,
            Text(
                "those are MB, a million bytes each. One MiB is 1024 · 1024 bytes.",
                "這是 MB，以一百萬個位元組為單位。1 MiB 是 1024 · 1024 個位元組。",
            ),
        ),
        Mistake(
            "with-the-rest",
            lambda: 33.0,
            Text(
                "33 includes q, k, v and the output. The question is about the n × n matrices only.",
                "33 把 q、k、v 和輸出也算進去了。題目只問 n × n 的矩陣。",
            ),
        ),
        Mistake(
            "only-the-rest",
            lambda: 1.0,
            Text(
                "1 MiB is what q, k, v and the output take together. The question is about the n × "
                "n matrices.",
                "1 MiB 是 q、k、v 和輸出合起來的大小。題目問的是 n × n 的矩陣。",
            ),
        ),
        Mistake(
            "not-squared",
            lambda: 0.015625,
            Text(
                "you have counted n numbers. The matrix has n rows and n columns.",
                "你只算了 n 個數。這個矩陣有 n 列、n 行。",
            ),
        ),
    ),
)

EXERCISES = (
    PENCIL_ONLINE_SOFTMAX,
    PENCIL_BYTES_MOVED,
    ATTENTION_FLOPS,
    ONLINE_LOG_SUM_EXP,
    FLASH_ATTENTION,
    FLASH_ATTENTION_BACKWARD,
    SLIDING_WINDOW_MASK,
    LINEAR_ATTENTION,
    CAUSAL_LINEAR_ATTENTION,
)
