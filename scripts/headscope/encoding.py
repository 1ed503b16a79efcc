"""Text to tokens, for every tokenizer: pairs of paragraphs to the inputs of one model, each token with its kind."""

import hashlib
from enum import IntEnum
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from headscope.corpora import SKIPPED
from headscope.description import Description
from headscope.errors import InputError
from headscope.files import replacing

ENCODED = pl.Schema(
    {
        "example": pl.UInt32,
        "where": pl.String,
        "truncated": pl.Boolean,
        "tokens": pl.List(pl.String),
        "ids": pl.List(pl.Int32),
        "segments": pl.List(pl.UInt8),
        "kinds": pl.List(pl.UInt8),
    }
)
PAIRS_AT_ONCE = 1000


class Kind(IntEnum):
    """What a token is to the analyses. Special tokens are told by position (the encoding's own mask), not by name."""

    TEXT = 0
    CLS = 1
    SEP = 2
    PUNCTUATION = 3  # "." or ","
    SPECIAL = 4  # any other special token


class Encoded(NamedTuple):
    """The examples of one corpus in the tokens of one model, and the digest that its shards carry."""

    table: pl.DataFrame
    corpus: str
    tokenizer: str

    def lengths(self) -> np.ndarray:
        """Return the number of tokens of each example, int64 (example,)."""
        return self.table["ids"].list.len().to_numpy().astype(np.int64)

    def shard(self, number: int, count: int) -> "Encoded":
        """Return the examples of shard `number` (from 1) of `count`."""
        start, stop = shard_bounds(self.lengths(), count)[number - 1]
        return self._replace(table=self.table[start:stop])

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


def encode_pairs(
    pairs: pl.DataFrame, tokenizer, max_tokens: int, segments: str = "pair"
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """
    Encode `[CLS] first [SEP] second [SEP]`, or whatever a pair is to this tokenizer.

    The longer side is cut until the whole fits into `max_tokens`. A text that spells a special token is
    ordinary text. Source: paper.md section 0; Clark et al. 2019, section 3.

    Parameters
    ----------
    pairs
        example, where, first, second.
    max_tokens
        Longest example, special tokens included.
    segments
        `pair`: 0 for the first paragraph, 1 for the second; `single`: 0 throughout, as the paper's released
        extractor fed.

    Returns
    -------
    encoded
        One row an example, columns as `ENCODED`; example numbers are those of `pairs`.
    skipped
        The examples of which a paragraph yields no token.

    Raises
    ------
    InputError
        If `max_tokens` leaves no room for a token of each paragraph, or no example is left.
    """
    room = max_tokens - tokenizer.num_special_tokens_to_add(pair=True)
    if room < 2:
        raise InputError(
            f"max_tokens: expected room for two tokens beside the special ones, found {max_tokens}; raise it"
        )
    kept, skipped = [], []
    kinds = kind_teller(tokenizer)
    for part in pairs.iter_slices(PAIRS_AT_ONCE):
        lengths = _token_counts(tokenizer, part["first"]), _token_counts(tokenizer, part["second"])
        empty = (lengths[0] == 0) | (lengths[1] == 0)
        skipped += [
            (row["example"], row["where"], "a paragraph of the pair yields no token")
            for row in part.filter(empty).iter_rows(named=True)
        ]
        truncated = (lengths[0] + lengths[1])[~empty] > room
        if len(truncated):
            kept.append(_encode_part(part.filter(~empty), truncated, tokenizer, kinds, max_tokens, segments))
    if not kept:
        raise InputError(
            f"{pairs['where'].first()}: expected pairs of paragraphs with a token each, found none among "
            f"{pairs.height}; is this text in the model's script?"
        )
    return pl.concat(kept), pl.DataFrame(skipped, SKIPPED, orient="row")


def within_limit(max_tokens: int, described: Description):
    """
    Refuse examples longer than the model's limit.

    Raises
    ------
    InputError
        If `max_tokens` exceeds it.
    """
    if described.limit is not None and max_tokens > described.limit:
        raise InputError(
            f"max_tokens: expected at most {described.limit} tokens, the limit of model {described.name}, found "
            f"{max_tokens}; lower it in the corpus' config entry"
        )


def _token_counts(tokenizer, texts: pl.Series) -> np.ndarray:
    sides = tokenizer(texts.to_list(), add_special_tokens=False, split_special_tokens=True, verbose=False)
    return np.array([len(ids) for ids in sides["input_ids"]])


def _encode_part(part, truncated, tokenizer, kinds, max_tokens, segments):
    inputs = tokenizer(
        part["first"].to_list(),
        part["second"].to_list(),
        truncation="longest_first",
        max_length=max_tokens,
        split_special_tokens=True,
        return_token_type_ids=True,
        return_special_tokens_mask=True,
    )
    types = inputs["token_type_ids"]
    return pl.DataFrame(
        {
            "example": part["example"],
            "where": part["where"],
            "truncated": truncated,
            "tokens": [tokenizer.convert_ids_to_tokens(ids) for ids in inputs["input_ids"]],
            "ids": inputs["input_ids"],
            "segments": types if segments == "pair" else [[0] * len(row) for row in types],
            "kinds": list(map(kinds, inputs["input_ids"], inputs["special_tokens_mask"])),
        },
        ENCODED,
    )


def kind_teller(tokenizer):
    """Return a function from the ids of an encoding and its special-tokens mask to the kind of each token."""
    cls = tokenizer.cls_token_id if tokenizer.cls_token_id is not None else tokenizer.bos_token_id
    sep = tokenizer.sep_token_id if tokenizer.sep_token_id is not None else tokenizer.eos_token_id

    @cache
    def kind(token: int, special: bool) -> Kind:
        if not special:
            return Kind.PUNCTUATION if tokenizer.decode([token]).strip() in (".", ",") else Kind.TEXT
        return Kind.CLS if token == cls else Kind.SEP if token == sep else Kind.SPECIAL

    return lambda ids, special: [kind(token, bool(masked)) for token, masked in zip(ids, special, strict=True)]


def write_encoded(table: pl.DataFrame, path, tokenizer: str):
    """Write encoded examples with a digest of their content (`corpus`) and of their tokenizer in the metadata."""
    digest = hashlib.blake2b(digest_size=16)
    for column in ("example", "ids", "segments", "kinds"):
        digest.update(np.ascontiguousarray(table[column].explode(empty_as_null=False).to_numpy()).tobytes())
    digest.update(table["ids"].list.len().to_numpy().tobytes())
    with replacing(path) as temporary:
        table.write_parquet(temporary, metadata={"corpus": digest.hexdigest(), "tokenizer": tokenizer})


def read_encoded(path: str | Path) -> Encoded:
    """
    Read what `write_encoded` wrote.

    Raises
    ------
    InputError
        If the file is not one of ours.
    """
    metadata = pl.read_parquet_metadata(path)
    if not {"corpus", "tokenizer"} <= metadata.keys():
        raise InputError(f"{path}: expected encoded examples, found a Parquet file without their fingerprints")
    return Encoded(pl.read_parquet(path), metadata["corpus"], metadata["tokenizer"])
