"""Heat maps of layer and head: how often each head is right in the better of its two directions."""

import math

import altair as alt
import polars as pl

from headscope.charts.theme import VERMILLION

PANEL_WIDTH, LARGEST_CELL, SMALLEST_OUTLINE, MOST_LABELS = 312, 26, 11, 16
SHADES = ["#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b"]


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
    last_layer, last_head = heads["layer"].max(), heads["head"].max()
    cell = min(LARGEST_CELL, PANEL_WIDTH / last_head)
    base = alt.Chart(cells).encode(_axis(alt.X, "head", last_head), _axis(alt.Y, "layer", last_layer))
    squares = base.mark_rect(stroke="white", strokeWidth=min(1, cell / 12)).encode(
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
    outline = base.transform_filter("datum.best").mark_point(
        shape="square", size=max(cell, SMALLEST_OUTLINE) ** 2, stroke=VERMILLION, strokeWidth=2.5, opacity=1
    )
    marks = [squares, outline]
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
    return alt.layer(*marks).properties(width=cell * last_head, height=cell * last_layer, title=title)


def _axis(channel, name, last):
    values = list(range(1, last + 1, math.ceil(last / MOST_LABELS)))
    axis = alt.Axis(values=values, labelAngle=0, ticks=False, domain=False, labelFontSize=10)
    return channel(f"{name}:O", title=name.capitalize(), axis=axis, scale=alt.Scale(domain=list(range(1, last + 1))))
