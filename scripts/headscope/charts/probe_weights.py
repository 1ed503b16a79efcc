"""Which heads the probes over all heads read: their weights in both directions, as heat maps of layer and head."""

import altair as alt
import polars as pl

from headscope.charts.heat_maps import grid, outlines, squares
from headscope.charts.theme import DIVERGING, notice, titled
from headscope.probes.names import LEARNED, PRINTED
from headscope.syntax.names import DIRECTION_NAMES, signed

SYMBOLS = {"dependent_to_head": "w", "head_to_dependent": "u"}  # of Clark et al. 2019, section 5
STRONGEST, IN_A_LINE = 5, 3  # heads to name in a panel, and names in one line
INK = "#111111"


def probe_weights(weights: pl.DataFrame, model: str, train: str) -> alt.VConcatChart:
    """
    A row a probe: the weight of every head from dependent to head and from head to dependent, the strongest outlined.

    Parameters
    ----------
    weights
        The table `probes/weights`.
    train
        The name of the treebank that the probes learned from.
    """
    drawn = [_row(weights.filter(probe=probe), probe) for probe in PRINTED if probe in weights["probe"]]
    return titled(
        alt.vconcat(*drawn or [notice("No probe over attention was learned.")], spacing=34).resolve_scale(
            color="independent"
        ),
        "Which heads the probes read",
        f"{model}, learned from {train}; the mean over the runs",
        "Weight: the logits that a word gains as the head per unit of attention from the dependent (w) or to the "
        "dependent (u).",
        "Above 0 (blue) attention speaks for the head, below 0 (brown) against it. Outlined: the strongest of a panel, "
        "of either sign.",
    )


def _row(weights: pl.DataFrame, probe: str) -> alt.HConcatChart:
    """Both panels of one probe, on one scale."""
    largest = weights["weight"].abs().max() or 1.0
    colour = alt.Color(
        "weight:Q",
        scale=alt.Scale(domain=[-largest, largest], range=DIVERGING, interpolate="rgb"),
        legend=alt.Legend(title="Weight (logits)", gradientLength=140),
    )
    panels = [_panel(weights.filter(direction=direction), direction, colour) for direction in DIRECTION_NAMES]
    at_mean = ", at the mean word vector" if LEARNED[probe].words else ""
    title = alt.TitleParams(PRINTED[probe] + at_mean, anchor="start", fontSize=14)
    return alt.hconcat(*panels, spacing=30).properties(title=title)


def _panel(weights: pl.DataFrame, direction: str, colour: alt.Color) -> alt.LayerChart:
    ranked = weights.sort(-pl.col("weight").abs(), "layer", "head").with_row_index("rank")
    cells = ranked.sort("layer", "head").select(
        "layer",
        "head",
        "weight",
        name=pl.format("{}-{}", "layer", "head"),
        way=pl.lit(DIRECTION_NAMES[direction]),
        shown=pl.struct("weight", "weight_sd").map_elements(_with_deviation, pl.String),
        strong=pl.col("rank") < STRONGEST,
    )
    base, cell, size = grid(cells)
    tooltip = [
        alt.Tooltip("name:N", title="Head"),
        alt.Tooltip("way:N", title="Direction"),
        alt.Tooltip("shown:N", title="Weight"),
    ]
    strong = [f"{row['layer']}-{row['head']} ({signed(row['weight'], 2)})" for row in ranked.head(STRONGEST).to_dicts()]
    lines = [", ".join(strong[start : start + IN_A_LINE]) for start in range(0, len(strong), IN_A_LINE)]
    title = alt.TitleParams(
        f"{DIRECTION_NAMES[direction].capitalize()} ({SYMBOLS[direction]})",
        subtitle=[line + "," for line in lines[:-1]] + lines[-1:],
        anchor="start",
        subtitleFontSize=11,
    )
    marks = squares(base, cell, colour, tooltip=tooltip), outlines(base.transform_filter("datum.strong"), cell, INK)
    return alt.layer(*marks).properties(**size, title=title)


def _with_deviation(row: dict) -> str:
    """Return a weight and, of several runs, its standard deviation."""
    return signed(row["weight"], 2) + ("" if row["weight_sd"] is None else f" ± {row['weight_sd']:.2f}")
