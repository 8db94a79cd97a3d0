"""Training: the loss by its definition, a loop that resumes to the bit, files that cannot hurt."""

import io
import math
import os
import pickle
import random
import sys
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from transformer_lib import Transformer, TransformerConfig
from transformer_lib.training import (
    Trainer,
    cosine_learning_rate,
    label_smoothing_loss,
    next_token_loss,
    noam_learning_rate,
)

PAD, BOS, EOS, VOCAB = 0, 1, 2, 11


# --- the loss -----------------------------------------------------------------------------


def make_loss_inputs(vocab: int = 7, seed: int = 0, dtype: torch.dtype = torch.float64):
    generator = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(3, 5, vocab, generator=generator, dtype=torch.float64)
    targets = torch.randint(1, vocab, (3, 5), generator=generator)
    targets[0, 3:] = targets[2, 1:] = PAD
    return logits.to(dtype).requires_grad_(), targets


def loss_by_definition(logits, targets, smoothing, pad_id):
    """−Σ_v q_v log p_v, token by token and word by word."""
    vocab, losses = logits.size(-1), []
    for row, target in zip(logits.flatten(0, 1).tolist(), targets.flatten().tolist(), strict=True):
        if target != pad_id:
            log_z = math.log(math.fsum(map(math.exp, row)))
            q = [1 - smoothing if v == target else smoothing / (vocab - 1) for v in range(vocab)]
            losses.append(-math.fsum(q[v] * (row[v] - log_z) for v in range(vocab)))
    return sum(losses) / len(losses)


@pytest.mark.parametrize("smoothing", [0, 0.1, 0.5, 1 - 1 / 7])
@pytest.mark.parametrize("pad_id", [PAD, 3, -100])
def test_loss_is_its_definition(smoothing, pad_id):
    logits, targets = make_loss_inputs()
    targets[targets == PAD] = pad_id
    loss = label_smoothing_loss(logits, targets, smoothing, pad_id)
    assert loss.item() == pytest.approx(
        loss_by_definition(logits, targets, smoothing, pad_id), rel=1e-13
    )


def test_loss_is_pytorchs_where_the_definitions_agree():
    """PyTorch's ε goes to all V tokens: the same q has its ε = ours · V / (V − 1)."""
    logits, targets = make_loss_inputs()
    peer = partial(F.cross_entropy, logits.transpose(1, 2), targets, ignore_index=PAD)
    for smoothing in (0.0, 0.2):
        ours = label_smoothing_loss(logits, targets, smoothing, PAD)
        torch.testing.assert_close(
            ours, peer(label_smoothing=smoothing * 7 / 6), rtol=1e-14, atol=0
        )
    assert abs(ours - peer(label_smoothing=0.2)) > 0.01


def test_gradient_is_p_minus_q_over_the_count():
    logits, targets = make_loss_inputs()
    (gradient,) = torch.autograd.grad(label_smoothing_loss(logits, targets, 0.3, PAD), logits)
    q = torch.full_like(logits, 0.3 / 6).scatter(2, targets[..., None], 0.7)
    real = (targets != PAD)[..., None]
    expected = (logits.softmax(-1) - q) * real / real.sum()
    torch.testing.assert_close(gradient, expected, rtol=1e-12, atol=1e-15)
    assert (gradient[~real.squeeze(-1)] == 0).all()


@given(seed=st.integers(0, 99), more=st.integers(1, 4), smoothing=st.floats(0, 0.8))
def test_more_padding_changes_nothing(seed, more, smoothing):
    logits, targets = make_loss_inputs(seed=seed)
    longer = torch.cat([logits, 1e3 * torch.randn(3, more, 7, dtype=torch.float64)], dim=1)
    padded = F.pad(targets, (0, more), value=PAD)
    torch.testing.assert_close(
        label_smoothing_loss(longer, padded, smoothing, PAD),
        label_smoothing_loss(logits, targets, smoothing, PAD),
        rtol=1e-14,
        atol=0,
    )


def test_nothing_but_padding_is_0_with_gradient_0():
    logits, targets = make_loss_inputs()
    loss = label_smoothing_loss(logits, torch.full_like(targets, PAD), 0.1, PAD)
    (gradient,) = torch.autograd.grad(loss, logits)
    assert loss == 0 and (gradient == 0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_with_a_large_vocabulary(dtype):
    logits, targets = make_loss_inputs(vocab=37_000, dtype=dtype)
    loss = label_smoothing_loss(logits, targets, 0.1, PAD)
    exact = label_smoothing_loss(logits.detach().double(), targets, 0.1, PAD)
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(exact.item(), rel=1e-5)
    (gradient,) = torch.autograd.grad(loss, logits)
    assert gradient.dtype == dtype and gradient.isfinite().all()


# --- the learning rate --------------------------------------------------------------------


def test_learning_rate_of_the_paper():
    rate = partial(noam_learning_rate, d_model=512, warmup=4000)
    assert rate(1) == pytest.approx(1.7469e-7, rel=1e-4)
    assert rate(2000) == pytest.approx(3.4939e-4, rel=1e-4)
    assert rate(4000) == pytest.approx(6.9877e-4, rel=1e-4) == max(map(rate, range(1, 9000)))
    assert rate(16_000) == pytest.approx(rate(4000) / 2)
    assert rate(100_000) == pytest.approx(1.3975e-4, rel=1e-4)
    assert noam_learning_rate(4000, 2048, 4000) == pytest.approx(rate(4000) / 2)


def test_cosine_learning_rate():
    rate = partial(cosine_learning_rate, peak=0.5, warmup=10, steps=110)
    assert [rate(1), rate(5), rate(10)] == pytest.approx([0.05, 0.25, 0.5])
    assert rate(60) == pytest.approx(0.25)  # half the way down
    assert rate(35) - 0.25 == pytest.approx(0.25 - rate(85))  # the wave is symmetric
    assert [rate(110), rate(1000)] == [0, 0]
    assert max(map(rate, range(1, 120))) == 0.5


# --- models and batches -------------------------------------------------------------------


def make_model(seed: int = 0, **changes) -> Transformer:
    torch.manual_seed(seed)
    small = {"d_model": 8, "n_heads": 2, "d_ff": 12, "n_encoder_layers": 1, "n_decoder_layers": 1}
    return Transformer(TransformerConfig(VOCAB, **(small | changes)))


def copy_pair(step: int, generator: torch.Generator, size: int = 4):
    """Source: random words with padding; target: BOS, the same words, EOS."""
    words = torch.randint(3, VOCAB, (size, 5), generator=generator)
    words[0, 3:] = PAD
    target = F.pad(F.pad(words, (1, 0), value=BOS), (0, 1), value=PAD)
    target[1:, -1] = target[0, 4] = EOS
    return words, target


def copy_alone(step: int, generator: torch.Generator):
    return copy_pair(step, generator)[1]


MODELS = {
    "encoder–decoder": ({}, copy_pair),
    "pre-norm, untied": ({"pre_norm": True, "tie_embeddings": False, "bias": True}, copy_pair),
    "decoder-only": ({"n_encoder_layers": 0, "positions": "learned"}, copy_alone),
}
every_model = pytest.mark.parametrize(("changes", "batch_at"), MODELS.values(), ids=MODELS)


def make_trainer(changes=None, batch_at=copy_pair, model_seed: int = 0, **settings) -> Trainer:
    def rate(step):
        return noam_learning_rate(step, 8, 4)

    changes = {"dropout": 0.2} | (changes or {})
    return Trainer(make_model(model_seed, **changes), batch_at, rate, **settings)


def state_of(trainer: Trainer) -> dict[str, torch.Tensor]:
    """Everything a run consists of, copied."""
    state = {f"model.{k}": v.clone() for k, v in trainer.model.state_dict().items()}
    for i, moments in trainer.optimizer.state_dict()["state"].items():
        state |= {f"optimizer.{i}.{k}": v.clone() for k, v in moments.items()}
    return state | {"losses": torch.tensor(trainer.losses, dtype=torch.float64)}


def assert_same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert one.keys() == other.keys()
    assert [name for name in one if not torch.equal(one[name], other[name])] == []


# --- the loop -----------------------------------------------------------------------------


@every_model
def test_next_token_loss_shifts_the_target(changes, batch_at):
    model = make_model(dropout=0.0, **changes)
    batch = batch_at(1, torch.Generator().manual_seed(0))
    *source, target = batch if isinstance(batch, tuple) else (batch,)
    log_p = model(*source, target).log_softmax(-1)
    losses = [
        -log_p[b, i, target[b, i + 1]]
        for b in range(target.size(0))
        for i in range(target.size(1) - 1)
        if target[b, i + 1] != PAD
    ]
    torch.testing.assert_close(next_token_loss(model, batch), torch.stack(losses).mean())


@pytest.mark.parametrize("clip_norm", [None, 0.05])
@every_model
def test_the_loop_is_the_textbooks(changes, batch_at, clip_norm):
    """Without dropout, a run is this: zero the gradient, loss, backward, clip, Adam."""
    batches = []

    def remembered(step, generator):
        batches.append(batch_at(step, generator))
        return batches[-1]

    settings = {"smoothing": 0.1, "clip_norm": clip_norm}
    trainer = make_trainer(changes | {"dropout": 0.0}, remembered, **settings)
    trainer.train(6)
    model, losses = make_model(dropout=0.0, **changes), []
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    for step, batch in enumerate(batches, start=1):
        adam.param_groups[0]["lr"] = noam_learning_rate(step, 8, 4)
        adam.zero_grad()
        losses.append(next_token_loss(model, batch, smoothing=0.1))
        losses[-1].backward()
        if clip_norm is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
        adam.step()
    assert trainer.losses == [loss.item() for loss in losses] and trainer.step == 6
    assert_same(trainer.model.state_dict(), model.state_dict())


def test_the_seed_decides_batches_and_dropout_and_nothing_else_does():
    def run(seed, dropout=0.2):
        trainer = make_trainer({"dropout": dropout}, seed=seed)
        torch.manual_seed(random.randrange(10**6))
        trainer.train(3)
        return trainer.losses

    assert run(0) == run(0)
    assert run(0) != run(1)
    assert run(0) != run(0, dropout=0.0)


def test_the_steps_of_different_seeds_have_different_batches():
    batches = []

    def batch_at(step, generator):
        batches.append(copy_pair(step, generator))
        return batches[-1]

    for seed in range(3):
        make_trainer(batch_at=batch_at, seed=seed).train(3)
    assert len({tuple(source.flatten().tolist()) for source, _ in batches}) == 9


def test_training_leaves_the_global_generator_alone():
    trainer = make_trainer()
    torch.manual_seed(5)
    trainer.train(2)
    after = torch.randn(3)
    assert torch.equal(after, torch.randn(3, generator=torch.Generator().manual_seed(5)))


@pytest.mark.slow
def test_it_learns_to_copy():
    def rate(step):
        return 0.5 * noam_learning_rate(step, 32, 100)

    wider = {"d_model": 32, "n_heads": 4, "d_ff": 64, "dropout": 0.0}
    trainer = Trainer(make_model(**wider), partial(copy_pair, size=32), rate, smoothing=0.0)
    trainer.train(400)
    assert trainer.losses[0] > 2 and max(trainer.losses[-20:]) < 0.1
    source, target = copy_pair(0, torch.Generator().manual_seed(10**6), size=100)
    said = trainer.model.eval()(source, target[:, :-1]).argmax(-1)
    real = target[:, 1:] != PAD
    assert (said == target[:, 1:])[real].float().mean() > 0.98


def test_a_loss_that_is_not_finite_stops_before_the_step():
    trainer = make_trainer()
    trainer.train(1)
    trainer.model.decoder.layers[0].feed_forward.W_2.bias.data[0] = torch.nan
    before = state_of(trainer)
    with pytest.raises(FloatingPointError, match=r"loss of step 2 is nan; lower the learning rate"):
        trainer.train(3)
    after = state_of(trainer)
    assert all(torch.equal(before[k], after[k]) for k in before if "W_2.bias" not in k)
    assert trainer.step == 1


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stderr", "progress", "shown"),
    [
        (io.StringIO, None, False),
        (io.StringIO, True, True),
        (Terminal, None, True),
        (Terminal, False, False),
    ],
)
def test_the_bar_is_for_terminals(stderr, progress, shown, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stderr())
    make_trainer().train(2, progress=progress)
    written = sys.stderr.getvalue()
    assert ("2/2" in written and "loss=" in written) if shown else written == ""


# --- stopping and going on ----------------------------------------------------------------


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs" / "run.safetensors"


@every_model
def test_a_resumed_run_is_equal_to_the_bit(changes, batch_at, path):
    whole = make_trainer(changes, batch_at, clip_norm=1.0)
    whole.train(7)
    first = make_trainer(changes, batch_at, clip_norm=1.0)
    first.train(3)
    first.save(path)
    second = make_trainer(changes, batch_at, clip_norm=1.0, model_seed=1)  # other weights at first
    second.load(path)
    assert second.step == 3
    assert_same(state_of(second), state_of(first))
    torch.randn(100)  # whatever else is random in the meantime
    second.train(2)
    second.save(path)
    second.load(path)  # a file may be loaded into the run that wrote it
    second.train(2)
    assert_same(state_of(second), state_of(whole))


@pytest.mark.parametrize("number", [np.float32, Fraction])
def test_a_run_can_be_saved_with_any_kind_of_number(number, path):
    settings = {"smoothing": number(0.1), "clip_norm": number(0.5)}
    trainer, resumed = make_trainer(**settings), make_trainer(**settings)
    trainer.train(1)
    trainer.save(path)
    resumed.load(path)
    assert resumed.losses == trainer.losses


def test_a_run_can_be_saved_before_its_first_step(path):
    start = make_trainer()
    start.save(path)
    other = make_trainer(model_seed=1)
    other.train(2)
    other.load(path)
    assert other.step == 0
    assert_same(state_of(other), state_of(start))


def test_an_interrupted_step_is_done_again_the_same():
    whole = make_trainer()
    whole.train(5)

    stopped = make_trainer()
    stopped.train(2)
    hook = stopped.model.decoder.register_forward_hook(interrupt)
    with pytest.raises(KeyboardInterrupt):
        stopped.train(3)
    hook.remove()
    stopped.train(3)
    assert_same(state_of(stopped), state_of(whole))


def interrupt(*args, **kwargs):
    raise KeyboardInterrupt


def test_shared_weights_are_stored_once(path):
    make_trainer().save(path)
    tied = path.stat().st_size
    make_trainer({"tie_embeddings": False}).save(path)
    assert path.stat().st_size > tied + 2 * 3 * VOCAB * 8 * 4 - 1  # 2 more, 3 tensors each, float32


class StopsHalfway(io.FileIO):
    """A file whose write is interrupted in the middle."""

    def write(self, content):
        super().write(content[: len(content) // 2])
        raise KeyboardInterrupt


@pytest.mark.parametrize("where", ["while writing", "before the disk has it", "before the rename"])
def test_an_interrupted_save_leaves_the_old_file_whole(where, path, monkeypatch):
    trainer = make_trainer()
    trainer.train(1)
    trainer.save(path)
    before, whole = state_of(trainer), path.read_bytes()
    trainer.train(1)

    with monkeypatch.context() as patch:
        if where == "while writing":
            patch.setattr(Path, "open", lambda *args: StopsHalfway(*args))
        elif where == "before the disk has it":
            patch.setattr(os, "fsync", interrupt)
        else:
            patch.setattr(Path, "replace", interrupt)
        with pytest.raises(KeyboardInterrupt):
            trainer.save(path)
    assert path.read_bytes() == whole
    assert list(path.parent.iterdir()) == [path]  # and nothing unfinished lies about
    trainer.load(path)
    assert_same(state_of(trainer), before)


# --- files that are refused ---------------------------------------------------------------


def assert_refused(trainer: Trainer, path: Path, message: str) -> None:
    """With the path in the message, and nothing changed."""
    before = state_of(trainer)
    with pytest.raises(ValueError, match=message) as refusal:
        trainer.load(path)
    assert str(path) in str(refusal.value)
    assert_same(state_of(trainer), before)


class Evil:
    """Unpickling it would make a file."""

    def __init__(self, mark: Path):
        self.mark = mark

    def __reduce__(self):
        return (Path.touch, (self.mark,))


@pytest.mark.parametrize("dump", [pickle.dumps, lambda x: torch.save(x, b := io.BytesIO()) or b])
def test_a_file_that_would_run_code_does_not(dump, tmp_path):
    mark, path = tmp_path / "it ran", tmp_path / "evil.safetensors"
    content = dump(Evil(mark))
    path.write_bytes(content if isinstance(content, bytes) else content.getvalue())
    assert_refused(make_trainer(), path, "is damaged or no safetensors file")
    assert not mark.exists()
    pickle.loads(pickle.dumps(Evil(mark)))
    assert mark.exists()  # the file was no dud


def test_a_damaged_file_is_refused(path):
    trainer = make_trainer()
    trainer.train(1)
    trainer.save(path)
    whole = path.read_bytes()
    trainer.train(1)
    pick = random.Random(0)
    for end in [0, 7, 8, 100, len(whole) - 1, *pick.sample(range(len(whole)), 10)]:
        path.write_bytes(whole[:end])
        assert_refused(trainer, path, "is damaged or no safetensors file")
    for place in pick.sample(range(len(whole)), 60):
        flipped = bytes([whole[place] ^ 1 << pick.randrange(8)])
        path.write_bytes(whole[:place] + flipped + whole[place + 1 :])
        assert_refused(trainer, path, "is damaged|is a safetensors file, but no")


def test_a_foreign_file_is_refused(path, tmp_path):
    from safetensors.torch import save_file

    foreign = tmp_path / "foreign.safetensors"
    save_file({"weight": torch.ones(2)}, foreign)
    assert_refused(make_trainer(), foreign, "is a safetensors file, but no 'transformer_lib")


@pytest.mark.parametrize(
    ("changes", "settings", "message"),
    [
        ({"d_model": 16}, {}, "d_model is 16 there, 8 here"),
        ({"dropout": 0.5}, {}, "dropout is 0.5 there, 0.2 here"),
        ({"n_encoder_layers": 0}, {}, "n_encoder_layers is 0 there, 1 here"),
        ({}, {"seed": 3}, "seed is 3 there, 0 here"),
        ({}, {"clip_norm": 1.0, "smoothing": 0.0}, "clip_norm is 1.0 there, None here; smoothing"),
    ],
)
def test_a_different_run_is_refused(changes, settings, message, path):
    make_trainer(changes, **settings).save(path)
    assert_refused(make_trainer(), path, message)


def test_other_tensors_are_refused(path):
    other = make_trainer()
    other.model.double()
    other.save(path)
    message = r"model\.\S+ is float64 \(.*\) there, float32 \(.*\) here;.*and \d+ more"
    assert_refused(make_trainer(), path, message)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.safetensors"):
        make_trainer().load(tmp_path / "none.safetensors")


# --- bad input ----------------------------------------------------------------------------

LOGITS, TARGETS = torch.zeros(2, 3, 5), torch.ones(2, 3, dtype=torch.long)
PAIR = (TARGETS, TARGETS)


def cosine(step=1, peak=0.1, warmup=3, steps=9):
    return cosine_learning_rate(step, peak=peak, warmup=warmup, steps=steps)


def loss(logits=LOGITS, targets=TARGETS, smoothing=0.1):
    return label_smoothing_loss(logits, targets, smoothing, PAD)


def train_on(batch, changes=None):
    return make_trainer(changes, lambda step, generator: batch).train(1)


def trainer_at_rate(rate):
    return Trainer(make_model(), copy_pair, lambda step: rate).train(1)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: loss([[0.1]]), TypeError, "logits must be a torch tensor, got list"),
        (lambda: loss(LOGITS.long()), TypeError, r"logits must be floating point.*logits\.float"),
        (lambda: loss(targets=TARGETS.float()), TypeError, r"targets must be integers.*\.long\(\)"),
        (lambda: loss(LOGITS[0]), ValueError, r"same batch and n, got \(3, 5\) and \(2, 3\)"),
        (lambda: loss(LOGITS[:, :2]), ValueError, r"got \(2, 2, 5\) and \(2, 3\)"),
        (lambda: loss(LOGITS.mT), ValueError, r"\(batch, n, vocab\).*got \(2, 5, 3\) and \(2, 3\)"),
        (lambda: loss(LOGITS.to("meta")), ValueError, "on the device of logits, meta, got cpu"),
        (lambda: loss(targets=TARGETS * 5), ValueError, r"0 … 4 or pad_id \(0\), got 5 … 5"),
        (lambda: loss(targets=-TARGETS), ValueError, r"0 … 4 or pad_id \(0\), got -1 … -1"),
        (lambda: loss(smoothing=-0.1), ValueError, r"smoothing must be in \[0, 1\), got -0.1"),
        (lambda: loss(smoothing=1.5), ValueError, r"smoothing must be in \[0, 1\), got 1.5"),
        (lambda: loss(smoothing=0.9), ValueError, r"at most 1 − 1/vocab = 0\.8, got 0\.9: with"),
        (lambda: loss(smoothing="0"), TypeError, "smoothing must be a number, got str"),
        (
            lambda: label_smoothing_loss(LOGITS, TARGETS, 0.1, None),
            TypeError,
            "pad_id must be an int, got NoneType",
        ),
        (lambda: noam_learning_rate(0, 8, 4), ValueError, "step must be 1 or more, got 0"),
        (lambda: noam_learning_rate(1, 8, 0), ValueError, "warmup must be 1 or more, got 0"),
        (lambda: cosine(step=0), ValueError, "step must be 1 or more, got 0"),
        (lambda: cosine(peak=0.0), ValueError, r"peak must be above 0, got 0\.0"),
        (lambda: cosine(warmup=9), ValueError, r"warmup \(9\) must be less than steps \(9\)"),
        (lambda: cosine(steps=9.0), TypeError, "steps must be an int, got float"),
        (lambda: noam_learning_rate(1.0, 8, 4), TypeError, "step must be an int, got float"),
        (lambda: noam_learning_rate(1, -8, 4), ValueError, "d_model must be 1 or more, got -8"),
        (lambda: make_trainer(seed=-1), ValueError, "seed must be 0 or more, got -1"),
        (lambda: make_trainer(seed=0.5), TypeError, "seed must be an int, got float"),
        (lambda: make_trainer(smoothing=1), ValueError, r"smoothing must be in \[0, 1\), got 1"),
        (lambda: make_trainer(clip_norm=-1), ValueError, "clip_norm must be 0 or more.*got -1"),
        (lambda: make_trainer(clip_norm=0), ValueError, "above 0, or None for no clipping, got 0"),
        (lambda: make_trainer(clip_norm="1"), TypeError, "clip_norm must be a number, got str"),
        (lambda: make_trainer(batch_at=[PAIR]), TypeError, "batch_at must be a function.*got list"),
        (
            lambda: Trainer(make_model(), copy_pair, 1e-3),
            TypeError,
            "learning_rate must be a function of the step, got float",
        ),
        (
            lambda: Trainer(nn.Linear(2, 2), copy_pair, float),
            TypeError,
            "model must be a Transformer, got Linear",
        ),
        (
            lambda: make_trainer({"n_decoder_layers": 0}),
            ValueError,
            "this model has no decoder: its config has n_decoder_layers=0",
        ),
        (
            lambda: trainer_at_rate(None),
            TypeError,
            r"learning_rate\(1\) must be a number, got None",
        ),
        (lambda: trainer_at_rate(-1.0), ValueError, r"learning_rate\(1\) must be 0 or more.*-1"),
        (lambda: trainer_at_rate(math.inf), ValueError, "and finite, got inf"),
        (lambda: make_trainer().train(0), ValueError, "steps must be 1 or more, got 0"),
        (lambda: make_trainer().train(1.5), TypeError, "steps must be an int, got float"),
        (lambda: train_on(TARGETS), TypeError, r"is \(source_ids, target_ids\), got 1 elements"),
        (lambda: train_on(None), TypeError, r"is \(source_ids, target_ids\), got NoneType"),
        (
            lambda: train_on(PAIR, {"n_encoder_layers": 0}),
            TypeError,
            r"a batch for this model is \(target_ids\), got 2 elements",
        ),
        (lambda: train_on((TARGETS, [1])), TypeError, "target_ids must be a torch.*got list"),
        (lambda: train_on((TARGETS, TARGETS / 1)), TypeError, r"target_ids must be integers"),
        (lambda: train_on((TARGETS, TARGETS[:, :1])), ValueError, r"at least 2 tokens.*\(2, 1\)"),
        (lambda: train_on((TARGETS, TARGETS[:1])), ValueError, "same batch, got 2 and 1"),
        (lambda: train_on((TARGETS, VOCAB * TARGETS)), ValueError, "in 0 … 10, got 11 … 11"),
    ],
)
def test_bad_input_is_refused(call, error, message, unchecked):
    with pytest.raises(error, match=message):
        call()
