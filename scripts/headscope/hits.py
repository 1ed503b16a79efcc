"""
Hits: whether each head-direction is right about each thing that is scored, one bit each, packed.

From them come accuracies, the best head, what it reaches when chosen on other examples, and the counts that a bootstrap
over examples draws from. Syntax scores dependents of sentences, coreference anaphors of documents.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import polars as pl

from headscope.description import Description
from headscope.encoding import Encoded

ROWS_AT_ONCE = 4096
HEAD_COLUMNS = {
    "layer": pl.UInt16,
    "head": pl.UInt16,
    "direction": pl.String,
    "correct": pl.UInt32,
    "total": pl.UInt32,
    "accuracy": pl.Float64,
}


class Hits(NamedTuple):
    """The example of each thing scored (thing,), the bits (thing, byte), and their shape (direction, layer, head)."""

    examples: np.ndarray
    bits: np.ndarray
    shape: tuple[int, int, int]

    @classmethod
    def of(cls, table: pl.DataFrame, directions: int, described: Description) -> "Hits":
        """Take the columns `example` and `hits` of a table with a row for each thing scored."""
        shape = (directions, described.layers, described.heads)
        bits = np.frombuffer(b"".join(table["hits"]), np.uint8).reshape(table.height, -(-math.prod(shape) // 8))
        return cls(table["example"].to_numpy(), bits, shape)

    def where(self, chosen: np.ndarray) -> "Hits":
        """Return those of the things that are chosen, bool (thing,)."""
        return self._replace(examples=self.examples[chosen], bits=self.bits[chosen])

    def correct(self) -> np.ndarray:
        """Return how many things each head-direction is right about, int64 (direction · layer · head,)."""
        width = math.prod(self.shape)
        total = np.zeros(width, np.int64)
        for start in range(0, len(self.bits), ROWS_AT_ONCE):
            part = np.unpackbits(self.bits[start : start + ROWS_AT_ONCE], axis=1, count=width)
            total += part.sum(0, dtype=np.int64)
        return total

    def of_head(self, number: int) -> np.ndarray:
        """Return whether one head-direction, by its number among all, is right about each thing, bool (thing,)."""
        return (self.bits[:, number // 8] >> (7 - number % 8)) & 1 == 1

    def folds(self) -> list[np.ndarray]:
        """Return which things are of examples of even and of odd number, two of bool (thing,)."""
        return [self.examples % 2 == parity for parity in (0, 1)]

    def named(self, number: int) -> tuple[int, int, int]:
        """Return direction (from 0), layer and head (from 1) of a head-direction."""
        direction, layer, head = np.unravel_index(number, self.shape)
        return int(direction), int(layer) + 1, int(head) + 1


def read_hits(paths: Iterable, encoded: Encoded, unit: str, **only) -> pl.DataFrame:
    """
    Put the tables of hits of all shards together.

    Parameters
    ----------
    unit
        What an example is called in a message.
    only
        Values of columns; other rows are left out.

    Raises
    ------
    InputError
        If the shards do not hold the examples in order and once.
    """
    table = pl.concat(pl.scan_parquet(path).filter(**only) for path in paths).collect()
    encoded.refuse_other_examples(table["example"].rle().struct.field("value"), unit)
    return table


def chosen_on_other_half(hits: Hits) -> list[tuple[np.ndarray, int]]:
    """
    Return for each half of the examples (even numbers, odd numbers) the head-direction that is best on the other half.

    Returns
    -------
    Which things are of the half, bool (thing,), and the number of the head-direction; nothing where one half is empty.
    """
    even, odd = hits.folds()
    if not even.any() or not odd.any():
        return []
    return [(half, int(hits.where(other).correct().argmax())) for half, other in ((even, odd), (odd, even))]


def held_out_accuracy(hits: Hits) -> float | None:
    """
    Return what a head reaches on examples that it was not chosen on, the mean of both halves (`chosen_on_other_half`).

    None where one half has nothing to score.
    """
    scores = [hits.of_head(number)[half].mean() for half, number in chosen_on_other_half(hits)]
    return float(np.mean(scores)) if scores else None


def counts_by_example(every: np.ndarray, examples: np.ndarray, values: np.ndarray | None = None) -> np.ndarray:
    """
    Add up values by example, as a bootstrap over examples wants them.

    Parameters
    ----------
    every
        The numbers of all examples, ascending (example,); one of which nothing is scored counts 0.
    examples
        The example of each thing (thing,).
    values
        Of each thing; None counts them.

    Returns
    -------
    float64 (example,)
    """
    return np.bincount(np.searchsorted(every, examples), values, len(every)).astype(np.float64)


def rows_of_heads(
    schema: pl.Schema, named: dict[str, str], correct: np.ndarray, total: int, shape: tuple[int, int, int], directions
) -> pl.DataFrame:
    """Return a row for every head-direction: what it is named by, layer, head, direction, correct, total, accuracy."""
    direction, layer, head = np.indices(shape).reshape(3, -1)
    columns = {
        **{column: [name] * len(correct) for column, name in named.items()},
        "layer": layer + 1,
        "head": head + 1,
        "direction": [directions[number] for number in direction],
        "correct": correct,
        "total": [total] * len(correct),
        "accuracy": correct / total,
    }
    return pl.DataFrame(columns, schema)
