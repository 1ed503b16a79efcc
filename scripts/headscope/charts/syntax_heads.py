"""How well every head follows the most frequent relations, as heat maps of layer and head."""

import math

import altair as alt
import polars as pl

from headscope.charts.theme import SHADES, VERMILLION, notice, titled
from headscope.syntax.names import ALL, DIRECTION_NAMES, PUNCTUATION, common_relations, scheme_name

PANELS_IN_A_ROW = 3
PANEL_WIDTH, LARGEST_CELL, SMALLEST_OUTLINE, MOST_LABELS = 312, 26, 11, 16


def syntax_heads(
    heads: pl.DataFrame, table1: pl.DataFrame, described_name: str, corpus: str, scheme: str, relations: int = 6
) -> alt.ConcatChart:
    """
    A panel a relation: the accuracy of every head in the better of its two directions, the best head outlined.

    Parameters
    ----------
    heads, table1
        The tables `syntax/heads` and `syntax/table1`.
    described_name
        The name of the model.
    relations
        How many relations to show, the most frequent first; punctuation is none.
    """
    shown = common_relations(table1, scheme, 0)[0].filter(~pl.col("relation").is_in([ALL, PUNCTUATION])).head(relations)
    panels = [_panel(heads.filter(scheme=scheme, relation=best["relation"]), best) for best in shown.to_dicts()]
    return titled(
        alt.concat(*panels or [notice("There is no relation to show.")], columns=PANELS_IN_A_ROW, spacing=26),
        "How well each head follows a relation",
        f"{described_name} on {corpus}, {scheme_name(scheme)}; the most frequent relations",
        "Accuracy of each head in the better of its two directions, on one scale for all panels; "
        "the best head is outlined.",
    )


def _panel(heads: pl.DataFrame, best: dict) -> alt.LayerChart:
    cells = (
        heads.sort("accuracy", "direction", descending=[True, False], nulls_last=True)
        .unique(["layer", "head"], keep="first", maintain_order=True)
        .sort("layer", "head")
        .select(
            "relation",
            "layer",
            "head",
            "accuracy",
            name=pl.format("{}-{}", "layer", "head"),
            way=pl.col("direction").replace_strict(DIRECTION_NAMES),
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
            alt.Tooltip("relation:N", title="Relation"),
            alt.Tooltip("way:N", title="Direction"),
            alt.Tooltip("accuracy:Q", title="Accuracy", format=".1%"),
            alt.Tooltip("correct:N", title="Correct"),
        ],
    )
    outline = base.transform_filter("datum.best").mark_point(
        shape="square", size=max(cell, SMALLEST_OUTLINE) ** 2, stroke=VERMILLION, strokeWidth=2.5, opacity=1
    )
    head = f"{best['layer']}-{best['head']}, {DIRECTION_NAMES[best['direction']]}"
    title = alt.TitleParams(
        best["relation"],
        subtitle=f"{head}: {100 * best['accuracy']:.1f} % of {best['total']:,}",
        anchor="start",
        subtitleFontSize=11,
    )
    return (squares + outline).properties(width=cell * last_head, height=cell * last_layer, title=title)


def _axis(channel, name, last):
    values = list(range(1, last + 1, math.ceil(last / MOST_LABELS)))
    axis = alt.Axis(values=values, labelAngle=0, ticks=False, domain=False, labelFontSize=10)
    return channel(f"{name}:O", title=name.capitalize(), axis=axis, scale=alt.Scale(domain=list(range(1, last + 1))))
