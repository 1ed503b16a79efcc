"""Heat maps of layer and head, and the most frequent kind: how often each head is right in its better direction."""

import math

import altair as alt
import polars as pl

from headscope.charts.theme import SHADES, VERMILLION

PANEL_WIDTH, LARGEST_CELL, SMALLEST_OUTLINE, MOST_LABELS = 312, 26, 11, 16


def heat_map(
    heads: pl.DataFrame,
    best: dict,
    name: str,
    subject: str,
    direction_names: dict[str, str],
    dotted: tuple[int, int] | None = None,
) -> alt.LayerChart:
    """
    Return a panel: the accuracy of every head, the best head outlined.

    Parameters
    ----------
    heads
        layer, head, direction, correct, total, accuracy of all heads.
    best
        The row of `heads` to outline.
    name
        What the heads are scored on here: the panel's title.
    subject
        What names such as this one are; it heads them in the tooltip.
    direction_names
        What a reader sees of each direction.
    dotted
        Layer and head of a head to find again in every panel: it gets a dot.
    """
    cells = (
        heads.sort("accuracy", "direction", descending=[True, False], nulls_last=True)
        .unique(["layer", "head"], keep="first", maintain_order=True)
        .sort("layer", "head")
        .select(
            pl.lit(name).alias(subject),
            "layer",
            "head",
            "accuracy",
            name=pl.format("{}-{}", "layer", "head"),
            way=pl.col("direction").replace_strict(direction_names),
            correct=pl.format("{} of {}", "correct", "total"),
            best=(pl.col("layer") == best["layer"]) & (pl.col("head") == best["head"]),
        )
    )
    base, cell, panel = grid(cells)
    drawn = squares(
        base,
        cell,
        alt.Color(
            "accuracy:Q",
            scale=alt.Scale(domain=[0, 1], range=SHADES, interpolate="rgb"),
            legend=alt.Legend(title="Accuracy", format=".0%", gradientLength=160),
        ),
        tooltip=[
            alt.Tooltip("name:N", title="Head"),
            alt.Tooltip(f"{subject}:N", title=subject.capitalize()),
            alt.Tooltip("way:N", title="Direction"),
            alt.Tooltip("accuracy:Q", title="Accuracy", format=".1%"),
            alt.Tooltip("correct:N", title="Correct"),
        ],
    )
    marks = [drawn, outlines(base.transform_filter("datum.best"), cell, VERMILLION)]
    if dotted:
        dot = base.transform_filter({"and": [f"datum.layer == {dotted[0]}", f"datum.head == {dotted[1]}"]})
        size, edge = max(cell, SMALLEST_OUTLINE) ** 2 / 7, min(2, cell / 10)
        marks.append(
            dot.mark_point(filled=True, size=size, fill=VERMILLION, stroke="white", strokeWidth=edge, opacity=1)
        )
    head = f"{best['layer']}-{best['head']}, {direction_names[best['direction']]}"
    title = alt.TitleParams(
        name,
        subtitle=f"{head}: {100 * best['accuracy']:.1f} % of {best['total']:,}",
        anchor="start",
        subtitleFontSize=11,
    )
    return alt.layer(*marks).properties(**panel, title=title)


def grid(
    cells: pl.DataFrame, largest: float = LARGEST_CELL, width: float = PANEL_WIDTH
) -> tuple[alt.Chart, float, dict[str, float]]:
    """
    Begin a heat map: a chart of these cells (layer, head and more) on axes of head and layer, yet without a mark.

    Parameters
    ----------
    largest, width
        The most pixels that a cell and the panel take.

    Returns
    -------
    The chart; the side of a cell in pixels; width and height of the panel.
    """
    last_layer, last_head = cells["layer"].max(), cells["head"].max()
    cell = min(largest, width / last_head)
    axes = number_axis(alt.X, "head", last_head, "Head"), number_axis(alt.Y, "layer", last_layer, "Layer")
    base = alt.Chart(cells).encode(*axes)
    return base, cell, {"width": cell * last_head, "height": cell * last_layer}


def squares(base: alt.Chart, cell: float, colour: alt.Color, **encoding) -> alt.Chart:
    """Return the cells of a `grid`, `cell` pixels a side, in these colours."""
    return base.mark_rect(stroke="white", strokeWidth=min(1, cell / 12)).encode(colour, **encoding)


def outlines(base: alt.Chart, cell: float, stroke: str) -> alt.Chart:
    """Return a frame around each cell that the chart is filtered to."""
    size = max(cell, SMALLEST_OUTLINE) ** 2
    return base.mark_point(shape="square", size=size, stroke=stroke, strokeWidth=2.5, opacity=1)


def number_axis(channel, column: str, last: int, title: str):
    """Return an axis of layers or heads, 1 to `last`, `channel` being `alt.X` or `alt.Y`."""
    values = list(range(1, last + 1, math.ceil(last / MOST_LABELS)))
    axis = alt.Axis(values=values, labelAngle=0, ticks=False, domain=False, labelFontSize=10)
    return channel(f"{column}:O", title=title, axis=axis, scale=alt.Scale(domain=list(range(1, last + 1))))
