"""From the sums of all shards to tables: every head of one model with every head of another, the nearest of each."""

from collections.abc import Iterable
from typing import NamedTuple

import polars as pl

from headscope.between.agreement import LEFT_OUT, Agreement
from headscope.divergence import PAIR, STEPS_PER_NAT
from headscope.errors import InputError

MODELS = {"model": pl.String, "other_model": pl.String}
DIVERGENCE = pl.Schema(
    {
        "model": pl.String,
        "layer": PAIR["layer"],
        "head": PAIR["head"],
        "other_model": pl.String,
        "other_layer": PAIR["other_layer"],
        "other_head": PAIR["other_head"],
        "divergence": pl.Float64,
    }
)
LAYERS = pl.Schema({name: kind for name, kind in DIVERGENCE.items() if name not in ("head", "other_head")})
PAIRS = pl.Schema(
    MODELS
    | {
        "level": pl.String,
        "examples": pl.UInt32,
        "queries": pl.UInt64,
        "left_out": pl.UInt32,
        "divergence": pl.Float64,
        "refused": pl.String,
    }
)


class Between(NamedTuple):
    """
    The tables of one pair of models, or of all pairs on a corpus.

    divergence
        model, layer, head, other_model, other_layer, other_head, divergence: nats, the mean over all common queries.
    nearest
        The same columns: for each head of either model the head of the other with the least divergence (ties: the
        lowest layer and head).
    layers
        model, layer, other_model, other_layer, divergence: the mean over all pairs of heads of two layers.
    pairs
        model, other_model, level, examples, queries, left_out (examples), divergence (the mean over all pairs of
        heads; null where refused), refused (why they cannot be compared, else null).
    left_out
        model, other_model, example, where, reason.
    """

    divergence: pl.DataFrame
    nearest: pl.DataFrame
    layers: pl.DataFrame
    pairs: pl.DataFrame
    left_out: pl.DataFrame


def merge_between(
    sums: Iterable[pl.DataFrame], examples: Iterable[pl.DataFrame], agreed: Agreement, name: str, other_name: str
) -> Between:
    """
    Turn the sums of all shards into the tables of one pair; those of heads are empty where it is refused.

    Parameters
    ----------
    sums, examples
        The tables of `headscope.between.counting.count_between`, of every shard.

    Raises
    ------
    InputError
        If the shards do not hold every common example exactly once.
    """
    sums = list(sums)
    found, wanted = pl.concat(examples)["example"].sort(), agreed.common["example"]
    if not found.equals(wanted):
        raise InputError(
            f"shards of {name} and {other_name}: expected each of {len(wanted)} common examples once, found "
            f"{len(found)} with {wanted.is_in(found.implode()).not_().sum()} missing; delete the folder attention/ of "
            "both and run again"
        )
    queries, models = agreed.common["queries"].sum(), {"model": pl.lit(name), "other_model": pl.lit(other_name)}
    if agreed.refused:
        divergence = DIVERGENCE.to_frame()
    else:
        steps = sum(shard["steps"] for shard in sums)
        mean = (steps.cast(pl.Float64) / STEPS_PER_NAT / queries).alias("divergence")
        divergence = sums[0].select(*PAIR).with_columns(mean, **models).select(*DIVERGENCE)
    pair = {
        "model": name,
        "other_model": other_name,
        "level": agreed.level,
        "examples": agreed.common.height,
        "queries": queries,
        "left_out": agreed.left_out.height,
        "divergence": divergence["divergence"].mean(),
        "refused": agreed.refused,
    }
    return Between(
        divergence,
        pl.concat([nearest(divergence), nearest(the_other_way(divergence))]),
        divergence.group_by("model", "layer", "other_model", "other_layer", maintain_order=True)
        .agg(pl.col("divergence").mean())
        .select(*LAYERS),
        pl.DataFrame([pair], PAIRS),
        agreed.left_out.with_columns(**models).select(*MODELS, *LEFT_OUT),
    )


def the_other_way(divergence: pl.DataFrame) -> pl.DataFrame:
    """Return a table of divergences as seen from the other model: the same numbers, each with both heads exchanged."""
    exchanged = {name: f"other_{name}" for name in ("model", "layer", "head")}
    names = exchanged | {other: name for name, other in exchanged.items()}
    return divergence.rename(names).select(*DIVERGENCE).sort(*DIVERGENCE.names()[:6])


def nearest(divergence: pl.DataFrame) -> pl.DataFrame:
    """Return for each head of `model` the row of the head of `other_model` that is least unlike."""
    keys = ["model", "layer", "head"]
    ordered = divergence.sort(*keys, "divergence", "other_layer", "other_head")
    return ordered.unique(keys, keep="first", maintain_order=True)
