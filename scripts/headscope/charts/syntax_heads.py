"""How well every head follows the most frequent relations, as heat maps of layer and head."""

import altair as alt
import polars as pl

from headscope.charts.heat_maps import heat_map
from headscope.charts.theme import notice, titled
from headscope.syntax.names import ALL, DIRECTION_NAMES, PUNCTUATION, common_relations, scheme_in, scheme_name

PANELS_IN_A_ROW = 3


def syntax_heads(
    heads: pl.DataFrame, table1: pl.DataFrame, described_name: str, corpus: str, scheme: str, relations: int = 6
) -> alt.ConcatChart:
    """
    A panel a relation: the accuracy of every head in the better of its two directions, the best head outlined.

    Parameters
    ----------
    heads, table1
        The tables `syntax/heads` and `syntax/table1`.
    described_name
        The name of the model.
    relations
        How many relations to show, the most frequent first; punctuation is none.
    """
    scheme = scheme_in(table1, scheme)
    shown = common_relations(table1, scheme, 0)[0].filter(~pl.col("relation").is_in([ALL, PUNCTUATION])).head(relations)
    panels = [
        heat_map(
            heads.filter(scheme=scheme, relation=best["relation"]), best, best["relation"], "relation", DIRECTION_NAMES
        )
        for best in shown.to_dicts()
    ]
    return titled(
        alt.concat(*panels or [notice("There is no relation to show.")], columns=PANELS_IN_A_ROW, spacing=26),
        "How well each head follows a relation",
        f"{described_name} on {corpus}, {scheme_name(scheme)}; the most frequent relations",
        "Accuracy of each head in the better of its two directions, on one scale for all panels; "
        "the best head is outlined.",
    )
