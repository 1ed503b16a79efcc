"""
How unlike every two heads are: the Jensen-Shannon divergence of their attention, averaged over query tokens.

Per example, sums over query tokens; per shard, sums over its examples (`headscope.divergence_counts`); then, here, the
mean over all query tokens. Source: Clark et al. 2019, section 6.
"""

from collections.abc import Iterable

import numpy as np
import polars as pl

from headscope.description import Description
from headscope.encoding import Encoded

STEPS_PER_NAT = 2**32  # int64 then holds 2**31 nats, the most that 3 billion query tokens can come to
PAIR = {"layer": pl.UInt16, "head": pl.UInt16, "other_layer": pl.UInt16, "other_head": pl.UInt16}


def pairs_of_heads(first: np.ndarray, other: np.ndarray, heads: int, other_heads: int | None = None) -> pl.DataFrame:
    """
    Name the heads of each pair: the columns of `PAIR`.

    Parameters
    ----------
    first, other
        Their numbers from 0 over all layers, (pair,).
    heads, other_heads
        How many a layer has, also of the other model where there is one.
    """
    numbers = (*np.divmod(first, heads), *np.divmod(other, other_heads or heads))
    return pl.DataFrame({name: part + 1 for name, part in zip(PAIR, numbers, strict=True)}).cast(PAIR)


def merge_divergence(
    shards: Iterable[pl.DataFrame], examples: Iterable[pl.DataFrame], encoded: Encoded, description: Description
) -> pl.DataFrame:
    """
    Turn the sums of all shards into the table `clusters/divergence`.

    Parameters
    ----------
    shards, examples
        The tables of `headscope.divergence_counts.count_divergence`, in the order of the shards.

    Returns
    -------
    layer, head, other_layer, other_head, divergence: nats, the mean over all query tokens. Every head with every head,
    so each pair twice and each head with itself, at 0.

    Raises
    ------
    InputError
        If the shards do not hold every example exactly once.
    """
    encoded.refuse_other_shards(examples)
    heads = description.layers * description.heads
    steps = sum(shard["steps"].to_numpy() for shard in shards)
    divergence = np.zeros((heads, heads))
    divergence[np.triu_indices(heads, 1)] = steps / STEPS_PER_NAT / encoded.sizes().sum()
    divergence += divergence.T
    first, other = np.indices((heads, heads)).reshape(2, -1)
    return pairs_of_heads(first, other, description.heads).with_columns(divergence=divergence.ravel())
