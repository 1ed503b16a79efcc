"""
The probes themselves: for each word a score of every other word, and of ROOT, as its syntactic head.

Source: Clark et al. 2019, section 5.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn.functional import one_hot

from headscope.probes.names import Learned
from headscope.probes.sentences import NO_HEAD, Batch

OFFSETS = 2  # distances up to this have an indicator of their own
DISTANCE_FEATURES = 2 + 2 * OFFSETS + 1 + 1
HIDDEN = 256
IMPOSSIBLE = -math.inf
FASTER = 10  # how much, for the weights of heads
PAIRS_NEAR_CACHE = 1024  # whose hidden units, 1 MiB, a processor works on two to three times as fast as on more


class Standard(NamedTuple):
    """Mean and standard deviation of each number of the word vectors over the training words, float32 (width,)."""

    middle: torch.Tensor
    spread: torch.Tensor

    @classmethod
    def of(cls, matrix: np.ndarray, tokens: np.ndarray) -> "Standard":
        """
        Measure the word vectors, each as often as its word occurs.

        Parameters
        ----------
        matrix
            float32 (row, width); a word without a vector has zeros there and is left out.
        tokens
            How many training words have each row.
        """
        known = matrix.any(1)
        times = tokens[known] / max(tokens[known].sum(), 1)
        rows = matrix[known].astype(np.float64)
        middle = times @ rows
        spread = np.sqrt(times @ (rows - middle) ** 2)
        spread[spread == 0] = 1
        return cls(*(torch.from_numpy(part.astype(np.float32)) for part in (middle, spread)))

    def standardised(self, matrix: np.ndarray) -> torch.Tensor:
        """Return vectors of mean 0 and deviation 1 in the training words; a word without one gets the mean, 0."""
        vectors = (torch.from_numpy(matrix) - self.middle) / self.spread
        vectors[torch.from_numpy(~matrix.any(1))] = 0
        return vectors


class AttentionProbe(nn.Module):
    """
    A weighted sum of the maps of all heads, in both directions, softmax over words and ROOT.

    The score of word i as the head of word j is `Σ_k w_k α[k, j, i] + u_k α[k, i, j]`, k over all heads of all layers.
    With words, `w_k` and `u_k` are affine functions of the vectors of i and j. A head is scored for all pairs without a
    vector for any pair, because the functions are sums: `w_k(i, j) = b_k + x_k·v_j + y_k·v_i`. The part of j is one
    number for each head and word (a product of word vectors and weights, words × heads), and so is that of i; the sum
    over k is then, for every query j, a product of its numbers with its row of all maps (heads × keys), and for every
    key i one of its numbers with its column. So beyond the maps themselves nothing has more than words × heads numbers.

    ROOT's score is a weighted sum of the mean attention from j to the first and the last special token, two learned
    scalars.
    """

    pairs_at_once = None

    def __init__(self, heads: int, width: int = 0):
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(2, heads))
        self.root = nn.Parameter(torch.zeros(2))
        self.reads_words = width > 0
        if self.reads_words:
            self.by_word = nn.Parameter(torch.zeros(2, 2, heads, width))  # query and key; w and u

    def forward(self, batch: Batch, vectors: torch.Tensor | None) -> torch.Tensor:
        """
        Score every word and ROOT as the head of every word.

        Parameters
        ----------
        batch
            The sentences.
        vectors
            The vectors of all words, float32 (row, width); not needed by a probe without words.

        Returns
        -------
        (sentence, dependent, head), the first head being ROOT; minus infinity where there is no word or it is the
        dependent itself.
        """
        maps = batch.weights.float()
        if self.reads_words:
            of_query, of_key = self._numbers(batch.numbers, vectors)
            by_key = maps.transpose(1, 3) if batch.by_key is None else batch.by_key.float()
            both = _products(of_query, maps) + _products(of_key, by_key).transpose(1, 3)
        else:
            both = _products(self.weights.expand(*maps.shape[:2], *self.weights.shape), maps)
        words = both[:, :, 0] + both[:, :, 1].transpose(1, 2)
        return _with_root(words, batch.specials @ self.root, batch)

    def _numbers(self, words: torch.Tensor, vectors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Of each word as query and as key, a number for each direction and head; equal words are multiplied once."""
        different, place = words.unique(return_inverse=True)
        constant = nn.functional.pad(self.weights.flatten(), (0, self.weights.numel()))  # counted once: of the query
        numbers = torch.addmm(constant, vectors.index_select(0, different), self.by_word.flatten(0, 2).T)
        return nn.functional.embedding(place, numbers).unflatten(-1, self.by_word.shape[:3]).unbind(2)


def _products(numbers: torch.Tensor, maps: torch.Tensor) -> torch.Tensor:
    """Sum maps (sentence, word, head, other) over heads by the numbers of each word: (sentence, word, 2, other)."""
    sentences, size, heads, others = maps.shape
    products = torch.bmm(numbers.reshape(-1, 2, heads), maps.reshape(-1, heads, others))
    return products.view(sentences, size, 2, others)


class DistanceProbe(nn.Module):
    """
    The rival that sees no attention: words and how far they stand apart, one hidden layer of 256 tanh units.

    Of each pair it reads the vectors of both words, the distance to the candidate as a share of the sentence's length,
    to the right and to the left, indicators of the offsets -2 to 2, and one of ROOT, whose vector is zero.
    """

    pairs_at_once = PAIRS_NEAR_CACHE

    def __init__(self, width: int, generator: np.random.Generator):
        super().__init__()
        self.of_dependent = _uniform(generator, width, HIDDEN, inputs=2 * width + DISTANCE_FEATURES)
        self.of_head = _uniform(generator, width, HIDDEN, inputs=2 * width + DISTANCE_FEATURES)
        self.of_distance = _uniform(generator, DISTANCE_FEATURES, HIDDEN, inputs=2 * width + DISTANCE_FEATURES)
        self.bias = nn.Parameter(torch.zeros(HIDDEN))
        self.out = _uniform(generator, HIDDEN, inputs=HIDDEN)

    def forward(self, batch: Batch, vectors: torch.Tensor) -> torch.Tensor:
        """Score every word and ROOT as the head of every word, as `AttentionProbe.forward` does."""
        of_words = vectors[batch.numbers]
        dependent = of_words @ self.of_dependent + self.bias
        head = nn.functional.pad(of_words @ self.of_head, (0, 0, 1, 0))
        hidden = distance_features(batch.sizes, batch.numbers.shape[1]) @ self.of_distance
        scores = hidden.add_(dependent[:, :, None]).add_(head[:, None]).tanh_() @ self.out
        return _with_root(scores[..., 1:], scores[..., 0], batch)


def _uniform(generator: np.random.Generator, *shape: int, inputs: int) -> nn.Parameter:
    """Glorot's bounds for a layer of so many inputs, drawn alike on every processor."""
    bound = math.sqrt(6 / (inputs + (shape[1] if len(shape) > 1 else 1)))
    return nn.Parameter(torch.from_numpy(generator.uniform(-bound, bound, shape).astype(np.float32)))


def distance_features(sizes: torch.Tensor, longest: int) -> torch.Tensor:
    """
    Return what the distance probe knows of each pair but the words.

    Parameters
    ----------
    sizes
        Words of each sentence, int64 (sentence,).
    longest
        The words of the longest.

    Returns
    -------
    float32 (sentence, dependent, head, feature), the first head being ROOT: the distance to the right and to the left
    over the sentence's length, indicators of the offsets -2 to 2, and of ROOT.
    """
    word = torch.arange(longest, device=sizes.device)
    offset = word[None, :] - word[:, None]
    share = offset / sizes[:, None, None]
    near = one_hot(offset.clamp(-OFFSETS - 1, OFFSETS + 1) + OFFSETS + 1, 2 * OFFSETS + 3)[..., 1:-1]
    near = near.expand(len(sizes), *near.shape)
    features = torch.cat([share.clamp(min=0)[..., None], (-share).clamp(min=0)[..., None], near], -1)
    padded = nn.functional.pad(features, (0, 1, 1, 0))
    padded[:, :, 0, -1] = 1
    return padded


def _with_root(words: torch.Tensor, root: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Put ROOT before the words, and take away the word itself and what is beyond the sentence."""
    possible = batch.inside[:, None] & ~torch.eye(words.shape[1], dtype=torch.bool, device=words.device)
    return torch.cat([root[..., None], words.masked_fill(~possible, IMPOSSIBLE)], -1)


def make_probe(learned: Learned, heads: int, width: int, generator: np.random.Generator) -> nn.Module:
    """
    Return a probe that has learned nothing yet.

    Parameters
    ----------
    heads
        Layers × heads of the model.
    width
        Of the word vectors.
    generator
        Of its first numbers; a probe over attention starts from zeros.
    """
    if learned.distances:
        return DistanceProbe(width, generator)
    return AttentionProbe(heads, width if learned.words else 0)


def rates(probe: nn.Module, learning_rate: float) -> list[dict]:
    """
    Return what Adam is to move at which rate.

    The weight of a head has far to go, some tens of logits per unit of attention; what hangs on words has not.
    """
    fast = [weights for name, weights in probe.named_parameters() if name in ("weights", "root")]
    slow = [weights for name, weights in probe.named_parameters() if name not in ("weights", "root")]
    groups = ({"params": slow, "lr": learning_rate}, {"params": fast, "lr": FASTER * learning_rate})
    return [group for group in groups if group["params"]]


def negative_log_likelihood(scores: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Return the sum over the words that count of -log p(gold head), in nats."""
    gold = batch.heads.masked_fill(~batch.counted, NO_HEAD)
    return nn.functional.cross_entropy(scores.flatten(0, 1), gold.flatten(), ignore_index=NO_HEAD, reduction="sum")
