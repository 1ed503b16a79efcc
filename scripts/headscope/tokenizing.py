"""
Text to tokens, for every tokenizer: pairs of paragraphs, or words, to the inputs of one model.

A text that spells a special token is ordinary text: special tokens are told by their position. Where a tokenizer
reads it as the special token all the same, a word is spelled in characters and a pair is skipped.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from itertools import accumulate, chain

import numpy as np
import polars as pl
import pyarrow as pa

from headscope.corpora import SKIPPED
from headscope.description import Description
from headscope.encoding import ENCODED, Kind
from headscope.errors import InputError
from headscope.token_names import token_namer
from headscope.word_tokens import NEIGHBOURS, WordTokens, places, special_ids

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
        The examples of which a paragraph yields no token, or one that the tokenizer keeps for a special token.

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
    kinds, names, special = kind_teller(tokenizer), token_namer(tokenizer), special_ids(tokenizer)
    for part in pairs.iter_slices(AT_ONCE):
        sides = [_read_alone(tokenizer, part[side], special) for side in ("first", "second")]
        reasons = [first or second for first, second in zip(*(faults for _, faults in sides), strict=True)]
        skipped += [row for row in zip(part["example"], part["where"], reasons, strict=True) if row[-1]]
        fine = np.array([reason is None for reason in reasons])
        truncated = sum(lengths for lengths, _ in sides)[fine] > room
        if len(truncated):
            kept.append(_encode_part(part.filter(fine), truncated, tokenizer, kinds, names, max_tokens, segments))
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


def _read_alone(tokenizer, texts: pl.Series, special: frozenset[int]) -> tuple[np.ndarray, list[str | None]]:
    """How many tokens each text has by itself, and what is wrong with it, if anything is."""
    sides = tokenizer(texts.to_list(), add_special_tokens=False, split_special_tokens=True, verbose=False)["input_ids"]
    return np.array([len(ids) for ids in sides]), [_fault(tokenizer, ids, special) for ids in sides]


def _fault(tokenizer, ids, special):
    if not ids:
        return "a paragraph of the pair yields no token"
    if special.isdisjoint(ids):
        return None
    token = tokenizer.convert_ids_to_tokens(next(token for token in ids if token in special))
    return f"a paragraph of the pair spells {token!r}, which this tokenizer takes for its special token"


def _encode_part(part, truncated, tokenizer, kinds, names, max_tokens, segments):
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
            "tokens": list(map(names, inputs["input_ids"])),
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
    first token, and by none elsewhere, so that the ids are those of the running text wherever the tokenizer parts it
    at the words. WordPiece starts each word anew, as in the paper, also one that is written together with the last.
    A word that spells a special token is ordinary text. Special tokens are those that the tokenizer puts around a
    single text. Source: Clark et al. 2019, section 4.1.

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
        Texts with a word that yields no token or only a special one, or with too many tokens.

    Raises
    ------
    InputError
        If no example is left.
    """
    before, after = special_tokens_around(tokenizer)
    room = math.inf if max_tokens is None else max_tokens - len(before) - len(after)
    kinds, tokens_of = kind_teller(tokenizer), WordTokens(tokenizer)
    kept, skipped = [], []
    for part in texts.iter_slices(AT_ONCE):
        rows = part.select("words", "space_after").iter_rows()
        placed = chain.from_iterable(zip(words, places(spaces), strict=True) for words, spaces in rows)
        tokenized = iter(tokens_of.of(placed))
        for row in part.iter_rows(named=True):
            pieces = [next(tokenized) for _ in row["words"]]
            ends = list(accumulate(len(ids or ()) for ids in pieces))
            fitting = bisect_right(ends, room)
            is_long = fitting < len(pieces)
            if is_long and cut:
                pieces = pieces[:fitting]
            unread = next((pair for pair in zip(row["words"], pieces, strict=False) if not pair[1]), None)
            if unread:
                found = "no token" if unread[1] is not None else "a special token of this model"
                skipped.append((row["example"], row["where"], f"the word {unread[0]!r} yields {found}"))
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
    columns = [_column(name, values) for name, values in zip(ENCODED, zip(*kept, strict=True), strict=True)]
    return pl.DataFrame(columns), pl.DataFrame(skipped, SKIPPED, orient="row")


def _column(name: str, values: Sequence) -> pl.Series:
    """A column of `ENCODED`; lists are joined first, which takes a fraction of the time of a series a list."""
    dtype = ENCODED[name]
    if not isinstance(dtype, pl.List):
        return pl.Series(name, values, dtype)
    offsets = np.cumsum([0, *map(len, values)])
    flat = pl.Series(list(chain.from_iterable(values)), dtype=dtype.inner).to_arrow()
    return pl.Series(name, pa.LargeListArray.from_arrays(offsets, flat), dtype)


def special_tokens_around(tokenizer) -> tuple[list[int], list[int]]:
    """
    Return the ids of the special tokens before and after a single text.

    Raises
    ------
    InputError
        If the tokenizer yields no token for any text that is tried.
    """
    for text in NEIGHBOURS:
        inputs = tokenizer(text, split_special_tokens=True, return_special_tokens_mask=True)
        ids, special = inputs["input_ids"], inputs["special_tokens_mask"]
        if 0 in special:
            first = special.index(0)
            last = len(special) - special[::-1].index(0)
            return ids[:first], ids[last:]
    raise InputError(
        f"{type(tokenizer).__name__}: expected a token for one of {NEIGHBOURS}, found none; is this a tokenizer?"
    )


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
    """
    Return a function from the ids of an encoding and its special-tokens mask to the kind of each token.

    "." and "," are those of the paper, as the tokenizer has them: a full-width comma counts where it is made one, the
    stops of other scripts are text.
    """
    cls = tokenizer.cls_token_id if tokenizer.cls_token_id is not None else tokenizer.bos_token_id
    sep = tokenizer.sep_token_id if tokenizer.sep_token_id is not None else tokenizer.eos_token_id

    @cache
    def kind(token: int, special: bool) -> Kind:
        if not special:
            return Kind.PUNCTUATION if tokenizer.decode([token]).strip() in (".", ",") else Kind.TEXT
        return Kind.CLS if token == cls else Kind.SEP if token == sep else Kind.SPECIAL

    return lambda ids, special: [kind(token, bool(masked)) for token, masked in zip(ids, special, strict=True)]
