"""What the heads of several models look at, layer by layer, on one scale of depth."""

import altair as alt
import polars as pl

from headscope.charts.models import by_number, colour_and_shape
from headscope.charts.theme import notice, titled

NAMES = {
    "to_self": "To the token itself",
    "to_previous": "To the previous token",
    "to_next": "To the next token",
    "to_cls": "To [CLS]",
    "to_sep": "To [SEP]",
    "to_punctuation": "To full stops and commas",
    "sep_to_sep": "From [SEP] to [SEP]",
    "other_to_sep": "From other tokens to [SEP]",
    "entropy": "Entropy",
    "entropy_from_cls": "Entropy from [CLS]",
}
COLUMNS, WIDTH, HEIGHT = 4, 220, 170


def compare_surface(table: pl.DataFrame, titles: dict[str, str], corpus: str) -> alt.ConcatChart:
    """
    A panel a measure, a line a model over layer ÷ layers; dashed: the entropy of uniform attention.

    Parameters
    ----------
    table
        The table `compare/surface`. What no model has gets no panel.
    titles
        What a reader sees of each model, in the order of the legend.
    """
    known = table.drop_nulls("mean").with_columns(
        title=pl.col("model").replace_strict(titles), place=pl.format("{} of {}", "layer", "layers")
    )
    panels = [
        _panel(known.filter(measure=measure), list(titles.values()), NAMES.get(measure, measure.replace("_", " ")))
        for measure in table["measure"].unique(maintain_order=True)
        if measure in known["measure"]
    ]
    without = known.height < table.height
    entropy = known["uniform"].is_not_null().any()
    return titled(
        alt.concat(*panels, columns=COLUMNS, spacing={"row": 28, "column": 30}) if panels else notice("No measure."),
        "What heads look at, from the first layer to the last",
        f"{corpus}: mean over the heads of each layer, by relative depth (layer ÷ number of layers)",
        "[CLS] and [SEP] stand for each model's own such tokens"
        + ("; a model without one has no line there." if without else "."),
        "Each panel has a scale of its own."
        + (" Dashed: the entropy of attention spread evenly over the tokens that a layer sees." if entropy else ""),
    )


def _panel(rows: pl.DataFrame, titles: list[str], name: str) -> alt.LayerChart:
    is_entropy = rows["uniform"].is_not_null().any()
    colour, shape = colour_and_shape(titles)
    axis = alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], format=".2~f", grid=False)
    x = alt.X("depth:Q", title="Layer ÷ layers", axis=axis, scale=alt.Scale(domain=[0, 1.02], nice=False))
    y = {
        "title": "Nats" if is_entropy else "Mean attention",
        "scale": alt.Scale(zero=True),
        "axis": alt.Axis(labelFlush=True),
    }
    base = alt.Chart(rows)
    marks = [
        base.mark_line(strokeWidth=1.6).encode(x, alt.Y("mean:Q", **y), colour),
        base.mark_point(filled=True, size=by_number(len(titles), 46, 26), opacity=0.9).encode(
            x,
            alt.Y("mean:Q", **y),
            colour,
            shape,
            tooltip=[
                alt.Tooltip("title:N", title="Model"),
                alt.Tooltip("place:N", title="Layer"),
                alt.Tooltip("heads:Q", title="Heads"),
                alt.Tooltip("mean:Q", title="Mean", format=".4f"),
                alt.Tooltip("lowest:Q", title="Lowest head", format=".4f"),
                alt.Tooltip("highest:Q", title="Highest head", format=".4f"),
            ],
        ),
    ]
    if is_entropy:
        even = base.mark_line(strokeWidth=1.1, strokeDash=[4, 3], opacity=0.8)
        marks.insert(0, even.encode(x, alt.Y("uniform:Q", **y), colour))
    return alt.layer(*marks).properties(width=WIDTH, height=HEIGHT, title=name)
