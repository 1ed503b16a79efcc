"""
Encoded examples: what a corpus is to one model, and which of its maps a shard holds.

A text corpus keeps token-level maps. A corpus of words keeps word-level maps, in which each special token is a word of
its own: `words` then tells for each token which row of the map it belongs to.
"""

import hashlib
from collections.abc import Iterable
from enum import IntEnum
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from headscope.description import Description
from headscope.errors import InputError
from headscope.files import replacing
from headscope.keys import KEYS
from headscope.seals import seal

ENCODED = pl.Schema(
    {
        "example": pl.UInt32,
        "where": pl.String,
        "truncated": pl.Boolean,
        "ids": pl.List(pl.Int32),
        "segments": pl.List(pl.UInt8),
        "words": pl.List(pl.UInt16),
        "tokens": pl.List(pl.String),
        "kinds": pl.List(pl.UInt8),
    }
)
"""`ids`, `segments`, `words` (null for token-level maps) have an entry a token, `tokens` and `kinds` one a map row."""
EXAMPLES_AT_ONCE = 4096  # of a row group: a job reads those that its shard is in


class Kind(IntEnum):
    """What a token is to the analyses. Special tokens are told by position (the encoding's own mask), not by name."""

    TEXT = 0
    CLS = 1
    SEP = 2
    PUNCTUATION = 3  # "." or ","
    SPECIAL = 4  # any other special token


WORDS = frozenset((Kind.TEXT, Kind.PUNCTUATION))
KIND_OF_KEY = dict(zip(KEYS, (Kind.CLS, Kind.SEP, Kind.PUNCTUATION), strict=False))
"""Of the kinds of key token; all others are the last of `KEYS`."""


class Encoded(NamedTuple):
    """The examples of one corpus in the tokens of one model, and the digest that its shards carry."""

    table: pl.DataFrame
    corpus: str
    tokenizer: str

    def lengths(self) -> np.ndarray:
        """Return the number of tokens of each example, int64 (example,)."""
        return self.table["ids"].list.len().to_numpy().astype(np.int64)

    def sizes(self) -> np.ndarray:
        """Return the number of rows of each example's maps, int64 (example,): tokens, or words and special tokens."""
        return self.table["kinds"].list.len().to_numpy().astype(np.int64)

    def shard(self, number: int, count: int) -> "Encoded":
        """Return the examples of shard `number` (from 1) of `count`."""
        start, stop = shard_bounds(self.lengths(), count)[number - 1]
        return self._replace(table=self.table[start:stop])

    def shard_named(self, name: str) -> "Encoded":
        """Return the examples of the shard of this name, `2-of-4`."""
        return self.shard(*map(int, name.split("-of-")))

    def parts(self, count: int) -> "list[Encoded]":
        """Return the examples as so many shards, in order; some may be empty."""
        return [self.shard(number, count) for number in range(1, count + 1)]

    def example(self, number: int | None) -> dict:
        """
        Return the row of one example as a dictionary of columns; None means the first.

        Raises
        ------
        InputError
            If there is no such example, or it was skipped.
        """
        row = self.table.head(1) if number is None else self.table.filter(example=number)
        if row.is_empty():
            raise InputError(
                f"example {number}: expected one of {self.table.height} encoded examples, found none of that number; "
                f"the last is {self.table['example'].max()}, and skipped ones are in skipped.csv"
            )
        return row.row(0, named=True)

    def refuse_other_tokens(self, described: Description):
        """
        Refuse to give these examples to a model with another tokenizer.

        Raises
        ------
        InputError
            If they were encoded for one.
        """
        if self.tokenizer != described.tokenizer:
            raise InputError(
                f"model {described.name}: expected examples in its own tokens ({described.tokenizer}), found those of "
                f"another tokenizer ({self.tokenizer}); delete the folder encoded/ of this model and run again"
            )

    def refuse_other_shards(self, shards: Iterable[pl.DataFrame]):
        """
        Refuse the tables of shards, rows in the order of `example`, that together do not hold every one exactly once.

        Raises
        ------
        InputError
            As `refuse_other_examples`.
        """
        found = [shard["example"].unique(maintain_order=True) for shard in shards]
        self.refuse_other_examples(pl.concat(found) if found else pl.Series("example", [], pl.UInt32), "examples")

    def refuse_other_examples(self, found: pl.Series, unit: str, folder: str = "attention"):
        """
        Refuse shards that together do not hold every example exactly once.

        Parameters
        ----------
        found
            The example numbers of all shards, in order, uint32.
        unit
            What an example is called in the message.
        folder
            Where the shards lie.

        Raises
        ------
        InputError
            If an example is missing, doubled or out of order.
        """
        wanted = self.table["example"]
        if not found.equals(wanted):
            missing = wanted.is_in(found.implode()).not_().sum()
            raise InputError(
                f"shards: expected each of {len(wanted)} {unit} once and in order, found {len(found)} with {missing} "
                f"missing; delete the folder {folder}/ of this model and corpus and run again"
            )


def word_rows(kinds: list[int]) -> slice:
    """
    Return where the words stand among the rows of a word-level map: between the special tokens around them.

    Raises
    ------
    InputError
        If special tokens stand between words.
    """
    is_word = [kind in WORDS for kind in kinds]
    first, words = is_word.index(True), sum(is_word)
    if not all(is_word[first:][:words]):
        raise InputError("expected words in a row among special tokens, found them parted; encode the corpus again")
    return slice(first, first + words)


def shard_bounds(lengths: np.ndarray, shards: int) -> list[tuple[int, int]]:
    """
    Cut examples into consecutive shards of about equal work (the sum of squared lengths).

    Parameters
    ----------
    lengths
        Tokens of each example, int64 (example,).
    shards
        How many; some are empty where there are fewer examples.

    Returns
    -------
    list of (first row, row after the last), one a shard; together every row once, in order.
    """
    work = np.concatenate([[0], np.cumsum(lengths.astype(np.int64) ** 2)])
    middles = (work[:-1] + work[1:]) / 2
    cuts = np.searchsorted(middles, work[-1] * np.arange(shards + 1) / shards)
    return [(int(start), int(stop)) for start, stop in pairwise(cuts)]


def encoded_of(table: pl.DataFrame, tokenizer: str) -> Encoded:
    """Return encoded examples with the digest of their content, given that of their tokenizer."""
    digest = hashlib.blake2b(digest_size=16)
    for column in ("example", "ids", "segments", "words", "kinds"):
        digest.update(np.ascontiguousarray(table[column].explode(empty_as_null=False).to_numpy()).tobytes())
    for column in ("ids", "kinds"):
        digest.update(table[column].list.len().to_numpy().tobytes())
    return Encoded(table, digest.hexdigest(), tokenizer)


def write_encoded(table: pl.DataFrame, path, tokenizer: str):
    """Write encoded examples with a digest of their content (`corpus`) and of their tokenizer in the metadata."""
    encoded = encoded_of(table, tokenizer)
    with replacing(path) as temporary:
        metadata = {"corpus": encoded.corpus, "tokenizer": tokenizer}
        table.write_parquet(temporary, row_group_size=EXAMPLES_AT_ONCE, metadata=metadata)
        seal(temporary)


def read_encoded(path: str | Path, shard: str | None = None) -> Encoded:
    """
    Read what `write_encoded` wrote: all of it, or no more than the examples of shard `2-of-4`.

    Raises
    ------
    InputError
        If the file is not one of ours.
    """
    metadata = pl.read_parquet_metadata(path)
    if not {"corpus", "tokenizer"} <= metadata.keys():
        raise InputError(f"{path}: expected encoded examples, found a Parquet file without their fingerprints")
    if shard is None:
        return Encoded(pl.read_parquet(path), metadata["corpus"], metadata["tokenizer"])
    rows, (number, shards) = pl.scan_parquet(path), map(int, shard.split("-of-"))
    lengths = rows.select(pl.col("ids").list.len()).collect(engine="streaming").to_series()
    start, stop = shard_bounds(lengths.to_numpy(), shards)[number - 1]
    return Encoded(rows.slice(start, stop - start).collect(), metadata["corpus"], metadata["tokenizer"])
