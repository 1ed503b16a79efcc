"""
Surface patterns of every head: where its attention goes, and how broad it is.

Per example and head, sums over query tokens (`headscope.surface_counts`, one table a shard); then, here, means over the
queries of an example and over examples, with standard errors over examples.
Source: Clark et al. 2019, sections 3.1 to 3.3.
"""

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

from headscope.description import Description
from headscope.encoding import Encoded, Kind
from headscope.statistics import mean_and_error

MEASURES = (
    "to_self",
    "to_previous",
    "to_next",
    "to_cls",
    "to_sep",
    "to_punctuation",
    "sep_to_sep",
    "other_to_sep",
    "entropy",
    "entropy_from_cls",
    "to_first",
)
COUNTS = ("tokens", "cls", "sep")


def merge_surface(
    shards: Callable[[], Iterator[pl.DataFrame]],
    encoded: Encoded,
    description: Description,
    neighbours: str = "existing",
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """
    Turn the sums of all shards into the tables `surface/heads` and `surface/uniform`.

    Examples are added one by one in their order, so any number of shards gives the same bits.

    Parameters
    ----------
    shards
        A function that yields the tables of `headscope.surface_counts.count_surface`, in order; called twice.
    neighbours
        The queries of `to_previous` and `to_next`: `existing`, those that have such a neighbour, or `paper`, all of
        them, as the paper's notebook divides.

    Returns
    -------
    heads
        layer, head, and for each measure its mean over examples and `<measure>_se`, the standard error. Null where
        the model has no such token, and `to_next` where the layer is causal: none of its tokens sees the next.
        `to_first` is the attention to the first token of the example, whatever it is (mean over all queries, the first
        and those that a window keeps from it among them): where there is no [CLS], it tells an attention sink.
    uniform
        layer, entropy and entropy_from_cls of uniform attention over the keys that the layer can see (mean over
        queries, then examples), examples, tokens.

    Raises
    ------
    InputError
        If the shards do not hold every example exactly once.
    """
    encoded.refuse_other_shards(shards())
    mean, error, _ = mean_and_error(lambda: (example_means(shard, neighbours) for shard in shards()))
    layer, head = np.indices((description.layers, description.heads)).reshape(2, -1) + 1
    columns = {"layer": layer.astype(np.uint16), "head": head.astype(np.uint16)}
    is_causal = np.repeat([view.causal for view in description.views], description.heads)
    for number, measure in enumerate(MEASURES):
        is_blind = is_causal & (measure == "to_next")
        columns[measure] = np.where(is_blind, np.nan, mean[:, number])
        columns[f"{measure}_se"] = np.where(is_blind, np.nan, error[:, number])
    return pl.DataFrame(columns).fill_nan(None), uniform_attention(encoded, description)


def example_means(sums: pl.DataFrame, neighbours: str) -> np.ndarray:
    """Divide sums by their number of queries: float64 (example, layer and head, measure), NaN where there is none."""
    tokens = pl.col("tokens")
    neighbour = tokens if neighbours == "paper" else tokens - 1
    only_with = {"to_cls": pl.col("cls"), "to_sep": pl.col("sep")}
    queries = {
        "to_previous": neighbour,
        "to_next": neighbour,
        "sep_to_sep": pl.col("sep"),
        "other_to_sep": pl.when(pl.col("sep") > 0).then(tokens - pl.col("sep")),
        "entropy_from_cls": pl.col("cls"),
    } | {measure: pl.when(count > 0).then(tokens) for measure, count in only_with.items()}
    means = sums.select(
        pl.when(queries.get(measure, tokens) > 0).then(pl.col(measure) / queries.get(measure, tokens)).alias(measure)
        for measure in MEASURES
    )
    examples = sums["example"].n_unique()
    return means.to_numpy().reshape(examples, means.height // max(examples, 1), len(MEASURES))


def uniform_attention(encoded: Encoded, description: Description) -> pl.DataFrame:
    """Return per layer the mean entropy (nats) of attention spread evenly over the keys that it can see."""
    lengths, kinds = encoded.lengths(), encoded.table["kinds"]
    rows = []
    for layer, view in enumerate(description.views, start=1):
        by_length = {int(size): np.log(view.visible_keys(int(size))) for size in np.unique(lengths)}
        from_all = [by_length[size].mean() for size in lengths]
        is_cls = [row.to_numpy() == Kind.CLS for row in kinds]
        from_cls = [by_length[len(cls)][cls].mean() for cls in is_cls if cls.any()]
        mean_from_cls = np.mean(from_cls) if from_cls else None
        rows.append((layer, np.mean(from_all), mean_from_cls, len(lengths), int(lengths.sum())))
    types = {
        "layer": pl.UInt16,
        "entropy": pl.Float64,
        "entropy_from_cls": pl.Float64,
        "examples": pl.UInt32,
        "tokens": pl.UInt64,
    }
    return pl.DataFrame(rows, types, orient="row")
