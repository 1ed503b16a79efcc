"""How often every head finds the antecedent, as heat maps of layer and head, one a type of mention."""

import altair as alt
import polars as pl

from headscope.charts.heat_maps import heat_map
from headscope.charts.theme import notice, titled
from headscope.coreference.names import ALL, CANDIDATE_NAMES, DIRECTION_NAMES, TYPE_NAMES, predictor_name

PANELS_IN_A_ROW = 2


def coreference_heads(
    heads: pl.DataFrame, table2: pl.DataFrame, model: str, corpus: str, candidates: str
) -> alt.ConcatChart:
    """
    A panel a type of mention: the accuracy of every head in the better of its two directions, the best head outlined.

    Parameters
    ----------
    heads, table2
        The tables `coreference/heads` and `coreference/table2`; the best head of the latter gets a dot in every panel.
    candidates
        The set of candidates to show.
    """
    chosen = table2.filter(candidates=candidates, predictor="head").row(0, named=True)
    shown = heads.filter(candidates=candidates)
    panels = [_panel(shown.filter(mention_type=kind), chosen, name) for kind, name in TYPE_NAMES.items()]
    return titled(
        alt.concat(*panels, columns=PANELS_IN_A_ROW, spacing=26),
        "How often each head finds the antecedent",
        f"{model} on {corpus}; candidates: {CANDIDATE_NAMES[candidates]}; {chosen[f'{ALL}_total']:,} mentions scored",
        "Accuracy of each head in the better of its two directions, on one scale for all panels.",
        f"Outlined: the best head of the panel. Dot: the {predictor_name(chosen)}, chosen over all types.",
    )


def _panel(heads: pl.DataFrame, chosen: dict, name: str) -> alt.Chart | alt.LayerChart:
    scored = heads.filter(pl.col("total") > 0)
    if scored.is_empty():
        return notice("No mention of this type is scored.").properties(title=alt.TitleParams(name, anchor="start"))
    is_chosen = pl.all_horizontal(pl.col(column) == chosen[column] for column in ("layer", "head", "direction"))
    best = scored.sort(-pl.col("accuracy"), ~is_chosen, "layer", "head", "direction").row(0, named=True)
    return heat_map(scored, best, name, "mentions", DIRECTION_NAMES, dotted=(chosen["layer"], chosen["head"]))
