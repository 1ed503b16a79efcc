"""From the sums of shards to the tables `norms/layers` and `norms/heads`, with standard errors over examples."""

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

from headscope.description import Description
from headscope.encoding import Encoded
from headscope.keys import KEYS
from headscope.norms.architectures import why_not
from headscope.norms.names import MEASURES
from headscope.statistics import mean_and_error

PLACES = (("layer",), ("layer", "head"))
Shards = Callable[[], Iterator[pl.DataFrame]]


def merge_norms(shards: Shards, encoded: Encoded, described: Description) -> tuple[pl.DataFrame, pl.DataFrame]:
    """
    Turn the sums of all shards into the tables `norms/layers` and `norms/heads`.

    Examples are added one by one in their order, so any number of shards gives the same bits.

    Parameters
    ----------
    shards
        A function that yields the tables of `count_norms`, in order; called several times.

    Returns
    -------
    layers
        layer, key (`KEYS`), and for each measure its mean over examples and `<measure>_se`, the standard error. An
        example's value is the mean over the heads of the layer.
    heads
        The same for layer, head, key. An example's value, see `example_means`, is:
        `weight_share`, the attention that a query gives to keys of this kind, averaged over queries;
        `norm_share`, the share of these keys in the sum over all keys of `α_ij ‖f(x_j)‖`, averaged over queries;
        `value_norm`, `‖f(x_j)‖` averaged over the keys of this kind.
        Null where the examples have no such token. Both tables are empty for an architecture whose norms cannot be
        computed.

    Raises
    ------
    InputError
        If the shards do not hold every example exactly once.
    """
    if why_not(described.architecture):
        nothing = np.empty((0, len(MEASURES), len(KEYS)))
        return tuple(_long(dict.fromkeys(places, np.empty(0)), nothing, nothing) for places in PLACES)
    encoded.refuse_other_shards(shards())
    by_head = mean_and_error(lambda: (example_means(shard, described) for shard in shards()))
    by_layer = mean_and_error(lambda: (layer_means(example_means(shard, described)) for shard in shards()))
    layer, head = np.indices((described.layers, described.heads)).reshape(2, -1) + 1
    return (
        _long({"layer": np.arange(1, described.layers + 1)}, *by_layer[:2]),
        _long({"layer": layer, "head": head}, *by_head[:2]),
    )


def example_means(sums: pl.DataFrame, described: Description) -> np.ndarray:
    """
    Divide the sums of `count_norms` by what they run over.

    A kind of special token that an example does not have gives NaN, and so does the value norm of any kind it does not
    have; an example without "." and "," gives them a share of 0. The norm share is NaN where a head writes nothing.

    Returns
    -------
    float64 (example, layer, head, measure as `MEASURES`, key as `KEYS`)
    """
    by = {}
    for key in KEYS:
        exists = pl.col(key) > 0 if key in ("cls", "sep") else pl.lit(True)
        by |= {
            f"weight_{key}": pl.when(exists).then("tokens"),
            f"norm_{key}": pl.when(exists & (pl.col("norm_queries") > 0)).then("norm_queries"),
            f"value_{key}": pl.when(pl.col(key) > 0).then(key),
        }
    columns = [f"{what}_{key}" for what in ("weight", "norm", "value") for key in KEYS]
    means = sums.select(pl.col(column) / by[column] for column in columns).to_numpy()
    examples = sums["example"].n_unique()
    return means.reshape(examples, described.layers, described.heads, len(MEASURES), len(KEYS))


def layer_means(means: np.ndarray) -> np.ndarray:
    """Average (example, layer, head, measure, key) over the heads that have a value: (example, layer, measure, key)."""
    known = ~np.isnan(means)
    total, count = np.where(known, means, 0).sum(2), known.sum(2)
    return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)


def _long(places: dict[str, np.ndarray], mean: np.ndarray, error: np.ndarray) -> pl.DataFrame:
    """Lay out (place..., measure, key) as one row per place and key."""
    columns = {name: np.repeat(values, len(KEYS)).astype(np.uint16) for name, values in places.items()}
    columns["key"] = pl.Series(list(KEYS) * (len(next(iter(columns.values()))) // len(KEYS)), dtype=pl.String)
    for values, ending in ((mean, ""), (error, "_se")):
        by_measure = values.reshape(-1, len(MEASURES), len(KEYS)).swapaxes(0, 1)
        columns |= {f"{measure}{ending}": part.ravel() for measure, part in zip(MEASURES, by_measure, strict=True)}
    order = [name for measure in MEASURES for name in (measure, f"{measure}_se")]
    return pl.DataFrame(columns).select(*places, "key", *order).fill_nan(None)
