"""
The shard of hidden states in Parquet, written whole or not at all and read into NumPy without a copy.

One row an example: `example: uint32, size: uint16` (its words), then a column `layer_0` (the embeddings), `layer_1`,
... of `large_binary`, so that one layer is read without the others. A cell has little-endian float16 (or float32),
row-major (word, width). Rows of one size stand together in a row group, the largest first, so their order is not that
of their numbers. The schema's metadata holds format version, dtype, layers, width and the fingerprints of model and
corpus.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from headscope.shards import DTYPES, Header, RowGroupWriter, ShardFile, as_cells, runs_of_one_size, writing

ROW_GROUP_BYTES = 16 * 2**20


class States(NamedTuple):
    """Hidden states of examples of one number of words: numbers (example,), and one (example, word, width) a layer."""

    examples: np.ndarray
    layers: Sequence[np.ndarray]


@dataclass(frozen=True)
class StatesInfo(Header):
    """What a shard says of itself; `layers` counts those of the model, the embeddings are one more column."""

    HOLDS, FORMAT = "hidden states", "1"

    dtype: str
    layers: int
    width: int
    model: str
    corpus: str

    def columns(self) -> dict[str, pa.DataType]:
        """Return the columns of a shard of this many layers."""
        layers = {column_of(layer): pa.large_binary() for layer in range(self.layers + 1)}
        return {"example": pa.uint32(), "size": pa.uint16()} | layers


def column_of(layer: int) -> str:
    """Return the name of a layer's column; 0 are the embeddings."""
    return f"layer_{layer}"


class StatesWriter(RowGroupWriter):
    """Collects hidden states and writes them in row groups of a few tens of MB; see `writing_states`."""

    def __init__(self, path, info: StatesInfo):
        super().__init__(path, info, ROW_GROUP_BYTES)
        self._info = info

    def write(self, states: States):
        """
        Take states of the shard's dtype; the arrays must not change afterwards (they are not copied).

        Raises
        ------
        ValueError
            If dtype or shape is not the shard's.
        """
        info, rows = self._info, len(states.examples)
        size = states.layers[0].shape[1]
        shapes = {(layer.dtype, layer.shape) for layer in states.layers}
        if len(states.layers) != info.layers + 1 or shapes != {(DTYPES[info.dtype], (rows, size, info.width))}:
            raise ValueError(f"{len(states.layers)} layers of {shapes} do not fit into {info}")
        numbers = [pa.array(states.examples, pa.uint32()), pa.array(np.full(rows, size), pa.uint16())]
        self._take(size, [*numbers, *(as_cells(layer, rows) for layer in states.layers)])


def writing_states(path, info: StatesInfo):
    """Yield a `StatesWriter`, as a context; on success the shard stands under `path`, on an error nothing does."""
    return writing(path, lambda temporary: StatesWriter(temporary, info))


class StatesShard(ShardFile):
    """
    A shard of hidden states opened for reading.

    Raises
    ------
    InputError
        If the file is no whole shard of this format version, or not of the model or corpus that was asked for.
    """

    info: StatesInfo

    def __init__(self, path, model: str | None = None, corpus: str | None = None):
        super().__init__(path, StatesInfo, model, corpus)

    def __iter__(self) -> Iterator[States]:
        """Yield the states of every layer, at most a row group at a time; the next is read meanwhile."""
        return self.of_layers(range(self.info.layers + 1))

    def of_layers(self, layers: Sequence[int]) -> Iterator[States]:
        """Yield the states of these layers only, in this order; nothing else is read."""
        for group in self._groups(lambda group: self.read_group(group, layers)):
            yield from group

    def read_group(self, group: int, layers: Sequence[int]) -> list[States]:
        """
        Read these layers of one row group.

        Raises
        ------
        InputError
            If it is damaged.
        """
        rows = self._read_rows(group, ["example", "size", *map(column_of, layers)])
        return [
            States(
                run["example"].to_numpy(),
                [self._numbers(run[column_of(layer)], (size, self.info.width)) for layer in layers],
            )
            for run, size in runs_of_one_size(rows)
        ]

    def sizes(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the numbers of a row group's examples, uint32 (example,), and their words, uint16 (example,)."""
        for group in range(self._parquet.num_row_groups):
            rows = self._read_rows(group, ["example", "size"])
            yield rows["example"].to_numpy(), rows["size"].to_numpy()
