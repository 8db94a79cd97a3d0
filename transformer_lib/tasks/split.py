"""What to learn from, what to watch the training by, and what to test the result on."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from transformer_lib.checks import check_size


class Split(NamedTuple):
    """Three lists without a common item."""

    train: list
    validation: list
    test: list


def split(items: Sequence, n_validation: int, n_test: int, seed: int = 0) -> Split:
    """Shuffle items and deal them out.

    Split what texts are *about* (dates, numbers), not the texts: then what is tested has never been
    seen in any form.

    Args:
        items: all different.
        n_validation, n_test: how many to hold back.
        seed: of the shuffling.

    Raises:
        TypeError: numbers that are not ints.
        ValueError: an item that stands there twice, or none left to learn from.
    """
    check_size("n_validation", n_validation, least=0)
    check_size("n_test", n_test, least=0)
    if len(set(items)) != len(items):
        raise ValueError("items must all be different: one of two could be learned, one be tested")
    held_back = n_validation + n_test
    if held_back >= len(items):
        raise ValueError(f"{held_back} of {len(items)} items held back leave none to learn from")
    order = np.random.default_rng(seed).permutation(len(items))
    shuffled = [items[i] for i in order]
    return Split(shuffled[held_back:], shuffled[n_test:held_back], shuffled[:n_test])
