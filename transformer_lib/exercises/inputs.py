"""Sharp inputs for the exercises' cases: seeded, float64, every dimension of its own size."""

from collections.abc import Callable

import torch
from torch import Tensor

from transformer_lib.exercises.data import Case, Text

# What is special about a case, where several exercises share it.
ONE_SEQUENCE = Text("a single sequence", "單一序列")
A_BATCH = Text("a batch of sequences", "有批次的序列")
TWO_BATCHES = Text("two batch dimensions", "有兩個批次維度")
BATCH_AND_HEADS = Text("a batch with several heads", "有批次，也有好幾個頭")
SQUARE = Text("as many queries as keys", "查詢和鍵一樣多")
MASK_OVER_LOW_SCORES = Text("a mask over scores far below 0", "分數遠低於 0，又有遮罩")
A_BLIND_QUERY = Text("a query that may attend to nothing", "什麼都不能關注的查詢")
LARGE_SCORES = Text("scores a thousand times larger", "放大一千倍的分數")


def normal(seed: int) -> Callable[..., Tensor]:
    """A maker of standard normal float64 tensors: ``randn = normal(4); q = randn(2, 3)``."""
    generator = torch.Generator().manual_seed(seed)
    return lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)


def by_hand() -> list[Case]:
    """The only case of a pencil exercise: nothing goes in."""
    return [Case(Text("by hand", "手算"), ())]
