"""Ways to go wrong that many exercises know: each makes a wrong answer out of a right one."""

import inspect
from collections.abc import Callable

from transformer_lib.exercises.data import Text

# Hints that exercises of several chapters give.
TOKENS_AS_COLUMNS = Text(
    "the result lies on its side: each token should be a row.",
    "結果的列和行對調了：每個標記應該是一列。",
)
ONE_SEQUENCE_MM = Text(
    "right for one sequence, but torch.mm takes exactly two dimensions. The operator @ takes any number.",
    "單一序列時是對的，但 torch.mm 只接受剛好兩個維度。用 @ 就不限維度。",
)
MASK_WITHOUT_EFFECT = Text(
    "the mask has no effect. Note that masked_fill returns a new tensor: is its result kept?",
    "遮罩沒有作用。注意 masked_fill 會傳回一個新的張量：你有把結果留下來嗎？",
)
MASK_AFTER_SOFTMAX = Text(
    "the mask comes after the softmax, so the rows no longer sum to 1. Hide the scores before it.",
    "遮罩放在 softmax 之後，每一列加起來就不是 1 了。應該在 softmax 之前先把分數遮住。",
)
INFINITY_TIMES_0 = Text(
    "the mask is multiplied by −∞, and 0 · ∞ is NaN. Use masked_fill or torch.where instead.",
    "你把遮罩乘上 −∞，但 0 · ∞ 是 NaN。請改用 masked_fill 或 torch.where。",
)
SOFTMAX_OF_EVERYTHING = Text(
    "all weights of the matrix together sum to 1. Each row should sum to 1 by itself.",
    "你的權重是整個矩陣加起來等於 1。應該是每一列各自加起來等於 1。",
)


def edited(function: Callable, *edits: str) -> Callable:
    """The function with pieces of its source replaced: ``edited(f, "k.mT", "k", "+", "-")``.

    Raises:
        ValueError: a piece that is to be replaced does not stand in the source exactly once.
    """
    source = inspect.getsource(function)
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        if (found := source.count(old)) != 1:
            raise ValueError(f"{function.__name__} has {old!r} {found} times, not once:\n{source}")
        source = source.replace(old, new)
    scope = dict(inspect.unwrap(function).__globals__)  # tests wrap it to check shapes
    exec(compile(source, inspect.getfile(function), "exec"), scope)
    return scope[function.__name__]
