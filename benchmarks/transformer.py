"""The library's Transformer beside PyTorch's: `python benchmarks/transformer.py`

Each figure is a ratio inside one run on two threads, float32. The two take turns, and the ratio
is the median over the turns, so that what else the machine does hits both. Memory is the peak
that one training step adds to a fresh process (Linux only).
"""

import multiprocessing
import re
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn

from transformer_lib import Transformer, TransformerConfig, greedy_decode

THREADS = 2
CLEAR_REFS = Path("/proc/self/clear_refs")  # 5 written to it forgets the peak; Linux only
VOCAB = 1000


class TorchTransformer(nn.Module):
    """nn.Transformer driven the usual way, with the same embeddings and masks as ours."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.config = config
        self.body = nn.Transformer(
            config.d_model,
            config.n_heads,
            config.n_encoder_layers,
            config.n_decoder_layers,
            config.d_ff,
            config.dropout,
            batch_first=True,
        )
        frame = Transformer(config)
        self.embedding, self.positions = frame.source_embedding, frame.positions

    def forward(self, source_ids: Tensor, target_ids: Tensor) -> Tensor:
        n, pad_id = target_ids.size(1), self.config.pad_id
        output = self.body(
            self.positions(self.embedding(source_ids)),
            self.positions(self.embedding(target_ids)),
            tgt_mask=torch.ones(n, n, dtype=torch.bool).triu(1),
            src_key_padding_mask=source_ids == pad_id,
            tgt_key_padding_mask=target_ids == pad_id,
            memory_key_padding_mask=source_ids == pad_id,
            tgt_is_causal=True,
        )
        return self.embedding.logits(output)


def large() -> TransformerConfig:
    return TransformerConfig(VOCAB, dropout=0.0)


def small() -> TransformerConfig:
    layers = {"n_encoder_layers": 2, "n_decoder_layers": 2}
    return TransformerConfig(VOCAB, d_model=64, n_heads=4, d_ff=256, dropout=0.0, **layers)


SETTINGS = {
    "6+6 layers, d_model 512, batch 8 × 64": (large, 8, 64, 9),
    "2+2 layers, d_model 64, batch 64 × 20": (small, 64, 20, 60),
}


def training_step(model: nn.Module, batch: int, n: int) -> Callable[[], None]:
    """Forward, loss and backward on random tokens."""
    generator = torch.Generator().manual_seed(0)
    source, target = torch.randint(1, VOCAB, (2, batch, n + 1), generator=generator)
    source = source[:, :n]

    def step() -> None:
        logits = model(source, target[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())
        loss.backward()
        model.zero_grad(set_to_none=True)

    return step


def decode_with_torch(model: TorchTransformer, source: Tensor, length: int) -> Tensor:
    """Greedy decoding as one writes it for nn.Transformer: encode once, then redo the target."""
    ids = torch.ones(source.size(0), 1, dtype=torch.long)
    with torch.inference_mode():
        memory = model.body.encoder(model.positions(model.embedding(source)))
        for _ in range(length):
            n = ids.size(1)
            mask = torch.ones(n, n, dtype=torch.bool).triu(1)
            x = model.positions(model.embedding(ids))
            x = model.body.decoder(x, memory, tgt_mask=mask, tgt_is_causal=True)
            best = model.embedding.logits(x[:, -1:]).argmax(-1)
            ids = torch.cat([ids, best], dim=1)
    return ids


def take_turns(*functions: Callable[[], object], rounds: int) -> list[list[float]]:
    """Seconds of each function in each round, called in turn; one round more to warm up."""
    times: list[list[float]] = [[] for _ in functions]
    for round_ in range(rounds + 1):
        for function, seconds in zip(functions, times, strict=True):
            start = perf_counter()
            function()
            if round_:
                seconds.append(perf_counter() - start)
    return times


def ratio(ours: list[float], theirs: list[float]) -> float:
    return median(a / b for a, b in zip(ours, theirs, strict=True))


def memory(name: str) -> int:
    """Bytes: VmRSS is what this process holds now, VmHWM the most it held."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(rf"{name}:\s+(\d+)", status)[1])


def added_at_peak(call: Callable[[], object]) -> int:
    """Bytes that a call adds, at its peak, to what this process holds."""
    CLEAR_REFS.write_text("5")
    before = memory("VmRSS")
    call()
    return memory("VmHWM") - before


def in_fresh_process(function: Callable, *arguments: object) -> Any:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def peak_of_step(make_model: type[nn.Module], name: str) -> int:
    """Bytes that one training step adds, at its peak, to what this (fresh) process holds."""
    torch.set_num_threads(THREADS)
    make_config, batch, n, _ = SETTINGS[name]
    return added_at_peak(training_step(make_model(make_config()), batch, n))


def compare_memory(name: str) -> str:
    if not CLEAR_REFS.exists():
        return "not measured here"
    models = (Transformer, TorchTransformer)
    ours, theirs = (in_fresh_process(peak_of_step, model, name) / 2**20 for model in models)
    return f"{ours:.0f} / {theirs:.0f} MiB"


def compare_training() -> None:
    print(f"{'training step':38} {'ours':>9} {'torch':>9} {'ratio':>6}   peak, ours / torch")
    for name, (make_config, batch, n, rounds) in SETTINGS.items():
        models = Transformer(make_config()), TorchTransformer(make_config())
        ours, theirs = take_turns(*(training_step(m, batch, n) for m in models), rounds=rounds)
        print(
            f"{name:38} {median(ours) * 1e3:6.1f} ms {median(theirs) * 1e3:6.1f} ms "
            f"{ratio(ours, theirs):6.2f}   {compare_memory(name)}"
        )


def compare_decoding(config: TransformerConfig, batch: int, rounds: int, length: int = 128) -> None:
    model, torch_model = Transformer(config).eval(), TorchTransformer(config).eval()
    source = torch.randint(2, VOCAB, (batch, 20), generator=torch.Generator().manual_seed(0))
    writing = {"bos_id": 1, "eos_id": None, "max_len": length}  # never stops before max_len

    def ours(use_cache: bool) -> Callable[[], Tensor]:
        return lambda: greedy_decode(model, source, use_cache=use_cache, **writing)

    cached, uncached, theirs = take_turns(
        ours(True),
        ours(False),
        lambda: decode_with_torch(torch_model, source, length),
        rounds=rounds,
    )
    print(
        f"{config.n_encoder_layers}+{config.n_decoder_layers} layers, d_model {config.d_model}, "
        f"batch {batch:2}   {median(cached) * 1e3:6.0f} ms   "
        f"{ratio(uncached, cached):13.1f} ×   {ratio(theirs, cached):14.1f} ×"
    )


def main() -> None:
    torch.set_num_threads(THREADS)
    compare_training()
    print("\ngreedy decoding of 128 tokens     with cache   without, × as long   torch, × as long")
    compare_decoding(small(), batch=64, rounds=5)
    compare_decoding(large(), batch=8, rounds=1)


if __name__ == "__main__":
    main()
