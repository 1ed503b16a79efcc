"""From counts of sentences to the tables of the probes: means over runs, their spread, and intervals over sentences."""

from collections.abc import Iterable

import numpy as np
import polars as pl

from headscope.description import Description
from headscope.encoding import Encoded
from headscope.probes.files import LearnedProbe
from headscope.probes.names import CONTROL, CURVES, LEARNED, PRINTED, RANDOM
from headscope.probes.tables import COUNTS, CURVE, TABLE3, WEIGHTS
from headscope.statistics import bootstrap_intervals
from headscope.syntax.names import DIRECTIONS

PART_AND_WHOLE = {
    "uas": ("correct", "words"),
    "uuas": ("edges_correct", "edges"),
    "tree_uas": ("tree_correct", "words"),
}


def all_counts(own: Iterable[pl.DataFrame], of_twins: Iterable[pl.DataFrame], encoded: Encoded) -> pl.DataFrame:
    """
    Put the counts of a model, of its structural probe and of its random twins together.

    Parameters
    ----------
    own, of_twins
        Tables as `COUNTS`.
    encoded
        The test sentences, which each run must have been scored on.

    Returns
    -------
    Columns as `COUNTS`; the probes of twins with `RANDOM` at the end of their names, without heads that need no model.

    Raises
    ------
    InputError
        If a run was not scored on every sentence once.
    """
    learned = [table.filter(pl.col("probe").is_in(list(LEARNED))) for table in of_twins]
    renamed = [table.with_columns(pl.col("probe") + RANDOM) for table in learned]
    counts = pl.concat([COUNTS.to_frame(), *own, *renamed])
    for _, run in counts.group_by("probe", "features", "trained", "seed", maintain_order=True):
        encoded.refuse_other_examples(run["example"].sort(), "sentences")
    return counts


def table_3(counts: pl.DataFrame, resamples: int, seed: int = 0) -> pl.DataFrame:
    """
    Return the table `probes/table3`: every probe as it is when it learned from all sentences.

    Parameters
    ----------
    counts
        As `all_counts` returns them.
    resamples, seed
        Of the bootstrap over sentences; every probe is scored on the same draws.
    """
    named = ["probe", "features"]
    most = counts.group_by(named).agg(most=pl.col("trained").max())
    whole = counts.join(most, on=named).filter(pl.col("trained").eq_missing(pl.col("most"))).drop("most")
    rows = pl.DataFrame([_row(run, resamples, seed) for _, run in whole.group_by(named, maintain_order=True)])
    control = rows.select(probe=pl.col("probe").str.strip_suffix(CONTROL), control="uas", own="probe")
    control = control.filter(pl.col("probe") != pl.col("own")).drop("own")
    rows = rows.join(control, on="probe", how="left").with_columns(selectivity=pl.col("uas") - pl.col("control"))
    place = {probe: number for number, probe in enumerate(PRINTED)}
    order = pl.col("probe").replace_strict(place, return_dtype=pl.UInt32)
    return rows.sort(order, "features").select(*TABLE3).cast(TABLE3)


def learning_curve(counts: pl.DataFrame, resamples: int, seed: int = 0) -> pl.DataFrame:
    """Return the table `probes/curve`: the probes of `CURVES` by the sentences that they learned from."""
    chosen = counts.filter(pl.col("probe").is_in(CURVES)).sort(pl.col("probe") != CURVES[0], "trained")
    rows = [_row(run, resamples, seed) for _, run in chosen.group_by("probe", "trained", maintain_order=True)]
    return pl.DataFrame(rows, infer_schema_length=None).select(*CURVE).cast(CURVE) if rows else CURVE.to_frame()


def _row(runs: pl.DataFrame, resamples: int, seed: int) -> dict:
    """One probe, learned from so many sentences: what its runs have in common, and their means."""
    seeds = runs["seed"].n_unique()
    row = {name: runs[name][0] for name in ("probe", "features", "trained")}
    row |= {"seeds": seeds, "sentences": runs["example"].n_unique()}
    row |= {name: runs[name].sum() // seeds if runs[name].null_count() == 0 else None for name in ("words", "edges")}
    for measure, (part, whole) in PART_AND_WHOLE.items():
        row |= _measured(runs, measure, part, whole, resamples, seed)
    return row


def _measured(runs: pl.DataFrame, measure: str, part: str, whole: str, resamples: int, seed: int) -> dict:
    """Mean of a share over runs, their standard deviation, and the mean's interval over sentences."""
    names = (measure, f"{measure}_sd", f"{measure}_low", f"{measure}_high")
    if runs[part].null_count() or not runs[whole].sum():
        return dict.fromkeys(names)
    shares = runs.group_by("seed", maintain_order=True).agg(pl.col(part).sum() / pl.col(whole).sum())[part]
    sentences = (
        runs.group_by("example", maintain_order=True).agg(pl.col(part, whole).cast(pl.Int64).sum()).sort("example")
    )
    counts = (sentences[name].to_numpy()[:, None] for name in (part, whole))
    low, high = bootstrap_intervals(*counts, resamples, seed)
    return dict(zip(names, (shares.mean(), shares.std(), low[0], high[0]), strict=True))


def weights_of_heads(probes: list[LearnedProbe], described: Description) -> pl.DataFrame:
    """Return the table `probes/weights`: what the probes of `CURVES` learned for each head, over their runs."""
    layer, head = (axis.ravel() + 1 for axis in np.indices((described.layers, described.heads)))
    parts = [WEIGHTS.to_frame()]
    for probe in probes:
        if probe.probe not in CURVES:
            continue
        runs = np.stack([run.weights["weights"].double().numpy() for run in probe.of_all_sentences()])
        deviations = runs.std(0, ddof=1) if len(runs) > 1 else np.full(runs.shape[1:], None)
        for direction, mean, deviation in zip(DIRECTIONS, runs.mean(0), deviations, strict=True):
            columns = {
                "probe": [probe.probe] * len(layer),
                "layer": layer,
                "head": head,
                "direction": [direction] * len(layer),
                "weight": mean,
                "weight_sd": deviation.tolist(),
            }
            parts.append(pl.DataFrame(columns).cast(WEIGHTS))
    return pl.concat(parts)
