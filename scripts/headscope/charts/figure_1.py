"""Figure 1: token-to-token maps of single heads, as lines and as heat maps."""

import json

import altair as alt
import polars as pl

from headscope.charts.theme import BLUE, titled

LINE_WIDTH, ROW_HEIGHT, CELL = 150, 15, 8
LABEL_WIDTH = 64
FAINTEST = 0.01
SHADES = ["#ffffff", "#9ecae1", "#2171b5", "#08306b"]  # at even steps of the square root
TOOLTIP = [
    alt.Tooltip("query_token:N", title="From"),
    alt.Tooltip("key_token:N", title="To"),
    alt.Tooltip("weight:Q", title="Attention", format=".4f"),
]


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
    """Add where each token is drawn: its rank, plus a blank row for every gap before it; and darkness from 0 to 1."""
    shown = maps.select(position="query").unique().sort("position")
    gaps = (pl.col("position").diff().fill_null(1) > 1).cum_sum()
    rows = shown.with_columns(row=pl.int_range(pl.len()) + gaps)
    cells = maps.join(rows.rename({"position": "query", "row": "query_row"}), on="query", maintain_order="left").join(
        rows.rename({"position": "key", "row": "key_row"}), on="key", maintain_order="left"
    )
    return cells.with_columns(darkness=pl.col("weight") / pl.max("weight").over("panel"), left=0, right=1)


def _row_scale(cells: pl.DataFrame) -> alt.Scale:
    return alt.Scale(domain=[-0.7, cells["query_row"].max() + 0.7], reverse=True, nice=False, zero=False)


def _lines(cells: pl.DataFrame, title: str) -> alt.LayerChart:
    scale = _row_scale(cells)
    x = alt.X("left:Q", axis=None, scale=alt.Scale(domain=[0, 1], nice=False))
    y = alt.Y("query_row:Q", axis=None, scale=scale)
    lines = (
        alt.Chart(cells.filter(pl.col("darkness") >= FAINTEST))
        .mark_rule(color=BLUE, strokeWidth=1.6)
        .encode(
            x,
            y,
            alt.X2("right:Q"),
            alt.Y2("key_row:Q"),
            strokeOpacity=alt.StrokeOpacity("darkness:Q", scale=None),
            tooltip=TOOLTIP,
        )
    )
    words = alt.Chart(cells.unique("query", maintain_order=True))
    left = words.mark_text(align="right", dx=-4, fontSize=10, limit=LABEL_WIDTH).encode(x, y, text="query_token:N")
    right = words.mark_text(align="left", dx=4, fontSize=10, limit=LABEL_WIDTH).encode(
        alt.X("right:Q", axis=None), y, text="query_token:N"
    )
    height = ROW_HEIGHT * (cells["query_row"].max() + 1)
    return (lines + left + right).properties(width=LINE_WIDTH, height=height, title=title)


def _heat_map(cells: pl.DataFrame) -> alt.Chart:
    rows = cells["query_row"].max() + 1
    order = cells.unique("query", maintain_order=True)
    names = dict(order.select("query_row", "query_token").iter_rows())
    labels = "{" + ",".join(f"{row}:{json.dumps(name)}" for row, name in names.items()) + "}[datum.value]"
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
