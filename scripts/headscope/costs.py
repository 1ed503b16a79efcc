"""
What a run costs on CPU cores: seconds and bytes, by the shape of the model and the lengths of the examples.

Two things take the time. A forward pass is products of matrices: so many operations a token, by width and layers. And
maps are numbers, layers × heads × tokens² an example, each of which is made, summed, rounded, written and read again.
How fast a core does either was measured once (`REFERENCE`) and is scaled to another by two small tests
(`Speed.measured`). docs/scale.md has a table of it; `make bench` holds it to real runs.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from headscope.errors import InputError

BYTES = {"float16": 2, "float32": 4}
BYTES_PER_ROW = 24  # of a shard: example, layer, head, size, and where the weights begin
MASKED = 0.15  # of the tokens, whose loss gradients are taken of
VOCABULARY = 30_000


@dataclass(frozen=True)
class Shape:
    """Of a model: layers, heads a layer, width of its hidden states and of its feed-forward layers (0: four widths)."""

    layers: int
    heads: int
    width: int
    inner: int = 0

    def operations(self, tokens: np.ndarray) -> np.ndarray:
        """Return the operations of a forward pass over examples of so many tokens, float64 (example,)."""
        weights = 4 * self.width**2 + 2 * self.width * (self.inner or 4 * self.width)
        return 2 * self.layers * (weights * tokens + 2 * self.width * tokens**2)

    def numbers(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers of the maps of examples of so many rows, float64 (example,): layers × heads × rows²."""
        return self.layers * self.heads * rows**2

    def pairs(self) -> int:
        """Return how many pairs of heads there are."""
        return self.layers * self.heads * (self.layers * self.heads - 1) // 2


@dataclass(frozen=True)
class Speed:
    """
    What one core does in a second: operations of a forward pass, and numbers of maps made and written to a shard.

    The numbers that an analysis reads are counted in these: scoring one takes half as long as making one, for instance.
    """

    operations: float
    numbers: float

    @classmethod
    def measured(cls) -> "Speed":
        """Measure this machine's core in a second or two, by what it does with a product and with a block of maps."""
        products, blocks = _seconds_of_products(), _seconds_of_maps()
        return cls(REFERENCE.operations * PRODUCTS / products, REFERENCE.numbers * BLOCKS / blocks)


REFERENCE = Speed(operations=8.6e10, numbers=1.66e8)  # a core of an AMD EPYC with AVX-512, 2026, float32
PRODUCTS, BLOCKS = 0.0064, 0.00235  # seconds that it takes for `_seconds_of_products` and `_seconds_of_maps`


@dataclass(frozen=True)
class Cost:
    """Seconds of work on one core, start-up left out, and bytes on disk; both of all examples."""

    core_seconds: float
    bytes: float

    def hours(self, cores: int) -> float:
        """Return how long as many cores take, where there are at least as many shards."""
        return self.core_seconds / cores / 3600


@dataclass(frozen=True)
class _Work:
    """
    What a stage does: forward passes, numbers (in those of extraction) a number of the maps and a pair of heads, and
    seconds an example and a token; and what it leaves, bytes a head of each example.
    """

    passes: float = 0
    numbers: float = 0
    of_pairs: float = 0
    of_examples: float = 0
    of_tokens: float = 0
    bytes: float = 0


STAGES = {
    "extract_attention": _Work(passes=1, numbers=1),
    "extract_attention_of_words": _Work(passes=1.15, numbers=2.5),  # lengths vary, and tokens are folded into words
    "count_surface": _Work(numbers=0.38, of_examples=4e-4, bytes=45),
    "count_divergence": _Work(of_pairs=0.13),
    "count_norms": _Work(passes=1.1, numbers=1, bytes=50),
    "count_gradients": _Work(passes=3, numbers=3, bytes=31),
    "count_syntax": _Work(numbers=0.4, of_tokens=4e-6, bytes=0.3),
    "count_coreference": _Work(numbers=0.05, of_tokens=3e-5, bytes=20),
}


def cost(stage: str, shape: Shape, tokens: Iterable[int], dtype: str = "float16", speed: Speed = REFERENCE) -> Cost:
    """
    Estimate what a stage costs, in float32 on CPU cores.

    Parameters
    ----------
    stage
        A rule that goes by shards, one of `STAGES`; extraction of maps of words is one of its own there.
    tokens
        Of each example, special tokens included.
    dtype
        Of the maps on disk, float16 or float32.
    speed
        Of a core.

    Raises
    ------
    InputError
        If there is no such stage or dtype.
    """
    for what, given, known in (("stage", stage, STAGES), ("dtype", dtype, BYTES)):
        if given not in known:
            raise InputError(f"{what}: expected one of {', '.join(known)}, found {given!r}")
    work, tokens = STAGES[stage], np.asarray([*tokens], dtype=np.float64)
    numbers, heads = shape.numbers(tokens).sum(), shape.layers * shape.heads * len(tokens)
    of_pairs = work.of_pairs * shape.pairs() * (tokens**2).sum()
    seconds = (
        work.passes * shape.operations(tokens).sum() / speed.operations
        + (work.numbers * numbers + of_pairs) / speed.numbers
        + work.of_examples * len(tokens)
        + work.of_tokens * tokens.sum()
    )
    if stage == "count_gradients":
        seconds += 3 * MASKED * tokens.sum() * 2 * shape.width * (VOCABULARY + shape.width) / speed.operations
    stored = BYTES[dtype] * numbers + BYTES_PER_ROW * heads if stage.startswith("extract_") else work.bytes * heads
    return Cost(seconds, stored)


def _seconds_of_products() -> float:
    """Multiply 512 tokens of width 384 by the weights of a feed-forward layer."""
    import torch

    tokens, weights = torch.ones(512, 384), torch.ones(1536, 384)
    return fastest(lambda: torch.nn.functional.linear(tokens, weights))


def _seconds_of_maps() -> float:
    """Do to 2 million numbers what extraction does to each: softmax, sums, a copy, rounding."""
    import torch

    scores, stacked = torch.ones(128, 128, 128), torch.empty(128, 128, 128)

    def work():
        weights = scores.softmax(-1)
        weights.sum(-1)
        stacked.copy_(weights)
        return stacked.half()

    return fastest(work)


def fastest(work: Callable[[], object], times: int = 20) -> float:
    """Return the seconds of the fastest of some runs, on one thread."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        seconds = []
        for _ in range(times):
            started = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - started)
        return min(seconds)
    finally:
        torch.set_num_threads(threads)
