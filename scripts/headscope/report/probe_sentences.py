"""What the tables of probes say, as sentences: a table in, sentences out."""

import polars as pl

from headscope.pages import is_missing
from headscope.probes.names import ATTENTION, ATTENTION_WORDS, BEST_OFFSET, PRINTED, RIGHT_BRANCHING, STRUCTURAL
from headscope.report.words import count, head, interval, listed, percent
from headscope.syntax.names import DIRECTION_NAMES, signed

MOST_READ = 3


def probe_sentences(table3: pl.DataFrame) -> list[str]:
    """Say how much of the trees the probes find; the table `probes/table3`."""
    rows = {row["probe"]: row for row in table3.to_dicts()}
    found = [
        f"{PRINTED[probe]}: {percent(rows[probe]['uas'])}{interval(rows[probe]['uas_low'], rows[probe]['uas_high'])}"
        for probe in (ATTENTION, ATTENTION_WORDS, RIGHT_BRANCHING, BEST_OFFSET)
        if probe in rows and not is_missing(rows[probe]["uas"])
    ]
    sentences = [f"The head word is found by: {', '.join(found)}."] if found else []
    best = rows.get(ATTENTION)
    if best and not is_missing(best["selectivity"]):
        points, more = abs(100 * best["selectivity"]), "less" if best["selectivity"] >= 0 else "more"
        sentences.append(f"On permuted trees the probe over attention alone finds {points:.0f} points {more}.")
    structural = rows.get(STRUCTURAL)
    if structural and not is_missing(structural["uuas"]):
        sentences.append(
            f"The structural probe over hidden states finds {percent(structural['uuas'])} of the edges"
            f"{interval(structural['uuas_low'], structural['uuas_high'])}."
        )
    return sentences or ["Nothing was scored."]


def weight_sentences(weights: pl.DataFrame) -> list[str]:
    """Say which heads the probes read most, for or against; the table `probes/weights`."""
    sentences = []
    for (probe,), rows in weights.drop_nulls("weight").group_by("probe", maintain_order=True):
        size = pl.col("weight").abs()
        ranked = rows.filter(size > 0).sort(size, "layer", "head", "direction", descending=[True, False, False, False])
        read = [
            f"{head(row)} ({DIRECTION_NAMES[row['direction']]}, {signed(row['weight'], 2)})"
            for row in ranked.head(MOST_READ).to_dicts()
        ]
        if read:
            heads = "heads" if len(read) > 1 else "head"
            sentences.append(f"The probe “{PRINTED.get(probe, probe)}” weighs most {heads} {listed(read)}.")
    return sentences


def curve_sentences(curve: pl.DataFrame) -> list[str]:
    """Say what a probe gains with more sentences; the table `probes/curve`."""
    sentences = []
    for (probe,), rows in curve.drop_nulls("uas").group_by("probe", maintain_order=True):
        few, many = rows.sort("trained").row(0, named=True), rows.sort("trained").row(-1, named=True)
        name, sentences_of = PRINTED.get(probe, probe), count(many["trained"], "sentence")
        if few["trained"] == many["trained"]:
            sentences.append(f"“{name}” was trained on {sentences_of} alone: {percent(many['uas'], 1)}.")
            continue
        points = 100 * (many["uas"] - few["uas"])
        sentences.append(
            f"With {sentences_of} instead of {few['trained']:,} to learn from, “{name}” finds "
            f"{percent(many['uas'], 1)} instead of {percent(few['uas'], 1)}, {signed(points, 1)} points."
        )
    return sentences


def coverage_sentences(coverage: pl.DataFrame) -> list[str]:
    """Say how many words have a vector; the table `probes/coverage`."""
    return [
        f"Of {count(row['tokens'], 'word')} {row['known_tokens']:,} have a vector ({row['vectors']}), and of "
        f"{count(row['types'], 'different word')} {row['known_types']:,}."
        for row in coverage.to_dicts()
    ]
