"""What the tables of a series of checkpoints say as sentences: a table in, sentences out."""

import polars as pl

from headscope.report.surface_sentences import NAMES
from headscope.report.words import head, percent, relation
from headscope.syntax.names import ALL, scheme_in


def changed_best(table: pl.DataFrame, scheme: str, rare: int) -> list[str]:
    """Say which relation gains most from the first step to the last, the best head of each; `series/syntax/best`."""
    steps = _steps(table)
    if len(steps) < 2:
        return []
    rows = table.filter(
        (pl.col("scheme") == scheme_in(table, scheme)) & ((pl.col("total") >= rare) | (pl.col("relation") == ALL))
    )
    ends = _ends(rows, ["relation"], "accuracy", steps)
    said = []
    for row in ends.filter(relation=ALL).to_dicts():
        said.append(
            f"Of all relations the best head finds {percent(row['accuracy'])} at step {steps[0]:,} ({head(row)}) and "
            f"{percent(row['accuracy_last'])} at step {steps[-1]:,} ({row['layer_last']}-{row['head_last']})."
        )
    for row in _most_changed(ends.filter(pl.col("relation") != ALL), "accuracy", ["relation"]):
        said.append(
            f"What changes most is the {relation(row['relation'])}: from {percent(row['accuracy'])} ({head(row)}) to "
            f"{percent(row['accuracy_last'])} ({row['layer_last']}-{row['head_last']})."
        )
    return said


def changed_traced(table: pl.DataFrame, rare: int) -> list[str]:
    """Say which head that is best at the last step has come farthest; the table `series/syntax/traced`."""
    steps = _steps(table)
    if len(steps) < 2:
        return []
    keys = ["scheme", "relation", "layer", "head", "direction"]
    ends = _ends(table.filter(pl.col("total") >= rare), keys, "accuracy", steps)
    return [
        f"Of the heads that are best in the end, {head(row)} has changed most: on the {relation(row['relation'])} from "
        f"{percent(row['accuracy'])} at step {steps[0]:,} to {percent(row['accuracy_last'])} at step {steps[-1]:,}."
        for row in _most_changed(ends.filter(pl.col("relation") != ALL), "accuracy", keys)
    ]


def changed_layers(table: pl.DataFrame) -> list[str]:
    """Say what heads look at more or less at the last step than at the first; the table `series/surface/layers`."""
    steps = _steps(table)
    if len(steps) < 2:
        return []
    ends = _shares(table, ["layer"], steps)
    means = ends.group_by("measure", maintain_order=True).agg(pl.mean("share", "share_last"))
    said = [
        f"From step {steps[0]:,} to step {steps[-1]:,} attention to {NAMES[row['measure']]} changes most: from "
        f"{percent(row['share'], 1)} of a head's on average to {percent(row['share_last'], 1)}"
        for row in _most_changed(means, "share", ["measure"])
    ]
    layers = _most_changed(ends, "share", ["layer", "measure"])
    return [
        f"{one}; in a single layer that to {NAMES[row['measure']]}, in layer {row['layer']}, from "
        f"{percent(row['share'], 1)} to {percent(row['share_last'], 1)}."
        for one, row in zip(said, layers, strict=True)
    ]


def changed_heads(table: pl.DataFrame) -> list[str]:
    """Say which head changes most from the first step to the last, and in what; the table `series/surface/heads`."""
    steps = _steps(table)
    if len(steps) < 2:
        return []
    return [
        f"Head {head(row)} changes most: it gives {NAMES[row['measure']]} {percent(row['share'], 1)} of its attention "
        f"at step {steps[0]:,} and {percent(row['share_last'], 1)} at step {steps[-1]:,}."
        for row in _most_changed(_shares(table, ["layer", "head"], steps), "share", ["layer", "head", "measure"])
    ]


def _steps(table: pl.DataFrame) -> list[int]:
    return table["step"].unique().sort().to_list()


def _ends(table: pl.DataFrame, keys: list[str], value: str, steps: list[int]) -> pl.DataFrame:
    """Return the rows of the first step with the columns of the last beside them, `_last` behind their names."""
    first, last = (table.filter(step=step).drop_nulls(value) for step in (steps[0], steps[-1]))
    return first.join(last, keys, suffix="_last", maintain_order="left")


def _shares(table: pl.DataFrame, keys: list[str], steps: list[int]) -> pl.DataFrame:
    """Return the shares of attention at both ends: step, keys, measure, share, share_last."""
    measures = [measure for measure in NAMES if measure in table.columns]
    long = table.unpivot(measures, index=["step", *keys], variable_name="measure", value_name="share")
    return _ends(long, [*keys, "measure"], "share", steps)


def _most_changed(ends: pl.DataFrame, value: str, keys: list[str]) -> list[dict]:
    """Return the row that changes most, if one changes; ties by keys."""
    change = (pl.col(f"{value}_last") - pl.col(value)).abs()
    return ends.filter(change > 0).sort(change, *keys, descending=[True] + [False] * len(keys)).head(1).to_dicts()
