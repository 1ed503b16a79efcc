"""What the structural probe learns from: batches of sentences, their hidden states, the distances in their trees."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import torch

from headscope.errors import InputError
from headscope.files import read_ahead
from headscope.probes.structural.distances import tree_distances
from headscope.probes.trees import Trees
from headscope.states.laying import LaidStates

LEAST_WORDS = 2


class Batch(NamedTuple):
    """
    Sentences side by side, the shorter ones filled up with zeros.

    `states`: float32 (layer, sentence, word, width), those of a sentence around zero; `gold`: distances in the tree,
    float32 (sentence, word, word); `shares`: one over the words of the sentence, 0 beyond it, float32 (sentence, word).
    """

    states: torch.Tensor
    gold: torch.Tensor
    shares: torch.Tensor


class Sentences:
    """
    Sentences of two words or more, by position; what they hold is read when it is asked for.

    `sizes`: the words of each, int64 (sentence,); `left_out`: how many shorter ones there are.

    Raises
    ------
    InputError
        If a tree has another number of words than there are states.
    """

    def __init__(self, laid: LaidStates, trees: Trees):
        words = trees.sizes()
        for example, size in zip(laid.examples.tolist(), laid.sizes.tolist(), strict=True):
            refuse_other_words(example, words.get(example, 0), size)
        self._laid, self._trees = laid, trees.only(laid.examples)
        self._rows = np.flatnonzero(laid.sizes >= LEAST_WORDS)
        self.sizes = laid.sizes[self._rows]
        self.left_out = len(laid.sizes) - len(self._rows)
        self.layers, self.width = range(laid.info.layers + 1), laid.info.width

    def states(self, position: int, layers: range) -> torch.Tensor:
        """Return the states of one sentence less their mean, float32 (layer, word, width)."""
        return centred(torch.from_numpy(self._laid.read(self._rows[position], layers)))

    def tree(self, position: int) -> tuple[np.ndarray, np.ndarray]:
        """Return heads and which words are no punctuation of one sentence, (word,) each."""
        row = self._rows[position]
        words = slice(self._trees.starts[row], self._trees.starts[row + 1])
        return self._trees.heads[words], self._trees.counted[words]

    def batches(self, plan: Iterable[np.ndarray], layers: range) -> Iterator[Batch]:
        """Yield the sentences of each batch of a plan (positions), at these layers; the next is read meanwhile."""
        return read_ahead(lambda positions: self._batch(positions, layers), plan)

    def _batch(self, positions: np.ndarray, layers: range) -> Batch:
        sizes = self.sizes[positions]
        shape = len(positions), int(sizes.max())
        states, shares = torch.zeros(len(layers), *shape, self.width), np.zeros(shape, np.float32)
        heads = np.zeros(shape, np.int64)
        for row, (position, size) in enumerate(zip(positions.tolist(), sizes.tolist(), strict=True)):
            states[:, row, :size] = self.states(position, layers)
            heads[row, :size], _ = self.tree(position)
            shares[row, :size] = 1 / size
        return Batch(states, torch.from_numpy(tree_distances(heads)), torch.from_numpy(shares))

    def spreads(self) -> np.ndarray:
        """
        Return for each layer how far the states of a sentence lie from their mean, float64 (layer,).

        The root of the mean square of a channel; 1 where all states of a sentence are the same.
        """
        squares, words = np.zeros(len(self.layers)), 0
        for position, size in enumerate(self.sizes.tolist()):
            squares += self.states(position, self.layers).square().sum((1, 2), dtype=torch.float64).numpy()
            words += size
        spreads = np.sqrt(squares / max(words * self.width, 1))
        return np.where(spreads > 0, spreads, 1.0)


def centred(states: torch.Tensor) -> torch.Tensor:
    """Return the states of a sentence (..., word, width) in float32 less their mean, which changes no distance."""
    states = states.float()
    return states - states.mean(-2, keepdim=True)


def refuse_other_words(example: int, words: int, size: int):
    """
    Refuse hidden states of a sentence that do not fit its tree.

    Raises
    ------
    InputError
        If there is not one state for each word.
    """
    if words != size:
        raise InputError(
            f"example {example}: expected hidden states of {words} words, found those of {size}; the shard was made "
            "from another treebank: delete the folder states/ of this model and corpus and run again"
        )
