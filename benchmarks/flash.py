"""flash_attention beside PyTorch's fused kernel: `python benchmarks/flash.py [picture.svg]`

Batch 1, 8 heads, d = 64, float32, two threads; as in transformer.py, two competitors take turns
and each figure is the median of the turns' ratios (ours / theirs: below 1 we are faster). A turn is
a few calls where one is short, since the first after the other's is slower. Memory is what one
forward adds to a fresh process at its peak, its output left out (Linux only).
"""

import multiprocessing
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
import torch.nn.functional as F
from matplotlib.figure import Figure
from torch import Tensor
from transformer import THREADS, memory, ratio, take_turns

from transformer_lib import causal_mask, flash_attention, scaled_dot_product_attention

HEADS, D = 8, 64
ROUNDS = {512: 40, 1024: 30, 2048: 12, 4096: 6, 8192: 3}
CALLS = {512: 16, 1024: 4}  # in a turn; 1 at other lengths
LONGEST_PLAIN = 4096  # beyond, the plain version holds gigabytes
WINDOW = 512
MEMORY_LENGTHS = (2048, 4096, 8192, 16384)


def qkv(n: int, requires_grad: bool = False) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    shape = (1, HEADS, n, D)
    return [torch.randn(shape, generator=generator, requires_grad=requires_grad) for _ in range(3)]


def competitors(n: int, causal: bool) -> tuple[Callable[..., Tensor], ...]:
    """Ours, PyTorch's, and the plain formula."""
    mask = causal_mask(n) if causal and n <= LONGEST_PLAIN else None
    return (
        lambda q, k, v: flash_attention(q, k, v, causal=causal),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal),
        lambda q, k, v: scaled_dot_product_attention(q, k, v, mask)[0],
    )


def turn(function: Callable[..., Tensor], n: int, backward: bool) -> Callable[[], None]:
    """Calls on fixed inputs, with the gradients through a fixed cotangent if asked for."""
    arguments = qkv(n, requires_grad=backward)
    cotangent = torch.randn(1, HEADS, n, D, generator=torch.Generator().manual_seed(1))

    def calls() -> None:
        for _ in range(CALLS.get(n, 1)):
            output = function(*arguments)
            if backward:
                torch.autograd.grad(output, arguments, cotangent)

    return calls


def compare_times() -> dict[str, list[float]]:
    """Print the table; return our time over the fused kernel's at each length, by kind of run."""
    print(f"{'n':>5}  {'':30} {'ours':>10} {'fused':>10} {'ratio':>6} {'plain / ours':>13}")
    ratios: dict[str, list[float]] = {}
    for backward in (False, True):
        for causal in (False, True):
            name = f"{'forward + backward' if backward else 'forward'}{', causal' * causal}"
            ratios[name] = [compare_at(n, causal, backward, name) for n in ROUNDS]
    return ratios


def compare_at(n: int, causal: bool, backward: bool, name: str) -> float:
    ours, fused, plain = (turn(function, n, backward) for function in competitors(n, causal))
    by_plain = "–"
    if n <= LONGEST_PLAIN:
        seconds, theirs = take_turns(ours, plain, rounds=max(2, ROUNDS[n] // 4))
        by_plain = f"{ratio(theirs, seconds):.1f} ×"
    ours, fused = take_turns(ours, fused, rounds=ROUNDS[n])
    in_ms = [median(seconds) * 1e3 / CALLS.get(n, 1) for seconds in (ours, fused)]
    print(
        f"{n:5}  {name:30} {in_ms[0]:7.1f} ms {in_ms[1]:7.1f} ms "
        f"{ratio(ours, fused):6.2f} {by_plain:>13}",
        flush=True,
    )
    return ratio(ours, fused)


def compare_windows() -> None:
    for n, rounds in ((8192, 3), (16384, 1)):
        distance = torch.arange(n, dtype=torch.int16)[:, None] - torch.arange(n, dtype=torch.int16)
        mask = distance.abs() < WINDOW
        q, k, v = qkv(n)
        ours, fused = take_turns(
            lambda: flash_attention(q, k, v, window=WINDOW),  # noqa: B023
            lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask),  # noqa: B023
            rounds=rounds,
        )
        print(
            f"{n:5}  {f'window {WINDOW}; fused with a mask':30} {median(ours) * 1e3:7.1f} ms "
            f"{median(fused) * 1e3:7.1f} ms   {ratio(fused, ours):.1f} × as long"
        )


def peak_of_forward(is_ours: bool, n: int) -> int:
    """Bytes that one forward adds to this (fresh) process at its peak, beyond its output."""
    torch.set_num_threads(THREADS)
    function = competitors(n, causal=False)[0 if is_ours else 1]
    function(*qkv(256))  # loads the kernels
    arguments = qkv(n)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = memory("VmRSS")
    output = function(*arguments)
    return memory("VmHWM") - before - output.nbytes


def compare_memory() -> None:
    if not Path("/proc/self/clear_refs").exists():
        print("memory: not measured here")
        return
    print(f"\n{'n':>5}  peak beyond inputs and output, ours / fused")
    for n in MEMORY_LENGTHS:
        with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
            ours, fused = (pool.apply(peak_of_forward, (who, n)) / 2**20 for who in (True, False))
        print(f"{n:5}  {ours:.1f} / {fused:.1f} MiB")


def draw(ratios: dict[str, list[float]], path: str) -> None:
    axes = (figure := Figure(figsize=(6, 4), layout="constrained")).subplots()
    for (name, values), marker in zip(ratios.items(), "os^D", strict=True):
        axes.plot(list(ROUNDS), values, marker=marker, label=name)
    axes.axhline(1, color="grey", linestyle="--")
    axes.set_xscale("log", base=2)
    axes.set(xlabel="n", ylabel="time, flash_attention / PyTorch's fused kernel", ylim=(0, None))
    axes.legend()
    figure.savefig(path)


def main() -> None:
    torch.set_num_threads(THREADS)
    ratios = compare_times()
    compare_windows()
    compare_memory()
    if len(sys.argv) > 1:
        draw(ratios, sys.argv[1])


if __name__ == "__main__":
    main()
