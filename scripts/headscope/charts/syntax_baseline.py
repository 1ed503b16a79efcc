"""The best head of each relation beside the best fixed offset, and beside heads chosen on other sentences."""

import altair as alt
import polars as pl

from headscope.charts.theme import SKY, VERMILLION, notice, titled
from headscope.syntax.names import DIRECTION_NAMES, common_relations, left_out_sentence, scheme_in, scheme_name, signed

ROW_HEIGHT, WIDTH = 24, 560
BEST, HELD_OUT, OFFSET = "best head, with its 95 % interval", "held out", "best fixed offset"
DARK = "#1f3a52"
UPRIGHT = "M-0.25,-1L0.25,-1L0.25,1L-0.25,1Z"  # a tick, for the legend


def syntax_baseline(table1: pl.DataFrame, model: str, corpus: str, scheme: str, rare: int) -> alt.LayerChart:
    """
    A bar a relation, the most frequent first: the best head's accuracy, its interval, and two marks to judge it by.

    Parameters
    ----------
    table1
        The table `syntax/table1`.
    rare
        A relation with fewer dependents is left out, and counted in the subtitle.
    """
    shown, left_out = common_relations(table1, scheme, rare)
    return titled(
        _bars(shown) if len(shown) else notice("There is no relation to show."),
        "Is the best head better than a fixed offset?",
        f"{model} on {corpus}, {scheme_name(scheme_in(table1, scheme))}",
        "Held out: the head is chosen on one half of the sentences and scored on the other.",
        "Best fixed offset: the word so many places to the right (+) or left (−) is taken for the head.",
        *filter(None, [left_out_sentence(left_out, rare)]),
    )


def named_best_heads(table1: pl.DataFrame) -> pl.DataFrame:
    """Return rows of `syntax/table1` with what a reader sees of the best head: `name`, `way` and the `offset`."""
    return table1.with_columns(
        name=pl.format("{}-{}", "layer", "head"),
        way=pl.col("direction").replace_strict(DIRECTION_NAMES),
        offset=pl.col("baseline_offset").map_elements(signed, return_dtype=pl.String),
    )


def best_head_tooltip() -> list[alt.Tooltip]:
    """Return what pointing at a row of `named_best_heads` tells."""
    return [
        alt.Tooltip("relation:N", title="Relation"),
        alt.Tooltip("total:Q", title="Dependents", format=","),
        alt.Tooltip("name:N", title="Head"),
        alt.Tooltip("way:N", title="Direction"),
        alt.Tooltip("accuracy:Q", title="Accuracy", format=".1%"),
        alt.Tooltip("ci_low:Q", title="95 % interval from", format=".1%"),
        alt.Tooltip("ci_high:Q", title="to", format=".1%"),
        alt.Tooltip("held_out_accuracy:Q", title="Held out", format=".1%"),
        alt.Tooltip("baseline_accuracy:Q", title="Best fixed offset", format=".1%"),
        alt.Tooltip("offset:N", title="Offset"),
    ]


def _bars(shown: pl.DataFrame) -> alt.LayerChart:
    count = pl.col("total").map_elements("{:,}".format, return_dtype=pl.String)
    rows = (
        named_best_heads(shown)
        .with_columns(
            bar=pl.lit(BEST),
            tick=pl.lit(HELD_OUT),
            dot=pl.lit(OFFSET),
        )
        .with_columns(note=pl.format("{} {}, n = {}", "name", "way", count))
    )
    y = alt.Y("relation:N", title=None, sort=shown["relation"].to_list(), axis=alt.Axis(ticks=False, labelPadding=6))
    x = {
        "title": "Accuracy",
        "scale": alt.Scale(domain=[0, 1], nice=False),
        "axis": alt.Axis(format=".0%", tickCount=10),
    }
    base = alt.Chart(rows).encode(
        y,
        tooltip=best_head_tooltip(),
    )

    bars = base.mark_bar(height={"band": 0.62}, opacity=0.55).encode(
        alt.X("accuracy:Q", **x),
        alt.Fill("bar:N", scale=alt.Scale(domain=[BEST], range=[SKY]), legend=_legend("square")),
    )
    interval = base.mark_rule(color=DARK, strokeWidth=1.6).encode(alt.X("ci_low:Q", **x), alt.X2("ci_high:Q"))
    ends = [
        base.mark_tick(color=DARK, thickness=1.6, size=8, opacity=1).encode(alt.X(f"{end}:Q", **x))
        for end in ("ci_low", "ci_high")
    ]
    ticks = base.mark_tick(thickness=3, size=19, opacity=1).encode(
        alt.X("held_out_accuracy:Q", **x),
        alt.Color("tick:N", scale=alt.Scale(domain=[HELD_OUT], range=[VERMILLION]), legend=_legend(UPRIGHT)),
    )
    dots = base.mark_point(filled=True, size=80, fill=DARK, stroke="white", opacity=1).encode(
        alt.X("baseline_accuracy:Q", **x),
        alt.Shape(
            "dot:N",
            scale=alt.Scale(domain=[OFFSET], range=["diamond"]),
            legend=_legend("diamond", symbolFillColor=DARK),
        ),
    )
    side = {"align": "left", "fontSize": 11, "color": "#555555"}
    notes = base.mark_text(dx=12, **side).encode(x=alt.value(WIDTH), text="note:N")
    return alt.layer(bars, interval, *ends, ticks, dots, notes).properties(width=WIDTH, height=ROW_HEIGHT * len(rows))


def _legend(symbol: str, **looks) -> alt.Legend:
    return alt.Legend(title=None, orient="top", symbolType=symbol, symbolSize=150, symbolStrokeWidth=0, **looks)
