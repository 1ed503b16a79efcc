"""
From hits to numbers: accuracy of every head, and of the best of each relation with interval, held-out value, baseline.

Source: Clark et al. 2019, Table 1; the interval and the held-out head are ours.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import polars as pl

from headscope.description import Description
from headscope.encoding import Encoded
from headscope.statistics import bootstrap_intervals
from headscope.syntax.names import ALL, DIRECTIONS, PUNCTUATION

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
    encoded.refuse_other_examples(table["example"].rle().struct.field("value"), "sentences")
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
