"""How much the probes learn from how many sentences, beside the baselines that read no attention."""

import math

import altair as alt
import polars as pl

from headscope.charts.labels import spread
from headscope.charts.theme import BLUE, GREY, VERMILLION, notice, titled
from headscope.probes.names import ATTENTION, ATTENTION_WORDS, BEST_OFFSET, PRINTED, RIGHT_BRANCHING

WIDTH, HEIGHT = 460, 340
MARGIN = 34  # pixels between the frame and the points of fewest and of most sentences
ONE_POINT = 2.0  # of a single number of sentences, how far the axis goes on each side, as a factor
NARROWEST = 48  # pixels between two numbers on the axis
BESIDE = 8.0  # pixels between the points of two probes at the same number of sentences
REACH = 14  # pixels from the frame to a label
# Colour, symbol and dash, so that the lines can be told apart without colours too.
PROBES = {ATTENTION_WORDS: (VERMILLION, "circle", [1, 0]), ATTENTION: (BLUE, "square", [8, 3])}
BASELINES = {RIGHT_BRANCHING: (GREY, "circle", [2, 3]), BEST_OFFSET: (GREY, "circle", [7, 4])}


def probe_curve(curve: pl.DataFrame, table3: pl.DataFrame, model: str, corpus: str, train: str) -> alt.LayerChart:
    """
    A line a probe: its UAS with intervals by the number of sentences it learned from; a level line a baseline.

    Parameters
    ----------
    curve, table3
        The tables `probes/curve` and `probes/table3`; the latter has the baselines.
    train
        The name of the treebank that the probes learned from.
    """
    points = curve.filter(pl.col("probe").is_in(list(PROBES)) & pl.col("uas").is_finite())
    levels = table3.filter(pl.col("probe").is_in(list(BASELINES)) & pl.col("uas").is_finite())
    return titled(
        _lines(points.sort("trained"), levels) if len(points) else notice("No probe over attention was learned."),
        "How much the probes learn from how many sentences",
        f"{model}, learned from {train}, scored on {corpus}",
        "UAS without punctuation, the mean over the runs, with its 95 % interval by bootstrap over sentences.",
        "Level lines: baselines, which read no attention.",
    )


def _lines(points: pl.DataFrame, levels: pl.DataFrame) -> alt.LayerChart:
    low, high = _ends(points["trained"].min(), points["trained"].max())
    beside = {probe: BESIDE * (number - (len(PROBES) - 1) / 2) for number, probe in enumerate(PROBES)}
    points = points.with_columns(
        pl.col("uas_low", "uas_high", "uas_sd", "uuas").fill_nan(None),
        name=pl.col("probe").replace_strict(PRINTED),
        x=pl.col("trained") * (high / low) ** (pl.col("probe").replace_strict(beside, return_dtype=pl.Float64) / WIDTH),
    )
    levels = levels.select("uas", "features", name=pl.col("probe").replace_strict(PRINTED), x=pl.lit(high))
    highest = max(*points["uas"], *points["uas_high"].drop_nulls(), *levels["uas"])
    top = min(1.0, math.ceil(10 * highest + 0.2) / 10)
    last = points.unique("probe", keep="last", maintain_order=True)
    ends = _with_labels(pl.concat([last, levels], how="diagonal"), top)

    colour, shape, dash = _looks()
    x = alt.X(
        "x:Q",
        title="Sentences learned from",
        axis=alt.Axis(values=_shown(points["trained"], low, high), format=",d", grid=False, labelOverlap=False),
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
    )
    y = {
        "title": "UAS",
        "scale": alt.Scale(domain=[0, top], nice=False),
        "axis": alt.Axis(format=".0%", tickCount=round(10 * top)),
    }

    tooltip = [
        alt.Tooltip("name:N", title="Probe"),
        alt.Tooltip("trained:Q", title="Sentences", format=","),
        alt.Tooltip("uas:Q", title="UAS", format=".1%"),
        alt.Tooltip("uas_low:Q", title="95 % interval from", format=".1%"),
        alt.Tooltip("uas_high:Q", title="to", format=".1%"),
        alt.Tooltip("uas_sd:Q", title="Standard deviation over runs", format=".1%"),
        alt.Tooltip("seeds:Q", title="Runs"),
        alt.Tooltip("uuas:Q", title="UUAS", format=".1%"),
    ]
    base = alt.Chart(points).encode(x, colour, tooltip=tooltip)
    about_level = [
        alt.Tooltip("name:N", title="Baseline"),
        alt.Tooltip("features:N", title="Features"),
        alt.Tooltip("uas:Q", title="UAS", format=".1%"),
    ]
    marks = [
        alt.Chart(levels).mark_rule(strokeWidth=1.4).encode(alt.Y("uas:Q", **y), colour, dash, tooltip=about_level),
        base.mark_line(strokeWidth=1.8).encode(alt.Y("uas:Q", **y), dash),
        base.mark_rule(strokeWidth=1.4).encode(alt.Y("uas_low:Q", **y), alt.Y2("uas_high:Q")),
        base.mark_point(filled=True, size=42, opacity=1).encode(alt.Y("uas:Q", **y), shape),
        *_labels(ends, x, y, colour),
    ]
    return alt.layer(*marks).properties(width=WIDTH, height=HEIGHT)


def _labels(ends: pl.DataFrame, x: alt.X, y: dict, colour: alt.Color) -> list[alt.Chart]:
    """The names of the lines, right of the frame, each with a thin line from the end of its own."""
    base = alt.Chart(ends).encode(colour)
    joins = base.mark_rule(strokeWidth=0.8, opacity=0.7).encode(
        x, alt.Y("uas:Q", **y), alt.Y2("label_at:Q"), x2=alt.value(WIDTH + REACH - 2)
    )
    text = base.mark_text(align="left", fontSize=12, dx=2).encode(
        alt.Y("label_at:Q", **y), x=alt.value(WIDTH + REACH), text="label:N"
    )
    return [joins, text]


def _with_labels(ends: pl.DataFrame, top: float) -> pl.DataFrame:
    """Add to the end of each line its label, and how high up it stands without overlapping another."""
    texts = [f"{name} {100 * uas:.1f} %" for name, uas in ends.select("name", "uas").rows()]
    places = spread([HEIGHT * uas / top for uas in ends["uas"]])
    return ends.with_columns(label=pl.Series(texts), label_at=pl.Series([top * place / HEIGHT for place in places]))


def _looks() -> list:
    """The colour, the symbol and the dash of each line, without legends."""
    known = PROBES | BASELINES
    names = [PRINTED[probe] for probe in known]
    looks = zip((alt.Color, alt.Shape, alt.StrokeDash), zip(*known.values(), strict=True), strict=True)
    return [channel("name:N", scale=alt.Scale(domain=names, range=look), legend=None) for channel, look in looks]


def _ends(fewest: int, most: int) -> tuple[float, float]:
    """The ends of the axis of sentences, so that the points keep their distance from the frame."""
    factor = (most / fewest) ** (MARGIN / (WIDTH - 2 * MARGIN)) if most > fewest else ONE_POINT
    return fewest / factor, most * factor


def _shown(trained: pl.Series, low: float, high: float) -> list[int]:
    """Return the numbers of sentences that the axis shows: all, from the last on, that do not overlap."""
    least = math.exp(NARROWEST / WIDTH * math.log(high / low))  # the ratio of two that just do not
    shown: list[int] = []
    for number in sorted(set(trained), reverse=True):
        if not shown or shown[0] / number >= least:
            shown.insert(0, number)
    return shown
