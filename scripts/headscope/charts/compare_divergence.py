"""How unlike the heads of two models are: the mean of every two layers, and for each head the nearest of the other."""

import textwrap

import altair as alt
import polars as pl

from headscope.charts.heat_maps import grid, number_axis, squares
from headscope.charts.theme import SHADES, notice, titled

LAYER_CELL, SMALLEST_NAMED = 26, 24  # pixels
SIDE, HEAD_CELL = 312, 36
LETTERS = 110  # a line
INK = "#222222"
LEVELS = {"token": "tokens", "word": "words; special tokens are keys only, one a kind"}


def compare_divergence(
    layers: pl.DataFrame, nearest: pl.DataFrame, pairs: pl.DataFrame, corpus: str
) -> alt.VConcatChart:
    """
    Every layer of a model against every layer of another, and a heat map of the heads of each with the nearest named.

    Parameters
    ----------
    layers, nearest, pairs
        The tables of one pair of models, as `headscope.between.merging.Between` has them.
    """
    pair = pairs.row(0, named=True)
    names = pair["model"], pair["other_model"]
    title = f"How unlike the heads of {names[0]} and {names[1]} are"
    if pair["refused"]:
        return titled(
            notice("They cannot be compared."), title, f"on {corpus}", *textwrap.wrap(pair["refused"], LETTERS)
        )
    highest = nearest["divergence"].max()
    heads = [
        _nearest_heads(nearest.filter(model=name, other_model=other), name, other, highest)
        for name, other in (names, names[::-1])
    ]
    left_out = f", {pair['left_out']:,} left out" if pair["left_out"] else ""
    return titled(
        alt.hconcat(_layers(layers, *names), *heads, spacing=30).resolve_scale(color="independent"),
        title,
        f"{corpus}: {pair['examples']:,} examples{left_out}, {pair['queries']:,} {LEVELS[pair['level']]}",
        "Jensen-Shannon divergence of attention on the same examples, the mean over queries; darker is more alike.",
        "Left: the mean of all pairs of heads of two layers. Right: for each head of a model the nearest of the other.",
    )


def _colour(highest: float, title: str, low: float = 0) -> alt.Color:
    return alt.Color(
        "divergence:Q",
        scale=alt.Scale(range=SHADES[::-1], domain=[low, highest or 1], interpolate="rgb"),
        legend=alt.Legend(title=title, gradientLength=200, format=".2f", orient="bottom", direction="horizontal"),
    )


def _layers(layers: pl.DataFrame, name: str, other: str) -> alt.Chart:
    counts = layers["layer"].max(), layers["other_layer"].max()
    cell = min(LAYER_CELL, SIDE / max(counts))
    low, high = layers["divergence"].min(), layers["divergence"].max()
    return (
        alt.Chart(layers)
        .mark_rect(stroke="white", strokeWidth=min(1, cell / 12))
        .encode(
            number_axis(alt.X, "other_layer", counts[1], "Layer"),
            number_axis(alt.Y, "layer", counts[0], "Layer"),
            _colour(high, "Two layers (nats)", low),
            tooltip=[
                alt.Tooltip("layer:Q", title=f"Layer of {name}"),
                alt.Tooltip("other_layer:Q", title=f"Layer of {other}"),
                alt.Tooltip("divergence:Q", title="Divergence (nats)", format=".4f"),
            ],
        )
        .properties(
            width=cell * counts[1], height=cell * counts[0], title=_title("Layers", f"down: {name}", f"across: {other}")
        )
    )


def _title(title: str, *subtitle: str) -> alt.TitleParams:
    return alt.TitleParams(title, subtitle=list(subtitle), anchor="start", subtitleFontSize=11)


def _nearest_heads(nearest: pl.DataFrame, name: str, other: str, highest: float) -> alt.LayerChart:
    """The heads of a model, as dark as the nearest of the other is near, its name in the cell where there is room."""
    cells = nearest.with_columns(
        name=pl.format("{}-{}", "layer", "head"),
        nearest=pl.format("{}-{}", "other_layer", "other_head"),
    )
    base, cell, panel = grid(cells, HEAD_CELL, 12 * HEAD_CELL)
    marks = [
        squares(
            base,
            cell,
            _colour(highest, "Nearest head (nats)"),
            tooltip=[
                alt.Tooltip("name:N", title=f"Head of {name}"),
                alt.Tooltip("nearest:N", title=f"Nearest of {other}"),
                alt.Tooltip("divergence:Q", title="Divergence (nats)", format=".4f"),
            ],
        )
    ]
    if cell >= SMALLEST_NAMED:
        dark = alt.datum.divergence < highest / 2
        ink = alt.when(dark).then(alt.value("white")).otherwise(alt.value(INK))
        marks.append(base.mark_text(fontSize=9).encode(text="nearest:N", color=ink))
    return alt.layer(*marks).properties(**panel, title=_title(f"Heads of {name}", f"with the nearest of {other}", ""))
