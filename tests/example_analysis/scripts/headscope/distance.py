"""
How far every head looks: the mean distance in tokens between a token and what it attends to.

Per example and head, sums over query tokens (`count_distance`, one table a shard); then means over the queries of an
example and over examples, with standard errors (`merge_distance`).
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import polars as pl

from headscope.description import Description
from headscope.encoding import Encoded
from headscope.statistics import mean_and_error
from headscope.store import Maps, on_host
from headscope.sums import table_of_sums

COUNTS, MEASURES = ("tokens",), ("distance",)


def distance_sums(weights: np.ndarray) -> np.ndarray:
    """
    Sum over the query tokens i of one example Σⱼ α[i, j] |i − j|.

    Parameters
    ----------
    weights
        Attention maps (layer, head, query, key) of any float type; computed in float64.

    Returns
    -------
    float64 (layer, head, 1), in tokens
    """
    place = np.arange(weights.shape[-1])
    apart = np.abs(place[:, None] - place[None, :])
    return np.einsum("lhij,ij->lh", weights, apart, dtype=np.float64)[..., None]


def count_distance(maps: Iterable[Maps]) -> pl.DataFrame:
    """Return one row per (example, layer, head), sorted: tokens, distance (a sum over them)."""
    parts = [
        (example, weights.shape[-1], distance_sums(on_host(weights)))
        for batch in maps
        for example, weights in zip(batch.examples.tolist(), batch.weights, strict=True)
    ]
    return table_of_sums(parts, COUNTS, MEASURES)


def merge_distance(
    shards: Callable[[], Iterator[pl.DataFrame]], encoded: Encoded, described: Description
) -> pl.DataFrame:
    """
    Turn the sums of all shards into the table `distance/heads`.

    Examples are added one by one in their order, so any number of shards gives the same bits.

    Returns
    -------
    layer, head, distance (tokens; the mean over queries, then examples), distance_se (its standard error over examples)

    Raises
    ------
    InputError
        If the shards do not hold every example exactly once.
    """
    encoded.refuse_other_shards(shards())
    mean, error, _ = mean_and_error(lambda: (_example_means(shard, described) for shard in shards()))
    layer, head = np.indices((described.layers, described.heads)).reshape(2, -1) + 1
    columns = {"layer": layer, "head": head, "distance": mean, "distance_se": error}
    return pl.DataFrame(columns).cast({"layer": pl.UInt16, "head": pl.UInt16}).fill_nan(None)


def _example_means(sums: pl.DataFrame, described: Description) -> np.ndarray:
    means = (sums["distance"] / sums["tokens"]).to_numpy()
    return means.reshape(-1, described.layers * described.heads)
