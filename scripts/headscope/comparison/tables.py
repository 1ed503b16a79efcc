"""Result tables of several models as one, with a column that says whose a row is: nothing is counted again."""

from collections.abc import Iterable

import polars as pl

from headscope.comparison.catalogue import CLAIMS, SECTIONS

SURFACE = pl.Schema(
    {
        "model": pl.String,
        "layers": pl.UInt16,
        "layer": pl.UInt16,
        "depth": pl.Float64,
        "measure": pl.String,
        "heads": pl.UInt32,
        "mean": pl.Float64,
        "lowest": pl.Float64,
        "highest": pl.Float64,
        "uniform": pl.Float64,
    }
)


def by_model(tables: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the same table of several models, one after the other: `model`, then its own columns."""
    return pl.concat([table.select(pl.lit(model).alias("model"), pl.all()) for model, table in tables.items()])


def surface_by_depth(heads: dict[str, pl.DataFrame], uniform: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """
    Average the surface measures over the heads of each layer, so that models of any number of layers compare.

    Parameters
    ----------
    heads, uniform
        The tables `surface/heads` and `surface/uniform` of each model. A measure is a column with a standard error.

    Returns
    -------
    model, layers (how many it has), layer, depth (layer ÷ layers), measure, heads (of the layer), mean, lowest and
    highest over them (null where the model has no such token), uniform (of an entropy: that of uniform attention in
    the layer).
    """
    parts = [SURFACE.to_frame()]
    for model, table in heads.items():
        layers = table["layer"].n_unique()
        for measure in (name for name in table.columns if f"{name}_se" in table.columns):
            even = measure if measure in uniform[model].columns else pl.lit(None, pl.Float64)
            means = table.group_by("layer").agg(
                heads=pl.len(), mean=pl.mean(measure), lowest=pl.min(measure), highest=pl.max(measure)
            )
            named = means.join(uniform[model].select("layer", uniform=even), on="layer").with_columns(
                model=pl.lit(model), layers=layers, depth=pl.col("layer") / layers, measure=pl.lit(measure)
            )
            parts.append(named.sort("layer").select(SURFACE.names()).cast(SURFACE))
    return pl.concat(parts)


def claims_by_model(runs: Iterable[tuple[str, str]], tables: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """
    Put the claims of all runs together with what is said, how it is computed, and the paper's number.

    Parameters
    ----------
    runs
        Model and corpus of each table.
    tables
        As `headscope.comparison.claims.judge_claims` returns them.

    Returns
    -------
    section, claim, statement, definition, expected, paper, unit, corpus, model, value, ci_low, ci_high, verdict,
    detail: by the paper's sections, each claim on each corpus, models as the config has them.
    """
    whole = pl.concat(
        table.with_columns(model=pl.lit(model), corpus=pl.lit(corpus))
        for (model, corpus), table in zip(runs, tables, strict=True)
    )
    known = pl.DataFrame(
        [(it.name, it.section, it.statement, it.definition, it.paper, it.unit) for it in CLAIMS.values()],
        ["claim", "section", "statement", "definition", "paper", "unit"],
        orient="row",
    )
    section = pl.col("section").replace_strict({name: place for place, name in enumerate(SECTIONS)})
    claim = pl.col("claim").replace_strict({name: place for place, name in enumerate(CLAIMS)})
    corpus = pl.col("corpus").replace_strict({name: place for place, (_, name) in enumerate(runs)})
    return (
        whole.join(known, on="claim", maintain_order="left")
        .sort(section, claim, corpus, maintain_order=True)
        .select(
            *("section", "claim", "statement", "definition", "expected", "paper", "unit", "corpus", "model"),
            *("value", "ci_low", "ci_high", "verdict", "detail"),
        )
    )
