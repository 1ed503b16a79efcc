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
    }
)
SHOWN_RELATIONS = 5
SHOWN_WORDS = (6, 16)


class Tree(NamedTuple):
    """One sentence in one scheme: the head (from 1, 0 for the root) and relation of each word."""

    heads: np.ndarray
    relations: list[str]


def predicted_heads(weights: np.ndarray) -> np.ndarray:
    """
    Return for each word the other word that each head-direction picks as its syntactic head.

    Parameters
    ----------
    weights
        Attention between the words of a sentence, without special tokens, (layer, head, query, key).

    Returns
    -------
    int64 (direction, layer, head, word), from 0: the word it attends to most, and the word that attends to it most. The
    diagonal is left out, ties go to the first word. A sentence of one word picks itself.
    """
    others = weights.astype(np.float32)
    size = others.shape[-1]
    others[..., np.arange(size), np.arange(size)] = -1
    return np.stack([others.argmax(-1), np.ascontiguousarray(others.swapaxes(-1, -2)).argmax(-1)])


def tree_hits(picked: np.ndarray, tree: Tree, words: list[str], scheme: str) -> np.ndarray:
    """
    Return whether each head-direction picks the gold head of each word.

    In the Stanford scheme a possessor that is followed by its clitic is also hit where the clitic picks the head.

    Parameters
    ----------
    picked
        As `predicted_heads` returns it.

    Returns
    -------
    bool (word, direction, layer, head); False for the root.
    """
    gold = tree.heads.astype(np.int64) - 1
    hits = picked == gold
    if scheme == "stanford":
        for word, relation in enumerate(tree.relations[:-1]):
            if relation == "poss" and words[word + 1].lower() in CLITICS:
                hits[..., word] |= picked[..., word + 1] == gold[word]
    return np.moveaxis(hits, -1, 0)


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
    kinds_of = dict(encoded.table.select("example", "kinds").iter_rows())
    columns = [f"{scheme}_{what}" for scheme in SCHEMES for what in ("heads", "relations")]
    trees_of = {row["example"]: row for row in trees.select("example", "words", *columns).iter_rows(named=True)}
    parts = []
    for batch in maps:
        for example, weights in zip(batch.examples.tolist(), batch.weights, strict=True):
            row = trees_of[example]
            inside = np.isin(kinds_of[example], (Kind.TEXT, Kind.PUNCTUATION))
            if inside.sum() != len(row["words"]) or len(inside) != weights.shape[-1]:
                raise InputError(
                    f"example {example}: expected maps of {len(row['words'])} words, found {inside.sum()}; the shard "
                    "was made from another treebank: delete it and run again"
                )
            picked = predicted_heads(weights[..., inside, :][..., inside])
            for scheme in SCHEMES:
                tree = Tree(np.array(row[f"{scheme}_heads"]), row[f"{scheme}_relations"])
                packed = np.packbits(tree_hits(picked, tree, row["words"], scheme).reshape(len(tree.heads), -1), axis=1)
                parts.append((scheme, example, tree, packed))
    return _hits_table(sorted(parts, key=lambda part: (SCHEMES.index(part[0]), part[1])))


def _hits_table(parts) -> pl.DataFrame:
    if not parts:
        return HITS.to_frame()
    sizes = [len(tree.heads) for _, _, tree, _ in parts]
    word = np.concatenate([np.arange(1, size + 1) for size in sizes])
    head = np.concatenate([tree.heads for _, _, tree, _ in parts]).astype(np.int64)
    packed = np.concatenate([packed for _, _, _, packed in parts])
    width = packed.shape[1]
    cells = packed.tobytes()
    return pl.DataFrame(
        {
            "scheme": np.repeat([scheme for scheme, _, _, _ in parts], sizes).astype(object),
            "example": np.repeat([example for _, example, _, _ in parts], sizes),
            "word": word,
            "relation": [relation for _, _, tree, _ in parts for relation in tree.relations],
            "offset": pl.Series(head - word).set(pl.Series(head == 0), None),
            "hits": [cells[start : start + width] for start in range(0, len(cells), width)],
        },
        HITS,
    )


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
    return Scored(table["example"].to_numpy(), table["relation"].to_numpy(), offsets, bits)


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
    names, counts = np.unique(scored.relations[~np.isnan(scored.offsets)].astype(str), return_counts=True)
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


def shown_words(row: dict, rank: int, sentence: dict, kinds: list[int], weights: np.ndarray) -> pl.DataFrame:
    """
    Return the attention of one head between the words of one sentence, one row a cell.

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
    """
    inside = np.isin(kinds, (Kind.TEXT, Kind.PUNCTUATION))
    cells = weights[row["layer"] - 1, row["head"] - 1][inside][:, inside]
    words, scheme = sentence["words"], row["scheme"]
    query, key = np.indices(cells.shape).reshape(2, -1)
    dependent, other = (query, key) if row["direction"] == DIRECTIONS[0] else (key, query)
    relations, heads = np.array(sentence[f"{scheme}_relations"], object), np.array(sentence[f"{scheme}_heads"])
    of_relation = relations[dependent] == row["relation"]
    shown = {
        name: [row[name]] * len(query) for name in ("scheme", "relation", "layer", "head", "direction", "accuracy")
    }
    shown |= {
        "rank": [rank] * len(query),
        "example": [sentence["example"]] * len(query),
        "query": query + 1,
        "key": key + 1,
        "query_word": [words[position] for position in query],
        "key_word": [words[position] for position in key],
        "weight": cells.ravel().astype(np.float32),
        "of_relation": of_relation.astype(bool),
        "gold": (of_relation & (heads[dependent] == other + 1)).astype(bool),
    }
    return pl.DataFrame(shown, EXAMPLES)
