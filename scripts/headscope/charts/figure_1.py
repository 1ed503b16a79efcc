"""Figure 1: token-to-token maps of single heads, as lines and as heat maps."""

import json

import altair as alt
import polars as pl

from headscope.charts.lines import FAINTEST, TOOLTIP, height, lines, with_ends, words
from headscope.charts.texts import drawable, in_its_direction
from headscope.charts.theme import BLUE, titled

LINE_WIDTH, LABEL_WIDTH, CELL = 150, 64, 8
SHADES = ["#ffffff", "#9ecae1", "#2171b5", "#08306b"]  # at even steps of the square root


def figure_1(maps: pl.DataFrame, model: str, corpus: str) -> alt.HConcatChart:
    """
    Two rows: lines from each query (left) to the keys it attends to (right), and the same maps as heat maps.

    Parameters
    ----------
    maps
        The table `surface/maps`.

    Source: Clark et al. 2019, figure 1.
    """
    cells = _with_rows(maps)
    panels = cells["panel"].unique(maintain_order=True).to_list()
    of_panel = [cells.filter(pl.col("panel") == panel) for panel in panels]
    columns = [
        alt.vconcat(_lines(part, title), _heat_map(part), spacing=16)
        for part, title in zip(of_panel, panels, strict=True)
    ]
    example, size = cells["example"].first(), cells["query"].n_unique()
    return titled(
        alt.hconcat(*columns, spacing=20),
        "Figure 1: what single heads look at",
        f"{model} on {corpus}, example {example}, {size} of its tokens (a gap marks those left out)",
        f"Lines: dark as their share of the panel's strongest, from {FAINTEST} up. Heat maps: square-root scale.",
    )


def _with_rows(maps: pl.DataFrame) -> pl.DataFrame:
    """Add where each token is drawn: its rank, plus a blank row for every gap before it."""
    shown = maps.select(position="query").unique().sort("position")
    gaps = (pl.col("position").diff().fill_null(1) > 1).cum_sum()
    return with_ends(maps, shown.with_columns(row=pl.int_range(pl.len()) + gaps), "panel")


def _lines(cells: pl.DataFrame, title: str) -> alt.LayerChart:
    last = cells["query_row"].max()
    seen = lines(cells.filter(pl.col("darkness") >= FAINTEST), last, color=alt.value(BLUE), strokeWidth=alt.value(1.6))
    tokens = cells.unique("query", maintain_order=True)
    sides = [words(tokens, side, last, LABEL_WIDTH) for side in ("left", "right")]
    return alt.layer(seen, *sides).properties(width=LINE_WIDTH, height=height(last), title=title)


def _heat_map(cells: pl.DataFrame) -> alt.Chart:
    rows = cells["query_row"].max() + 1
    order = cells.unique("query", maintain_order=True)
    names = order.select("query_row", "query_token").iter_rows()
    quoted = (f"{row}:{json.dumps(drawable(in_its_direction(token)))}" for row, token in names)
    labels = "{" + ",".join(quoted) + "}[datum.value]"
    axis = alt.Axis(
        title=None,
        labelExpr=labels,
        labelFontSize=7,
        labelLimit=LABEL_WIDTH,
        ticks=False,
        domain=False,
        grid=False,
        labelOverlap=False,
    )
    every_row = alt.Scale(domain=list(range(rows)))
    return (
        alt.Chart(cells)
        .mark_rect()
        .encode(
            alt.X("key_row:O", axis=axis, scale=every_row),
            alt.Y("query_row:O", axis=axis, scale=every_row),
            alt.Color(
                "weight:Q",
                scale=alt.Scale(type="sqrt", domain=[0, 1 / 9, 4 / 9, 1], range=SHADES, interpolate="rgb"),
                legend=alt.Legend(title="Attention", orient="right"),
            ),
            tooltip=TOOLTIP,
        )
        .properties(width=CELL * rows, height=CELL * rows)
    )
