"""One attention map as lines, from the words on the left to the words on the right; figures 1 and 5 are made of it."""

import altair as alt
import polars as pl
import polars.selectors as cs

from headscope.charts.texts import in_its_direction

ROW_HEIGHT = 15
FAINTEST = 0.01
TOOLTIP = [
    alt.Tooltip("query_token:N", title="From"),
    alt.Tooltip("key_token:N", title="To"),
    alt.Tooltip("weight:Q", title="Attention", format=".4f"),
]


def with_ends(cells: pl.DataFrame, rows: pl.DataFrame, panel: str) -> pl.DataFrame:
    """
    Add where each line starts and ends, and its darkness: its share of the strongest of its panel.

    Parameters
    ----------
    cells
        query, key (positions), weight and the column `panel`.
    rows
        position, row: where each word is drawn, from 0.
    """
    ends = cells
    for end in ("query", "key"):
        renamed = rows.select(pl.col("position").alias(end), pl.col("row").alias(f"{end}_row"))
        ends = ends.join(renamed, on=end, maintain_order="left")
    return ends.with_columns(darkness=pl.col("weight") / pl.max("weight").over(panel), left=0, right=1)


def lines(cells: pl.DataFrame, last_row: int, margin: float = 0, **encoding) -> alt.Chart:
    """
    Return a line for each cell, as dark as its `darkness`.

    Parameters
    ----------
    cells
        As `with_ends` returns them, with query_token and key_token for the tooltip.
    last_row
        The lowest row of the panel.
    margin
        Room inside the panel for the words of either side, as a share of the lines' width; 0: they stand outside.
    encoding
        Further channels of the lines, such as their colour and width; or others, such as a tooltip.
    """
    x, y = _axes(last_row, margin)
    return (
        alt.Chart(cells)
        .mark_rule()
        .encode(
            x("left"),
            y("query_row"),
            alt.X2("right:Q"),
            alt.Y2("key_row:Q"),
            strokeOpacity=alt.StrokeOpacity("darkness:Q", scale=None),
            **{"tooltip": TOOLTIP} | encoding,
        )
    )


def words(table: pl.DataFrame, side: str, last_row: int, limit: int, margin: float = 0, **mark) -> alt.Chart:
    """
    Return the words of one side.

    Parameters
    ----------
    table
        left, right, query_row and query_token, as in the table of lines; one row a word.
    side
        `left` or `right`.
    limit
        The longest a word may be in pixels; the end of a longer one becomes an ellipsis.
    mark
        Further properties of the text, such as its colour; or others, such as its size.
    """
    x, y = _axes(last_row, margin)
    away = {"left": {"align": "right", "dx": -4}, "right": {"align": "left", "dx": 4}}[side]
    directed = (cs.by_name("query_token") & cs.string()).map_elements(in_its_direction, return_dtype=pl.String)
    text = alt.Chart(table.with_columns(directed)).mark_text(**{"fontSize": 10, "limit": limit} | away | mark)
    return text.encode(x(side), y("query_row"), text="query_token:N")


def height(last_row: int) -> int:
    """Return the height of a panel in pixels."""
    return ROW_HEIGHT * (last_row + 1)


def _axes(last_row, margin):
    across = alt.Scale(domain=[-margin, 1 + margin], nice=False, zero=False)
    down = alt.Scale(domain=[-0.7, last_row + 0.7], reverse=True, nice=False, zero=False)
    return (
        lambda column: alt.X(f"{column}:Q", axis=None, scale=across),
        lambda column: alt.Y(f"{column}:Q", axis=None, scale=down),
    )
