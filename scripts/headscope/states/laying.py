"""
The hidden states of a whole corpus in one file without a name, read in any order of examples.

Learning draws its sentences in an order that shards cannot follow without reading most of themselves for each batch. So
the states are laid out once, example by example in the order of their numbers, in a file that vanishes with
the process; it is read, not mapped, so the memory does not grow with the corpus.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl

from headscope.encoding import Encoded
from headscope.errors import InputError
from headscope.shards import DTYPES
from headscope.states.store import StatesInfo, StatesShard


class LaidStates:
    """
    Hidden states by row, the place of an example among all in the order of their numbers; see `laid_states`.

    `examples`, uint32 (row,): their numbers; `sizes`, int64 (row,): their words.
    """

    def __init__(self, file, info: StatesInfo, examples: np.ndarray, sizes: np.ndarray):
        self.info, self.examples, self.sizes = info, examples, sizes
        self._file = file.fileno()
        self._dtype = DTYPES[info.dtype]
        self._bytes_per_word = info.width * self._dtype.itemsize
        self._starts = np.concatenate([[0], np.cumsum(sizes)]) * self._bytes_per_word * (info.layers + 1)

    def _place(self, row: int, layer: int) -> int:
        return int(self._starts[row] + layer * self.sizes[row] * self._bytes_per_word)

    def lay(self, row: int, layer: int, states: np.ndarray):
        """Write the states of one example at one layer, (word, width)."""
        written, place = memoryview(np.ascontiguousarray(states)).cast("B"), self._place(row, layer)
        while written:
            done = os.pwrite(self._file, written, place)
            written, place = written[done:], place + done

    def read(self, row: int, layers: range) -> np.ndarray:
        """Read the states of one example at consecutive layers, (layer, word, width) in the dtype of the shards."""
        states = np.empty((len(layers), int(self.sizes[row]), self.info.width), self._dtype)
        unread, place = memoryview(states).cast("B"), self._place(row, layers.start)
        while unread:
            done = os.preadv(self._file, [unread], place)
            if not done:
                raise OSError(f"the states of row {row} were laid out only in part")
            unread, place = unread[done:], place + done
        return states


@contextmanager
def laid_states(paths, encoded: Encoded, model: str, folder) -> Iterator[LaidStates]:
    """
    Lay out the states of all shards of a corpus, for as long as the context lasts.

    Parameters
    ----------
    paths
        The shards, in any number.
    encoded
        Their examples.
    model
        The fingerprint of the model that they are to be of.
    folder
        Where there is room for all of them once more.

    Raises
    ------
    InputError
        If a shard is damaged, of another model or corpus, or together they do not hold every example once.
    """
    shards = [StatesShard(path, model, encoded.corpus) for path in paths]
    if len({shard.info for shard in shards}) > 1:
        raise InputError(
            f"{paths[0]}: expected all shards alike, found {[shard.info for shard in shards]}; extract again"
        )
    found = [
        np.concatenate(column) for column in zip(*(group for shard in shards for group in shard.sizes()), strict=True)
    ]
    examples, sizes = found or (np.empty(0, np.uint32), np.empty(0, np.int64))
    order = np.argsort(examples, kind="stable")
    examples, sizes = examples[order], sizes[order].astype(np.int64)
    encoded.refuse_other_examples(pl.Series("example", examples, pl.UInt32), "sentences", "states")
    Path(folder).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as file:
        laid = LaidStates(file, shards[0].info, examples, sizes)
        for shard in shards:
            for layer in range(shard.info.layers + 1):
                for states in shard.of_layers([layer]):
                    for row, of_example in zip(np.searchsorted(examples, states.examples), *states.layers, strict=True):
                        laid.lay(int(row), layer, of_example)
        yield laid
