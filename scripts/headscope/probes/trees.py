"""The trees that probes learn and are scored on, and those of the control: every sentence with another one's tree."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl

from headscope.corpora.trees import has_scheme
from headscope.errors import InputError
from headscope.syntax.names import PUNCTUATION


class Trees(NamedTuple):
    """Trees word after word: `examples` (sentence,), `starts` (sentence + 1,), `heads` and `counted` (word,)."""

    examples: np.ndarray
    starts: np.ndarray
    heads: np.ndarray
    counted: np.ndarray

    @classmethod
    def read(cls, table: pl.DataFrame, scheme: str) -> "Trees":
        """
        Take the trees of one scheme.

        Parameters
        ----------
        table
            As `headscope.corpora.trees.read_trees` returns it.
        scheme
            `ud` or `stanford`.

        Returns
        -------
        Heads from 1, 0 for the root; what counts is every word but punctuation, the root among them.

        Raises
        ------
        InputError
            If the trees do not have the scheme.
        """
        if not has_scheme(table, scheme):
            raise InputError(
                f"{table['where'].first()}: expected trees in the scheme {scheme}, found a language that does not have "
                "it; set probes.scheme: ud"
            )
        heads = table[f"{scheme}_heads"].explode(empty_as_null=False).to_numpy().astype(np.int64)
        punctuation = table[f"{scheme}_relations"].explode(empty_as_null=False) == PUNCTUATION
        starts = np.concatenate([[0], np.cumsum(table["words"].list.len().to_numpy().astype(np.int64))])
        return cls(table["example"].to_numpy().astype(np.int64), starts, heads, ~punctuation.to_numpy())

    def sizes(self) -> dict[int, int]:
        """Return the number of words of each example."""
        return dict(zip(self.examples.tolist(), np.diff(self.starts).tolist(), strict=True))

    def of(self, example: int) -> tuple[np.ndarray, np.ndarray]:
        """Return heads and what counts of one example, (word,) each."""
        row = np.searchsorted(self.examples, example)
        words = slice(self.starts[row], self.starts[row + 1])
        return self.heads[words], self.counted[words]

    def only(self, examples: np.ndarray) -> "Trees":
        """Return the trees of these examples."""
        kept = np.isin(self.examples, examples)
        words = np.repeat(kept, np.diff(self.starts))
        starts = np.concatenate([[0], np.cumsum(np.diff(self.starts)[kept])])
        return Trees(self.examples[kept], starts, self.heads[words], self.counted[words])

    def by_size(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield the sentences of each number of words: examples (sentence,), heads and counted (sentence, word)."""
        sizes = np.diff(self.starts)
        for size in np.unique(sizes):
            rows = np.flatnonzero(sizes == size)
            words = self.starts[rows][:, None] + np.arange(size)
            yield self.examples[rows], self.heads[words], self.counted[words]


def permuted_trees(trees: Trees, seed: int = 0) -> Trees:
    """
    Give every sentence the tree of another sentence of the same number of words: what the control learns.

    What is permuted: heads together with what counts (so punctuation goes with its tree), whole trees at a time,
    among the sentences of one length. So the words at position j of a sentence of n words are given the heads of one
    another: their distribution, and with it that of distances, of roots and of words that count, stays what it was to
    the last word, every tree stays a tree, and nothing is left that could be read from the words or from attention
    beyond position and length. No sentence keeps its tree: those of a length are put into a random circle and each gets
    the tree of its neighbour. The only one of its length has no other: nothing in it counts.

    Source: in the spirit of the control tasks of Hewitt and Liang 2019.
    """
    generator = np.random.default_rng(seed)
    sizes = np.diff(trees.starts)
    heads, counted = trees.heads.copy(), trees.counted.copy()
    for size in np.unique(sizes):
        circle = generator.permutation(np.flatnonzero(sizes == size))
        inside = np.arange(size)
        mine, theirs = (trees.starts[rows][:, None] + inside for rows in (circle, np.roll(circle, 1)))
        heads[mine], counted[mine] = trees.heads[theirs], trees.counted[theirs] & (len(circle) > 1)
    return trees._replace(heads=heads, counted=counted)
