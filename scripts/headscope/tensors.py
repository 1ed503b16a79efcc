"""Learned numbers in a safetensors file, with what they say of themselves: written whole, read back or refused."""

import json
from collections.abc import Iterator

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from headscope.errors import InputError
from headscope.files import replacing
from headscope.seals import is_sealed, sealed, unsealed


def write_tensors(tensors: dict[str, torch.Tensor], path, key: str, said: dict):
    """
    Write tensors by name, and what they say of themselves.

    All of that stands in one entry of the file's metadata, `key`, as JSON: of several, safetensors would write now this
    first, now that. It ends with a digest of itself and of the tensors.
    """
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with replacing(path) as temporary:
        temporary.write_bytes(save(tensors, {key: json.dumps(sealed(said, *_parts(tensors)))}))


def read_tensors(path, key: str, expected: str, remedy: str) -> tuple[dict[str, torch.Tensor], dict]:
    """
    Read what `write_tensors` wrote.

    Parameters
    ----------
    expected, remedy
        What the file is to be, and what to do if it is not, in words.

    Returns
    -------
    The tensors by name, and what they say of themselves; nothing where they were written by others.

    Raises
    ------
    InputError
        If it is no safetensors file, or not what was written.
    """
    try:
        with safe_open(path, framework="pt") as file:
            said = json.loads((file.metadata() or {}).get(key, "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dictionary)
    except (OSError, ValueError, SafetensorError) as error:
        raise InputError(f"{path}: expected {expected}, found: {error}; {remedy}") from error
    if not said:
        return tensors, {}
    if not is_sealed(said):
        raise InputError(f"{path}: expected {expected}, found one without a digest of its tensors; {remedy}")
    return tensors, unsealed(said, path, "file", remedy, *_parts(tensors))


def _parts(tensors) -> Iterator[bytes]:
    """Each tensor as its name, type, shape and numbers, in the order of their names."""
    for name, tensor in sorted(tensors.items()):
        yield f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode()
        yield tensor.reshape(-1).view(torch.uint8).numpy().tobytes()
