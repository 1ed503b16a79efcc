"""
How often the strongest attention of a head joins a word to its syntactic head.

Per dependent and head-direction one bit, packed: one table a shard. Source: Clark et al. 2019, section 4.2.
"""

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from headscope.corpora.trees import has_scheme
from headscope.encoding import Encoded, word_rows
from headscope.errors import InputError
from headscope.store import Maps
from headscope.syntax.names import DIRECTIONS, SCHEMES

if TYPE_CHECKING:
    import torch

BLOCK_WEIGHTS = 2**19  # weights scored at once: some 10 MiB of work areas
WORD_BITS = 16  # a map has at most 65,535 rows
CLITICS = ("'s", "'", "’s", "’")
HITS = pl.Schema(
    {
        "scheme": pl.String,
        "example": pl.UInt32,
        "word": pl.UInt16,
        "relation": pl.String,
        "offset": pl.Int16,
        "hits": pl.Binary,
    }
)
"""`offset`: head - dependent in words, null for the root; `hits`: a bit per (direction, layer, head), in that order."""


def predicted_heads(weights: "np.ndarray | torch.Tensor") -> np.ndarray:
    """
    Return for each word the other word that each head-direction picks as its syntactic head.

    Parameters
    ----------
    weights
        Attention between the words of sentences of one length, without special tokens, float16 or float32
        (example, layer, head, query, key); not negative. Of a tensor only the words picked leave its device.

    Returns
    -------
    int64 (example, direction, layer, head, word), from 0: the word it attends to most, and the word that attends to
    it most. The diagonal is left out, ties go to the first word. A word picks itself, which is never right, where there
    is no other word or no weight: the first word of a causal head attends to no other, the last is attended by none.
    """
    if not isinstance(weights, np.ndarray):
        return _predicted_with_torch(weights)
    examples, layers, heads, size, _ = weights.shape
    pairs = _ordered(weights)
    first_wins = np.arange(size, 0, -1).astype(pairs.dtype)
    picked = np.empty((len(DIRECTIONS), size, len(pairs[0, 0])), np.int64)
    lowest_bits = pairs.dtype.type(2**WORD_BITS - 1)
    for direction, others in enumerate((1, 0)):
        numbered = pairs | np.expand_dims(first_wins, (1 - others, 2))
        numbered[np.arange(size), np.arange(size)] = 0
        best = numbered.max(others)
        number = size - (best & lowest_bits).astype(np.int64)
        picked[direction] = np.where(best > lowest_bits, number, np.arange(size)[:, None])
    return np.moveaxis(picked.reshape(len(DIRECTIONS), size, examples, layers, heads), (2, 1), (0, 4))


def _predicted_with_torch(weights: "torch.Tensor") -> np.ndarray:
    """Return what `predicted_heads` does; torch's maxima, too, are the first of equal ones."""
    others = weights.clone()
    others.diagonal(dim1=-2, dim2=-1).fill_(-1)
    best = [others.max(dim) for dim in (-1, -2)]
    picked = np.stack([number.masked_fill(value <= 0, -1).int().cpu().numpy() for value, number in best], axis=1)
    return np.where(picked < 0, np.arange(picked.shape[-1]), picked)


def _ordered(weights: np.ndarray) -> np.ndarray:
    """
    Whole numbers in the order of the weights, with room for a word's number in their lowest bits.

    The bits of floats that are not negative are such numbers. Returned as (query, key, map), so that a maximum over
    queries or keys runs along memory.
    """
    bits, wider = (np.uint16, np.uint32) if weights.itemsize == 2 else (np.uint32, np.uint64)
    size = weights.shape[-1]
    by_map = np.ascontiguousarray(weights).view(bits).reshape(-1, size * size)
    return np.left_shift(by_map.T, WORD_BITS, dtype=wider, order="C").reshape(size, size, -1)


def tree_hits(picked: np.ndarray, gold: np.ndarray, possessors: np.ndarray) -> np.ndarray:
    """
    Return whether each head-direction picks the gold head of each word.

    Parameters
    ----------
    picked
        As `predicted_heads` returns it.
    gold
        The head of each word (example, word), from 1; 0 for the root, which is never hit.
    possessors
        Which words are also hit where the word after them, their clitic, picks the head, bool (example, word).

    Returns
    -------
    bool (example, word, direction, layer, head)
    """
    hits = np.moveaxis(picked == gold[:, None, None, None] - 1, -1, 1)
    for example, word in np.argwhere(possessors):
        hits[example, word] |= picked[example, ..., word + 1] == gold[example, word] - 1
    return hits


class Gold(NamedTuple):
    """The trees of one scheme, one word after the other: head (from 1), relation, whether a clitic may hit for it."""

    heads: np.ndarray
    relations: pl.Series
    possessors: np.ndarray

    @classmethod
    def of(cls, trees: pl.DataFrame, scheme: str) -> "Gold":
        """Take one scheme out of the trees; clitics count in the Stanford scheme only."""
        flat = trees.select(pl.col(f"{scheme}_heads", f"{scheme}_relations", "words").explode(empty_as_null=False))
        relations = flat[f"{scheme}_relations"]
        clitic_follows = flat["words"].shift(-1).str.to_lowercase().is_in(CLITICS).fill_null(False)
        possessors = (relations == "poss") & clitic_follows & (scheme == "stanford")
        return cls(flat[f"{scheme}_heads"].to_numpy().astype(np.int64), relations, possessors.to_numpy())


def count_syntax(maps: Iterable[Maps], encoded: Encoded, trees: pl.DataFrame) -> pl.DataFrame:
    """
    Score every head of every example against its trees.

    Parameters
    ----------
    maps
        Word-level maps.
    encoded
        The same examples, for which rows of the maps are special tokens.
    trees
        As `headscope.corpora.trees.read_trees` returns them.

    Returns
    -------
    One row per (scheme, example, word), sorted, columns as `HITS`; of a scheme that the trees do not have, none.

    Raises
    ------
    InputError
        If a map has another number of words than its tree.
    """
    row_of = {example: row for row, example in enumerate(trees["example"])}
    lengths = trees["words"].list.len().to_numpy().astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    kinds_of = dict(encoded.table.select("example", "kinds").iter_rows())
    gold = {scheme: Gold.of(trees, scheme) for scheme in SCHEMES if has_scheme(trees, scheme)}
    packed, seen = {}, np.zeros(starts[-1], dtype=bool)
    for examples, weights in _in_blocks(maps):
        inside = _words_of(examples, weights, kinds_of, lengths, row_of)
        picked = predicted_heads(weights[..., inside, inside])
        index = starts[[row_of[example] for example in examples.tolist()]][:, None] + np.arange(picked.shape[-1])
        seen[index] = True
        for scheme, trees_of in gold.items():
            hits = tree_hits(picked, trees_of.heads[index], trees_of.possessors[index])
            bits = np.packbits(hits.reshape(*index.shape, -1), axis=-1)
            if scheme not in packed:
                packed[scheme] = np.zeros((len(seen), bits.shape[-1]), np.uint8)
            packed[scheme][index] = bits
    if not packed:
        return HITS.to_frame()
    example = np.repeat(trees["example"].to_numpy(), lengths)
    word = np.arange(len(seen)) - np.repeat(starts[:-1], lengths) + 1
    return pl.concat(_hits_table(scheme, example, word, gold[scheme], packed[scheme], seen) for scheme in gold)


def _in_blocks(maps: Iterable[Maps]) -> Iterator[Maps]:
    """Cut batches into blocks that stay in the cache, however many sentences of one length there are."""
    for examples, weights in maps:
        step = max(1, BLOCK_WEIGHTS // math.prod(weights.shape[1:]))
        for start in range(0, len(examples), step):
            yield Maps(examples[start : start + step], weights[start : start + step])


def _words_of(examples, weights, kinds_of, lengths, row_of) -> slice:
    """Where the words stand among the rows of these maps, which are of sentences of one length."""
    for example in examples.tolist():
        rows, expected = word_rows(kinds_of[example]), lengths[row_of[example]]
        if rows.stop - rows.start != expected or len(kinds_of[example]) != weights.shape[-1]:
            raise InputError(
                f"example {example}: expected maps of {expected} words, found {rows.stop - rows.start}; the shard was "
                "made from another treebank: delete it and run again"
            )
    return rows


def _hits_table(scheme, example, word, gold: Gold, packed: np.ndarray, seen: np.ndarray) -> pl.DataFrame:
    cells, width = packed[seen].tobytes(), packed.shape[1]
    offset = pl.Series(gold.heads - word).set(pl.Series(gold.heads == 0), None)
    columns = {
        "example": example[seen],
        "word": word[seen],
        "relation": gold.relations.filter(pl.Series(seen)),
        "offset": offset.filter(pl.Series(seen)),
        "hits": [cells[start : start + width] for start in range(0, len(cells), width)],
    }
    return pl.DataFrame(columns).select(pl.lit(scheme).alias("scheme"), pl.all()).cast(HITS)
