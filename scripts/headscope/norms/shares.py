"""What each kind of key gets of attention, of norms and of gradients, on one scale: the table `norms/shares`."""

import numpy as np
import polars as pl

from headscope.keys import KEYS
from headscope.norms.names import ATTENTION, GRADIENT, NORM, TOKENS
from headscope.norms.tables import Shards
from headscope.statistics import mean_and_error

SHARES = {"measure": pl.String, "layer": pl.UInt16, "key": pl.String, "share": pl.Float64, "share_se": pl.Float64}


def key_shares(layers: pl.DataFrame, gradients: pl.DataFrame | None, shards: Shards) -> pl.DataFrame:
    """
    Put the shares of each kind of key side by side.

    Parameters
    ----------
    layers
        The table `norms/layers`.
    gradients
        The table `gradients/layers` (layer, key, magnitude, magnitude_se), or None.
    shards
        As for `merge_norms`.

    Returns
    -------
    measure, layer, key, share, share_se. `attention` and `norm` are `weight_share` and `norm_share` of `layers`.
    `gradient` is `t_k g_k / Σ t g` over the kinds, with g the mean magnitude over entries of a kind and t its share of
    the tokens, so that it too is a share of a sum over keys; its standard error is that of first order with the kinds
    taken as independent, for the table does not hold examples. `tokens`, without layer, is the share that a kind has of
    the tokens (mean over examples), and so of whatever all keys get alike; the other shares are null where the examples
    have no such token.
    """
    parts = [
        layers.select(measure=pl.lit(name), layer="layer", key="key", share=column, share_se=f"{column}_se")
        for name, column in ((ATTENTION, "weight_share"), (NORM, "norm_share"))
    ]
    if layers.is_empty():
        return pl.concat(parts).cast(SHARES)
    numbers = token_numbers(shards)
    mean, error, _ = mean_and_error(lambda: (part[:, 1:] / part[:, :1] for part in numbers))
    if gradients is not None and not gradients.is_empty():
        parts.append(_gradient_shares(gradients, mean))
    columns = {"measure": TOKENS, "layer": None, "key": KEYS, "share": mean, "share_se": error}
    parts.append(pl.DataFrame(columns))
    return pl.concat([part.cast(SHARES) for part in parts]).fill_nan(None)


def token_numbers(shards: Shards) -> list[np.ndarray]:
    """Return for each shard the number of tokens, and of each kind, float64 (example, 1 + kind)."""
    return [shard.filter(layer=1, head=1).select("tokens", *KEYS).to_numpy().astype(np.float64) for shard in shards()]


def magnitudes(gradients: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return mean magnitudes and their standard errors, float64 (layer, kind as `KEYS`), NaN where there is none."""
    order = pl.DataFrame({"key": KEYS, "place": range(len(KEYS))})
    table = gradients.join(order, on="key").sort("layer", "place")
    return tuple(
        table[name].to_numpy().astype(np.float64).reshape(-1, len(KEYS)) for name in ("magnitude", "magnitude_se")
    )


def _gradient_shares(gradients: pl.DataFrame, token_share: np.ndarray) -> pl.DataFrame:
    mean, error = (values * token_share for values in magnitudes(gradients))
    total = np.nansum(mean, axis=1, keepdims=True)
    share = mean / total
    variance = np.nan_to_num(error) ** 2
    of_others = variance.sum(1, keepdims=True) - variance
    share_se = np.sqrt((1 - share) ** 2 * error**2 + share**2 * of_others) / total
    layer = np.repeat(np.arange(1, len(mean) + 1), len(KEYS))
    columns = {"layer": layer, "key": KEYS * len(mean), "share": share.ravel(), "share_se": share_se.ravel()}
    return pl.DataFrame(columns).select(pl.lit(GRADIENT).alias("measure"), *columns)
