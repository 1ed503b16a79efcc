"""Figure 4: how broadly every head attends."""

import altair as alt
import polars as pl

from headscope.charts.theme import (
    BLUE,
    GREY,
    VERMILLION,
    head_means,
    heads_and_layers,
    layer_axis,
    titled,
    what_was_run,
)
from headscope.description import Description

COLOURS = {"entropy": BLUE, "entropy_from_cls": VERMILLION}


def figure_4(heads: pl.DataFrame, uniform: pl.DataFrame, described: Description, corpus: str) -> alt.HConcatChart:
    """
    Two panels, entropy from all tokens and from [CLS], with the entropy of uniform attention as a dashed line.

    Parameters
    ----------
    heads, uniform
        The tables `surface/heads` and `surface/uniform`.

    Source: Clark et al. 2019, figure 4.
    """
    highest = uniform.select(pl.max_horizontal(pl.col("entropy", "entropy_from_cls").max())).item()
    drawn = []
    titles = {"entropy": "From all tokens", "entropy_from_cls": f"From {described.token('cls')}"}
    for measure, title in titles.items():
        means = head_means(heads, {measure: title})
        if not means.is_empty():
            panel = heads_and_layers(means, "Attention entropy (nats)", {title: COLOURS[measure]}, [0, 1.08 * highest])
            drawn.append((panel + _uniform(uniform, measure)).properties(title=title))
    return titled(
        alt.hconcat(*drawn, spacing=36).resolve_scale(color="independent", shape="independent"),
        "Figure 4: how broadly the heads attend",
        what_was_run(described.name, corpus, uniform),
        "Each point is a head, the solid line the mean of its layer, the dashed line attention spread evenly.",
    )


def _uniform(uniform: pl.DataFrame, measure: str) -> alt.LayerChart:
    base = alt.Chart(uniform.select("layer", value=pl.col(measure), name=pl.lit("uniform attention")))
    layer, value = layer_axis(uniform, "layer"), alt.Y("value:Q", title="Attention entropy (nats)")
    line = base.mark_line(strokeDash=[5, 4], color=GREY).encode(layer, value)
    dots = base.mark_point(size=30, opacity=0, color=GREY).encode(
        layer, value, tooltip=[alt.Tooltip("name:N", title="Line"), alt.Tooltip("value:Q", title="Nats", format=".4f")]
    )
    label = (
        base.transform_filter("datum.layer == 1")
        .mark_text(align="left", dy=-7, color=GREY, fontSize=11)
        .encode(layer, value, text="name:N")
    )
    return line + dots + label
