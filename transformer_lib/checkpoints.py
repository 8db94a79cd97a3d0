"""Files of weights: safetensors, which hold numbers and text and nothing that could run.

A file appears at once or not at all, and a damaged or foreign one is refused with the reason.
"""

import dataclasses
import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from transformer_lib.model import Transformer, TransformerConfig

MODEL = "transformer_lib model 1"


def write_checkpoint(
    path: str | Path, kind: str, tensors: Mapping[str, Tensor], settings: Mapping[str, object]
) -> None:
    """Write beside the path, then rename: a rename is never half done.

    Args:
        path: of the file; folders that do not exist are made.
        kind: what the file is, and the version of that.
        tensors, settings: by their names; the settings are whatever JSON can say.

    Raises:
        OSError: the file cannot be written.
    """
    path, text = Path(path), json.dumps(settings)
    metadata = {"format": kind, "settings": text, "checksum": str(_checksum(tensors, text))}
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        with unfinished.open("wb") as file:
            file.write(save({name: t.contiguous() for name, t in tensors.items()}, metadata))
            file.flush()
            os.fsync(file.fileno())  # the contents reach the disk before the name does
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def read_checkpoint(path: str | Path, kind: str) -> tuple[dict[str, Tensor], dict]:
    """The tensors and settings of a file that :func:`write_checkpoint` made, of this kind.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is damaged, no safetensors file, or of another kind.
    """
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            # Copies: the file itself is closed, and may be replaced.
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged or no safetensors file: {error}") from None
    if metadata.get("format") != kind:
        raise ValueError(f"{path} is a safetensors file, but no {kind!r}")
    text = metadata.get("settings", "")
    if metadata.get("checksum") != str(_checksum(tensors, text)):
        raise ValueError(f"{path} is damaged: its checksum does not fit its contents")
    return tensors, json.loads(text)


def _checksum(tensors: Mapping[str, Tensor], text: str) -> int:
    """CRC-32 of the text and of every tensor's name, kind and bytes."""
    checksum = zlib.crc32(text.encode())
    for name in sorted(tensors):
        tensor = tensors[name].cpu()
        checksum = zlib.crc32(f"{name} {_describe(tensor)}".encode(), checksum)
        checksum = zlib.crc32(tensor.flatten().view(torch.uint8).numpy(), checksum)
    return checksum


def _describe(tensor: Tensor) -> str:
    """Such as "float32 (4, 8)"."""
    return f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"


def check_same(path: str | Path, there: Mapping[str, object], here: Mapping[str, object]) -> None:
    """Name the first few differences between what the file holds and what is there already.

    Raises:
        ValueError: there are any.
    """
    differences = [
        f"{name} is {there.get(name, 'missing')} there, {here.get(name, 'missing')} here"
        for name in sorted(there.keys() | here.keys())
        if there.get(name, "missing") != here.get(name, "missing")
    ]
    if differences:
        more = f"; and {len(differences) - 3} more" if len(differences) > 3 else ""
        raise ValueError(f"{path} does not fit: {'; '.join(differences[:3])}{more}")


def copy_tensors(
    path: str | Path, source: Mapping[str, Tensor], target: Mapping[str, Tensor]
) -> None:
    """Copy what was read from the path into tensors of the same names, shapes and dtypes.

    Raises:
        ValueError: they are not the same; then nothing is copied.
    """
    there, here = ({k: _describe(t) for k, t in tensors.items()} for tensors in (source, target))
    check_same(path, there, here)
    with torch.no_grad():
        for name, tensor in target.items():
            tensor.copy_(source[name])


# --- models -------------------------------------------------------------------------------


def save_model(path: str | Path, model: Transformer, about: Mapping[str, object]) -> None:
    """Store a model: its config, its weights (shared ones once), and what is to be known about it.

    Args:
        path: of the file; folders that do not exist are made.
        model: any Transformer.
        about: whatever JSON can say.

    Raises:
        OSError: the file cannot be written.
    """
    settings = {"config": dataclasses.asdict(model.config), "about": dict(about)}
    write_checkpoint(path, MODEL, _weights(model), settings)


def load_model(path: str | Path) -> tuple[Transformer, dict]:
    """The model that was stored there, in evaluation mode, and what was to be known about it.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is damaged, or holds no model of this version of the library.
    """
    tensors, settings = read_checkpoint(path, MODEL)
    try:
        with torch.random.fork_rng(devices=[]):  # its first weights are random, and overwritten
            model = Transformer(TransformerConfig(**settings["config"]))
        about = settings["about"]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} holds no model that this version can build: {error}") from None
    copy_tensors(path, tensors, _weights(model))
    return model.eval(), about


def _weights(model: Transformer) -> dict[str, Tensor]:
    return {name: parameter.detach() for name, parameter in model.named_parameters()}
