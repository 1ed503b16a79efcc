"""
Text to tokens, for every tokenizer: pairs of paragraphs, or words, to the inputs of one model.

A text corpus keeps token-level maps. A corpus of words keeps word-level maps, in which each special token is a word of
its own: `words` then tells for each token which row of the map it belongs to.
"""

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
        "ids": pl.List(pl.Int32),
        "segments": pl.List(pl.UInt8),
        "words": pl.List(pl.UInt16),
        "tokens": pl.List(pl.String),
        "kinds": pl.List(pl.UInt8),
    }
)
"""`ids`, `segments`, `words` (null for token-level maps) have an entry a token, `tokens` and `kinds` one a map row."""
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

    def sizes(self) -> np.ndarray:
        """Return the number of rows of each example's maps, int64 (example,): tokens, or words and special tokens."""
        return self.table["kinds"].list.len().to_numpy().astype(np.int64)

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

    def refuse_other_examples(self, found: pl.Series, unit: str):
        """
        Refuse shards that together do not hold every example exactly once.

        Parameters
        ----------
        found
            The example numbers of all shards, in order, uint32.
        unit
            What an example is called in the message.

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
                "missing; delete the folder attention/ of this model and corpus and run again"
            )


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
    ordinary text. Source: Clark et al. 2019, section 3.

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
            "ids": inputs["input_ids"],
            "segments": types if segments == "pair" else [[0] * len(row) for row in types],
            "words": [None] * part.height,
            "tokens": [tokenizer.convert_ids_to_tokens(ids) for ids in inputs["input_ids"]],
            "kinds": list(map(kinds, inputs["input_ids"], inputs["special_tokens_mask"])),
        },
        ENCODED,
    )


def encode_words(sentences: pl.DataFrame, tokenizer, max_tokens: int | None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """
    Encode sentences that are split into words, each word by itself, so that no token lies in two words.

    A word is preceded by a blank where the text has one, which byte-level and Unigram tokenizers spell into its
    first token. Special tokens are those that the tokenizer puts around a single text. Source: Clark et al. 2019,
    section 4.1.

    Parameters
    ----------
    sentences
        example, where, words, space_after.
    max_tokens
        Longest example, special tokens included; None where the model has no limit.

    Returns
    -------
    encoded
        One row an example, columns as `ENCODED`; `tokens` are the words and special tokens.
    skipped
        Sentences with a word that yields no token, or with too many tokens.

    Raises
    ------
    InputError
        If no example is left.
    """
    before, after = special_tokens_around(tokenizer)
    kinds = kind_teller(tokenizer)
    kept, skipped = [], []
    for part in sentences.iter_slices(PAIRS_AT_ONCE):
        tokenized = iter(_tokenize_words(tokenizer, part))
        for row in part.iter_rows(named=True):
            pieces = [next(tokenized) for _ in row["words"]]
            count = len(before) + sum(map(len, pieces)) + len(after)
            empty = next((word for word, ids in zip(row["words"], pieces, strict=True) if not ids), None)
            if empty is not None:
                skipped.append((row["example"], row["where"], f"the word {empty!r} yields no token"))
            elif max_tokens is not None and count > max_tokens:
                reason = f"{count} tokens, more than the limit of {max_tokens}"
                skipped.append((row["example"], row["where"], reason))
            else:
                kept.append(_encode_words_of(row, pieces, before, after, tokenizer, kinds))
    if not kept:
        raise InputError(
            f"{sentences['where'].first()}: expected sentences whose words have tokens, found none among "
            f"{sentences.height}; is this text in the model's script?"
        )
    columns = dict(zip(ENCODED, zip(*kept, strict=True), strict=True))
    return pl.DataFrame(columns, ENCODED), pl.DataFrame(skipped, SKIPPED, orient="row")


def special_tokens_around(tokenizer) -> tuple[list[int], list[int]]:
    """Return the ids of the special tokens before and after a single text."""
    inputs = tokenizer("a", split_special_tokens=True, return_special_tokens_mask=True)
    ids, special = inputs["input_ids"], inputs["special_tokens_mask"]
    first = special.index(0)
    last = len(special) - special[::-1].index(0)
    return ids[:first], ids[last:]


def _tokenize_words(tokenizer, sentences) -> list[list[int]]:
    """The ids of every word of these sentences, with the blank before it where there is one; each word once."""
    texts = [
        f" {word}" if blank else word
        for words, spaces in sentences.select("words", "space_after").iter_rows()
        for word, blank in zip(words, [False, *spaces], strict=False)
    ]
    different = list(dict.fromkeys(texts))
    ids = tokenizer(
        different,
        add_special_tokens=False,
        split_special_tokens=True,
        return_attention_mask=False,
        return_token_type_ids=False,
    )["input_ids"]
    ids_of = dict(zip(different, ids, strict=True))
    return [ids_of[text] for text in texts]


def _encode_words_of(row, pieces, before, after, tokenizer, kinds):
    parts = [*([token] for token in before), *pieces, *([token] for token in after)]
    names = [
        *tokenizer.convert_ids_to_tokens(before),
        *row["words"],
        *tokenizer.convert_ids_to_tokens(after),
    ]
    special_before, special_after = (kinds(ids, [1] * len(ids)) for ids in (before, after))
    ids = [token for part in parts for token in part]
    words = [number for number, part in enumerate(parts) for _ in part]
    marks = [Kind.PUNCTUATION if word in (".", ",") else Kind.TEXT for word in row["words"]]
    return (
        row["example"],
        row["where"],
        False,
        ids,
        [0] * len(ids),
        words,
        names,
        [*special_before, *marks, *special_after],
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
    for column in ("example", "ids", "segments", "words", "kinds"):
        digest.update(np.ascontiguousarray(table[column].explode(empty_as_null=False).to_numpy()).tobytes())
    for column in ("ids", "kinds"):
        digest.update(table[column].list.len().to_numpy().tobytes())
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
