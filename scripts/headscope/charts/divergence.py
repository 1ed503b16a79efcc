"""The divergence of every two heads as a heat map, similar heads beside each other."""

import math

import altair as alt
import polars as pl

from headscope.charts.theme import titled, what_was_run
from headscope.description import Description

SIDE, STRIP = 620, 14  # pixels
MOST_CELLS, MOST_NAMES = 160, 80  # a side; beyond, neighbours share a cell, and heads go without a name
SHADES = ["#08306b", "#2171b5", "#6baed6", "#c6dbef", "#f7fbff"]


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
    heads = mapped.height
    together = math.ceil(heads / MOST_CELLS)
    placed = mapped.select(
        "layer", "head", cell=(pl.col("place") - 1) // together, name=pl.format("{}-{}", "layer", "head")
    )
    groups = (
        placed.sort("cell")
        .group_by("cell", maintain_order=True)
        .agg(pl.col("layer").mean(), pl.col("name").str.join(", "))
    )
    others = placed.rename(lambda column: f"other_{column}")
    cells = (
        divergence.join(placed, ["layer", "head"])
        .join(others, ["other_layer", "other_head"])
        .group_by("cell", "other_cell")
        .agg(pl.col("divergence").mean())
        .join(groups.select("cell", "name"), "cell")
        .join(groups.select(other_cell="cell", other_name="name"), "other_cell")
        .with_columns(pl.col("divergence").round(4))
        .sort("cell", "other_cell")
    )
    names = groups["name"].to_list() if together == 1 and heads <= MOST_NAMES else None
    squares = (
        alt.Chart(cells)
        .mark_rect()
        .encode(
            _axis(alt.X, "cell", names, "top", groups.height),
            _axis(alt.Y, "other_cell", None, "left", groups.height),
            alt.Color(
                "divergence:Q",
                scale=alt.Scale(range=SHADES, domainMin=0, interpolate="rgb"),
                legend=alt.Legend(title="Divergence (nats)", gradientLength=220, format=".2f"),
            ),
            tooltip=[
                alt.Tooltip("name:N", title="Head"),
                alt.Tooltip("other_name:N", title="Other head"),
                alt.Tooltip("divergence:Q", title="Divergence (nats)", format=".4f"),
            ],
        )
        .properties(width=SIDE, height=SIDE)
    )
    last = mapped["layer"].max()
    strip = (
        alt.Chart(groups)
        .mark_rect()
        .encode(
            _axis(alt.Y, "cell", names, "left", groups.height),
            alt.Color(
                "layer:Q",
                scale=alt.Scale(domain=[1, last], scheme="viridis"),
                legend=alt.Legend(title="Layer (strip)", gradientLength=220, tickCount=min(last, 12), format="d"),
            ),
            tooltip=[alt.Tooltip("name:N", title="Head"), alt.Tooltip("layer:Q", title="Layer", format=".3~g")],
        )
        .properties(width=STRIP, height=SIDE)
    )
    shared = [f"Each cell is the mean of {together} × {together} neighbours."] if together > 1 else []
    return titled(
        alt.hconcat(strip, squares, spacing=4).resolve_scale(color="independent"),
        "How unlike every two heads are",
        what_was_run(described.name, corpus, uniform),
        "Jensen-Shannon divergence of attention, the mean over query tokens; ordered by average-linkage clustering, so "
        "dark squares are groups of heads that are alike.",
        *shared,
    )


def _axis(channel, column: str, names: list[str] | None, side: str, cells: int):
    labels = {"labelExpr": f"{names}[datum.value]", "labelFontSize": 7, "labelOverlap": False} if names else {}
    axis = alt.Axis(orient=side, ticks=False, domain=False, **labels) if names else None
    return channel(f"{column}:O", title=None, axis=axis, scale=alt.Scale(domain=list(range(cells)), padding=0))
