"""How often the antecedent is found by how far away it is: the best head beside the baselines."""

import altair as alt
import polars as pl

from headscope.charts.theme import BLUE, GREEN, ORANGE, VERMILLION, notice, titled
from headscope.coreference.names import BASELINES, CANDIDATE_NAMES, PREDICTOR_NAMES, predictor_name

WIDTH_OF_BIN, HEIGHT = 84, 320
SPREAD = 0.13  # of a bin, between the points of two predictors
# Colour, symbol and dash, so that the lines can be told apart without colours too.
LOOKS = {
    "head": (VERMILLION, "circle", [1, 0]),
    "rules": (BLUE, "square", [8, 3]),
    "head_match": (GREEN, "triangle-up", [4, 3]),
    "nearest": (ORANGE, "diamond", [2, 2]),
}


def coreference_distances(
    distances: pl.DataFrame, table2: pl.DataFrame, model: str, corpus: str, candidates: str
) -> alt.LayerChart:
    """
    A line a predictor: its accuracy, with intervals, by the distance to the nearest antecedent.

    Parameters
    ----------
    distances, table2
        The tables `coreference/distances` and `coreference/table2`; the latter names the best head.
    candidates
        The set of candidates to show.
    """
    shown = distances.filter(candidates=candidates)
    head = table2.filter(candidates=candidates, predictor="head").row(0, named=True)
    names = {key: PREDICTOR_NAMES[key] for key in BASELINES} | {"head": predictor_name(head)}
    return titled(
        _lines(shown, names) if shown["total"].sum() else notice("No mention is scored."),
        "How far away an antecedent is still found",
        f"{model} on {corpus}; candidates: {CANDIDATE_NAMES[candidates]}",
        "Accuracy with its 95 % interval by bootstrap over documents; n is the number of mentions in a bin.",
    )


def _lines(distances: pl.DataFrame, names: dict[str, str]) -> alt.LayerChart:
    bins = distances.select("distance_low", "distance_high", "total").unique("distance_low").sort("distance_low")
    ranges = {low: _range(low, high) for low, high, _ in bins.rows()}
    labels = [f"{ranges[low]}\nn = {total:,}" for low, _, total in bins.rows()]
    drawn = [predictor for predictor in LOOKS if predictor in distances["predictor"]]
    beside = {predictor: SPREAD * (number - (len(drawn) - 1) / 2) for number, predictor in enumerate(drawn)}
    position = {low: number for number, low in enumerate(ranges)}
    points = distances.filter(pl.col("predictor").is_in(drawn)).select(
        "predictor",
        pl.col("accuracy", "ci_low", "ci_high").fill_nan(None),
        bin=pl.col("distance_low").replace_strict(position) + pl.col("predictor").replace_strict(beside),
        name=pl.col("predictor").replace_strict(names),
        words=pl.col("distance_low").replace_strict(ranges),
        correct=pl.format("{} of {}", "correct", "total"),
    )
    colours, shapes, dashes = zip(*(LOOKS[predictor] for predictor in drawn), strict=True)
    domain = [names[predictor] for predictor in drawn]
    legend = alt.Legend(
        title=None, orient="top", columns=2, symbolSize=90, symbolStrokeWidth=0, symbolOpacity=1, labelLimit=320
    )
    colour = alt.Color("name:N", scale=alt.Scale(domain=domain, range=colours), legend=legend)
    x = alt.X(
        "bin:Q",
        title="Words from the mention's head to the head of its nearest antecedent",
        axis=alt.Axis(
            values=list(range(len(labels))), labelExpr=f"split({labels}[datum.value], '\\n')", grid=False, ticks=False
        ),
        scale=alt.Scale(domain=[-0.5, len(labels) - 0.5], nice=False, zero=False),
    )
    y = {"title": "Accuracy", "scale": alt.Scale(domain=[0, 1], nice=False), "axis": alt.Axis(format=".0%")}
    base = alt.Chart(points).encode(
        x,
        colour,
        tooltip=[
            alt.Tooltip("name:N", title="Predictor"),
            alt.Tooltip("words:N", title="Distance"),
            alt.Tooltip("accuracy:Q", title="Accuracy", format=".1%"),
            alt.Tooltip("ci_low:Q", title="95 % interval from", format=".1%"),
            alt.Tooltip("ci_high:Q", title="to", format=".1%"),
            alt.Tooltip("correct:N", title="Correct"),
        ],
    )
    lines = base.mark_line(strokeWidth=1.6, opacity=0.7).encode(
        alt.Y("accuracy:Q", **y),
        alt.StrokeDash("name:N", scale=alt.Scale(domain=domain, range=dashes), legend=None),
    )
    intervals = base.mark_rule(strokeWidth=1.4).encode(alt.Y("ci_low:Q", **y), alt.Y2("ci_high:Q"))
    dots = base.mark_point(filled=True, size=64, opacity=1).encode(
        alt.Y("accuracy:Q", **y), alt.Shape("name:N", scale=alt.Scale(domain=domain, range=shapes), legend=legend)
    )
    return alt.layer(lines, intervals, dots).properties(width=WIDTH_OF_BIN * len(labels), height=HEIGHT)


def _range(low: int, high: int | None) -> str:
    """Return a bin of distances as a reader sees it; the last one is open."""
    if high is None:
        return f"{low}+"
    return str(low) if low == high else f"{low}–{high}"
