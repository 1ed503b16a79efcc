"""
A model over its training: the tables of its checkpoints put together.

What is best at a step is chosen anew at each; what is traced is the head that is best at the last one.
"""

from collections.abc import Iterable

import polars as pl

STEP = pl.Schema({"step": pl.UInt64, "model": pl.String})
HEAD = ["scheme", "relation", "layer", "head", "direction"]


def with_steps(tables: Iterable[pl.DataFrame], steps: dict[str, int]) -> pl.DataFrame:
    """
    Put one table of each step together, with step and model before the other columns.

    Parameters
    ----------
    steps
        The models and their steps, in the order of the tables.
    """
    parts = [
        table.select(pl.lit(step, STEP["step"]).alias("step"), pl.lit(model).alias("model"), pl.all())
        for table, (model, step) in zip(tables, steps.items(), strict=True)
    ]
    return pl.concat(parts)


def merge_series_syntax(
    table1: Iterable[pl.DataFrame], heads: Iterable[pl.DataFrame], steps: dict[str, int]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """
    Follow the heads of each relation over the steps of a series.

    Parameters
    ----------
    table1, heads
        The tables `syntax/table1` and `syntax/heads` of every step.
    steps
        As for `with_steps`, the last step last.

    Returns
    -------
    best
        step, model and the columns of `syntax/table1`: the best head of each relation at each step.
    traced
        step, model and the columns of `syntax/heads`: of each relation the head that is best at the last step, and what
        it scores at each. A relation that the last step does not have is not traced.
    """
    best = with_steps(table1, steps)
    last = best.filter(model=[*steps][-1]).select(HEAD)
    traced = with_steps((table.join(last, HEAD, "semi", maintain_order="left") for table in heads), steps)
    return best, traced


def merge_series_surface(heads: Iterable[pl.DataFrame], steps: dict[str, int]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """
    Follow what heads look at over the steps of a series.

    Parameters
    ----------
    heads
        The table `surface/heads` of every step.

    Returns
    -------
    by_head
        step, model and the columns of `surface/heads`.
    by_layer
        step, model, layer, then for each measure of `surface/heads` its mean over the heads of the layer and
        `<measure>_max`, that of the head that has most; null where the model has no such token.
    """
    by_head = with_steps(heads, steps)
    measures = [name for name in by_head.columns if name not in (*STEP, "layer", "head") and not name.endswith("_se")]
    by_layer = by_head.group_by("step", "model", "layer", maintain_order=True).agg(
        part for name in measures for part in (pl.col(name).mean(), pl.col(name).max().alias(f"{name}_max"))
    )
    return by_head, by_layer
