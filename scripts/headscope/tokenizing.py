"""
Text to tokens, for every tokenizer: pairs of paragraphs, or words, to the inputs of one model.

A text that spells a special token is ordinary text: special tokens are told by their position.
"""

import math
from bisect import bisect_right
from functools import cache
from itertools import accumulate

import numpy as np
import polars as pl

from headscope.corpora import SKIPPED
from headscope.description import Description
from headscope.encoding import ENCODED, Kind
from headscope.errors import InputError

AT_ONCE = 1000


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
    for part in pairs.iter_slices(AT_ONCE):
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


def encode_words(
    texts: pl.DataFrame, tokenizer, max_tokens: int | None, cut: bool = False
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """
    Encode texts that are split into words, each word by itself, so that no token lies in two words.

    A word is preceded by a blank where the text has one, which byte-level and Unigram tokenizers spell into its
    first token. Special tokens are those that the tokenizer puts around a single text. Source: Clark et al. 2019,
    section 4.1.

    Parameters
    ----------
    texts
        Sentences or documents: example, where, words, space_after.
    max_tokens
        Longest example, special tokens included; None where the model has no limit.
    cut
        Whether a longer text is cut after its last word that fits, or skipped.

    Returns
    -------
    encoded
        One row an example, columns as `ENCODED`; `tokens` are the words and special tokens.
    skipped
        Texts with a word that yields no token, or with too many tokens.

    Raises
    ------
    InputError
        If no example is left.
    """
    before, after = special_tokens_around(tokenizer)
    room = math.inf if max_tokens is None else max_tokens - len(before) - len(after)
    kinds = kind_teller(tokenizer)
    kept, skipped = [], []
    for part in texts.iter_slices(AT_ONCE):
        tokenized = iter(_tokenize_words(tokenizer, part))
        for row in part.iter_rows(named=True):
            pieces = [next(tokenized) for _ in row["words"]]
            ends = list(accumulate(map(len, pieces)))
            fitting = bisect_right(ends, room)
            is_long = fitting < len(pieces)
            if is_long and cut:
                pieces = pieces[:fitting]
            empty = next((word for word, ids in zip(row["words"], pieces, strict=False) if not ids), None)
            if empty is not None:
                skipped.append((row["example"], row["where"], f"the word {empty!r} yields no token"))
            elif not pieces or (is_long and not cut):
                count = len(before) + ends[-1] + len(after)
                skipped.append((row["example"], row["where"], f"{count} tokens, more than the limit of {max_tokens}"))
            else:
                kept.append(_encode_words_of(row, is_long, pieces, before, after, tokenizer, kinds))
    if not kept:
        raise InputError(
            f"{texts['where'].first()}: expected texts whose words have tokens, found none among {texts.height} that "
            "can be taken; is this text in the model's script, and max_tokens large enough?"
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


def _tokenize_words(tokenizer, texts) -> list[list[int]]:
    """The ids of every word of these texts, with the blank before it where there is one; each word once."""
    texts = [
        f" {word}" if blank else word
        for words, spaces in texts.select("words", "space_after").iter_rows()
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


def _encode_words_of(row, is_cut, pieces, before, after, tokenizer, kinds):
    texts = row["words"][: len(pieces)]
    parts = [*([token] for token in before), *pieces, *([token] for token in after)]
    names = [
        *tokenizer.convert_ids_to_tokens(before),
        *texts,
        *tokenizer.convert_ids_to_tokens(after),
    ]
    special_before, special_after = (kinds(ids, [1] * len(ids)) for ids in (before, after))
    ids = [token for part in parts for token in part]
    words = [number for number, part in enumerate(parts) for _ in part]
    marks = [Kind.PUNCTUATION if word in (".", ",") else Kind.TEXT for word in texts]
    return (
        row["example"],
        row["where"],
        is_cut,
        ids,
        _segments(tokenizer, len(before), len(after), len(ids)),
        words,
        names,
        [*special_before, *marks, *special_after],
    )


def _segments(tokenizer, before: int, after: int, size: int) -> list[int]:
    """The segment ids of a single text: 0, but for special tokens that the tokenizer gives another, as XLNet's cls."""
    of_first, of_text, of_last = _segments_around(tokenizer, before, after)
    return [*of_first, *[of_text] * (size - before - after), *of_last]


@cache
def _segments_around(tokenizer, before, after):
    types = tokenizer("a", split_special_tokens=True, return_token_type_ids=True)["token_type_ids"]
    return types[:before], types[before], types[len(types) - after :]


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
