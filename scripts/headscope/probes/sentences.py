"""What probes learn from, read in batches of any sentences: attention between words as laid out, and the tree."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import torch

from headscope.errors import InputError
from headscope.files import read_ahead
from headscope.probes.laying import OUTSIDE, WORD

NO_HEAD = -1
BATCHES_AHEAD = 2


class Batch(NamedTuple):
    """
    Sentences side by side, the shorter ones filled up; words from 0, without special tokens.

    `weights`: attention between words, float16 (sentence, query, layer · head, key); `specials`: the mean attention of
    all heads to the first and the last special token, float32 (sentence, query, 2), constant where the model has none;
    `numbers`: rows of the word vectors, int64 (sentence, word); `sizes`: int64 (sentence,); `heads`: int64 (sentence,
    word), from 1, 0 for the root and `NO_HEAD` beyond the sentence; `counted`: which words count, bool likewise;
    `by_key`: the weights once more as (sentence, key, layer · head, query), where they were asked for.
    """

    weights: torch.Tensor
    specials: torch.Tensor
    numbers: torch.Tensor
    sizes: torch.Tensor
    heads: torch.Tensor
    counted: torch.Tensor
    by_key: torch.Tensor | None = None

    def to(self, device) -> "Batch":
        """Return the same on a device."""
        return Batch(*(None if part is None else part.to(device, non_blocking=True) for part in self))

    def parts(self, pairs: int | None) -> Iterator["Batch"]:
        """Yield the sentences in parts of at most so many pairs of words (None: all at once), at least one each."""
        at_once = max(1, pairs // self.numbers.shape[1] ** 2) if pairs else len(self.sizes)
        for start in range(0, len(self.sizes), at_once):
            yield Batch(*(None if part is None else part[start : start + at_once] for part in self))

    @property
    def inside(self) -> torch.Tensor:
        """Which words are there, bool (sentence, word)."""
        return torch.arange(self.numbers.shape[1], device=self.sizes.device) < self.sizes[:, None]


class Sentences:
    """
    The sentences of `sentences.arrow`, read one at a time; nothing but their index stays in memory.

    `examples` and `sizes` are int64 (sentence,), sorted by example.
    """

    def __init__(self, path, index: pl.DataFrame, heads: int, control: bool = False):
        self._path, self._maps = path, heads
        self._tree = ("control_head", "control_counted") if control else ("head", "counted")
        self._place = index["example"].arg_sort().to_numpy()
        self.examples = index["example"].to_numpy()[self._place].astype(np.int64)
        self.sizes = index["size"].to_numpy()[self._place].astype(np.int64)

    def batches(self, plan: Iterable[np.ndarray], by_key: bool = False) -> Iterator[Batch]:
        """
        Read batches; the next two, for they are not equally large, are read while one is worked on.

        Parameters
        ----------
        plan
            The sentences of each batch: positions among `examples`.
        by_key
            Whether to lay the weights out by key as well, which a processor would otherwise do for every product.
        """
        with pa.OSFile(str(self._path)) as file:
            reader = pa.ipc.open_file(file)
            yield from read_ahead(lambda rows: self._read(reader, rows, by_key), plan, BATCHES_AHEAD)

    def _read(self, reader, rows: np.ndarray, by_key: bool) -> Batch:
        sizes = self.sizes[rows]
        shape = len(rows), int(sizes.max())
        make = np.empty if (sizes == shape[1]).all() else np.zeros
        weights = make((*shape, self._maps, shape[1]), np.float16)
        turned = make(weights.shape, np.float16) if by_key else None
        words = np.zeros(shape, WORD)
        words[self._tree[0]] = OUTSIDE
        for row, (place, size) in enumerate(zip(self._place[rows].tolist(), sizes.tolist(), strict=True)):
            sentence = reader.get_batch(place)
            if len(sentence) != size:
                raise InputError(f"{self._path}: expected {size} words, found {len(sentence)}; delete it and run again")
            cells, records = sentence.columns
            maps = np.frombuffer(cells.buffers()[2], np.float16).reshape(size, self._maps, size)
            weights[row, :size, :, :size] = maps
            if by_key:
                turned[row, :size, :, :size] = maps.T
            words[row, :size] = np.frombuffer(records.buffers()[1], WORD)
        heads = words[self._tree[0]].astype(np.int64)
        heads[heads == OUTSIDE] = NO_HEAD
        counted, specials = words[self._tree[1]].copy(), words["specials"].copy()
        numbers = words["number"].astype(np.int64)
        parts = weights, specials, numbers, sizes, heads, counted
        batch = Batch(*map(torch.from_numpy, parts))
        if by_key:
            return batch._replace(weights=batch.weights.float(), by_key=torch.from_numpy(turned).float())
        return batch


def plan_by_length(sizes: np.ndarray, words: int, generator: np.random.Generator | None = None) -> list[np.ndarray]:
    """
    Group sentences of about one length into batches of at most so many words, the filling counted.

    Parameters
    ----------
    sizes
        Words of each sentence, int64 (sentence,).
    words
        The most words of a batch; a longer sentence is a batch of its own.
    generator
        Shuffles which sentences of a length come together, and the batches. None: sorted by length, always the same.

    Returns
    -------
    list of positions among `sizes`, int64; each exactly once.
    """
    order = np.arange(len(sizes)) if generator is None else generator.permutation(len(sizes))
    order = order[np.argsort(sizes[order], kind="stable")]
    starts = [0]
    for position, size in enumerate(sizes[order].tolist()):
        if position > starts[-1] and size * (position + 1 - starts[-1]) > words:
            starts.append(position)
    batches = [order[start:stop] for start, stop in pairwise([*starts, len(order)])]
    if generator is not None:
        generator.shuffle(batches)
    return batches
