"""The structural probe as it was learned, in one safetensors file."""

from typing import NamedTuple

import torch

from headscope.errors import InputError
from headscope.tensors import read_tensors, write_tensors

SAYS = "headscope.structural_probe"
FORMAT_VERSION = 1
REMEDY = "delete it and run again"


class StructuralProbe(NamedTuple):
    """
    Projections of each seed, float32 (seed, rank, width), and what they were learned from.

    `layer`: the hidden states that they read, 0 being the embeddings; `scheme`: of the trees; `trained`: the sentences
    they were given, the tenth held out among them; `left_out`: those of fewer than two words besides; `model` and
    `corpus`: the fingerprints of the model and of the encoded training sentences.
    """

    projections: torch.Tensor
    layer: int
    scheme: str
    trained: int
    left_out: int
    model: str
    corpus: str


def write_probe(probe: StructuralProbe, path):
    """Write a probe; what is not a tensor goes into the metadata, with rank and seeds."""
    seeds, rank, _ = probe.projections.shape
    said = {"format": FORMAT_VERSION, "rank": rank, "seeds": seeds} | probe._asdict()
    write_tensors({"projections": said.pop("projections")}, path, SAYS, said)


def read_probe(path, model: str) -> StructuralProbe:
    """
    Read what `write_probe` wrote.

    Raises
    ------
    InputError
        If it is no such file, or learned over another model than this fingerprint.
    """
    tensors, said = read_tensors(path, SAYS, "a structural probe", REMEDY)
    if said.get("format") != FORMAT_VERSION:
        found = said.get("format", "a file that is none")
        raise InputError(f"{path}: expected a structural probe of format {FORMAT_VERSION}, found {found}; {REMEDY}")
    if said["model"] != model:
        raise InputError(
            f"{path}: expected a structural probe over model {model}, found one over {said['model']}; the model has "
            f"changed since: {REMEDY}"
        )
    return StructuralProbe(tensors["projections"], **{key: said[key] for key in StructuralProbe._fields[1:]})
