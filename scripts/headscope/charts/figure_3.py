"""Figure 3: how much the loss of masked language modelling hangs on the attention to each kind of key."""

import math

import altair as alt
import polars as pl

from headscope.charts.theme import (
    BLUE,
    GREY,
    ORANGE,
    PANEL_HEIGHT,
    VERMILLION,
    layer_axis,
    notice,
    titled,
)
from headscope.description import Description

COLOURS = {"cls": BLUE, "sep": VERMILLION, "punctuation": ORANGE, "other": GREY}
WIDTH, HEIGHT = 520, PANEL_HEIGHT + 60
SPREAD = 0.13  # of a layer, between the points of two kinds of key
LOWEST = 0.1  # of the mean: where a bar ends whose error is as large as the mean, for there is no zero on the axis
ROOM = 1.3  # above the highest and below the lowest mark, as a factor
TITLE = "Figure 3: how much the loss hangs on each attention weight"
MAGNITUDE = "Mean |∂ loss / ∂ attention weight| (log scale)"


def figure_3(
    layers: pl.DataFrame, heads: pl.DataFrame, loss: pl.DataFrame, described: Description, corpus: str
) -> alt.LayerChart:
    """
    Every head a faint point, the mean of each layer and kind of key on a line with its standard error.

    Parameters
    ----------
    layers, heads, loss
        The tables `gradients/layers`, `gradients/heads` and `gradients/loss`. A kind of key that the model does not
        have is left out, and so is a magnitude of zero, which has no place on a logarithmic axis.

    Source: Clark et al. 2019, figure 3.
    """
    row = loss.row(0, named=True)
    if row["refused"]:
        return titled(notice(row["refused"]), TITLE, f"{described.name} on {corpus}")
    return titled(
        _chart(layers, heads, {"cls": described.token("cls"), "sep": described.token("sep")}),
        TITLE,
        f"{described.name} on {corpus}: {row['examples']:,} examples, {row['masked']:,} masked tokens, "
        f"mean loss {row['loss']:.2f} nats",
        "Each line is the mean of a layer with its standard error over examples, each faint point a head.",
    )


def _chart(layers, heads, tokens) -> alt.LayerChart:
    labels = tokens | {"punctuation": ". or ,", "other": "other tokens"}
    known = [key for key in labels if key in layers.filter(pl.col("magnitude") > 0)["key"]]
    beside = {key: SPREAD * (number - (len(known) - 1) / 2) for number, key in enumerate(known)}
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=[labels[key] for key in known], range=[COLOURS[key] for key in known]),
        legend=alt.Legend(
            title="to", orient="top", direction="horizontal", titleOrient="left", symbolOpacity=1, symbolSize=46
        ),
    )
    mean, error = pl.col("magnitude"), pl.col("magnitude_se")
    of_layers = _placed(layers, labels, beside).with_columns(
        low=pl.when(error.is_not_null()).then(pl.max_horizontal(mean - error, mean * LOWEST)), high=mean + error
    )
    of_heads = _placed(heads, labels, beside).with_columns(name=pl.format("{}-{}", "layer", "head"))
    x = layer_axis(layers, "x")
    shown = pl.concat([of_heads["magnitude"], of_layers["low"], of_layers["magnitude"], of_layers["high"]])
    y = alt.Y("magnitude:Q", title=MAGNITUDE, **_log_axis(shown.min(), shown.max()))
    tooltip = [
        alt.Tooltip("kind:N", title="To"),
        alt.Tooltip("magnitude:Q", title="Mean magnitude", format=".3e"),
        alt.Tooltip("magnitude_se:Q", title="Standard error", format=".1e"),
    ]
    points = (
        alt.Chart(of_heads)
        .mark_point(filled=True, size=22, opacity=0.28)
        .encode(x, y, colour, tooltip=[alt.Tooltip("name:N", title="Head"), *tooltip])
    )
    base = alt.Chart(of_layers).encode(x, colour, tooltip=[alt.Tooltip("layer:Q", title="Layer"), *tooltip])
    lines = base.mark_line(strokeWidth=2).encode(y)
    bars = base.mark_rule(strokeWidth=2).encode(alt.Y("low:Q", title=MAGNITUDE), alt.Y2("high:Q"))
    dots = base.mark_point(filled=True, size=46, opacity=1).encode(y)
    return (points + lines + bars + dots).properties(width=WIDTH, height=HEIGHT)


def _log_axis(low: float, high: float) -> dict:
    """A scale over these values with some room, labelled at 1, 2 and 5 of each decade."""
    low, high = low / ROOM, high * ROOM
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)))
    labelled = [step * 10.0**decade for decade in decades for step in (1, 2, 5)]
    values = [value for value in labelled if low <= value <= high]
    return {
        "scale": alt.Scale(type="log", domain=[low, high], nice=False),
        "axis": alt.Axis(values=values, format="~g"),
    }


def _placed(table, labels, beside) -> pl.DataFrame:
    shown = table.filter(pl.col("magnitude") > 0)
    return shown.with_columns(
        kind=pl.col("key").replace_strict(labels), x=pl.col("layer") + pl.col("key").replace_strict(beside)
    )
