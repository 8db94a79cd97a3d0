"""Memory, counted: what PyTorch holds, and what the model of two memories moves."""

import numpy as np
import pytest
import torch

from transformer_lib import formulas
from transformer_lib.memory import (
    FastMemory,
    PeakMemory,
    Watch,
    attention_in_tiles,
    attention_step_by_step,
    block_sizes,
    blocks,
)

WAYS = {
    attention_in_tiles: formulas.moved_by_tiles,
    attention_step_by_step: formulas.moved_step_by_step,
}


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize(
    ("n", "d", "capacity"), [(1, 1, 8), (37, 5, 60), (50, 2, 100), (100, 7, 333)]
)
def test_attention_is_right_fits_and_moves_what_the_formula_says(way, n, d, capacity):
    Q, K, V = np.random.default_rng(n).standard_normal((3, n, d))
    memory = FastMemory(capacity)
    assert way(Q, K, V, memory) == pytest.approx(formulas.attention(Q, K, V))
    assert memory.moved == WAYS[way](n, d, capacity)
    assert memory.most <= capacity
    assert memory.held == 0


def test_large_scores_do_not_overflow():
    Q, K, V = 100 * np.random.default_rng(0).standard_normal((3, 9, 4))
    for keys in K, -np.sign(Q[0]) * abs(K):  # of the latter the first query has negative ones alone
        output = attention_in_tiles(Q, keys, V, FastMemory(32))
        assert output == pytest.approx(formulas.attention(Q, keys, V))


def test_what_does_not_fit_is_refused():
    memory = FastMemory(5)
    memory.load(np.zeros(5))
    with pytest.raises(MemoryError, match="6 numbers do not fit into 5"):
        memory.hold(np.zeros(1))
    with pytest.raises(ValueError, match="at least 8 · d = 32, got 31"):
        block_sizes(31, 4)


def test_the_most_held_is_not_forgotten():
    memory = FastMemory(9)
    memory.drop(memory.load(np.zeros(5)))
    memory.load(np.zeros(2))
    assert (memory.most, memory.held, memory.moved) == (5, 2, 7)


def test_what_is_loaded_is_a_copy():
    slow = np.zeros(3)
    FastMemory(3).load(slow)[:] = 1
    assert (slow == 0).all()


def test_blocks_cover_everything_once():
    assert list(blocks(7, 3)) == [slice(0, 3), slice(3, 6), slice(6, 7)]
    assert list(blocks(0, 3)) == []


def test_peak_counts_what_is_alive_at_once_and_views_not_at_all():
    x = torch.zeros(100)  # 400 bytes, made before
    with PeakMemory() as memory:
        x.view(10, 10).t()
        for _ in range(3):
            x + 1  # gone at once
        kept = [x + 1, x.clone()]
        del kept
        x + 1  # less than before
    assert memory.peak == 800
    assert memory.held == 0


def test_peak_sees_the_backward_pass():
    x = torch.ones(50, requires_grad=True)
    with PeakMemory() as memory:
        (x * x).sum().backward()
    assert memory.peak >= 2 * 4 * 50


class Seen(Watch):
    """The names of the operations, and the shapes they took and gave."""

    def __init__(self):
        super().__init__()
        self.all = []

    def see(self, operation, inputs, made):
        shapes = [[tuple(t.shape) for t in tensors] for tensors in (inputs, made)]
        self.all.append((operation.overloadpacket.__name__, *shapes))


def test_a_watch_sees_what_goes_in_and_what_comes_out_backward_too():
    x = torch.ones(2, 3, requires_grad=True)
    with Seen() as seen:
        y = torch.cat([x, x])
        y.max(dim=1)
    assert seen.all == [
        ("cat", [(2, 3), (2, 3)], [(4, 3)]),
        ("max", [(4, 3)], [(4,), (4,)]),
    ]
    with Seen() as seen:
        y.backward(torch.ones(4, 3))
    assert "add" in [name for name, *_ in seen.all]  # the two gradients of x
