"""
Undirected edges of a dependency tree, and the share of them that a prediction finds: what UUAS counts.

A pair is two words, from 1, the lower one first. Source: Hewitt & Manning 2019, section 4.1.
"""

import numpy as np

from headscope.syntax.names import PUNCTUATION


def joined_pairs(heads: np.ndarray) -> np.ndarray:
    """
    Join each word with its head.

    Parameters
    ----------
    heads
        The head of each word (word,), from 1; 0 for ROOT, which is no word and joins nothing.

    Returns
    -------
    int64 (pair, 2), in the order of the dependents. Two words that are each other's head, as a prediction may have
    it, give their pair twice.
    """
    heads = np.asarray(heads, np.int64)
    words = np.flatnonzero(heads) + 1
    return np.sort(np.stack([words, heads[words - 1]], axis=1), axis=1)


def is_punctuation(relations) -> np.ndarray:
    """Return which words are punctuation, bool (word,): those whose own relation, of each a string, is `punct`."""
    return np.asarray(relations) == PUNCTUATION


def gold_edges(heads: np.ndarray, is_punctuation: np.ndarray) -> np.ndarray:
    """
    Return the edges of a tree that count: those between two words that are no punctuation.

    Parameters
    ----------
    heads
        The head of each word of a tree (word,), from 1; 0 for the root.
    is_punctuation
        Which words are punctuation, bool (word,).

    Returns
    -------
    int64 (edge, 2): pairs of words, in the order of the dependents; each once.
    """
    pairs = joined_pairs(heads)
    return pairs[~np.asarray(is_punctuation, bool)[pairs - 1].any(1)]


def edges_found(predicted: np.ndarray, gold: np.ndarray) -> int:
    """
    Count the gold edges that a prediction joins as well.

    Parameters
    ----------
    predicted
        Pairs of words (pair, 2), the lower first; a pair that is there twice counts once.
    gold
        As `gold_edges` returns them.
    """
    joined = set(map(tuple, predicted.tolist()))
    return sum(edge in joined for edge in map(tuple, gold.tolist()))
