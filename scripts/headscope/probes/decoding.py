"""From the scores of a probe to heads: the most probable head of each word, and the best tree of all words."""

import numpy as np


def best_tree(log_probabilities: np.ndarray) -> np.ndarray:
    """
    Return the maximum spanning tree with one word under ROOT, by Stanza's algorithm of Chu-Liu and Edmonds.

    Where the most probable heads are such a tree, nothing can be better.

    Parameters
    ----------
    log_probabilities
        float (dependent, head) of one sentence, the first head being ROOT; minus infinity where a head is impossible.

    Returns
    -------
    int64 (dependent,): heads from 1, 0 for ROOT, of the highest sum.
    """
    heads = log_probabilities.argmax(1)
    if is_tree(heads):
        return heads
    from stanza.models.common.chuliu_edmonds import chuliu_edmonds_one_root

    scores = np.pad(np.asarray(log_probabilities, np.float64), ((1, 0), (0, 0)))
    return chuliu_edmonds_one_root(scores)[1:].astype(np.int64)


def is_tree(heads: np.ndarray) -> bool:
    """Return whether heads (word,), from 1, 0 for ROOT, lead every word to one word under ROOT."""
    if (heads == 0).sum() != 1:
        return False
    reached = np.concatenate([[0], heads])
    for _ in range(len(heads).bit_length()):
        reached = reached[reached]
    return not reached.any()


def edges_joined(predicted: np.ndarray, heads: np.ndarray, counted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Compare heads with a tree as joins of two words, whichever is the head; what UUAS counts.

    Parameters
    ----------
    predicted, heads
        Heads from 1, 0 for ROOT, int64 (sentence, word); the second those of a tree.
    counted
        Which words are no punctuation, bool (sentence, word). A join counts where neither of its words is.

    Returns
    -------
    edges, found
        int64 (sentence,): the tree's joins, and how many of them are predicted.
    """
    parent = np.maximum(heads - 1, 0)
    is_edge = (heads > 0) & counted & np.take_along_axis(counted, parent, 1)
    reverse = np.take_along_axis(predicted, parent, 1) == np.arange(1, heads.shape[1] + 1)
    found = is_edge & ((predicted == heads) | reverse)
    return is_edge.sum(1), found.sum(1)


def fixed_offset(words: int, offset: int) -> np.ndarray:
    """Return the head that a fixed distance names for each of so many words, from 1; ROOT where no word is there."""
    heads = np.arange(1, words + 1) + offset
    return np.where((heads >= 1) & (heads <= words), heads, 0)
