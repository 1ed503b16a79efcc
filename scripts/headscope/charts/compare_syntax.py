"""The best head of each relation in several models, beside the best fixed offset."""

import altair as alt
import polars as pl

from headscope.charts.models import by_number, colour_and_shape
from headscope.charts.syntax_baseline import best_head_tooltip, named_best_heads
from headscope.charts.theme import notice, titled
from headscope.syntax.names import common_relations, left_out_sentence, scheme_in, scheme_name

WIDTH, GAP = 560, 12  # pixels: of the axis, between rows
LANES = 11, 8  # pixels: of one model's lane in a row, where models are few or many
QUIET, BAND = "#707070", "#f4f4f4"


def compare_syntax(table: pl.DataFrame, titles: dict[str, str], corpus: str, scheme: str, rare: int) -> alt.LayerChart:
    """
    A row a relation, the most frequent first; in it a lane a model: a dot with its interval, a tick for the baseline.

    Parameters
    ----------
    table
        The table `compare/syntax`.
    titles
        What a reader sees of each model, in the order of the lanes.
    rare
        A relation with fewer dependents in every model is left out, and counted in the subtitle.
    """
    scheme = scheme_in(table, scheme)
    most = table.with_columns(pl.max("total").over("scheme", "relation")).unique(
        ["scheme", "relation"], keep="first", maintain_order=True
    )
    order, left_out = common_relations(most, scheme, rare)
    relations = order["relation"].to_list()
    rows = table.filter((pl.col("scheme") == scheme) & pl.col("relation").is_in(relations))
    return titled(
        _dots(rows, relations, titles) if relations else notice("There is no relation to show."),
        "Which model's best head follows a relation how well?",
        f"{corpus}, {scheme_name(scheme)}",
        "Dot: accuracy of the model's best head, with its 95 % interval. Grey tick: the best fixed offset.",
        *filter(None, [left_out_sentence(left_out, rare)]),
    )


def _dots(rows: pl.DataFrame, relations: list[str], titles: dict[str, str]) -> alt.LayerChart:
    lanes = list(titles.values())
    shown = named_best_heads(rows).with_columns(title=pl.col("model").replace_strict(titles))
    colour, shape = colour_and_shape(lanes)
    lane_height = by_number(len(lanes), *LANES)
    height = lane_height * len(lanes) + GAP
    inner = GAP / height
    y = alt.Y(
        "relation:N",
        title=None,
        sort=relations,
        scale=alt.Scale(paddingInner=inner, paddingOuter=inner / 2),
        axis=alt.Axis(ticks=False, labelPadding=6, domain=False),
    )
    lane = alt.YOffset("title:N", sort=lanes, scale=alt.Scale(domain=lanes))
    x = {
        "title": "Accuracy",
        "scale": alt.Scale(domain=[0, 1], nice=False),
        "axis": alt.Axis(format=".0%", tickCount=10),
    }
    base = alt.Chart(shown).encode(
        y,
        lane,
        tooltip=[alt.Tooltip("title:N", title="Model"), *best_head_tooltip()],
    )
    ticks = base.mark_tick(thickness=2.4, size=lane_height, color=QUIET, opacity=0.75).encode(
        alt.X("baseline_accuracy:Q", **x)
    )
    interval = base.mark_rule(strokeWidth=1.5).encode(alt.X("ci_low:Q", **x), alt.X2("ci_high:Q"), colour)
    dots = base.mark_point(filled=True, size=by_number(len(lanes), 54, 34), opacity=1).encode(
        alt.X("accuracy:Q", **x), colour, shape
    )
    bands = alt.Chart(pl.DataFrame({"relation": relations[::2]})).mark_rect(color=BAND).encode(y)
    return alt.layer(bands, ticks, interval, dots).properties(width=WIDTH, height=height * len(relations))
