"""What all charts share: colours, sizes, titles, and how a chart becomes files."""

import html as markup
import json
import math
import re
from pathlib import Path

import altair as alt
import polars as pl
import vl_convert

from headscope.charts.javascript import bundle
from headscope.charts.texts import drawable
from headscope.errors import InputError
from headscope.files import replacing

# Okabe and Ito's palette, which people with any colour vision can tell apart.
BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY, GREY = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#E69F00",
    "#CC79A7",
    "#56B4E9",
    "#707070",
)
SHADES = ["#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b"]  # of a quantity, the lowest first
DIVERGING = ["#5c2200", "#b04a00", "#f0b287", "#f7f7f7", *SHADES[2:]]  # of one with a middle: below brown, above blue
PAGE = """\
<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title></head>
<body>
<div id="chart"></div>
<script type="application/json" id="specification">{spec}</script>
<script type="module">{script}</script>
</body>
</html>
"""
PANEL_WIDTH, PANEL_HEIGHT = 300, 260
PIXELS_PER_INCH = 150
SPREAD = 0.2  # of a layer, between the points of two measures
MOST_LAYER_LABELS, MOST_LAYER_TICKS = 24, 12


def titled(chart, title: str, *subtitle: str):
    """Return the chart under a title and lines of explanation, in the common look."""
    return chart.properties(
        title=alt.TitleParams(
            title, subtitle=list(subtitle), anchor="start", fontSize=16, subtitleFontSize=12, offset=14
        )
    ).configure(
        font="sans-serif",
        background="white",
        axis=alt.AxisConfig(labelFontSize=11, titleFontSize=12, titleFontWeight="normal", gridColor="#e8e8e8"),
        legend=alt.LegendConfig(labelFontSize=11, titleFontSize=12, labelLimit=260, symbolSize=70),
        title=alt.TitleConfig(fontSize=13, fontWeight=600, subtitleColor="#444444"),
        view=alt.ViewConfig(stroke="#cccccc"),
    )


def notice(sentence: str) -> alt.Chart:
    """Return a chart that only says why there is nothing to draw."""
    return (
        alt.Chart(pl.DataFrame({"sentence": [sentence]}))
        .mark_text(fontSize=13, color="#444444", align="left")
        .encode(x=alt.value(8), y=alt.value(20), text="sentence:N")
        .properties(width=PANEL_WIDTH, height=40, view=alt.ViewBackground(stroke=None))
    )


def what_was_run(model: str, corpus: str, uniform: pl.DataFrame) -> str:
    """Return the line that says which model, corpus and how much of it a figure rests on."""
    examples, tokens = uniform.select(pl.col("examples", "tokens").max()).row(0)
    return f"{model} on {corpus}: {examples:,} examples, {tokens:,} tokens"


def head_means(heads: pl.DataFrame, labels: dict[str, str]) -> pl.DataFrame:
    """
    Turn columns of `surface/heads` into one row per head and measure.

    Parameters
    ----------
    labels
        The measures to take and what a reader sees.

    Returns
    -------
    layer, head ("3-1"), measure (the label), mean, se; without the measures that the model does not have.
    """
    name = pl.format("{}-{}", "layer", "head").alias("head")
    parts = [
        heads.select("layer", name, measure=pl.lit(label), mean=pl.col(key), se=pl.col(f"{key}_se"))
        for key, label in labels.items()
    ]
    return pl.concat(parts).drop_nulls("mean")


def heads_and_layers(
    means: pl.DataFrame, y_title: str, colours: dict[str, str], y_domain: list[float]
) -> alt.LayerChart:
    """
    Return a panel: every head a point, every layer's mean on a line, one colour and shape a measure.

    Parameters
    ----------
    means
        As `head_means` returns them.
    colours
        The colour of each label, in the order of the legend.
    y_domain
        The lowest and highest value of the axis.
    """
    known = [label for label in colours if label in means["measure"]]
    domain = alt.Scale(domain=known)
    legend = None if len(known) < 2 else alt.Legend(title=None, orient="top", direction="horizontal")
    colour = alt.Color(
        "measure:N", scale=alt.Scale(domain=known, range=[colours[label] for label in known]), legend=legend
    )
    beside = {label: SPREAD * (number - (len(known) - 1) / 2) for number, label in enumerate(known)}
    base = alt.Chart(means.with_columns(x=pl.col("layer") + pl.col("measure").replace_strict(beside)))
    y = {"title": y_title, "scale": alt.Scale(domain=y_domain, nice=False)}
    points = base.mark_point(filled=True, size=34, opacity=0.55).encode(
        layer_axis(means, "x"),
        alt.Y("mean:Q", **y),
        colour,
        alt.Shape("measure:N", scale=domain, legend=legend),
        tooltip=[
            alt.Tooltip("head:N", title="Head"),
            alt.Tooltip("measure:N", title="Measure"),
            alt.Tooltip("mean:Q", title="Mean", format=".4f"),
            alt.Tooltip("se:Q", title="Standard error", format=".4f"),
        ],
    )
    lines = base.mark_line(strokeWidth=2).encode(layer_axis(means, "layer"), alt.Y("mean(mean):Q", **y), colour)
    return (lines + points).properties(width=PANEL_WIDTH, height=PANEL_HEIGHT)


def layer_axis(table: pl.DataFrame, column: str) -> alt.X:
    """Return a horizontal axis of layers, on which a column may also stand between two."""
    last = table["layer"].max()
    values = list(range(1, last + 1, math.ceil(last / MOST_LAYER_LABELS)))
    axis = alt.Axis(values=values, format="d", grid=False)
    return alt.X(
        f"{column}:Q", title="Layer", axis=axis, scale=alt.Scale(domain=[0.5, last + 0.5], nice=False, zero=False)
    )


def layer_colour(last: int, **legend) -> alt.Color:
    """Return the colours of layers 1 to `last`, with these properties of their legend."""
    return alt.Color(
        "layer:Q",
        scale=alt.Scale(domain=[1, last], scheme="viridis"),
        legend=alt.Legend(title="Layer", tickCount=min(last, MOST_LAYER_TICKS), format="d", **legend),
    )


def save(chart, html, svg, png, library=None):
    """
    Write a chart as a page that needs no network, as SVG and as PNG.

    Parameters
    ----------
    library
        A file with what `headscope.charts.javascript.bundle` returns; without one it is made here, which takes longer
        than most charts do.
    """
    script = Path(library).read_text("utf-8") if library else bundle()
    with alt.data_transformers.enable("default", max_rows=None):  # a large model has more than Altair's 5,000 heads
        spec = json.dumps(drawable(chart.to_dict()))
    drawing = vl_convert.vegalite_to_svg(spec)
    files = {
        html: page(chart.title.text, spec, script).encode(),
        svg: drawing.encode(),
        png: vl_convert.svg_to_png(drawing, ppi=PIXELS_PER_INCH),
    }
    for path, content in files.items():
        with replacing(path) as temporary:
            temporary.write_bytes(content)


def specification(page: str) -> str:
    """
    Return the specification of the chart in a page that `page` made, as JSON.

    Raises
    ------
    InputError
        If it is no such page.
    """
    found = re.search(r'<script type="application/json" id="specification">(.*?)</script>', page, re.DOTALL)
    if not found:
        raise InputError("expected the page of a figure, found one without its specification; draw it again")
    return found[1]


def page(title: str, spec: str, script: str) -> str:
    """
    Return a chart as one HTML page with the drawing library inside, as `headscope.charts.javascript.bundle` returns it.

    The specification stands in the page as data with every `<` escaped, so that no corpus text can end
    the script or open a tag.
    """
    return PAGE.format(title=markup.escape(title), spec=spec.replace("<", r"\u003c"), script=script)
