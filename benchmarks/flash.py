"""flash_attention beside PyTorch's fused kernel: `python benchmarks/flash.py [picture.svg]`

Batch 1, 8 heads, d = 64, float32, two threads; as in transformer.py, two competitors take turns
and each figure is the median of the turns' ratios (ours / theirs: below 1 we are faster). A turn is
a few calls where one is short, since the first after the other's is slower. All of it takes about
7 minutes and 7 GiB, which the plain formula holds at the greatest length.

Memory is counted twice, both times in a fresh process after a first call, which loads or compiles
the kernels: the most bytes of PyTorch's buffers at once, those inside its kernels included, and
what the process itself grows by (Linux only). What the call returns is left out.
"""

import json
import math
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median

import torch
import torch.nn.functional as F
from matplotlib.figure import Figure
from torch import Tensor
from torch.profiler import profile
from transformer import (
    CLEAR_REFS,
    THREADS,
    added_at_peak,
    in_fresh_process,
    ratio,
    take_turns,
)

from transformer_lib import causal_mask, flash_attention, scaled_dot_product_attention

HEADS, D = 8, 64
ROUNDS = {512: 40, 1024: 30, 2048: 12, 4096: 6, 8192: 3}
CALLS = {512: 16, 1024: 4}  # in a turn; 1 at other lengths
WINDOW = 512
MEMORY_LENGTHS = (2048, 4096, 8192, 16384)


def qkv(n: int, requires_grad: bool = False, *, d: int = D, seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shape = (1, HEADS, n, d)
    return [torch.randn(shape, generator=generator, requires_grad=requires_grad) for _ in range(3)]


def competitors(n: int, causal: bool) -> tuple[Callable[..., Tensor], ...]:
    """Ours, PyTorch's, and the plain formula."""
    mask = causal_mask(n) if causal else None
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


def compare_exponentials() -> None:
    """Why scores are made as exponents of 2; −100 is where e^x becomes too small to be held."""
    for number in (-1.0, -100.0):
        x = torch.full((512, 512), number)
        in_twos = x * math.log2(math.e)
        two, e = take_turns(
            lambda: [torch.exp2(in_twos) for _ in range(20)],  # noqa: B023
            lambda: [torch.exp(x) for _ in range(20)],  # noqa: B023
            rounds=9,
        )
        print(f"exp({number:.0f}): {ratio(e, two):.1f} × as long as the same power of 2")


def compare_widths() -> None:
    """From which d_k on MultiHeadAttention takes ours: forward, time over the fused kernel's."""
    for d in (16, 32, 64, 128):
        arguments = qkv(2048, d=d)
        turns = (partial(function, *arguments) for function in competitors(2048, False)[:2])
        print(f"d_k = {d}, n = 2048: ours / fused {ratio(*take_turns(*turns, rounds=9)):.2f}")


def compare_errors() -> None:
    """Error against float64 by norm, over the plain formula's: the greatest of some seeds."""
    print(f"\n{'error over the plain one':30} output, dq, dk, dv")
    greatest: dict[str, list[float]] = {}
    for n, seed in product((512, 1024, 2048), range(5)):
        ours, fused, plain = (with_gradients(f, n, seed) for f in competitors(n, causal=False))
        exact = with_gradients(competitors(n, causal=False)[2], n, seed, torch.float64)
        for name, results in (("ours", ours), ("fused", fused)):
            errors = [
                ((a - true).norm() / (b - true).norm()).item()
                for a, b, true in zip(results, plain, exact, strict=True)
            ]
            greatest[name] = list(map(max, errors, greatest.get(name, errors)))
    for name, errors in greatest.items():
        print(f"{name:30} {', '.join(f'{error:.2f}' for error in errors)}")


def with_gradients(
    function: Callable[..., Tensor], n: int, seed: int, dtype: torch.dtype = torch.float32
) -> list[Tensor]:
    """Output and gradients of the same numbers in this dtype, as float64."""
    *arguments, cotangent = (t.to(dtype) for t in (*qkv(n, seed=seed), qkv(n, seed=seed + 100)[0]))
    output = function(*(t.requires_grad_() for t in arguments))
    return [t.double() for t in (output, *torch.autograd.grad(output, arguments, cotangent))]


def peaks(is_ours: bool, n: int) -> list[float]:
    """MiB beyond what is returned: buffers of forward, of both passes, process of forward."""
    torch.set_num_threads(THREADS)
    function = competitors(n, causal=False)[0 if is_ours else 1]
    arguments, with_gradients = qkv(n), qkv(n, requires_grad=True)

    def forward_and_backward() -> list[Tensor]:
        output = function(*with_gradients)
        return [output, *torch.autograd.grad(output.sum(), with_gradients)]

    function(*qkv(2048))
    process = peak_of_process(lambda: [function(*arguments)])
    buffers = [
        peak_of_buffers(lambda: [function(*arguments)]),
        peak_of_buffers(forward_and_backward),
    ]
    return [peak / 2**20 for peak in (*buffers, process)]


def peak_of_buffers(call: Callable[[], list[Tensor]]) -> int:
    with profile(profile_memory=True) as events:
        returned = call()
    with tempfile.TemporaryDirectory() as folder:
        events.export_chrome_trace(str(path := Path(folder, "trace.json")))
        trace = json.loads(path.read_text())["traceEvents"]
    changes = [event["args"] for event in trace if event["name"] == "[memory]"]
    before = changes[0]["Total Allocated"] - changes[0]["Bytes"]
    return max(change["Total Allocated"] for change in changes) - before - bytes_of(returned)


def peak_of_process(call: Callable[[], list[Tensor]]) -> int:
    returned: list[Tensor] = []
    return added_at_peak(lambda: returned.extend(call())) - bytes_of(returned)


def bytes_of(tensors: list[Tensor]) -> int:
    return sum(tensor.nbytes for tensor in tensors)


def compare_memory() -> None:
    if not CLEAR_REFS.exists():
        print("memory: not measured here")
        return
    # Read by glibc where a process starts: to give buffers back at once, so that it is not the
    # gaps between them that are measured.
    os.environ["MALLOC_MMAP_THRESHOLD_"] = str(2**16)
    print("\nMiB at the peak beyond inputs and what is returned, ours / fused")
    print(f"{'n':>5}  {'forward':>14} {'and backward':>14} {'process, forward':>18}")
    for n in MEMORY_LENGTHS:
        both = [in_fresh_process(peaks, is_ours, n) for is_ours in (True, False)]
        cells = (f"{ours:.2f} / {fused:.2f}" for ours, fused in zip(*both, strict=True))
        print("{:5}  {:>14} {:>14} {:>18}".format(n, *cells), flush=True)


def draw(ratios: dict[str, list[float]], path: str) -> None:
    axes = (figure := Figure(figsize=(6, 4), layout="constrained")).subplots()
    for (name, values), marker in zip(ratios.items(), "os^D", strict=True):
        axes.plot(list(ROUNDS), values, marker=marker, label=name)
    axes.axhline(1, color="grey", linestyle="--")
    axes.annotate("below: flash_attention is faster", (8192, 0.98), ha="right", va="top")
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(ROUNDS), list(map(str, ROUNDS)))
    axes.set(xlabel="n", ylabel="time, flash_attention / PyTorch's fused kernel", ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(path)


def main() -> None:
    torch.set_num_threads(THREADS)
    ratios = compare_times()
    compare_windows()
    compare_exponentials()
    compare_widths()
    compare_errors()
    compare_memory()
    if len(sys.argv) > 1:
        draw(ratios, sys.argv[1])


if __name__ == "__main__":
    main()
