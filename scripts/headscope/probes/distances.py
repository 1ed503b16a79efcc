"""Distances in trees: what the structural probe is to find in the hidden states."""

import numpy as np


def tree_distances(heads: np.ndarray) -> np.ndarray:
    """
    Count the edges on the path between every two words of a tree.

    Two words share their common ancestors, so their distance is the sum of their depths less twice the number of these.

    Parameters
    ----------
    heads
        The head of each word (example, word), from 1; 0 for ROOT. A shorter sentence may end in zeros.

    Returns
    -------
    float32 (example, word, word)

    Raises
    ------
    ValueError
        If the heads go round in a circle.
    """
    heads = np.asarray(heads, np.int64)
    examples, size = heads.shape
    above = np.zeros((examples, size, size), np.float32)  # (example, word, ancestor or itself)
    above[:, np.arange(size), np.arange(size)] = 1
    reached = heads
    for _ in range(size):
        example, word = np.nonzero(reached)
        if not len(example):
            break
        ancestor = reached[example, word] - 1
        above[example, word, ancestor] = 1
        reached = np.zeros_like(heads)
        reached[example, word] = heads[example, ancestor]
    if reached.any():
        raise ValueError(f"expected trees, found heads that go round in a circle: {heads.tolist()}")
    common = above @ above.transpose(0, 2, 1)
    depths = np.diagonal(common, axis1=1, axis2=2)
    return depths[:, :, None] + depths[:, None, :] - 2 * common
