"""
From hits to numbers: accuracy of every head, Table 2 with intervals and held-out values, accuracy by distance.

Source: Clark et al. 2019, table 2; intervals, held-out heads and distances are ours.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import polars as pl

from headscope.coreference.names import ALL, BASELINES, DIRECTIONS, TYPES
from headscope.description import Description
from headscope.encoding import Encoded
from headscope.errors import InputError
from headscope.hits import HEAD_COLUMNS, Hits, chosen_on_other_half, counts_by_example, read_hits, rows_of_heads
from headscope.statistics import bootstrap_intervals

HEADS = pl.Schema({"candidates": pl.String, "mention_type": pl.String} | HEAD_COLUMNS)
TABLE2 = pl.Schema(
    {
        "candidates": pl.String,
        "predictor": pl.String,
        "layer": pl.UInt16,
        "head": pl.UInt16,
        "direction": pl.String,
        **{
            f"{name}_{column}": dtype
            for name in TYPES
            for column, dtype in (
                ("accuracy", pl.Float64),
                ("ci_low", pl.Float64),
                ("ci_high", pl.Float64),
                ("total", pl.UInt32),
            )
        },
    }
)
DISTANCES = pl.Schema(
    {
        "candidates": pl.String,
        "predictor": pl.String,
        "distance_low": pl.UInt32,
        "distance_high": pl.UInt32,
        "correct": pl.UInt32,
        "total": pl.UInt32,
        "accuracy": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
    }
)
"""Distances in words from the nearest antecedent's head, both ends included; the last bin has no upper end."""
DISTANCE_BINS = (1, 3, 6, 11, 21, 41, 81, 161)


class Scored(NamedTuple):
    """
    Anaphors with one candidate set: hits, types, distances, and whether each baseline is right (anaphor,).

    `documents`: the numbers of all documents, ascending, also of those without an anaphor.
    """

    documents: np.ndarray
    hits: Hits
    types: np.ndarray
    distances: np.ndarray
    baselines: dict[str, np.ndarray]

    def of_type(self, name: str) -> np.ndarray:
        """Return which anaphors are of a type, bool (anaphor,)."""
        return np.ones(len(self.types), dtype=bool) if name == ALL else self.types == name


def read_scored(paths: Iterable, candidates: str, described: Description, encoded: Encoded) -> Scored:
    """
    Put the anaphors of all shards together.

    Raises
    ------
    InputError
        If the shards do not hold every document exactly once, or there is no anaphor in any.
    """
    table = read_hits(paths, encoded, "documents", candidates=candidates).drop_nulls("mention")
    if table.is_empty():
        raise InputError(
            f"coreference: expected mentions with an antecedent in {encoded.table.height} documents, found none; are "
            "the chains annotated, and max_tokens large enough?"
        )
    return Scored(
        encoded.table["example"].to_numpy(),
        Hits.of(table, len(DIRECTIONS), described),
        table["mention_type"].to_numpy().astype(str),
        table["distance"].to_numpy(),
        {name: table[name].to_numpy() for name in BASELINES},
    )


def merge_coreference(
    scored: dict[str, Scored], resamples: int, seed: int
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """
    Turn bits into the tables `coreference/heads`, `coreference/table2` and `coreference/distances`.

    Parameters
    ----------
    scored
        The anaphors with each candidate set.
    resamples, seed
        Of the bootstrap over documents.

    Returns
    -------
    heads
        candidates, mention_type, layer, head, direction, correct, total, accuracy.
    table2
        One row per (candidates, predictor), with accuracy, 95 % interval and number of anaphors per type of mention.
        The predictor `head` is the best head-direction over all anaphors (ties: the first of `DIRECTIONS`, then the
        lowest layer and head); `held_out` the one that is best on one half of the documents, scored on the other half,
        mean of both. Null where there is nothing to count.
    distances
        The accuracy of the baselines and of the best head by distance from the nearest antecedent.
    """
    heads, table2, distances = [HEADS.to_frame()], [], [DISTANCES.to_frame()]
    for candidates, of_set in scored.items():
        correct = {name: of_set.hits.where(of_set.of_type(name)).correct() for name in TYPES}
        heads += [_head_rows(candidates, name, correct[name], of_set) for name in TYPES]
        best = int(correct[ALL].argmax())
        right = {**of_set.baselines, "head": of_set.hits.of_head(best)}
        table2 += _table2_rows(candidates, of_set, right, best, resamples, seed)
        distances.append(_distance_rows(candidates, of_set, right, resamples, seed))
    return pl.concat(heads), pl.DataFrame(table2, TABLE2), pl.concat(distances)


def _head_rows(candidates, name, correct, scored: Scored) -> pl.DataFrame:
    total = int(scored.of_type(name).sum())
    if not total:
        return HEADS.to_frame()
    named = {"candidates": candidates, "mention_type": name}
    return rows_of_heads(HEADS, named, correct, total, scored.hits.shape, DIRECTIONS)


class _Weighted(NamedTuple):
    """Whether a predictor is right about each of some anaphors, and how much each of them counts."""

    examples: np.ndarray
    right: np.ndarray
    weights: np.ndarray

    def accuracy(self) -> float | None:
        return float(self.right @ self.weights / self.weights.sum()) if len(self.right) else None


def _table2_rows(candidates, scored: Scored, right, best, resamples, seed) -> list[dict]:
    direction, layer, head = scored.hits.named(best)
    singled_out = {"layer": layer, "head": head, "direction": DIRECTIONS[direction]}
    examples = scored.hits.examples
    halves, cells = chosen_on_other_half(scored.hits), {}
    for name in TYPES:
        of_type = scored.of_type(name)
        for predictor, values in right.items():
            cells[predictor, name] = _Weighted(examples[of_type], values[of_type], np.ones(of_type.sum()))
        cells["held_out", name] = _held_out(scored.hits, halves, of_type)
    low, high = _intervals(scored.documents, cells.values(), resamples, seed)
    rows = {predictor: {"candidates": candidates, "predictor": predictor} for predictor, _ in cells}
    rows["head"] |= singled_out
    for (predictor, name), cell, lowest, highest in zip(cells, cells.values(), low, high, strict=True):
        rows[predictor] |= {
            f"{name}_accuracy": cell.accuracy(),
            f"{name}_ci_low": lowest,
            f"{name}_ci_high": highest,
            f"{name}_total": len(cell.right),
        }
    return list(rows.values())


def _held_out(hits: Hits, halves: list[tuple[np.ndarray, int]], of_type: np.ndarray) -> _Weighted:
    """
    The anaphors of one type, each predicted by the head that is best on the half of documents it is not in.

    Each half weighs the same, so that the accuracy is the mean of both; nothing where one half has no anaphors.
    """
    right, weights = np.zeros((2, len(of_type)))
    for half, chosen in halves:
        counted = half & of_type
        right[counted] = hits.of_head(chosen)[counted]
        weights[counted] = 1 / max(1, counted.sum())
    if not halves or not all((half & of_type).any() for half, _ in halves):
        of_type = np.zeros_like(of_type)
    return _Weighted(hits.examples[of_type], right[of_type], weights[of_type])


def _intervals(documents, cells: Iterable[_Weighted], resamples, seed) -> tuple[list, list]:
    cells = list(cells)
    correct = [counts_by_example(documents, cell.examples, cell.right * cell.weights) for cell in cells]
    total = [counts_by_example(documents, cell.examples, cell.weights) for cell in cells]
    low, high = bootstrap_intervals(np.stack(correct, axis=1), np.stack(total, axis=1), resamples, seed)
    return [_known(value) for value in low], [_known(value) for value in high]


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _distance_rows(candidates, scored: Scored, right, resamples, seed) -> pl.DataFrame:
    number = np.searchsorted(DISTANCE_BINS, scored.distances, side="right") - 1
    cells, rows = [], []
    for predictor, values in right.items():
        for place, lowest in enumerate(DISTANCE_BINS):
            inside = number == place
            cell = _Weighted(scored.hits.examples[inside], values[inside], np.ones(inside.sum()))
            cells.append(cell)
            rows.append(
                {
                    "candidates": candidates,
                    "predictor": predictor,
                    "distance_low": lowest,
                    "distance_high": DISTANCE_BINS[place + 1] - 1 if place + 1 < len(DISTANCE_BINS) else None,
                    "correct": int(cell.right.sum()),
                    "total": len(cell.right),
                    "accuracy": cell.accuracy(),
                }
            )
    low, high = _intervals(scored.documents, cells, resamples, seed)
    intervals = zip(low, high, strict=True)
    return pl.DataFrame(
        [{**row, "ci_low": lowest, "ci_high": highest} for row, (lowest, highest) in zip(rows, intervals, strict=True)],
        DISTANCES,
    )
