"""
How often the strongest attention of a head joins a word to its syntactic head.

Per dependent and head-direction one bit, packed (`count_syntax`, one table a shard); from the bits of all shards the
accuracies, intervals, held-out accuracies and baselines (`merge_syntax`). Source: Clark et al. 2019, section 4.2.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import polars as pl

from headscope import syntax_names
from headscope.description import Description
from headscope.encoding import Encoded, Kind
from headscope.errors import InputError
from headscope.statistics import bootstrap_intervals
from headscope.store import Maps
from headscope.syntax_names import ALL, PUNCTUATION

SCHEMES, DIRECTIONS = tuple(syntax_names.SCHEMES), tuple(syntax_names.DIRECTIONS)
WORDS = frozenset((Kind.TEXT, Kind.PUNCTUATION))
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


HEADS = pl.Schema(
    {
        "scheme": pl.String,
        "relation": pl.String,
        "layer": pl.UInt16,
        "head": pl.UInt16,
        "direction": pl.String,
        "correct": pl.UInt32,
        "total": pl.UInt32,
        "accuracy": pl.Float64,
    }
)
TABLE1 = pl.Schema(
    {
        "scheme": pl.String,
        "relation": pl.String,
        "total": pl.UInt32,
        "layer": pl.UInt16,
        "head": pl.UInt16,
        "direction": pl.String,
        "accuracy": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "held_out_accuracy": pl.Float64,
        "baseline_offset": pl.Int16,
        "baseline_accuracy": pl.Float64,
    }
)
EXAMPLES = pl.Schema(
    {
        "scheme": pl.String,
        "relation": pl.String,
        "layer": pl.UInt16,
        "head": pl.UInt16,
        "direction": pl.String,
        "accuracy": pl.Float64,
        "rank": pl.UInt8,
        "example": pl.UInt32,
        "query": pl.UInt16,
        "key": pl.UInt16,
        "query_word": pl.String,
        "key_word": pl.String,
        "weight": pl.Float32,
        "of_relation": pl.Boolean,
        "gold": pl.Boolean,
        "picked": pl.Boolean,
        "hit": pl.Boolean,
    }
)
SHOWN_RELATIONS = 5
SHOWN_WORDS = (6, 16)


def predicted_heads(weights: np.ndarray) -> np.ndarray:
    """
    Return for each word the other word that each head-direction picks as its syntactic head.

    Parameters
    ----------
    weights
        Attention between the words of sentences of one length, without special tokens, float16 or float32
        (example, layer, head, query, key); not negative.

    Returns
    -------
    int64 (example, direction, layer, head, word), from 0: the word it attends to most, and the word that attends to
    it most. The diagonal is left out, ties go to the first word. A sentence of one word picks itself.
    """
    examples, layers, heads, size, _ = weights.shape
    pairs = _ordered(weights)
    first_wins = np.arange(size, 0, -1).astype(pairs.dtype)
    picked = np.empty((len(DIRECTIONS), size, len(pairs[0, 0])), np.int64)
    for direction, others in enumerate((1, 0)):
        numbered = pairs | np.expand_dims(first_wins, (1 - others, 2))
        numbered[np.arange(size), np.arange(size)] = 0
        best = numbered.max(others) & pairs.dtype.type(2**WORD_BITS - 1)
        picked[direction] = np.where(best, size - best.astype(np.int64), 0)
    return np.moveaxis(picked.reshape(len(DIRECTIONS), size, examples, layers, heads), (2, 1), (0, 4))


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
    One row per (scheme, example, word), sorted, columns as `HITS`.

    Raises
    ------
    InputError
        If a map has another number of words than its tree.
    """
    row_of = {example: row for row, example in enumerate(trees["example"])}
    lengths = trees["words"].list.len().to_numpy().astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    kinds_of = dict(encoded.table.select("example", "kinds").iter_rows())
    gold = {scheme: Gold.of(trees, scheme) for scheme in SCHEMES}
    packed, seen = {}, np.zeros(starts[-1], dtype=bool)
    for examples, weights in maps:
        inside = _words_of(examples, weights, kinds_of, lengths, row_of)
        picked = predicted_heads(weights[..., inside, inside])
        index = starts[[row_of[example] for example in examples.tolist()]][:, None] + np.arange(picked.shape[-1])
        seen[index] = True
        for scheme, trees_of in gold.items():
            hits = tree_hits(picked, trees_of.heads[index], trees_of.possessors[index])
            bits = np.packbits(hits.reshape(*index.shape, -1), axis=-1)
            packed.setdefault(scheme, np.zeros((len(seen), bits.shape[-1]), np.uint8))[index] = bits
    if not packed:
        return HITS.to_frame()
    example = np.repeat(trees["example"].to_numpy(), lengths)
    word = np.arange(len(seen)) - np.repeat(starts[:-1], lengths) + 1
    return pl.concat(_hits_table(scheme, example, word, gold[scheme], packed[scheme], seen) for scheme in SCHEMES)


def _words_of(examples, weights, kinds_of, lengths, row_of) -> slice:
    """Where the words stand among the rows of these maps: after the special tokens before, before those after."""
    for example in examples.tolist():
        is_word = [kind in WORDS for kind in kinds_of[example]]
        first, words = is_word.index(True), sum(is_word)
        if words != lengths[row_of[example]] or len(is_word) != weights.shape[-1] or not all(is_word[first:][:words]):
            raise InputError(
                f"example {example}: expected maps of {lengths[row_of[example]]} words, found {words}; the shard was "
                "made from another treebank: delete it and run again"
            )
    return slice(first, first + words)


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


class Scored(NamedTuple):
    """Dependents of one scheme: examples, relations and offsets, and bits (dependent, direction · layer · head)."""

    examples: np.ndarray
    relations: np.ndarray
    offsets: np.ndarray
    bits: np.ndarray

    def of(self, relation: str, every: str) -> "Scored":
        """Return the dependents that count in the row of a relation; `every` says what `all` is."""
        if relation != ALL:
            chosen = (self.relations == relation) & ~np.isnan(self.offsets)
        elif every == "paper":
            chosen = np.ones(len(self.relations), dtype=bool)
        else:
            chosen = (self.relations != PUNCTUATION) & ~np.isnan(self.offsets)
        return Scored(*(values[chosen] for values in self))

    def correct(self, width: int) -> np.ndarray:
        """Return how many dependents each head-direction hits, int64 (direction · layer · head,)."""
        total = np.zeros(width, np.int64)
        for start in range(0, len(self.bits), 4096):
            total += np.unpackbits(self.bits[start : start + 4096], axis=1, count=width).sum(0, dtype=np.int64)
        return total

    def hits_of(self, column: int) -> np.ndarray:
        """Return whether one head-direction hits each dependent, bool (dependent,)."""
        return (self.bits[:, column // 8] >> (7 - column % 8)) & 1 == 1


def read_scored(paths: Iterable, scheme: str, described: Description, encoded: Encoded) -> Scored:
    """
    Put the dependents of one scheme of all shards together.

    Raises
    ------
    InputError
        If the shards do not hold every example exactly once.
    """
    table = pl.concat(pl.scan_parquet(path).filter(scheme=scheme) for path in paths).collect()
    found = table["example"].rle().struct.field("value")
    if not found.equals(encoded.table["example"]):
        raise InputError(
            f"syntax hits: expected each of {encoded.table.height} sentences once and in order, found {len(found)}; "
            "delete the folder attention/ of this model and corpus and run again"
        )
    width = len(DIRECTIONS) * described.layers * described.heads
    bits = np.frombuffer(b"".join(table["hits"]), np.uint8).reshape(table.height, -(-width // 8))
    offsets = table["offset"].cast(pl.Float64).to_numpy()
    return Scored(table["example"].to_numpy(), table["relation"].to_numpy().astype(str), offsets, bits)


class Options(NamedTuple):
    """What a table rests on: what `all` counts (`words` or `paper`), the offsets tried, and the bootstrap."""

    every: str = "words"
    offsets: tuple[int, int] = (-5, 5)
    resamples: int = 2000
    seed: int = 0


def merge_syntax(
    scored: dict[str, Scored], described: Description, options: Options
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """
    Turn bits into the tables `syntax/heads` and `syntax/table1`.

    Parameters
    ----------
    scored
        The dependents of each scheme.

    Returns
    -------
    by_head
        scheme, relation, layer, head, direction, correct, total, accuracy.
    table1
        One row per scheme and relation, the most frequent first: the best head-direction (ties: the first of
        `DIRECTIONS`, then the lowest layer and head), its accuracy with a 95 % interval by bootstrap over sentences,
        the accuracy of the head chosen on one half of the sentences and scored on the other (mean of both folds),
        and the best fixed offset with its accuracy.
    """
    shape = (len(DIRECTIONS), described.layers, described.heads)
    by_head, table1 = [HEADS.to_frame()], []
    for scheme, whole in scored.items():
        parts = {relation: whole.of(relation, options.every) for relation in [ALL, *_by_count(whole)]}
        parts = {relation: part for relation, part in parts.items() if len(part.examples)}
        correct = {relation: part.correct(math.prod(shape)) for relation, part in parts.items()}
        intervals = _intervals(whole, parts, correct, options)
        for relation, part in parts.items():
            by_head.append(_head_rows(scheme, relation, correct[relation], len(part.examples), shape))
            row = _best_row(part, correct[relation], shape, options)
            table1.append({"scheme": scheme, "relation": relation, **row, **intervals[relation]})
    return pl.concat(by_head), pl.DataFrame(table1, TABLE1)


def _by_count(scored: Scored) -> list[str]:
    names, counts = np.unique(scored.relations[~np.isnan(scored.offsets)], return_counts=True)
    return [names[number] for number in np.lexsort((names, -counts))]


def _head_rows(scheme, relation, correct, total, shape) -> pl.DataFrame:
    direction, layer, head = np.indices(shape).reshape(3, -1)
    columns = {
        "scheme": [scheme] * len(correct),
        "relation": [relation] * len(correct),
        "layer": layer + 1,
        "head": head + 1,
        "direction": [DIRECTIONS[number] for number in direction],
        "correct": correct,
        "total": [total] * len(correct),
        "accuracy": correct / total,
    }
    return pl.DataFrame(columns, HEADS)


def _best_row(part, correct, shape, options) -> dict:
    best = int(correct.argmax())
    direction, layer, head = np.unravel_index(best, shape)
    offset, baseline = _best_offset(part.offsets, options.offsets)
    return {
        "total": len(part.examples),
        "layer": int(layer) + 1,
        "head": int(head) + 1,
        "direction": DIRECTIONS[direction],
        "accuracy": correct[best] / len(part.examples),
        "held_out_accuracy": _held_out(part, math.prod(shape)),
        "baseline_offset": offset,
        "baseline_accuracy": baseline,
    }


def _intervals(whole, parts, correct, options) -> dict[str, dict[str, float]]:
    """Of the best head of each relation; a sentence without the relation counts as one with nothing to count."""
    sentences = np.unique(whole.examples)
    counts = np.zeros((2, len(sentences), len(parts)))
    for column, (relation, part) in enumerate(parts.items()):
        position = np.searchsorted(sentences, part.examples)
        hits = part.hits_of(int(correct[relation].argmax()))
        counts[0, :, column] = np.bincount(position, hits, len(sentences))
        counts[1, :, column] = np.bincount(position, minlength=len(sentences))
    low, high = bootstrap_intervals(*counts, options.resamples, options.seed)
    return {relation: {"ci_low": low[column], "ci_high": high[column]} for column, relation in enumerate(parts)}


def _held_out(part: Scored, width: int) -> float | None:
    """Choose on the sentences of even number, score on those of odd number, and the other way round."""
    halves = [Scored(*(values[part.examples % 2 == parity] for values in part)) for parity in (0, 1)]
    if not all(len(half.examples) for half in halves):
        return None
    counts = [half.correct(width) for half in halves]
    scores = [counts[1 - fold][counts[fold].argmax()] / len(halves[1 - fold].examples) for fold in (0, 1)]
    return float(np.mean(scores))


def _best_offset(offsets: np.ndarray, bounds: tuple[int, int]) -> tuple[int, float]:
    """The fixed offset that hits most dependents, and its accuracy; ties go to the nearest, then to the right."""
    tried = sorted(
        (offset for offset in range(bounds[0], bounds[1] + 1) if offset), key=lambda offset: (abs(offset), -offset)
    )
    counts = [(offsets == offset).sum() for offset in tried]
    return tried[int(np.argmax(counts))], float(max(counts) / len(offsets))


def relations_to_show(table1: pl.DataFrame, scheme: str, named: list[str], rare: int) -> pl.DataFrame:
    """
    Return the rows of `table1` that figure 5 shows.

    Those named, else the five (of at least `rare` dependents) whose best head gains most over the best fixed offset, by
    the lower end of its interval.

    Raises
    ------
    InputError
        If a relation that is named does not occur.
    """
    rows = table1.filter((pl.col("scheme") == scheme) & (pl.col("relation") != ALL))
    unknown = [relation for relation in named if relation not in rows["relation"]]
    if unknown:
        raise InputError(
            f"figure_5.relations: expected relations of the scheme {scheme} that occur, found {', '.join(unknown)}; "
            f"there are {', '.join(rows['relation'])}"
        )
    if named:
        return rows.filter(pl.col("relation").is_in(named))
    gain = pl.col("ci_low") - pl.col("baseline_accuracy")
    return rows.filter(pl.col("total") >= rare).sort(gain, descending=True, maintain_order=True).head(SHOWN_RELATIONS)


def sentences_to_show(trees: pl.DataFrame, scheme: str, relation: str) -> list[int]:
    """Return the examples that figure 5 shows: the two of 6 to 16 words with most dependents of the relation."""
    dependents = pl.col(f"{scheme}_relations").list.count_matches(relation)
    counted = trees.select("example", words=pl.col("words").list.len(), dependents=dependents)
    fitting = counted.filter(pl.col("words").is_between(*SHOWN_WORDS) & (pl.col("dependents") > 0))
    return fitting.sort("dependents", "example", descending=[True, False])["example"].head(2).to_list()


def shown_words(row: dict, rank: int, sentence: pl.DataFrame, kinds: list[int], weights: np.ndarray) -> pl.DataFrame:
    """
    Return the attention of one head from each word of a sentence to each other word, one row a cell.

    Parameters
    ----------
    row
        The row of `table1`: scheme, relation, layer, head, direction, accuracy.
    sentence
        The row of the trees.
    kinds
        The `Kind` of each row of the map.
    weights
        Maps of the sentence (layer, head, query, key), special tokens included.

    Returns
    -------
    Columns as `EXAMPLES`. `of_relation`: the cell is of a dependent of the relation; `gold`: and of its head;
    `picked`: and the one that is scored; `hit`: its dependent counts as right.
    """
    inside = [kind in WORDS for kind in kinds]
    cells = weights[row["layer"] - 1, row["head"] - 1][inside][:, inside]
    trees, direction = Gold.of(sentence, row["scheme"]), DIRECTIONS.index(row["direction"])
    picked = predicted_heads(cells[None, None, None])
    hits = tree_hits(picked, trees.heads[None], trees.possessors[None])[0, :, direction, 0, 0]
    query, key = np.indices(cells.shape).reshape(2, -1)
    dependent, other = (query, key) if direction == 0 else (key, query)
    of_relation = (trees.relations == row["relation"]).to_numpy()[dependent]
    words = sentence["words"].item().to_numpy()
    shown = {
        name: [row[name]] * len(query) for name in ("scheme", "relation", "layer", "head", "direction", "accuracy")
    }
    shown |= {
        "rank": [rank] * len(query),
        "example": [sentence["example"].item()] * len(query),
        "query": query + 1,
        "key": key + 1,
        "query_word": words[query],
        "key_word": words[key],
        "weight": cells.ravel().astype(np.float32),
        "of_relation": of_relation,
        "gold": of_relation & (trees.heads[dependent] == other + 1),
        "picked": of_relation & (picked[0, direction, 0, 0][dependent] == other),
        "hit": of_relation & hits[dependent],
    }
    return pl.DataFrame(shown, EXAMPLES).filter(pl.col("query") != pl.col("key"))
