"""Distances between the words of a sentence: in a tree, in projected hidden states, and how far these are apart."""

import numpy as np
import torch


def tree_distances(heads: np.ndarray) -> np.ndarray:
    """
    Count the edges on the path between every two words of a tree.

    Two words share their common ancestors, so their distance is the sum of their depths less twice the number of these.

    Parameters
    ----------
    heads
        The head of each word, int (example, word), from 1; 0 for ROOT. A shorter sentence may end in zeros.

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
        ancestor = reached[example, word] - 1
        above[example, word, ancestor] = 1
        reached = np.zeros_like(heads)
        reached[example, word] = heads[example, ancestor]
    if reached.any():
        raise ValueError(f"expected trees, found heads that go round in a circle: {heads.tolist()}")
    common = above @ above.transpose(0, 2, 1)
    depths = np.diagonal(common, axis1=1, axis2=2)
    return depths[:, :, None] + depths[:, None, :] - 2 * common


def squared_distances(states: torch.Tensor, projection: torch.Tensor) -> torch.Tensor:
    """
    Return ‖B(h_i − h_j)‖² of every two words, from the products of the projected states with one another.

    So no difference of two words is ever made, which would take (word, word, rank) numbers.

    Parameters
    ----------
    states
        (..., word, width); those of a sentence around zero, or their rounding shows.
    projection
        B, (..., rank, width).

    Returns
    -------
    (..., word, word)
    """
    projected = states @ projection.mT
    products = projected @ projected.mT
    squares = products.diagonal(dim1=-2, dim2=-1)
    return squares[..., :, None] + squares[..., None, :] - 2 * products


def distance_loss(predicted: torch.Tensor, gold: torch.Tensor, shares: torch.Tensor) -> torch.Tensor:
    """
    Return the mean of |predicted − gold| over the pairs of words of each sentence, summed over sentences.

    Pairs are taken in both orders, and each word with itself, as the authors do: the sum over the square of the words.

    Parameters
    ----------
    predicted, gold
        (sentence, word, word)
    shares
        One over the words of its sentence for each word, 0 beyond it, (sentence, word).

    Source: Hewitt & Manning 2019, section 2.3 and their released loss.
    """
    return torch.einsum("sij,si,sj->", (predicted - gold).abs(), shares, shares)
