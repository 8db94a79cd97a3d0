"""Exercise online-log-sum-exp of chapter 9: log-sum-exp, block by block."""

import math

import torch
import torch.nn.functional as F

from transformer_lib.exercises.chapter_09.shared import (
    A_BLOCK_LARGER_THAN_ALL,
    A_SHORT_LAST_BLOCK,
    EXP_OF_THE_QUOTIENT,
    FACTOR_WITHOUT_EXP,
    FIRST_BLOCK,
    FIRST_MAXIMUM_INFINITE,
    LAST_BLOCK,
    NO_MAXIMUM,
    OLD_MAXIMUM_SUBTRACTED,
)
from transformer_lib.exercises.data import Case, Exercise, Text, mistakes
from transformer_lib.exercises.inputs import normal

_TOTAL_NOT_RESCALED = Text(
    "the old sum is not rescaled. Its terms were exp(x − old maximum); when the maximum rises, what do all of them have to be multiplied by?",
    "舊的總和沒有重新縮放。裡面每一項都是 exp(x − m)，m 是舊的最大值；最大值變大時，每一項都要乘上多少？",
)
_BLOCK_MAXIMUM = Text(
    "right while the blocks are alike. But your maximum is that of the block, so it may fall again, and then the old terms are blown up until they overflow. The maximum of all that was read so far never falls.",
    "各塊差不多大的時候是對的。但你用的是這一塊的最大值，它可能又變小，舊的項就會被放大到溢位。到目前為止讀過的最大值，只會變大，不會變小。",
)


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


MISTAKES = mistakes(
    ("total-not-rescaled", _online_log_sum_exp(rescale=lambda old, new: 1.0), _TOTAL_NOT_RESCALED),
    ("rescaled-the-wrong-way",
     _online_log_sum_exp(rescale=lambda old, new: torch.where(old.isinf(), 0.0, (new - old).exp())),
     "rescaled the wrong way round: exp(new − old) is at least 1. When the maximum rises, the old terms become smaller.",
     "縮放的方向反了：exp(new − old) 至少是 1。最大值變大時，舊的項應該變小。"),
    ("rescaled-the-wrong-way-from-the-start",
     _online_log_sum_exp(rescale=lambda old, new: (new - old).exp()),
     FIRST_MAXIMUM_INFINITE),
    ("old-maximum-subtracted",
     _online_log_sum_exp(
         start=(torch.finfo(torch.float32).min, 0.0),
         term=lambda block, old, new: (block - old).exp(),
     ),
     OLD_MAXIMUM_SUBTRACTED),
    ("factor-without-exp",
     _online_log_sum_exp(rescale=lambda old, new: torch.where(old.isinf(), 0.0, old - new)),
     FACTOR_WITHOUT_EXP),
    ("exp-of-the-quotient", _online_log_sum_exp(rescale=lambda old, new: (old / new).exp()),
     EXP_OF_THE_QUOTIENT),
    ("quotient-of-the-exps", _online_log_sum_exp(rescale=lambda old, new: old.exp() / new.exp()),
     "right for numbers near 0, but the factor exp(old) / exp(new) becomes ∞ / ∞ for large ones and 0 / 0 far below 0. Subtract first: exp(old − new).",
     "數在 0 附近時是對的，但數一大，係數 exp(old) / exp(new) 就變成 ∞ / ∞，遠低於 0 時則是 0 / 0。要先相減：exp(old − new)。"),
    ("maximum-of-the-first-block",
     _online_log_sum_exp(highest=lambda old, block: torch.where(old.isinf(), block.max(), old)),
     "right while no later number is much larger. Your maximum is that of the first block and never rises, so a large number further on overflows.",
     "後面沒有大得多的數時是對的。但你用的是第一塊的最大值，之後都沒有再變大，後面一出現很大的數就溢位了。"),
    ("new-terms-rescaled", _rescaled_after_adding,
     "the factor multiplies the new terms as well. They have subtracted the new maximum already; only the old sum needs it.",
     "新的項也乘上係數了。它們減的已經是新的最大值；只有舊的總和才要乘。"),
    ("difference-added", _difference_added,
     "the difference of the maxima is added to the sum. Another number subtracted in the exponent is a factor: exp(a + b) = exp(a) · exp(b).",
     "你把兩個最大值的差加到總和上了。指數裡多減一個數，等於乘上一個係數：exp(a + b) = exp(a) · exp(b)。"),
    ("mean-of-each-block",
     lambda x, b: torch.logsumexp(
         torch.stack([block.logsumexp(0) - math.log(len(block)) for block in x.split(b)]), 0
     ),
     "each block adds the mean of its exponentials. Take their sum.",
     "每一塊加進去的是 exp 的平均。應該用總和。"),
    ("first-block-alone", lambda x, b: x[:b].logsumexp(0),
     "this is the first block alone. Does a return stand inside of the loop?",
     "這只算了第一塊。return 是不是寫在迴圈裡面了？"),
    ("maximum-of-the-block", _online_log_sum_exp(highest=lambda old, block: block.max()), _BLOCK_MAXIMUM),
    ("maximum-of-the-block-and-not-rescaled",
     _online_log_sum_exp(highest=lambda old, block: block.max(), rescale=lambda old, new: 1.0),
     "each block subtracts a maximum of its own, and then the sums are added. Sums can only be added when the same number was subtracted in both.",
     "每一塊各減各的最大值，然後就把總和加起來了。兩邊減掉的數相同，總和才能相加。"),
    ("no-maximum", lambda x, b: sum(block.exp().sum() for block in x.split(b)).log(), NO_MAXIMUM),
    ("logarithm-outside-of-torch",
     _online_log_sum_exp(finish=lambda maximum, total: maximum + total.detach().log()),
     "the numbers are right, but no gradient passes through the sum: math.log, float and .item() leave torch. Take torch.log.",
     "數是對的，但總和那邊沒有梯度：math.log、float 和 .item() 會離開 torch。請改用 torch.log。"),
    ("maximum-of-the-last-block-added-back",
     lambda x, b: online_log_sum_exp(x, b) - x.max() + x.split(b)[-1].max(),
     "right where the largest number stands in the last block. At the end, the maximum of the last block alone is added back, not that of everything read.",
     "最大的數在最後一塊時是對的。但最後加回來的只是最後一塊的最大值，應該是讀過的全部的最大值。"),
    ("maxima-added-up",
     lambda x, b: (
         sum(block.max() for block in x.split(b))
         + sum((block - block.max()).exp().sum() for block in x.split(b)).log()
     ),
     "the maxima of all blocks are added up. Only one number was to be subtracted from all, and only that one comes back.",
     "你把每一塊的最大值都加起來了。全部的數應該減同一個最大值，最後也只加回那一個。"),
    ("maximum-not-added-back", _online_log_sum_exp(finish=lambda maximum, total: total.log()),
     "the maximum that you subtracted is not added back. log Σ exp(x − m) is not log Σ exp(x) yet.",
     "減掉的最大值沒有加回來。log Σ exp(x − m) 還不是 log Σ exp(x)。"),
    ("maximum-subtracted-again",
     _online_log_sum_exp(finish=lambda maximum, total: total.log() - maximum),
     "the maximum is subtracted a second time at the end. It has to come back.",
     "最後又減了一次最大值。應該把它加回來。"),
    ("logarithm-of-base-2", _online_log_sum_exp(finish=lambda maximum, total: maximum + total.log2()),
     "that logarithm has base 2. It has to undo exp: which base does that need?",
     "這個對數以 2 為底。它要抵銷的是 exp：該用哪個底？"),
    ("logarithm-of-base-10", _online_log_sum_exp(finish=lambda maximum, total: maximum + total.log10()),
     "that logarithm has base 10. torch.log is the natural one, which undoes exp.",
     "這個對數以 10 為底。torch.log 才是自然對數，可以抵銷 exp。"),
    ("logarithm-missing", _online_log_sum_exp(finish=lambda maximum, total: maximum + total),
     "the logarithm of the sum is missing: m and the sum are added as they stand.",
     "總和沒有取對數：你直接把 m 和總和相加了。"),
    ("only-the-sum", _online_log_sum_exp(finish=lambda maximum, total: total),
     "this is the running sum Σ exp(x − m). Two steps are left: its logarithm, and the maximum.",
     "這是累積的總和 Σ exp(x − m)。還差兩步：取對數，再處理最大值。"),
    ("logarithm-of-both", _online_log_sum_exp(finish=lambda maximum, total: (maximum + total).log()),
     "the maximum has slipped into the logarithm. It was subtracted inside exp, so it comes back outside of the log.",
     "最大值跑進對數裡面了。它是在 exp 裡面減掉的，所以要在 log 外面加回來。"),
    ("logarithm-undone", _online_log_sum_exp(finish=lambda maximum, total: maximum.exp() * total),
     "this is Σ exp(x). Asked for is its logarithm, which does not overflow.",
     "這是 Σ exp(x)。題目要的是它的對數，這樣才不會溢位。"),
    ("last-short-block-dropped", _online_log_sum_exp(blocks=_full_blocks), LAST_BLOCK),
    ("last-block-dropped",
     _online_log_sum_exp(blocks=lambda x, b: [x[i : i + b] for i in range(0, len(x) - b, b)]),
     "the last block is always left out. How far does range(0, n − block_size, block_size) go?",
     "永遠漏掉最後一塊。range(0, n − block_size, block_size) 會跑到哪裡？"),
    ("first-block-skipped", _online_log_sum_exp(blocks=lambda x, b: x.split(b)[1:]), FIRST_BLOCK),
    ("blocks-overlap", _online_log_sum_exp(blocks=lambda x, b: [x[i : i + b] for i in range(len(x))]),
     "numbers are counted more than once: the blocks overlap. By how much does the start of a block move on?",
     "有些數重複計算了：塊和塊之間重疊了。每一塊的起點應該往後移多少？"),
    ("padded-with-zeros", _online_log_sum_exp(blocks=lambda x, b: F.pad(x, (0, -len(x) % b)).split(b)),
     "the last block is filled up with zeros, and exp(0) = 1 counts. What must a filler be, so that its exp is 0?",
     "你用 0 把最後一塊補滿了，但 exp(0) = 1 會算進去。補的數要是多少，exp 才會是 0？"),
    ("only-the-last-block", _online_log_sum_exp(rescale=lambda old, new: 0.0),
     "only the last block is left in the sum. Is it added to the old sum, and is the maximum kept for the next block? (While the old one stays −∞, exp(old − new) is 0.)",
     "總和裡只剩最後一塊。你有加上舊的總和嗎？最大值有留給下一塊用嗎？（舊的最大值如果一直是 −∞，exp(old − new) 就是 0。）"),
    ("maximum-starts-at-0", _online_log_sum_exp(start=(0.0, 0.0)),
     "right unless all numbers are far below 0: then your maximum, which starts at 0, is far above them and every exp becomes 0. What is below every number?",
     "大多時候是對的，只有所有的數都遠低於 0 時會錯：你的最大值從 0 開始，比它們大太多，每個 exp 都變成 0。什麼數比所有的數都小？"),
    ("an-extra-term", _online_log_sum_exp(start=(0.0, 1.0)),
     "one term too many: with the maximum at 0 and the sum at 1 you start as if a 0 had been read already. Nothing has been read, so the sum is empty.",
     "多了一項：最大值從 0、總和從 1 開始，就好像已經讀過一個 0。什麼都還沒讀，總和應該是空的。"),
    ("log-sum-exps-added", _combined(torch.sum),
     "the log-sum-exps of the blocks are added. A sum of logarithms is the logarithm of a product: how are two of them merged?",
     "你把各塊的 log-sum-exp 加起來了。對數相加，等於相乘之後再取對數：兩個 log-sum-exp 該怎麼合併？"),
    ("log-sum-exps-averaged", _combined(torch.mean),
     "the log-sum-exps of the blocks are averaged. Merge what is inside of the logarithms.",
     "你把各塊的 log-sum-exp 平均了。要合併的是對數裡面的東西。"),
    ("largest-log-sum-exp", _combined(torch.max),
     "only the largest log-sum-exp among the blocks is left. The other blocks count too.",
     "你只留下各塊裡最大的 log-sum-exp。其他的塊也要算進去。"),
    ("divided-by-n", lambda x, b: online_log_sum_exp(x, b) - math.log(len(x)),
     "too small by log n: this is the logarithm of the mean. Asked for is the sum.",
     "少了 log n：這是平均的對數。題目要的是總和。"),
    ("maximum-alone", lambda x, b: torch.stack([block.max() for block in x.split(b)]).max(),
     "this is the maximum. The log-sum-exp is a little larger: the other terms count too.",
     "這是最大值。log-sum-exp 會再大一點：其他項也要算進去。"),
)  # fmt: skip

EXERCISE = Exercise(
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
    mistakes=MISTAKES,
)
