"""From the sums of all shards to the tables of gradients: means over entries, then examples, with standard errors."""

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

from headscope.description import Description
from headscope.encoding import Encoded
from headscope.gradients.names import ENTRIES
from headscope.keys import KEYS
from headscope.statistics import mean_and_error

LAYERS = pl.Schema({"layer": pl.UInt16, "key": pl.String, "magnitude": pl.Float64, "magnitude_se": pl.Float64})
HEADS = pl.Schema({"layer": pl.UInt16, "head": pl.UInt16} | dict(list(LAYERS.items())[1:]))
LOSS = pl.Schema(
    {"examples": pl.UInt32, "masked": pl.UInt64, "loss": pl.Float64, "loss_se": pl.Float64, "refused": pl.String}
)


def merge_gradients(
    shards: Callable[[], Iterator[pl.DataFrame]], encoded: Encoded, described: Description
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """
    Turn the sums of all shards into the tables `gradients/layers`, `gradients/heads` and `gradients/loss`.

    Examples are added one by one in their order, so any number of shards gives the same bits.

    Parameters
    ----------
    shards
        A function that yields the tables of `count_gradients`, in order; called several times.

    Returns
    -------
    layers
        layer, key, magnitude (the mean of |d loss / d weight| over heads and over entries with such a key, then over
        the examples that have one), magnitude_se, its standard error over examples.
    heads
        The same of each head: layer, head, key, magnitude, magnitude_se.
    loss
        One row: examples, masked (tokens), loss (nats, mean over examples) with its standard error, refused (null).

    Raises
    ------
    InputError
        If the shards do not hold every example exactly once.
    """
    encoded.refuse_other_shards(shards())
    shape = described.layers, described.heads
    by_head = mean_and_error(lambda: (_magnitudes(shard, *shape) for shard in shards()))
    by_layer = mean_and_error(lambda: (_magnitudes(shard, *shape).mean(2) for shard in shards()))
    layer, head, key = np.indices((*shape, len(KEYS))).reshape(3, -1)
    heads = _table({"layer": layer + 1, "head": head + 1, "key": np.array(KEYS)[key]}, by_head, HEADS)
    layer, key = np.indices((described.layers, len(KEYS))).reshape(2, -1)
    layers = _table({"layer": layer + 1, "key": np.array(KEYS)[key]}, by_layer, LAYERS)
    return layers, heads, _loss(shards)


def refused_tables(reason: str) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return the same tables of a model that has no such gradients: two empty ones, and one row that says why."""
    row = {"examples": 0, "masked": 0, "loss": None, "loss_se": None, "refused": reason}
    return pl.DataFrame(schema=LAYERS), pl.DataFrame(schema=HEADS), pl.DataFrame([row], LOSS)


def _magnitudes(shard: pl.DataFrame, layers: int, heads: int) -> np.ndarray:
    """The mean magnitude of each kind of key, float64 (example, layer, head, kind), NaN where an example has none."""
    means = shard.select(
        pl.when(pl.col(entries) > 0).then(pl.col(key) / pl.col(entries)).alias(key)
        for key, entries in zip(KEYS, ENTRIES, strict=True)
    )
    return means.to_numpy().reshape(-1, layers, heads, len(KEYS))


def _table(columns, mean_error_count, schema) -> pl.DataFrame:
    mean, error, _ = mean_error_count
    columns |= {"magnitude": mean.ravel(), "magnitude_se": error.ravel()}
    return pl.DataFrame(columns).cast(schema).with_columns(pl.col("magnitude", "magnitude_se").fill_nan(None))


def _loss(shards) -> pl.DataFrame:
    of_example = [shard.filter(layer=1, head=1).select("masked", "loss") for shard in shards()]
    losses = [table["loss"].to_numpy() for table in of_example]
    mean, error, count = mean_and_error(lambda: losses)
    masked = sum(table["masked"].sum() for table in of_example)
    row = {"examples": int(count), "masked": masked, "loss": float(mean), "loss_se": float(error), "refused": None}
    return pl.DataFrame([row], LOSS).with_columns(pl.col("loss", "loss_se").fill_nan(None))
