"""Sentences whose trees one head of a made-up model knows: what a probe must find."""

from itertools import pairwise

import numpy as np
import polars as pl

from headscope.corpora.trees import TREES
from headscope.encoding import ENCODED, Encoded, Kind
from headscope.store import Maps

LAYERS, HEADS, KNOWING = 2, 3, (1, 2)  # layer and head, from 0, of the head that knows
VOCABULARY = 11


def random_heads(generator, size: int) -> list[int]:
    """A tree: every word hangs on one that was attached before, in a random order."""
    order = generator.permutation(size) + 1
    heads = np.zeros(size, np.int64)
    for place, word in enumerate(order[1:], start=1):
        heads[word - 1] = order[generator.integers(place)]
    return heads.tolist()


def planted(sizes, seed: int = 0, noise: float = 0.3):
    """
    Trees, encoded examples and word-level maps, (example, layer, head, query, key) with [CLS] and [SEP] around.

    Attention is noise, but one head looks from each word at its head, and at [CLS] from the root.
    """
    generator = np.random.default_rng(seed)
    rows, encoded, maps = [], [], []
    for example, size in enumerate(sizes, start=1):
        heads = random_heads(generator, size)
        words = [f"w{generator.integers(VOCABULARY)}" for _ in heads]
        relations = ["root" if not head else ("punct" if generator.random() < 0.1 else "dep") for head in heads]
        where = f"made:{example}"
        plain = [True] * size
        rows.append((example, where, "", 1, words, plain, ["X"] * size, heads, relations, heads, relations))
        kinds = [Kind.CLS, *[Kind.TEXT] * size, Kind.SEP]
        places = list(range(size + 2))
        encoded.append((example, where, False, places, None, places, ["[CLS]", *words, "[SEP]"], kinds))
        weights = generator.random((LAYERS, HEADS, size + 2, size + 2))
        sharp = np.zeros((size + 2, size + 2))
        sharp[np.arange(1, size + 1), heads] = 1
        weights[KNOWING] = noise * weights[KNOWING] / size + sharp
        maps.append((weights / weights.sum(-1, keepdims=True)).astype(np.float16))
    trees = pl.DataFrame(rows, TREES, orient="row")
    return trees, Encoded(pl.DataFrame(encoded, ENCODED, orient="row"), "corpus", "tokenizer"), maps


def as_shards(maps, shards: int):
    """The maps in so many shards, sentences of one size together and the longest first, as a shard gives them."""
    bounds = np.linspace(0, len(maps), shards + 1).astype(int)
    for start, stop in pairwise(bounds):
        numbers = np.arange(start, stop)
        sizes = np.array([maps[number].shape[-1] for number in numbers])
        yield [
            Maps(numbers[sizes == size] + 1, np.stack([maps[number] for number in numbers[sizes == size]]))
            for size in np.unique(sizes)[::-1]
        ]


def word_numbers(trees: pl.DataFrame) -> pl.Series:
    """The row of the word vectors of each word: the number in its name."""
    return pl.Series([[int(word[1:]) for word in words] for words in trees["words"]], dtype=pl.List(pl.UInt32))
