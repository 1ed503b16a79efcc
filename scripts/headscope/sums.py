"""Sums per example and head: the table that a shard hands to the merge."""

from collections.abc import Iterable

import numpy as np
import polars as pl


def table_of_sums(parts: Iterable[tuple], counts: tuple[str, ...], measures: tuple[str, ...]) -> pl.DataFrame:
    """
    Lay the sums of examples out as one table.

    Parameters
    ----------
    parts
        For each example, in any order: its number, one whole number for each of `counts`, and the sums, float64
        (layer, head, measure).

    Returns
    -------
    One row per (example, layer, head), sorted; layers and heads from 1.
    """
    parts = sorted(parts, key=lambda part: part[0])
    columns = {"example": pl.UInt32, "layer": pl.UInt16, "head": pl.UInt16} | dict.fromkeys(counts, pl.UInt32)
    if not parts:
        return pl.DataFrame(schema=columns | dict.fromkeys(measures, pl.Float64))
    sums = np.stack([part[-1] for part in parts])
    examples, layers, heads, _ = sums.shape
    layer, head = np.indices((layers, heads)).reshape(2, -1) + 1
    per_example = zip(("example", *counts), np.array([part[:-1] for part in parts]).T, strict=True)
    data = {name: np.repeat(values, layers * heads) for name, values in per_example}
    data |= {"layer": np.tile(layer, examples), "head": np.tile(head, examples)}
    data |= dict(zip(measures, sums.reshape(-1, len(measures)).T, strict=True))
    return pl.DataFrame(data).select(*columns, *measures).cast(columns)
