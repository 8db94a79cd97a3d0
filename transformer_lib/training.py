"""Training: the loss, the paper's learning rate, and a loop that can stop and go on exactly.

Step t of a run depends on the seed, on t and on the weights so far, on nothing else: its
generators are seeded anew from (seed, t). So a run that was saved and resumed, or interrupted while
it computed a gradient and called again, makes the very numbers of one that was never stopped.
"""

import dataclasses
import json
import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor
from tqdm import tqdm

from transformer_lib.checkpoints import check_same, copy_tensors, read_checkpoint, write_checkpoint
from transformer_lib.checks import (
    check_float_tensor,
    check_ids,
    check_int,
    check_number,
    check_positive,
    check_probability,
    check_size,
)
from transformer_lib.model import Transformer

# (source_ids, target_ids) for an encoder–decoder model, target_ids for a decoder-only one.
Batch = Tensor | tuple[Tensor, ...]

RUN = "transformer_lib checkpoint 1"  # the kind of file that a run is saved in

# --- loss ---------------------------------------------------------------------------------


def label_smoothing_loss(
    logits: Float[Tensor, "batch n vocab"],
    targets: Int[Tensor, "batch n"],
    smoothing: Real,
    pad_id: int,
) -> Float[Tensor, ""]:
    """Cross-entropy with a target that keeps some doubt: −Σ_v q_v log p_v, mean over real tokens.

    p = softmax(logits). q is 1 − ε on the right token, and ε / (V − 1) on each of the V − 1
    others, pad_id among them (where it is a token of the vocabulary): so it is in the paper's
    program, Tensor2Tensor, while others leave padding out and share among V − 2. The model learns
    to give padding a little probability; decoding never chooses it.

    Args:
        logits: (batch, n, V).
        targets: integer ids, (batch, n); positions that hold pad_id do not count.
        smoothing: ε, from 0 to 1 − 1/V, where q is uniform.
        pad_id: the id that stands for padding.

    Returns:
        The mean, a scalar, in float32 for half-precision logits; 0 if all targets are padding.

    Raises:
        TypeError: logits that are not floating point, targets or a pad_id that are not integers.
        ValueError: shapes or devices that do not fit, a smoothing or an id out of range.

    Source: Szegedy et al. (2016), §7, where the right token also gets its share ε / V;
    Vaswani et al. (2017), §5.4.
    """
    _check_loss_inputs(logits, targets, smoothing)
    check_int("pad_id", pad_id)
    vocab = logits.size(-1)
    # PyTorch gives every token its share of the doubt, the right one too: for ε on the others
    # alone it has to spread ε V / (V − 1).
    spread = min(float(smoothing) * vocab / max(vocab - 1, 1), 1.0)
    total = _total_cross_entropy(logits, targets, spread, pad_id)
    return total / (targets != pad_id).sum().clamp(min=1)


def _total_cross_entropy(logits: Tensor, targets: Tensor, spread: float, pad_id: int) -> Tensor:
    # A sum of log p over a large vocabulary overflows float16.
    rows = logits.flatten(0, 1).to(torch.promote_types(logits.dtype, torch.float32))
    options = {"ignore_index": pad_id, "label_smoothing": spread, "reduction": "sum"}
    try:
        return F.cross_entropy(rows, targets.flatten().long(), **options)
    except IndexError:
        raise ValueError(
            f"targets must be in 0 … {logits.size(-1) - 1} or pad_id ({pad_id}), "
            f"got {targets.min()} … {targets.max()}"
        ) from None


def _check_loss_inputs(logits: Tensor, targets: Tensor, smoothing: Real) -> None:
    check_float_tensor("logits", logits, least_dims=0)
    check_ids("targets", targets)
    if logits.ndim != 3 or logits.shape[:2] != targets.shape:
        raise ValueError(
            "logits (batch, n, vocab) and targets (batch, n) must have the same batch and n, "
            f"got {tuple(logits.shape)} and {tuple(targets.shape)}"
        )
    if logits.device != targets.device:
        raise ValueError(
            f"targets must be on the device of logits, {logits.device}, got {targets.device}"
        )
    check_probability("smoothing", smoothing)
    most = 1 - 1 / logits.size(-1)
    if smoothing > most:
        raise ValueError(
            f"smoothing must be at most 1 − 1/vocab = {most:.4g}, got {smoothing}: "
            "with more, the right token would be the least likely"
        )


def next_token_loss(model: Transformer, batch: Batch, smoothing: Real = 0.0) -> Float[Tensor, ""]:
    """How badly the model foretells each target token from those before it (teacher forcing).

    Args:
        model: encoder–decoder or decoder-only.
        batch: (source_ids, target_ids), or target_ids alone for a decoder-only model.
        smoothing: see :func:`label_smoothing_loss`.

    Returns:
        The mean over the tokens after the first that are not padding, a scalar.

    Raises:
        TypeError, ValueError: a batch of another form, targets of fewer than 2 tokens.
    """
    *source, target_ids = _check_batch(model, batch)
    logits = model(*source, target_ids[:, :-1])  # the model sees BOS a b, and is to say a b EOS
    return label_smoothing_loss(logits, target_ids[:, 1:], smoothing, model.config.pad_id)


def _check_model(model: Transformer) -> None:
    if not isinstance(model, Transformer):
        raise TypeError(f"model must be a Transformer, got {type(model).__name__}")
    if model.decoder is None:
        raise ValueError("this model has no decoder: its config has n_decoder_layers=0")


def _check_batch(model: Transformer, batch: Batch) -> tuple[Tensor, ...]:
    _check_model(model)
    names = ("target_ids",) if model.encoder is None else ("source_ids", "target_ids")
    ids = (batch,) if isinstance(batch, Tensor) else batch
    if not isinstance(ids, tuple) or len(ids) != len(names):
        got = f"{len(ids)} elements" if isinstance(ids, tuple) else type(batch).__name__
        raise TypeError(f"a batch for this model is ({', '.join(names)}), got {got}")
    for name, tensor in zip(names, ids, strict=True):
        check_ids(name, tensor)
    if ids[-1].size(1) < 2:
        raise ValueError(
            "target_ids must hold at least 2 tokens (the first is only seen, the last only "
            f"foretold), got shape {tuple(ids[-1].shape)}"
        )
    return ids


# --- learning rate ------------------------------------------------------------------------


def noam_learning_rate(step: int, d_model: int, warmup: int) -> float:
    """Up in a straight line for ``warmup`` steps, then down with the root of the step.

    d_model^−0.5 · min(step^−0.5, step · warmup^−1.5), highest at step = warmup.

    Args:
        step: the number of the step, from 1.
        d_model: length of the model's vectors.
        warmup: number of steps until the peak; 4000 in the paper.

    Raises:
        TypeError, ValueError: an argument that is not a positive int.

    Source: Vaswani et al. (2017), eq. 3.
    """
    check_size("step", step)
    check_size("d_model", d_model)
    check_size("warmup", warmup)
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def cosine_learning_rate(step: int, *, peak: Real, warmup: int, steps: int) -> float:
    """Up in a straight line for ``warmup`` steps, then down half a wave of the cosine, to 0.

    peak · step / warmup, then peak · (1 + cos(π (step − warmup) / (steps − warmup))) / 2.

    Args:
        step: the number of the step, from 1.
        peak: the highest rate, at step = warmup.
        warmup: number of steps until the peak.
        steps: number of the last step, whose rate is 0; so are those of any steps after it.

    Raises:
        TypeError, ValueError: an argument that is not positive, or a warmup that is not over
            before the last step.

    Source: Loshchilov and Hutter (2017), eq. 5, without restarts; the warmup is that of
    :func:`noam_learning_rate`.
    """
    check_size("step", step)
    check_positive("peak", peak)
    check_size("warmup", warmup)
    check_size("steps", steps)
    if warmup >= steps:
        raise ValueError(f"warmup ({warmup}) must be less than steps ({steps})")
    if step <= warmup:
        return float(peak) * step / warmup
    way = min((step - warmup) / (steps - warmup), 1.0)
    return float(peak) * (1 + math.cos(math.pi * way)) / 2


# --- the loop -----------------------------------------------------------------------------


@dataclass(eq=False)
class Trainer:
    """A training run: the model, what it learns from, and how far it has come.

    Adam with the paper's β = (0.9, 0.98) and ε = 1e-9. Training leaves the model in training mode
    (for its logits without dropout call ``model.eval()``), and the global random generators as
    they were.

    Args:
        model: an encoder–decoder or decoder-only Transformer, already on its device.
        batch_at: batch_at(step, generator) makes the batch of a step, (source_ids, target_ids) or
            target_ids; what is random in it is drawn from the generator (on the CPU).
        learning_rate: learning_rate(step), with step counted from 1.
        smoothing: of the labels; the paper's is 0.1.
        clip_norm: gradients together longer than this are shortened to it; None leaves them alone.
        seed: of the batches and of dropout.

    Attributes:
        losses: the loss of each step so far.

    Raises:
        TypeError, ValueError: a setting out of range, a model without a decoder.

    Source: Vaswani et al. (2017), §5.3 and §5.4.
    """

    model: Transformer
    batch_at: Callable[[int, torch.Generator], Batch]
    learning_rate: Callable[[int], Real]
    smoothing: Real = 0.1
    clip_norm: Real | None = None
    seed: int = 0
    losses: list[float] = field(default_factory=list, init=False)
    optimizer: torch.optim.Adam = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _check_model(self.model)
        for name in ("batch_at", "learning_rate"):
            if not callable(getattr(self, name)):
                kind = type(getattr(self, name)).__name__
                raise TypeError(f"{name} must be a function of the step, got {kind}")
        check_probability("smoothing", self.smoothing)
        check_size("seed", self.seed, least=0)
        if self.clip_norm is not None:
            _check_size_of_step("clip_norm", self.clip_norm)
            if self.clip_norm == 0:
                raise ValueError("clip_norm must be above 0, or None for no clipping, got 0")
        self.optimizer = _paper_adam(self.model)

    @property
    def step(self) -> int:
        """Number of steps done."""
        return len(self.losses)

    def train(self, steps: int, *, progress: bool | None = None) -> None:
        """Go ``steps`` steps further; train(a) and train(b) make what train(a + b) makes.

        Args:
            steps: how many.
            progress: whether to show a progress bar on stderr; None: if that is a terminal.

        Raises:
            TypeError, ValueError: steps is not a positive int, or a batch does not fit the model.
            FloatingPointError: the loss is no longer finite; the step is not taken.
        """
        check_size("steps", steps)
        self.model.train()
        hidden = None if progress is None else not progress  # None is tqdm's "no terminal"
        with _randomness_kept(self._device()), tqdm(total=steps, disable=hidden) as bar:
            for _ in range(steps):
                self._train_step(self.step + 1)
                bar.set_postfix(loss=f"{self.losses[-1]:.4f}", refresh=False)
                bar.update()

    def _train_step(self, step: int) -> None:
        batch = self._seeded_batch(step)
        self.optimizer.zero_grad()
        loss = next_token_loss(self.model, batch, self.smoothing)
        if not math.isfinite(loss.item()):
            raise FloatingPointError(
                f"the loss of step {step} is {loss.item()}; "
                "lower the learning rate or set clip_norm"
            )
        loss.backward()
        if self.clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip_norm)
        rate = self.learning_rate(step)
        _check_size_of_step(f"learning_rate({step})", rate)
        self.optimizer.param_groups[0]["lr"] = rate
        self.optimizer.step()
        self.losses.append(loss.item())

    def _seeded_batch(self, step: int) -> Batch:
        """Seed what dropout draws from, then make the step's batch, on the model's device."""
        device = self._device()
        # SeedSequence mixes: step 2 of seed 0 has nothing to do with step 1 of seed 1.
        mixed = np.random.SeedSequence((self.seed, step)).generate_state(2, np.uint64)
        for_batch, for_dropout = map(int, mixed)
        torch.default_generator.manual_seed(for_dropout)
        if device.type == "cuda":
            torch.cuda.manual_seed(for_dropout)
        batch = self.batch_at(step, torch.Generator().manual_seed(for_batch))
        if isinstance(batch, tuple):
            return tuple(ids.to(device) if isinstance(ids, Tensor) else ids for ids in batch)
        return batch.to(device) if isinstance(batch, Tensor) else batch

    def _device(self) -> torch.device:
        return next(self.model.parameters()).device

    # Saving and loading

    def save(self, path: str | Path) -> None:
        """Write the whole state of the run to a safetensors file.

        The file appears at once or not at all: if saving is interrupted, an older file of that
        name stays as it was.

        Args:
            path: of the file; folders that do not exist are made.

        Raises:
            OSError: the file cannot be written.
        """
        tensors = self._state() | {"losses": torch.tensor(self.losses, dtype=torch.float64)}
        write_checkpoint(path, RUN, tensors, self._settings())

    def load(self, path: str | Path) -> None:
        """Go on where the run that was saved there stood; nothing changes if the file is refused.

        Args:
            path: a file made by ``save``, of a run with this model's config and these settings.

        Raises:
            OSError: the file cannot be read.
            ValueError: it is damaged, no checkpoint, or of another model or other settings.
        """
        saved, settings = read_checkpoint(path, RUN)
        losses, state = saved.pop("losses"), self._state()
        check_same(path, settings, self._settings())
        copy_tensors(path, saved, state)
        self.losses = losses.tolist()

    def _state(self) -> dict[str, Tensor]:
        """By name, the tensors that training changes: parameters (shared ones once) and moments."""
        state = {}
        for name, parameter in self.model.named_parameters():
            state[f"model.{name}"] = parameter.detach()
            for key, tensor in self.optimizer.state[parameter].items():
                state[f"adam.{key}.{name}"] = tensor
        return state

    def _settings(self) -> dict[str, object]:
        """What has to be equal for a resumed run to go on exactly, as far as JSON can say it."""
        own = {name: getattr(self, name) for name in ("smoothing", "clip_norm", "seed")}
        settings = dataclasses.asdict(self.model.config) | own
        # As a file gives them back: JSON has no np.float32 or Fraction, which are Real too.
        return json.loads(json.dumps(settings, default=float))


def _paper_adam(model: Transformer) -> torch.optim.Adam:
    """The paper's Adam, its moments there from the start, so that every checkpoint has the same."""
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    for parameter in model.parameters():
        moments = {name: torch.zeros_like(parameter) for name in ("exp_avg", "exp_avg_sq")}
        adam.state[parameter] = {"step": torch.tensor(0.0), **moments}
    return adam


def _randomness_kept(device: torch.device) -> AbstractContextManager[None]:
    """Put the global generators back afterwards: training does not disturb what else is random."""
    return torch.random.fork_rng(devices=[device] if device.type == "cuda" else [])


def _check_size_of_step(name: str, value: Real) -> None:
    check_number(name, value)
    if not 0 <= value < math.inf:
        raise ValueError(f"{name} must be 0 or more, and finite, got {value}")
