"""What a computation holds at once, and what it moves: memory, counted.

:class:`PeakMemory` watches PyTorch. :class:`FastMemory` is a model of hardware: a small fast memory
beside a large slow one. All computing happens in the fast one, and every number that comes or goes
is counted. The two functions run attention in it and differ in nothing but what they move.

Sources: Dao et al. (2022), §2.1 and §3.2; the order of the loops is that of Dao (2023).
"""

import math
import weakref
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float
from torch import Tensor
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from transformer_lib.formulas import merge_states, softmax, softmax_state

Array = np.ndarray


class Watch(TorchDispatchMode):
    """Sees each operation of PyTorch inside ``with``, those of backward too.

    What to look at is up to its kinds, in ``see``: :class:`PeakMemory`, the exercises' limit on
    the size of a tensor, what the tests count. PyTorch's part is here alone.
    """

    def see(self, operation: OpOverload, inputs: list[Tensor], made: list[Tensor]) -> None:
        """Look at an operation that has just run, the tensors it took and those it gave."""
        raise NotImplementedError

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled here, and torch would first load its compiler for seconds."""
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        self.see(func, _tensors((args, kwargs)), _tensors(result))
        return result


def _tensors(tree: object) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]


class PeakMemory(Watch):
    """Inside ``with PeakMemory() as memory:`` the most bytes that new tensors held at once.

    Read it as ``memory.peak``. What one operation of PyTorch needs and frees again before it
    returns cannot be seen.
    """

    def __init__(self) -> None:
        super().__init__()
        self.held = self.peak = 0
        self._known: set[int] = set()  # the storages, so that views are not counted again

    def see(self, operation: OpOverload, inputs: list[Tensor], made: list[Tensor]) -> None:
        for tensor in inputs:
            self._meet(tensor, new=False)
        for tensor in made:
            self._meet(tensor, new=True)

    def _meet(self, tensor: Tensor, new: bool) -> None:
        """Count a storage not met before if it is new, until nobody holds it any longer."""
        storage = tensor.untyped_storage()
        if storage._cdata in self._known:
            return
        size = storage.nbytes() if new else 0
        self._known.add(storage._cdata)
        weakref.finalize(storage, self._part, storage._cdata, size)
        self.held += size
        self.peak = max(self.peak, self.held)

    def _part(self, key: int, size: int) -> None:
        self._known.discard(key)
        self.held -= size


class FastMemory:
    """A small fast memory: holds at most ``capacity`` numbers, counts those moved in and out.

    Args:
        capacity: how many numbers fit.
    """

    def __init__(self, capacity: int):
        self.capacity = capacity
        self.moved = self.held = self.most = 0

    def load(self, array: Array) -> Array:
        """Copy numbers in from the slow memory."""
        self.moved += array.size
        return self.hold(array.copy())

    def hold(self, array: Array) -> Array:
        """Take in what was computed here.

        Raises:
            MemoryError: it does not fit.
        """
        self.held += array.size
        self.most = max(self.most, self.held)
        if self.held > self.capacity:
            raise MemoryError(f"{self.held} numbers do not fit into {self.capacity}")
        return array

    def store(self, array: Array, place: Array) -> None:
        """Write numbers out to a place in the slow memory, and forget them here."""
        place[...] = array
        self.moved += array.size
        self.drop(array)

    def drop(self, *arrays: Array) -> None:
        """Forget numbers that are needed no longer."""
        self.held -= sum(array.size for array in arrays)


def block_sizes(capacity: int, d: int) -> tuple[int, int]:
    """Queries and keys of a tile: half the memory is for q and o, a quarter for k and v.

    Raises:
        ValueError: not even one key and one value of each kind fit.
    """
    block_q, block_k = capacity // (4 * (d + 1)), min(capacity // (8 * d), d)
    if min(block_q, block_k) < 1:
        raise ValueError(f"capacity must be at least 8 · d = {8 * d}, got {capacity}")
    return block_q, block_k


def blocks(n: int, size: int, start: int = 0) -> Iterator[slice]:
    """Cut ``start`` … n − 1 into slices of ``size``; the last may be shorter."""
    for first in range(start, n, size):
        yield slice(first, min(first + size, n))


def attention_step_by_step(
    Q: Float[Array, "n d"], K: Float[Array, "n d"], V: Float[Array, "n d"], memory: FastMemory
) -> Float[Array, "n d"]:
    """softmax(Q Kᵀ / √d) V in three steps, each of which reads and writes the slow memory.

    Raises:
        MemoryError: a row of n scores does not fit.
    """
    n, d = Q.shape
    block_q, block_k = block_sizes(memory.capacity, d)
    S, A, output = np.empty((n, n)), np.empty((n, n)), np.empty((n, d))
    for rows in blocks(n, block_q):  # 1. scores
        q = memory.load(Q[rows])
        for cols in blocks(n, block_k):
            k = memory.load(K[cols])
            memory.store(memory.hold(q @ k.T / math.sqrt(d)), S[rows, cols])
            memory.drop(k)
        memory.drop(q)
    for i in range(n):  # 2. softmax
        memory.store(softmax(memory.load(S[i])), A[i])
    for rows in blocks(n, block_q):  # 3. output
        o = memory.hold(np.zeros_like(Q[rows]))
        for cols in blocks(n, block_k):
            a, v = memory.load(A[rows, cols]), memory.load(V[cols])
            o += a @ v
            memory.drop(a, v)
        memory.store(o, output[rows])
    return output


def attention_in_tiles(
    Q: Float[Array, "n d"], K: Float[Array, "n d"], V: Float[Array, "n d"], memory: FastMemory
) -> Float[Array, "n d"]:
    """The same, but scores and weights are made and used up in the fast memory."""
    n, d = Q.shape
    block_q, block_k = block_sizes(memory.capacity, d)
    output = np.empty((n, d))
    for rows in blocks(n, block_q):
        q = memory.load(Q[rows])
        state = tuple(memory.hold(start) for start in _empty_state(q))
        for cols in blocks(n, block_k):
            k, v = memory.load(K[cols]), memory.load(V[cols])
            scores = memory.hold(q @ k.T / math.sqrt(d))
            state = merge_states(state, softmax_state(scores, v))  # exp takes the scores' place
            memory.drop(k, v, scores)
        highest, total, o = state
        memory.store(o / total, output[rows])
        memory.drop(q, highest, total)
    return output


def _empty_state(q: Array) -> tuple[Array, Array, Array]:
    """(m, ℓ, o) over no keys yet: the lowest maximum there is, and nothing added up."""
    lowest = np.finfo(q.dtype).min
    return np.full((len(q), 1), lowest), np.zeros((len(q), 1)), np.zeros_like(q)
