"""
The shard of attention maps in Parquet, written whole or not at all and read into NumPy without a copy.

One row per (example, layer, head), in that order within an example: `example: uint32, layer: uint8 or uint16,
head: uint16, size: uint16, weights: large_binary`. The weights are little-endian float16 (or float32), row-major
(query, key), size × size; layers and heads from 1. In a row group examples of one size stand together, the
largest first, so their order is not that of their numbers. The schema's metadata holds format version, dtype, layers,
heads and the fingerprints of model and corpus.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from headscope.errors import InputError
from headscope.shards import DTYPES, Header, RowGroupWriter, ShardFile, as_cells, runs_of_one_size, writing

if TYPE_CHECKING:
    import torch

ROW_GROUP_BYTES = 16 * 2**20
GROUPS_AT_HAND = 4  # of `Shards`


class Maps(NamedTuple):
    """
    Attention maps of examples of one size: numbers (example,), weights (example, layer, head, query, key).

    The weights are NumPy's, or a tensor where they are on a GPU, to be reduced there.
    """

    examples: np.ndarray
    weights: "np.ndarray | torch.Tensor"


def on_host(weights: "np.ndarray | torch.Tensor") -> np.ndarray:
    """Return weights as NumPy's, copied where they are on a GPU."""
    return weights if isinstance(weights, np.ndarray) else weights.cpu().numpy()


@dataclass(frozen=True)
class ShardInfo(Header):
    """What a shard says of itself: what it holds and what it was made from."""

    HOLDS, FORMAT = "attention maps", "1"

    dtype: str
    layers: int
    heads: int
    model: str
    corpus: str

    def columns(self) -> dict[str, pa.DataType]:
        """Return the columns of a shard of this many layers."""
        return {
            "example": pa.uint32(),
            "layer": pa.uint8() if self.layers < 2**8 else pa.uint16(),
            "head": pa.uint16(),
            "size": pa.uint16(),
            "weights": pa.large_binary(),
        }


class ShardWriter(RowGroupWriter):
    """Collects maps and writes them in row groups of a few tens of MB; see `writing_shard`."""

    def __init__(self, path, info: ShardInfo):
        super().__init__(path, info, ROW_GROUP_BYTES)
        self._info = info

    def write(self, maps: Maps):
        """
        Take maps of the shard's dtype; the array must not change afterwards (it is not copied).

        Raises
        ------
        ValueError
            If dtype or shape is not the shard's.
        """
        weights, info = maps.weights, self._info
        examples, layers, heads, size, keys = weights.shape
        if weights.dtype != DTYPES[info.dtype] or (layers, heads, keys) != (info.layers, info.heads, size):
            raise ValueError(f"{weights.dtype} maps of shape {weights.shape} do not fit into {info}")
        rows = examples * layers * heads
        columns = [
            np.repeat(maps.examples.astype(np.uint32), layers * heads),
            np.tile(np.repeat(np.arange(1, layers + 1), heads), examples),
            np.tile(np.arange(1, heads + 1), examples * layers),
            np.full(rows, size),
        ]
        types = info.columns().values()
        arrays = [pa.array(column, type) for column, type in zip(columns, types, strict=False)]
        self._take(size, [*arrays, as_cells(weights, rows)])


def writing_shard(path, info: ShardInfo):
    """Yield a `ShardWriter`, as a context; on success the shard stands under `path`, on an error nothing does."""
    return writing(path, lambda temporary: ShardWriter(temporary, info))


class Shard(ShardFile):
    """
    A shard opened for reading.

    Raises
    ------
    InputError
        If the file is no whole shard of this format version, or not of the model or corpus that was asked for.
    """

    info: ShardInfo

    def __init__(self, path, model: str | None = None, corpus: str | None = None):
        super().__init__(path, ShardInfo, model, corpus)

    def __iter__(self) -> Iterator[Maps]:
        """Yield the maps of the whole shard, at most a row group at a time; the next is read meanwhile."""
        for maps in self._groups(self.group):
            yield from maps

    def numbers(self) -> list[list[int]]:
        """Return the numbers of the examples in each row group, without their maps."""
        maps = self.info.layers * self.info.heads
        groups = (self._read_rows(group, ["example"]) for group in range(self._parquet.num_row_groups))
        return [rows["example"].to_numpy()[::maps].tolist() for rows in groups]

    def group(self, group: int) -> list[Maps]:
        """Return the maps of one row group, counted from 0, in runs of one size."""
        rows = self._read_rows(group)
        layers, heads = self.info.layers, self.info.heads
        if rows.num_rows % (layers * heads):
            raise InputError(
                f"{self._path}: expected {layers * heads} rows an example, found {rows.num_rows} in a row "
                "group; extract it again"
            )
        return [
            Maps(
                run["example"].to_numpy()[:: layers * heads],
                self._numbers(run["weights"], (size, size)).reshape(-1, layers, heads, size, size),
            )
            for run, size in runs_of_one_size(rows)
        ]


class Shards:
    """
    Shards of one model and corpus: iterated as one, or single examples in any order.

    Of those, the last row groups stay in memory.

    Raises
    ------
    InputError
        As `Shard`.
    """

    def __init__(self, paths, model: str, corpus: str):
        self._shards = [Shard(path, model, corpus) for path in paths]
        self._group = lru_cache(maxsize=GROUPS_AT_HAND)(self._read)

    def __iter__(self) -> Iterator[Maps]:
        """Yield the maps of every shard, as `Shard` does."""
        return chain.from_iterable(self._shards)

    @cached_property
    def _places(self) -> dict[int, tuple[int, int]]:
        """The shard and the row group of each example."""
        return {
            example: (shard, group)
            for shard, opened in enumerate(self._shards)
            for group, examples in enumerate(opened.numbers())
            for example in examples
        }

    def example(self, number: int) -> np.ndarray:
        """
        Return the maps of one example (layer, head, query, key) from whichever shard holds it.

        Raises
        ------
        InputError
            If none does.
        """
        if number not in self._places:
            raise InputError(
                f"example {number}: expected it in one of {len(self._shards)} shards, found it in none; "
                "extract them again"
            )
        return self._group(*self._places[number])[number]

    def _read(self, shard: int, group: int) -> dict[int, np.ndarray]:
        runs = self._shards[shard].group(group)
        return {
            number: weights for run in runs for number, weights in zip(run.examples.tolist(), run.weights, strict=True)
        }
