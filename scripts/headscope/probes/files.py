"""What probes learned, in one safetensors file a probe: the weights of every run, and what they were learned from."""

from pathlib import Path
from typing import NamedTuple

import torch

from headscope.errors import InputError
from headscope.probes.networks import Standard
from headscope.tensors import read_tensors, write_tensors

SAYS = "headscope"


class Run(NamedTuple):
    """One run: the training sentences it was given, its seed, and its weights by name."""

    trained: int
    seed: int
    weights: dict[str, torch.Tensor]


class LearnedProbe(NamedTuple):
    """
    A probe as it was learned.

    `probe`: a name of `headscope.probes.names.LEARNED`; `runs`: those on all sentences last; `standard`: how word
    vectors were standardised, None without words; `model` and `corpus`: the fingerprints of the model and of the
    encoded training sentences; `vectors`: the name of the word vectors.
    """

    probe: str
    runs: list[Run]
    standard: Standard | None
    model: str
    corpus: str
    vectors: str

    def of_all_sentences(self) -> list[Run]:
        """Return the runs that were given every training sentence."""
        most = max(run.trained for run in self.runs)
        return [run for run in self.runs if run.trained == most]


def write_learned(learned: LearnedProbe, path: str | Path):
    """Write a probe; what is not a tensor goes into the metadata."""
    tensors = {
        f"{run.trained}/{run.seed}/{name}": weights for run in learned.runs for name, weights in run.weights.items()
    }
    if learned.standard is not None:
        tensors |= {f"standard/{name}": part for name, part in learned.standard._asdict().items()}
    said = {key: getattr(learned, key) for key in ("probe", "model", "corpus", "vectors")}
    write_tensors(tensors, path, SAYS, said)


def read_learned(path: str | Path, model: str | None = None) -> LearnedProbe:
    """
    Read what `write_learned` wrote.

    Raises
    ------
    InputError
        If the file is none of ours, or the probe was learned over another model than this fingerprint.
    """
    tensors, said = read_tensors(path, SAYS, "a learned probe", "delete it and run again")
    if "probe" not in said:
        raise InputError(f"{path}: expected a learned probe, found a file of other tensors; delete it and run again")
    if model is not None and said["model"] != model:
        raise InputError(
            f"{path}: expected a probe over model {model}, found one over {said['model']}; the model has changed "
            "since: delete the file and run again"
        )
    runs, standard = {}, {}
    for name, tensor in tensors.items():
        group, _, key = name.partition("/")
        if group == "standard":
            standard[key] = tensor
        else:
            seed, _, parameter = key.partition("/")
            runs.setdefault((int(group), int(seed)), {})[parameter] = tensor
    return LearnedProbe(
        runs=[Run(*which, weights) for which, weights in sorted(runs.items())],
        standard=Standard(**standard) if standard else None,
        **said,
    )
