"""Figure 2: where the attention of every head goes."""

import altair as alt
import polars as pl

from headscope.charts.theme import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    head_means,
    heads_and_layers,
    titled,
    what_was_run,
)
from headscope.description import Description

COLOURS = {
    "to_self": GREEN,
    "to_previous": PURPLE,
    "to_next": SKY,
    "to_cls": BLUE,
    "to_first": GREEN,
    "to_sep": VERMILLION,
    "to_punctuation": ORANGE,
    "sep_to_sep": VERMILLION,
    "other_to_sep": BLUE,
}

BLIND = " In causal layers no token sees the next."


def figure_2(heads: pl.DataFrame, uniform: pl.DataFrame, described: Description, corpus: str) -> alt.HConcatChart:
    """
    Three panels: attention by position, to special tokens and punctuation, and to the separator by who looks.

    Parameters
    ----------
    heads, uniform
        The tables `surface/heads` and `surface/uniform`. What the model does not have is left out. Attention to the
        first token, where sinks are, is a line of its own unless the first token is the cls.

    Source: Clark et al. 2019, figure 2; the panel of positions is section 3.1.
    """
    cls, sep = described.token("cls"), described.token("sep")
    first = {} if heads["to_first"].equals(heads["to_cls"], check_names=False) else {"to_first": "first token"}
    panels = {
        "By position": {"to_self": "itself", "to_previous": "previous token", "to_next": "next token"},
        "To special tokens and punctuation": {"to_cls": cls} | first | {"to_sep": sep, "to_punctuation": ". or ,"},
        "To the separator, by who looks": {
            "sep_to_sep": f"from {sep} to {sep}",
            "other_to_sep": f"from other tokens to {sep}",
        },
    }
    drawn = []
    for title, labels in panels.items():
        means = head_means(heads, labels)
        if not means.is_empty():
            colours = {label: COLOURS[measure] for measure, label in labels.items()}
            drawn.append(heads_and_layers(means, "Mean attention", colours, [0, 1]).properties(title=title))
    return titled(
        alt.hconcat(*drawn, spacing=36).resolve_scale(color="independent", shape="independent"),
        "Figure 2: where the heads look",
        what_was_run(described.name, corpus, uniform),
        "Each point is a head, each line the mean of its layer." + (BLIND if heads["to_next"].has_nulls() else ""),
    )
