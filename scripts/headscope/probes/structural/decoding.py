"""From predicted distances to an undirected tree: the minimum spanning tree of the words that are no punctuation."""

import numpy as np
import torch
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from headscope.probes.decoding import edges_joined
from headscope.probes.structural.distances import squared_distances


def spanning_heads(distances: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """
    Return the minimum spanning tree over the words that count, hung up on the first of them.

    Parameters
    ----------
    distances
        Between words, float64 (word, word), symmetric; rounding may have made some negative.
    counted
        Which words are no punctuation, bool (word,); the others are in no tree.

    Returns
    -------
    int64 (word,): heads from 1; 0 for the first word, and for those that do not count.
    """
    heads, words = np.zeros(len(counted), np.int64), np.flatnonzero(counted)
    if len(words) > 1:
        between = distances[np.ix_(words, words)]
        tree = minimum_spanning_tree(between - between.min() + 1)  # scipy takes zeros for edges that are not there
        _, above = breadth_first_order(tree, 0, directed=False)
        heads[words[1:]] = words[above[1:]] + 1
    return heads


def count_edges(
    states: torch.Tensor, projections: torch.Tensor, heads: np.ndarray, counted: np.ndarray
) -> tuple[int, np.ndarray]:
    """
    Count the edges of a tree that are in the spanning tree of each projection; what UUAS is made of.

    An edge counts where neither of its two words is punctuation (`headscope.probes.decoding.edges_joined`).

    Parameters
    ----------
    states
        Of one sentence, centred, float32 (word, width) or (projection, word, width).
    projections
        float32 (projection, rank, width)
    heads, counted
        The tree: heads from 1, 0 for the root, and which words are no punctuation, (word,) each.

    Returns
    -------
    edges
        How many count.
    found
        int64 (projection,): how many of them are predicted.

    Source: Hewitt & Manning 2019, section 4.1.
    """
    distances = squared_distances(states.double(), projections.double()).numpy()
    predicted = np.stack([spanning_heads(of_one, counted) for of_one in distances])
    gold = (np.broadcast_to(part, predicted.shape) for part in (heads, counted))
    edges, found = edges_joined(predicted, *gold)
    return int(edges[0]), found
