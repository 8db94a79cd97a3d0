"""Stored models come back to the bit; what is damaged or foreign is refused."""

import json

import pytest
import torch
from safetensors.torch import save_file

from transformer_lib import Transformer, TransformerConfig
from transformer_lib.checkpoints import MODEL, load_model, save_model, write_checkpoint
from transformer_lib.training import Trainer

SMALL = {"d_model": 8, "n_heads": 2, "d_ff": 12, "n_encoder_layers": 1, "n_decoder_layers": 1}
ABOUT = {"characters": "年月日", "longest": 29}


def make_model(**changes) -> Transformer:
    torch.manual_seed(0)
    return Transformer(TransformerConfig(11, **(SMALL | changes)))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "models" / "small.safetensors"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"pre_norm": True, "tie_embeddings": False, "bias": True, "activation": "swiglu"},
        {"n_encoder_layers": 0, "positions": "learned", "norm": "rms"},
        {"n_decoder_layers": 0, "target_vocab_size": None},
    ],
)
def test_a_model_comes_back_as_it_was(changes, path):
    model = make_model(**changes)
    save_model(path, model, ABOUT)
    torch.randn(3)
    loaded, about = load_model(path)
    assert (loaded.config, about, loaded.training) == (model.config, ABOUT, False)
    there, here = loaded.state_dict(), model.state_dict()
    assert there.keys() == here.keys()
    assert all(torch.equal(there[name], here[name]) for name in here)


def test_shared_weights_stay_shared(path):
    save_model(path, make_model(), ABOUT)
    loaded, _ = load_model(path)
    assert loaded.target_embedding is loaded.source_embedding


def test_loading_leaves_the_global_generator_alone(path):
    save_model(path, make_model(), ABOUT)
    torch.manual_seed(4)
    expected = torch.rand(1)
    torch.manual_seed(4)
    load_model(path)
    assert torch.rand(1) == expected


def test_a_damaged_model_is_refused(path):
    save_model(path, make_model(), ABOUT)
    whole = path.read_bytes()
    for damaged in (b"", whole[:-1], whole[:200], whole[:-4] + bytes(4), b"\0" * 100):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="is damaged") as refusal:
            load_model(path)
        assert str(path) in str(refusal.value)


def test_a_foreign_file_is_no_model(path, tmp_path):
    foreign = tmp_path / "foreign.safetensors"
    save_file({"weight": torch.ones(2)}, foreign)
    Trainer(make_model(), lambda *_: None, lambda _: 0.1).save(path)
    for other in (foreign, path):
        with pytest.raises(ValueError, match=f"is a safetensors file, but no '{MODEL}'"):
            load_model(other)
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "none.safetensors")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s["config"].update(rotary_phase=3), "rotary_phase"),
        (lambda s: s["config"].update(n_heads=3), r"d_model \(8\) must be divisible by n_heads"),
        (lambda s: s.pop("config"), "config"),
        (lambda s: s["config"].update(d_ff=13), r"is float32 \(12, 8\) there, float32 \(13, 8\)"),
    ],
)
def test_a_model_of_another_version_is_refused(change, message, path):
    """Whole and of the right kind, yet with a config that this library does not have."""
    model = make_model()
    save_model(path, model, ABOUT)
    settings = {"config": json.loads(json.dumps(vars(model.config))), "about": ABOUT}
    change(settings)
    write_checkpoint(path, MODEL, dict(model.named_parameters()), settings)
    with pytest.raises(ValueError, match=message) as refusal:
        load_model(path)
    assert str(path) in str(refusal.value)
