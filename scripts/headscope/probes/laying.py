"""
Attention between words laid out for probes to learn from: re-laid once, so that any sentence can be read alone.

`sentences.arrow` is an Arrow file with a record batch a sentence and a row a word: attention maps of all shards of a
training treebank, and the tree, so that no result depends on how they were sharded and none has to fit into memory.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from headscope.encoding import Encoded, Kind, word_rows
from headscope.errors import InputError
from headscope.files import replacing
from headscope.probes.trees import Trees
from headscope.seals import seal
from headscope.store import Maps, on_host

if TYPE_CHECKING:
    import torch

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
OUTSIDE = 2**16 - 1  # the same in the type of heads; no sentence has as many words


class Attended(NamedTuple):
    """
    Sentences of one size: example numbers, `weights` (sentence, query, layer · head, key) and `specials`.

    The latter two are NumPy's, or tensors where the maps are.
    """

    examples: np.ndarray
    weights: "np.ndarray | torch.Tensor"
    specials: "np.ndarray | torch.Tensor"


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


def _to_specials(words: "np.ndarray | torch.Tensor", kinds: list[int]) -> "np.ndarray | torch.Tensor":
    """The mean attention of all heads to the first and last special token: float32 (sentence, query, 2)."""
    special = [row for row, kind in enumerate(kinds) if kind not in (Kind.TEXT, Kind.PUNCTUATION)]
    if not special:
        constant = np.zeros((len(words), words.shape[2], 2), np.float32)
        constant[..., 0] = 1
        return constant
    chosen = words[..., [special[0], special[-1]]]
    return chosen.mean(1, dtype=np.float32) if isinstance(words, np.ndarray) else chosen.float().mean(1)


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
