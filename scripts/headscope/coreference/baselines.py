"""
What needs no attention: the nearest candidate, the nearest with the same head word, and the rule of four sieves.

Source: Clark et al. 2019, section 4.3; the sieves after Lee et al. 2011, as paper and design describe them.
"""

from typing import NamedTuple

import numpy as np
import polars as pl

from headscope.corpora.lexicon import Features

NEVER = np.iinfo(np.int32).max
_UNKNOWN = -1
_VALUES = ("singular", "plural", "dual", "masculine", "feminine", "neuter", "1", "2", "3")
_CODES = {None: _UNKNOWN} | {value: code for code, value in enumerate(_VALUES)}


class Entries(NamedTuple):
    """
    What may be chosen, or choose: mentions, or words by themselves; one entry each of every array.

    `words`: the head word's number from 0; `strings`, `head_words`: numbers of lower-cased texts, equal where the texts
    are; `features`: (entry, 3), numbers of values of number, gender and person, -1 where unknown.
    """

    words: np.ndarray
    strings: np.ndarray
    head_words: np.ndarray
    features: np.ndarray

    def take(self, rows: np.ndarray) -> "Entries":
        """Return the entries of these rows."""
        return Entries(*(values[rows] for values in self))


def entries_of(mentions: pl.DataFrame, document: dict, size: int) -> tuple[Entries, Entries]:
    """
    Return the mentions of a document and, each by itself, its first words.

    Parameters
    ----------
    mentions, document
        As `headscope.corpora.documents` has them: rows of one document, and its row.
    size
        How many words are left of the document.
    """
    number = {}

    def numbers(texts):
        return np.array([number.setdefault(text.lower(), len(number)) for text in texts], np.int32)

    def features(table):
        return np.stack([_codes(table[name]) for name in Features._fields], axis=1).reshape(-1, len(Features._fields))

    words = numbers(document["words"][:size])
    by_mention = Entries(
        mentions["head"].to_numpy().astype(np.int32) - 1,
        numbers(mentions["text"]),
        numbers(mentions["head_word"]),
        features(mentions),
    )
    by_word = Entries(
        np.arange(size, dtype=np.int32),
        words,
        words,
        features({name: document[name][:size] for name in Features._fields}),
    )
    return by_mention, by_word


def _codes(values) -> np.ndarray:
    return np.array([_CODES[value] for value in values], np.int8)


def predict(anaphors: Entries, entries: Entries, allowed: np.ndarray) -> dict[str, np.ndarray]:
    """
    Return the word that each baseline picks for each anaphor.

    Of candidates as near as another, one before the anaphor and one after it, the former is the nearer.

    Parameters
    ----------
    anaphors
        Which mentions look for an antecedent.
    entries
        What there is to choose from.
    allowed
        The candidates of each anaphor, bool (anaphor, word), at least one.

    Returns
    -------
    Of each baseline int64 (anaphor,): the number of the word, from 0.
    """
    is_candidate = allowed[:, entries.words]
    gap = entries.words - anaphors.words[:, None]
    distance = np.where(is_candidate, 2 * np.abs(gap) + (gap > 0), NEVER)
    same_string = anaphors.strings[:, None] == entries.strings
    same_head = anaphors.head_words[:, None] == entries.head_words
    agrees, anything = np.ones((2, *same_head.shape), dtype=bool)
    for ours, theirs in zip(anaphors.features.T[..., None], entries.features.T, strict=True):
        agrees &= (ours == theirs) | (ours == _UNKNOWN) | (theirs == _UNKNOWN)
    sieves = {
        "nearest": (anything,),
        "head_match": (same_head, anything),
        "rules": (same_string, same_head, agrees, anything),
    }
    return {name: entries.words[_sieved(distance, matches)] for name, matches in sieves.items()}


def _sieved(distance: np.ndarray, sieves) -> np.ndarray:
    """The nearest entry of the first sieve that holds one, for each anaphor."""
    chosen, is_open = np.zeros(len(distance), np.int64), np.ones(len(distance), dtype=bool)
    for matches in sieves:
        through = np.where(matches, distance, NEVER)
        found = is_open & (through < NEVER).any(1)
        chosen[found] = through[found].argmin(1)
        is_open &= ~found
    return chosen
