"""
What probes learn from, laid out so that any sentence can be read alone: attention between words, and the tree.

`sentences.arrow` is an Arrow file with a record batch a sentence and a row a word: attention maps of all shards of a
training treebank, re-laid once, so that no result depends on how they were sharded and none has to fit into memory.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import torch

from headscope.encoding import Encoded, Kind, word_rows
from headscope.errors import InputError
from headscope.files import read_ahead, replacing
from headscope.probes.trees import Trees
from headscope.seals import seal
from headscope.store import Maps, on_host

WORD = np.dtype(
    [
        ("number", "<u4"),
        ("specials", "<f4", 2),
        ("head", "<u2"),
        ("counted", "?"),
        ("control_head", "<u2"),
        ("control_counted", "?"),
    ]
)
"""What is known of a word: the row of its vector, attention to special tokens, the tree, and that of the control."""
SCHEMA = pa.schema({"weights": pa.large_binary(), "word": pa.binary(WORD.itemsize)})
"""A row of a sentence: attention from this word, float16 (layer · head, key), and a `WORD`."""
INDEX = pl.Schema({"example": pl.UInt32, "size": pl.UInt16})
"""Which sentence stands where: a row a record batch, in their order."""
NO_HEAD = -1
OUTSIDE = 2**16 - 1  # the same in the type of heads; no sentence has as many words
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


class Attended(NamedTuple):
    """
    Sentences of one size: example numbers, `weights` (sentence, query, layer · head, key) and `specials`.

    The latter two are NumPy's, or tensors where the maps are.
    """

    examples: np.ndarray
    weights: np.ndarray | torch.Tensor
    specials: np.ndarray | torch.Tensor


def attended(maps: Iterable[Maps], encoded: Encoded, sizes: dict[int, int]) -> Iterator[Attended]:
    """
    Part word-level maps into attention between words and attention to the special tokens around them.

    Parameters
    ----------
    maps
        Word-level maps, (example, layer, head, query, key).
    encoded
        The same examples, for which rows of the maps are special tokens.
    sizes
        The number of words of each example's tree.

    Raises
    ------
    InputError
        If a map has another number of words than its tree.
    """
    kinds_of = dict(encoded.table.select("example", "kinds").iter_rows())
    for examples, weights in maps:
        for positions, kinds in _alike(examples, kinds_of):
            rows = word_rows(kinds)
            chosen = examples[positions]
            for example in chosen.tolist():
                found = weights.shape[-1] - len(kinds) + rows.stop - rows.start
                if sizes[example] != found or sizes[example] != rows.stop - rows.start:
                    raise InputError(
                        f"example {example}: expected maps of {sizes[example]} words, found those of {found}; the "
                        "shard was made from another treebank: delete it and run again"
                    )
            words = weights[positions][:, :, :, rows]
            flat = words.reshape(len(chosen), -1, *words.shape[3:])
            by_query = flat[..., rows].swapaxes(1, 2)
            laid = np.ascontiguousarray(by_query) if isinstance(weights, np.ndarray) else by_query.contiguous()
            yield Attended(chosen, laid, _to_specials(flat, kinds))


def _alike(examples: np.ndarray, kinds_of: dict) -> Iterator[tuple[np.ndarray, list[int]]]:
    """Group sentences of one size whose special tokens stand at the same places, too."""
    groups = {}
    for position, example in enumerate(examples.tolist()):
        kinds = kinds_of[example]
        groups.setdefault(tuple(kind not in (Kind.TEXT, Kind.PUNCTUATION) for kind in kinds), []).append(position)
    for positions in groups.values():
        yield np.array(positions), kinds_of[int(examples[positions[0]])]


def _to_specials(words: np.ndarray | torch.Tensor, kinds: list[int]) -> np.ndarray | torch.Tensor:
    """The mean attention of all heads to the first and last special token: float32 (sentence, query, 2)."""
    special = [row for row, kind in enumerate(kinds) if kind not in (Kind.TEXT, Kind.PUNCTUATION)]
    is_tensor = isinstance(words, torch.Tensor)
    if not special:
        constant = np.zeros((len(words), words.shape[2], 2), np.float32)
        constant[..., 0] = 1
        return torch.from_numpy(constant).to(words.device) if is_tensor else constant
    return words[..., [special[0], special[-1]]].mean(1, dtype=torch.float32 if is_tensor else np.float32)


def write_sentences(
    shards: Iterable[Iterable[Maps]],
    encoded: Encoded,
    trees: Trees,
    permuted: Trees,
    numbers: pl.Series,
    path,
) -> pl.DataFrame:
    """
    Lay the sentences out for training.

    Parameters
    ----------
    shards
        The maps of each shard.
    encoded, trees
        The examples and their trees.
    permuted
        The trees of the control, of the same examples.
    numbers
        The rows of the word vectors for the words of each of the encoded examples.

    Returns
    -------
    The index, a row a sentence as it stands in the file, columns as `INDEX`.

    Raises
    ------
    InputError
        If the shards do not hold every example once, or are of another treebank.
    """
    sizes, written = trees.sizes(), []
    numbers_of = dict(zip(encoded.table["example"].to_list(), numbers, strict=True))
    with replacing(path) as temporary:
        with pa.OSFile(str(temporary), "wb") as file, pa.ipc.new_file(file, SCHEMA) as sink:
            for maps in shards:
                for examples, *of_heads in attended(maps, encoded, sizes):
                    weights, specials = map(on_host, of_heads)
                    weights = weights.astype(np.float16, copy=False)
                    for row, example in enumerate(examples.tolist()):
                        words = np.empty(len(weights[row]), WORD)
                        words["number"], words["specials"] = numbers_of[example].to_numpy(), specials[row]
                        words["head"], words["counted"] = trees.of(example)
                        words["control_head"], words["control_counted"] = permuted.of(example)
                        sink.write_batch(pa.record_batch([_cells(weights[row]), _records(words)], schema=SCHEMA))
                        written.append((example, len(words)))
        seal(temporary, ".arrow")
        index = pl.DataFrame(written, INDEX, orient="row")
        encoded.refuse_other_examples(index["example"].sort(), "sentences")
    return index


def _cells(weights: np.ndarray) -> pa.Array:
    """Attention from each word as a cell: the array's own memory, not a copy."""
    words = len(weights)
    offsets = np.arange(words + 1, dtype=np.int64) * (weights.nbytes // words)
    return pa.Array.from_buffers(pa.large_binary(), words, [None, pa.py_buffer(offsets), pa.py_buffer(weights)])


def _records(words: np.ndarray) -> pa.Array:
    return pa.Array.from_buffers(SCHEMA.field("word").type, len(words), [None, pa.py_buffer(words)])


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
