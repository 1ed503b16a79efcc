"""
How unlike every head of one model and every head of another are: sums of their divergence over the queries of a shard.

The divergence is that of `headscope.divergence`; what is compared, that of `headscope.between.agreement`.
Source: Clark et al. 2019, section 6, carried over to two models.
"""

from collections.abc import Iterable

import numpy as np
import polars as pl
import torch

from headscope.between.agreement import Agreement, common_maps
from headscope.description import Description
from headscope.divergence import pairs_of_heads
from headscope.divergence_counts import cross_sums, in_steps
from headscope.encoding import Encoded
from headscope.store import Maps


def count_between(
    maps: Iterable[Maps],
    other_maps,
    encoded: tuple[Encoded, Encoded],
    described: tuple[Description, Description],
    agreed: Agreement,
    smoothing: str = "none",
    device: torch.device | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """
    Sum the divergence of every head of one model from every head of another over the common queries of a shard.

    Rounded and added as by `headscope.divergence_counts.count_divergence`: no sharding of either model changes a bit.

    Parameters
    ----------
    maps
        Of the one model, those of a shard.
    other_maps
        Of the other, as `headscope.maps_source.open_maps` gives those of the whole corpus: its examples may be dealt
        to its shards otherwise.
    encoded, described
        Of both.
    agreed
        What they have in common.

    Returns
    -------
    sums
        layer, head, other_layer, other_head, steps (int64).
    examples
        example: the numbers of those that were added, in order.
    """
    total, added = np.zeros([one.layers * one.heads for one in described], np.int64), []
    wanted = set(agreed.common["example"])
    kinds, other_kinds = (dict(one.table.select("example", "kinds").iter_rows()) for one in encoded)
    for batch in maps:
        for example, weights in zip(batch.examples.tolist(), batch.weights, strict=True):
            if example in wanted:
                compared = common_maps(weights, kinds[example], agreed.level)
                others = common_maps(other_maps.example(example), other_kinds[example], agreed.level)
                total += in_steps(cross_sums(compared, others, smoothing, device))
                added.append(example)
    first, other = np.indices(total.shape).reshape(2, -1)
    sums = pairs_of_heads(first, other, *(one.heads for one in described)).with_columns(steps=total.ravel())
    return sums, pl.DataFrame({"example": sorted(added)}, {"example": pl.UInt32})
