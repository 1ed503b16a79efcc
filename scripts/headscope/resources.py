"""
What a job that runs a model asks of a cluster: memory and time, from the model's size, its input and the attempt.

Asked for generously, since a job that is killed costs more than one that waits; each further attempt asks for as much
again. A laptop run ignores all of it. It runs in Snakemake's own environment, so it needs the standard library alone.
"""

import json
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from headscope.errors import InputError
from headscope.sources import locate

BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
WEIGHTS_FILES = ("*.safetensors", "*.bin")
MB = 10**6  # as Snakemake and Slurm count

PROGRAM_MB = 1500  # Python with torch and transformers, and what is read of the examples: 0.4 to 0.7 GB measured
BATCH_MB = 256  # maps of a batch: a GPU's as workflow/profiles/slurm sets it; a CPU's is a tenth of that
MAPS_AT_ONCE = 6  # copies of a batch: two in flight, folded into words, rounded for the disk, being written
KEPT_FOR_BACKWARD = 10  # maps of a layer that autograd keeps, with their gradients
STATES_FOR_BACKWARD = 20  # hidden states of a layer that it keeps: 17 by Korthikanti et al. 2022, section 4, rounded up
UNKNOWN_WEIGHTS_MB = 2000  # of a checkpoint that is not here yet, or in another environment

START_MINUTES = 10  # a slow start: a cold file system, an environment activated, imports
FLOPS = 2e10  # a second: one core of an old server; a batch job has more of it
BYTES_READ = 5e7  # a second, from a busy shared file system
BYTES_WRITTEN = 5e7
BYTES_PER_TOKEN = 4  # of a file of encoded examples; 4.2 to 6.9 measured, over texts, trees and documents
LONGEST_MINUTES = 24 * 60  # more is refused by many sites; more shards make shorter jobs
LONGEST_INPUT = 512  # tokens, where neither corpus nor model has a limit


@dataclass(frozen=True)
class ModelSize:
    """
    What the cost of running a model hangs on.

    `bytes_per_number` is that of the weights in memory, `tokens` the longest input, special tokens included.
    """

    parameters: int
    layers: int
    heads: int
    width: int
    bytes_per_number: int
    tokens: int

    @property
    def weights_mb(self) -> float:
        """Megabytes of the weights."""
        return self.parameters * self.bytes_per_number / MB

    @property
    def maps_mb(self) -> float:
        """Megabytes of the maps of the longest input, float32: layers × heads × tokens²."""
        return 4 * self.layers * self.heads * self.tokens**2 / MB

    @property
    def states_mb(self) -> float:
        """Megabytes of its hidden states after every layer, float32."""
        return 4 * self.layers * self.width * self.tokens / MB


def model_size(description, dtype: str, max_tokens: int | None) -> ModelSize:
    """
    Read the size of a model off its description.

    Parameters
    ----------
    description
        The path of `models/{model}/description.json`.
    dtype
        Of the computation: float32, bfloat16, float16.
    max_tokens
        The corpus' limit; None means the model's own.

    Raises
    ------
    FileNotFoundError
        If the model is not described yet. Snakemake then asks again when the job is due.
    """
    described = json.loads(Path(description).read_text("utf-8"))
    sizes = {name: described[name] for name in ("parameters", "layers", "heads", "width")}
    limits = [limit for limit in (max_tokens, described["limit"]) if limit]
    return ModelSize(**sizes, bytes_per_number=BYTES[dtype], tokens=min(limits, default=LONGEST_INPUT))


def checkpoint_mb(source: str) -> float:
    """Return the megabytes of the weights in a checkpoint that is not described yet, a guess where it is not here."""
    try:
        folder = locate(source)
    except InputError:
        return UNKNOWN_WEIGHTS_MB
    found = (sum(file.stat().st_size for file in folder.glob(pattern)) / MB for pattern in WEIGHTS_FILES)
    return next(filter(None, found), UNKNOWN_WEIGHTS_MB)


def memory_to_load(weights_mb: float, attempt: int, copies: int = 2) -> int:
    """
    Return the megabytes that a job takes to load a model and run it on next to nothing.

    Parameters
    ----------
    weights_mb
        Of the weights in memory.
    copies
        How often they are there: once as the file has them, once as the model does.
    """
    return attempt * ceil(PROGRAM_MB + copies * weights_mb)


def memory_to_run(size: ModelSize, attempt: int, copies: int = 2, backward: bool = False, kept_mb: float = 0) -> int:
    """
    Return the megabytes of main memory that a job takes to run a model over examples, on a CPU or beside a GPU.

    Parameters
    ----------
    copies
        As for `memory_to_load`.
    backward
        Whether gradients are taken: one example at a time on a CPU, with what autograd keeps of each layer.
    kept_mb
        What the job gathers over all examples.
    """
    batch = MAPS_AT_ONCE * max(BATCH_MB, size.maps_mb)
    if backward:
        batch += KEPT_FOR_BACKWARD * size.maps_mb + STATES_FOR_BACKWARD * size.states_mb
    return memory_to_load(size.weights_mb, attempt, copies) + attempt * ceil(batch + kept_mb)


def tokens_of(encoded, shards: int = 1) -> float:
    """
    Return about how many tokens a shard has, rather too many, from the size of the file of encoded examples.

    Raises
    ------
    FileNotFoundError
        If there is no such file yet.
    """
    return Path(encoded).stat().st_size / BYTES_PER_TOKEN / shards


def minutes_to_run(size: ModelSize, tokens: float, attempt: int, passes: float = 1) -> int:
    """
    Return the minutes that a job takes to load a model, run so many tokens through it and store their maps.

    Parameters
    ----------
    tokens
        As `tokens_of` returns them.
    passes
        Forward passes over each token, or what takes as long; one is 2 × parameters operations.
    """
    computing = passes * tokens * 2 * size.parameters / FLOPS
    writing = tokens * 2 * size.layers * size.heads * size.tokens / BYTES_WRITTEN
    loading = size.weights_mb * MB / BYTES_READ
    return min(attempt * ceil(START_MINUTES + (loading + computing + writing) / 60), LONGEST_MINUTES)
