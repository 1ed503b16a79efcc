"""
From hits to numbers: accuracy of every head, and of the best of each relation with interval, held-out value, baseline.

Source: Clark et al. 2019, Table 1; the interval and the held-out head are ours.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import polars as pl

from headscope.description import Description
from headscope.encoding import Encoded
from headscope.hits import HEAD_COLUMNS, Hits, counts_by_example, held_out_accuracy, read_hits, rows_of_heads
from headscope.statistics import bootstrap_intervals
from headscope.syntax.names import ALL, DIRECTIONS, PUNCTUATION, SCHEMES, offsets_in_order

HEADS = pl.Schema({"scheme": pl.String, "relation": pl.String} | HEAD_COLUMNS)
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


class Scored(NamedTuple):
    """Dependents of one scheme: their hits, relations, and offsets to their heads (NaN for a root)."""

    hits: Hits
    relations: np.ndarray
    offsets: np.ndarray

    def by_relation(self, every: str) -> dict[str, "Scored"]:
        """Return the dependents that count in each row: `all` (`every` says which), then the most frequent first."""
        names, numbers = np.unique(self.relations, return_inverse=True)
        has_head = ~np.isnan(self.offsets)
        is_punctuation = (names == PUNCTUATION)[numbers]
        chosen = {ALL: has_head & ~is_punctuation if every == "words" else np.ones_like(has_head)}
        counts = np.bincount(numbers[has_head], minlength=len(names))
        for number in np.lexsort((names, -counts)):
            chosen[str(names[number])] = has_head & (numbers == number)
        return {
            relation: Scored(self.hits.where(which), self.relations[which], self.offsets[which])
            for relation, which in chosen.items()
            if which.any()
        }


def schemes_in(paths: Iterable) -> list[str]:
    """Return the schemes that the shards were scored in: both of English trees, `ud` alone of others."""
    found = pl.concat(pl.scan_parquet(path).select(pl.col("scheme").unique()) for path in paths).collect()["scheme"]
    return [scheme for scheme in SCHEMES if scheme in found]


def read_scored(paths: Iterable, scheme: str, described: Description, encoded: Encoded) -> Scored:
    """
    Put the dependents of one scheme of all shards together.

    Raises
    ------
    InputError
        If the shards do not hold every example exactly once.
    """
    table = read_hits(paths, encoded, "sentences", scheme=scheme)
    offsets = table["offset"].cast(pl.Float64).to_numpy()
    return Scored(Hits.of(table, len(DIRECTIONS), described), table["relation"].to_numpy().astype(str), offsets)


class Options(NamedTuple):
    """What a table rests on: what `all` counts (`words` or `paper`), the offsets tried, and the bootstrap."""

    every: str = "words"
    offsets: tuple[int, int] = (-5, 5)
    resamples: int = 2000
    seed: int = 0


def merge_syntax(scored: dict[str, Scored], options: Options) -> tuple[pl.DataFrame, pl.DataFrame]:
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

    Totals are the same for every model: what a causal or windowed head cannot see counts as a miss.
    """
    by_head, table1 = [HEADS.to_frame()], []
    for scheme, whole in scored.items():
        parts = whole.by_relation(options.every)
        correct = {relation: part.hits.correct() for relation, part in parts.items()}
        intervals = _intervals(whole, parts, correct, options)
        for relation, part in parts.items():
            named = {"scheme": scheme, "relation": relation}
            total, shape = len(part.relations), part.hits.shape
            by_head.append(rows_of_heads(HEADS, named, correct[relation], total, shape, DIRECTIONS))
            best = _best_row(part, correct[relation], options)
            table1.append({"scheme": scheme, "relation": relation, **best, **intervals[relation]})
    return pl.concat(by_head), pl.DataFrame(table1, TABLE1)


def _best_row(part: Scored, correct: np.ndarray, options: Options) -> dict:
    total = len(part.relations)
    direction, layer, head = part.hits.named(int(correct.argmax()))
    offset, baseline = _best_offset(part.offsets, options.offsets)
    return {
        "total": total,
        "layer": layer,
        "head": head,
        "direction": DIRECTIONS[direction],
        "accuracy": correct.max() / total,
        "held_out_accuracy": held_out_accuracy(part.hits),
        "baseline_offset": offset,
        "baseline_accuracy": baseline,
    }


def _intervals(whole, parts, correct, options) -> dict[str, dict[str, float]]:
    """Of the best head of each relation; a sentence without the relation counts as one with nothing to count."""
    sentences = np.unique(whole.hits.examples)
    counts = np.zeros((2, len(sentences), len(parts)))
    for column, (relation, part) in enumerate(parts.items()):
        hits = part.hits.of_head(int(correct[relation].argmax()))
        counts[0, :, column] = counts_by_example(sentences, part.hits.examples, hits)
        counts[1, :, column] = counts_by_example(sentences, part.hits.examples)
    low, high = bootstrap_intervals(*counts, options.resamples, options.seed)
    return {relation: {"ci_low": low[column], "ci_high": high[column]} for column, relation in enumerate(parts)}


def _best_offset(offsets: np.ndarray, bounds: tuple[int, int]) -> tuple[int, float]:
    """The fixed offset that hits most dependents, and its accuracy; ties go to the nearest, then to the right."""
    tried = offsets_in_order(bounds)
    counts = [(offsets == offset).sum() for offset in tried]
    return tried[int(np.argmax(counts))], float(max(counts) / len(offsets))
