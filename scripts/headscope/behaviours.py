"""What single heads do: their behaviour by thresholds, and the heads that syntax and coreference single out."""

from collections.abc import Iterable

import polars as pl

from headscope.syntax.names import relations_to_show

# By the measure of `surface/heads` that tells it, in the paper's order: a later one wins.
BEHAVIOURS = {
    "to_next": "next",
    "to_previous": "previous",
    "entropy": "broad",
    "to_cls": "cls",
    "to_sep": "sep",
    "to_punctuation": "punctuation",
}
NO_BEHAVIOUR = "other"


def behaviour_of(thresholds: dict[str, float]) -> pl.Expr:
    """
    Return the behaviour of each row of `surface/heads`: the last of `BEHAVIOURS` whose measure is above its threshold.

    A measure that is null (the model has no such token) tells nothing. Source: Clark et al. 2019, figure 6.
    """
    behaviour = pl.lit(NO_BEHAVIOUR)
    for measure, name in BEHAVIOURS.items():
        behaviour = pl.when(pl.col(measure) > thresholds[measure]).then(pl.lit(name)).otherwise(behaviour)
    return behaviour


def singled_out(table1: Iterable[pl.DataFrame], table2: Iterable[pl.DataFrame], scheme: str, rare: int) -> pl.DataFrame:
    """
    Return the heads that other analyses of the model single out, for what.

    Of a treebank the best heads of the five relations that gain most (those that figure 5 shows unless it is told
    others), where they surely beat the best fixed offset, by the lower end of the interval; of a coreference corpus
    the best head among earlier mentions.

    Parameters
    ----------
    table1, table2
        The tables `syntax/table1` and `coreference/table2` of this model, of any number of corpora.
    scheme, rare
        As for `relations_to_show`.

    Returns
    -------
    layer, head, finding: "dobj, det" or "coreference"; a head once.
    """
    columns = {"layer": pl.UInt16, "head": pl.UInt16, "finding": pl.String}
    found = [pl.DataFrame(schema=columns)]
    for table in table1:
        surely = relations_to_show(table, scheme, [], rare).filter(pl.col("ci_low") > pl.col("baseline_accuracy"))
        found.append(surely.select("layer", "head", finding="relation"))
    for table in table2:
        best = table.filter(candidates="mentions", predictor="head")
        found.append(best.select("layer", "head", finding=pl.lit("coreference")))
    every = pl.concat(table.cast(columns) for table in found).unique(maintain_order=True)
    return every.group_by("layer", "head").agg(pl.col("finding").str.join(", ")).sort("layer", "head")
