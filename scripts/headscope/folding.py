"""
From token-level to word-level maps: a split word attends, and is attended to, as one.

Source: Clark et al. 2019, section 4.1.
"""

import numpy as np
import torch

LONG = 32  # tokens; from here on a processor folds faster by picking tokens than by a product with 0 and 1


def fold_into_words(weights: torch.Tensor, words: torch.Tensor, queries: str = "mean") -> torch.Tensor:
    """
    Fold token-level maps into word-level maps.

    Attention to a split word is the sum over its tokens. Attention from it is the mean over its tokens, the row of the
    first, or the largest of each key, scaled to sum to one. Rows that summed to one still do.

    Parameters
    ----------
    weights
        float32 (example, layer, head, query token, key token).
    words
        The word of each token, int64 (example, token): 0, 0, 1, 2, ... Every example of as many words.
    queries
        `mean`, `first` or `max`.

    Returns
    -------
    float32 (example, layer, head, query word, key word)

    Raises
    ------
    ValueError
        If words do not count up from 0 without gaps, or the examples have different numbers of words.
    """
    if weights.device.type != "cpu" or words.shape[1] < LONG:
        return fold_by_products(weights, words, queries)
    count = count_words(words)
    folded = weights.new_empty((*weights.shape[:3], count, count))
    for example, maps in enumerate(weights):
        folded[example] = _fold_by_picking(maps, words[example], queries)
    return folded


def count_words(words: torch.Tensor) -> int:
    """
    Return how many words the tokens (example, token) of each example belong to.

    Raises
    ------
    ValueError
        If words do not count up from 0 without gaps, or the examples have different numbers of words.
    """
    steps = torch.diff(words, dim=1, prepend=torch.full_like(words[:, :1], -1))
    last = words[0, -1]
    if (steps[:, 0] != 1).any() or ((steps != 0) & (steps != 1)).any() or (words[:, -1] != last).any():
        raise ValueError(f"words must count up from 0 to the same last without gaps, got {words.tolist()}")
    return int(last) + 1


def tokens_of_words(words: torch.Tensor) -> torch.Tensor:
    """
    Return which tokens each word has, int64 (example, token, word), from the word of each token (example, token).

    Raises
    ------
    ValueError
        As `count_words`.
    """
    return torch.nn.functional.one_hot(words, count_words(words))


def fold_by_products(weights: torch.Tensor, words: torch.Tensor, queries: str) -> torch.Tensor:
    """Do what `fold_into_words` does by one product of 0 and 1 a direction, as a GPU does best."""
    belongs = tokens_of_words(words).to(weights.dtype)[:, None, None]  # (example, 1, 1, token, word)
    keys = weights @ belongs
    if queries == "mean":
        return (belongs / belongs.sum(-2, keepdim=True)).mT @ keys
    if queries == "first":
        return keys.take_along_dim(belongs.argmax(-2)[..., None], dim=-2)
    count = belongs.shape[-1]
    largest = keys.new_zeros((*keys.shape[:-2], count, count))
    largest.scatter_reduce_(-2, words[:, None, None, :, None].expand_as(keys), keys, "amax")
    return _to_one(largest)


def _fold_by_picking(maps: torch.Tensor, words: torch.Tensor, queries: str) -> torch.Tensor:
    """
    Fold one example (layer, head, query, key): pick the first token of each word, then add the few others.

    Its time goes by the map, that of a product by the map times the words.
    """
    is_first = torch.diff(words, prepend=words.new_tensor([-1])) != 0
    first, others = is_first.nonzero()[:, 0], (~is_first).nonzero()[:, 0]
    keys = _pick(maps, first, -1).index_add_(-1, words[others], _pick(maps, others, -1))
    rows, more = _pick(keys, first, -2), _pick(keys, others, -2)
    if queries == "mean":
        return rows.index_add_(-2, words[others], more).div_(torch.bincount(words)[:, None])
    if queries == "max":
        return _to_one(rows.scatter_reduce_(-2, words[others, None].expand_as(more), more, "amax"))
    return rows


def _pick(maps: torch.Tensor, places: torch.Tensor, axis: int) -> torch.Tensor:
    """Along the last axis NumPy has several times the speed of torch."""
    return torch.from_numpy(np.take(maps.numpy(), places.numpy(), axis))


def _to_one(rows: torch.Tensor) -> torch.Tensor:
    return rows / rows.sum(-1, keepdim=True)
