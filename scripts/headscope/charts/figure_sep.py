"""The [SEP] page: attention, norms and gradients of [SEP] and [CLS], layer by layer."""

import math

import altair as alt
import polars as pl

from headscope.charts.theme import (
    BLUE,
    PANEL_HEIGHT,
    PANEL_WIDTH,
    SPREAD,
    VERMILLION,
    layer_axis,
    notice,
    titled,
    what_was_run,
)
from headscope.description import Description
from headscope.norms.architectures import why_not
from headscope.norms.names import ATTENTION, GRADIENT, NORM, TOKENS

COLOURS = {"cls": BLUE, "sep": VERMILLION}
PANELS = {
    ATTENTION: ("Attention", "Share of the attention α"),
    NORM: ("Norm of what is added to the output", "Share of the norm α |f(x)|"),
    GRADIENT: ("Gradient of the loss", "Share of the gradient |∂L/∂α|"),
}
OF_HEADS = {"weight_share": ATTENTION, "norm_share": NORM}
NO_GRADIENTS = "No panel of gradients: they were not computed for this model, which may have no language-model head."


def figure_sep(
    shares: pl.DataFrame, heads: pl.DataFrame, described: Description, corpus: str, examples: int, tokens: int
) -> alt.HConcatChart:
    """
    A panel each for attention, norms and, where there are some, gradients: layer means with their standard errors.

    Parameters
    ----------
    shares, heads
        The tables `norms/shares` and `norms/heads`.
    examples, tokens
        How many the tables rest on.
    """
    names = {key: described.token(key) for key in COLOURS}
    run = what_was_run(described.name, corpus, pl.DataFrame({"examples": [examples], "tokens": [tokens]}))
    title = f"Is attention to {names['sep']} a no-op?"
    means, points = _named(shares, names), _named(_of_heads(heads), names)
    measures = [measure for measure in PANELS if measure in means["measure"]]
    if not measures:
        reason = why_not(described.architecture) or f"The examples have no {names['sep']} and no {names['cls']}."
        return titled(alt.hconcat(notice(reason)), title, run)
    highest = min(1, math.ceil(10 * max(means["share"].max(), points["share"].max() or 0)) / 10)
    drawn = [_panel(measure, means, points, list(names.values()), highest) for measure in measures]
    return titled(
        alt.hconcat(*drawn, spacing=36),
        title,
        run,
        "Each line is the mean of its layer, with its standard error over examples; each faint point is a head.",
        "Dashed: the share that they would have if all tokens got alike.",
        *([] if GRADIENT in measures else [NO_GRADIENTS]),
    )


def _of_heads(heads: pl.DataFrame) -> pl.DataFrame:
    """One row per head, key and measure, columns as in `norms/shares` and the head's name."""
    head = pl.format("{}-{}", "layer", "head").alias("head")
    return pl.concat(
        heads.select(head, "layer", "key", measure=pl.lit(measure), share=column, share_se=f"{column}_se")
        for column, measure in OF_HEADS.items()
    )


def _named(table: pl.DataFrame, names: dict[str, str]) -> pl.DataFrame:
    """The rows of these keys that have a value: their tokens, where they stand, and one standard error to each side."""
    beside = {key: SPREAD * (number - (len(names) - 1) / 2) for number, key in enumerate(names)}
    return (
        table.filter(pl.col("key").is_in(list(names)))
        .drop_nulls("share")
        .with_columns(
            token=pl.col("key").replace_strict(names, return_dtype=pl.String),
            x=pl.col("layer") + pl.col("key").replace_strict(beside, return_dtype=pl.Float64),
            low=pl.col("share") - pl.col("share_se"),
            high=pl.col("share") + pl.col("share_se"),
        )
    )


def _panel(
    measure: str, means: pl.DataFrame, points: pl.DataFrame, tokens: list[str], highest: float
) -> alt.LayerChart:
    title, y_title = PANELS[measure]
    scale = alt.Scale(domain=tokens, range=list(COLOURS.values()))
    colour = alt.Color("token:N", scale=scale, legend=alt.Legend(title=None, orient="top", direction="horizontal"))
    shape = alt.Shape("token:N", scale=alt.Scale(domain=tokens))
    y = {"title": y_title, "scale": alt.Scale(domain=[0, highest], nice=False), "axis": alt.Axis(format="%")}
    tooltip = [
        alt.Tooltip("token:N", title="Token"),
        alt.Tooltip("share:Q", title="Share", format=".2%"),
        alt.Tooltip("share_se:Q", title="Standard error", format=".3%"),
    ]
    base = alt.Chart(means.filter(measure=measure)).encode(layer_axis(means, "x"), alt.Y("share:Q", **y), colour)
    layers = [
        base.mark_line(strokeWidth=2),
        base.mark_point(filled=True, size=40, opacity=1).encode(
            shape, tooltip=[alt.Tooltip("layer:Q", title="Layer"), *tooltip]
        ),
        base.mark_rule(strokeWidth=2).encode(alt.Y("low:Q", **y), alt.Y2("high:Q")),
    ]
    of_heads = points.filter(measure=measure)
    if len(of_heads):
        dots = alt.Chart(of_heads).mark_point(filled=True, size=30, opacity=0.3)
        encoded = dots.encode(layer_axis(means, "x"), alt.Y("share:Q", **y), colour, shape)
        layers.insert(0, encoded.encode(tooltip=[alt.Tooltip("head:N", title="Head"), *tooltip]))
    alike = alt.Chart(means.filter(measure=TOKENS)).mark_rule(strokeDash=[5, 4], opacity=0.7)
    layers.insert(0, alike.encode(alt.Y("share:Q", **y), colour, tooltip=tooltip))
    return alt.layer(*layers).properties(title=title, width=PANEL_WIDTH, height=PANEL_HEIGHT)
