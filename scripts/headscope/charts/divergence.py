"""The divergence of every two heads as a heat map, similar heads beside each other."""

import math

import altair as alt
import polars as pl

from headscope.charts.theme import SHADES, layer_colour, titled, what_was_run
from headscope.description import Description

SIDE, STRIP = 620, 14  # pixels
MOST_CELLS, MOST_NAMES = 160, 80  # a side; beyond, neighbours share a cell, and heads go without a name


def divergence_matrix(
    divergence: pl.DataFrame, mapped: pl.DataFrame, uniform: pl.DataFrame, described: Description, corpus: str
) -> alt.HConcatChart:
    """
    Every head against every head, in the order that clustering gives, with the layer of each at the side.

    Parameters
    ----------
    divergence, mapped, uniform
        The tables `clusters/divergence`, `clusters/map` and `surface/uniform`. Of a model with more heads than a
        figure can hold cells, neighbouring heads share a cell, which shows their mean.
    """
    together = math.ceil(mapped.height / MOST_CELLS)
    placed = mapped.sort("place").select(
        "layer", "head", cell=(pl.col("place") - 1) // together, name=pl.format("{}-{}", "layer", "head")
    )
    groups = placed.group_by("cell", maintain_order=True).agg(pl.col("layer").mean(), pl.col("name").str.join(", "))
    cells = (
        divergence.join(placed, ["layer", "head"])
        .join(placed.rename(lambda column: f"other_{column}"), ["other_layer", "other_head"])
        .group_by("cell", "other_cell")
        .agg(pl.col("divergence").mean().round(4))
        .join(groups.select("cell", "name"), "cell")
        .join(groups.select(other_cell="cell", other_name="name"), "other_cell")
        .sort("cell", "other_cell")
    )
    names = groups["name"].to_list() if mapped.height <= MOST_NAMES else None
    shared = [f"Each cell is the mean of {together} × {together} neighbours."] if together > 1 else []
    return titled(
        alt.hconcat(_squares(cells, groups.height, names), _strip(groups, mapped["layer"].max()), spacing=6),
        "How unlike every two heads are",
        what_was_run(described.name, corpus, uniform),
        "Jensen-Shannon divergence of attention, the mean over query tokens; ordered by average-linkage clustering, so "
        "dark squares are groups of heads that are alike.",
        *shared,
    ).resolve_scale(color="independent")


def _squares(cells: pl.DataFrame, count: int, names: list[str] | None) -> alt.Chart:
    """The matrix, `count` cells a side."""
    return (
        alt.Chart(cells)
        .mark_rect()
        .encode(
            _axis(alt.X, "cell", count, names),
            _axis(alt.Y, "other_cell", count, names),
            alt.Color(
                "divergence:Q",
                scale=alt.Scale(range=SHADES[::-1], domainMin=0, interpolate="rgb"),
                legend=alt.Legend(title="Divergence (nats)", gradientLength=220, format=".1f", orient="bottom"),
            ),
            tooltip=[
                alt.Tooltip("name:N", title="Head"),
                alt.Tooltip("other_name:N", title="Other head"),
                alt.Tooltip("divergence:Q", title="Divergence (nats)", format=".4f"),
            ],
        )
        .properties(width=SIDE, height=SIDE)
    )


def _strip(groups: pl.DataFrame, last: int) -> alt.Chart:
    """The layer of each row of the matrix."""
    return (
        alt.Chart(groups)
        .mark_rect()
        .encode(
            _axis(alt.Y, "cell", groups.height),
            layer_colour(last, gradientLength=220),
            tooltip=[alt.Tooltip("name:N", title="Head"), alt.Tooltip("layer:Q", title="Layer", format=".3~g")],
        )
        .properties(width=STRIP, height=SIDE)
    )


def _axis(channel, column: str, count: int, names: list[str] | None = None):
    axis = None
    if names:
        side = "top" if channel is alt.X else "left"
        label = {"labelExpr": f"{names}[datum.value]", "labelFontSize": 7, "labelOverlap": False}
        axis = alt.Axis(orient=side, ticks=False, domain=False, **label)
    return channel(f"{column}:O", title=None, axis=axis, scale=alt.Scale(domain=list(range(count)), padding=0))
