"""What the tables of coreference say, as sentences: a table in, sentences out."""

import polars as pl

from headscope.coreference.names import CANDIDATE_NAMES, DIRECTIONS
from headscope.pages import is_missing
from headscope.report.words import capitalised, count, head, held_out, interval, listed, percent

KINDS = {"pronoun": "pronoun", "proper": "proper noun", "nominal": "other noun"}
BESIDE = {"nearest": "taking the nearest finds", "rules": "a resolver of four rules finds"}


def coreference_sentences(table2: pl.DataFrame, candidates: str) -> list[str]:
    """Say how well the best head finds antecedents; the table `coreference/table2`."""
    rows = {row["predictor"]: row for row in table2.filter(candidates=candidates).to_dicts()}
    best = rows.get("head")
    if best is None or is_missing(best["all_accuracy"]):
        return ["No mention has an antecedent, so there is nothing to score."]
    way = "an antecedent of a mention" if best["direction"] == DIRECTIONS[0] else "the mention from its antecedent"
    said = (
        f"Head {head(best)} finds {way} among {CANDIDATE_NAMES[candidates]} in {percent(best['all_accuracy'])} of "
        f"{count(best['all_total'], 'case')}{interval(best['all_ci_low'], best['all_ci_high'])}"
        f"{held_out(rows.get('held_out', {}).get('all_accuracy'), 'documents')}"
    )
    others = [
        f"{name} {percent(rows[predictor]['all_accuracy'])}"
        for predictor, name in BESIDE.items()
        if predictor in rows and not is_missing(rows[predictor]["all_accuracy"])
    ]
    kinds = [
        f"{percent(best[f'{kind}_accuracy'])} of {count(best[f'{kind}_total'], name)}"
        for kind, name in KINDS.items()
        if best[f"{kind}_total"] and not is_missing(best[f"{kind}_accuracy"])
    ]
    sentences = [f"{said}; {' and '.join(others)}." if others else f"{said}."]
    return sentences + ([f"It is right about {listed(kinds)}."] if kinds else [])


def type_sentences(heads: pl.DataFrame, table2: pl.DataFrame, candidates: str) -> list[str]:
    """
    Say which head is best at each type of mention, beside the nearest candidate.

    Parameters
    ----------
    heads, table2
        The tables `coreference/heads` and `coreference/table2`.
    """
    nearest = next(iter(table2.filter(candidates=candidates, predictor="nearest").to_dicts()), {})
    said = []
    for kind, name in KINDS.items():
        scored = heads.filter(
            (pl.col("candidates") == candidates) & (pl.col("mention_type") == kind) & (pl.col("total") > 0)
        ).drop_nulls("accuracy")
        ranked = scored.sort("accuracy", "layer", "head", "direction", descending=[True, False, False, False])
        for row in ranked.head(1).to_dicts():
            baseline = nearest.get(f"{kind}_accuracy")
            beside = "" if is_missing(baseline) else f" (the nearest: {percent(baseline)})"
            said.append(f"of {count(row['total'], name)} head {head(row)} finds {percent(row['accuracy'])}{beside}")
    if not said:
        return []
    return [f"{capitalised('; '.join(said))}; each head was chosen on these same mentions."]


def distance_sentences(distances: pl.DataFrame, candidates: str) -> list[str]:
    """Say at which distance of the antecedent the best head finds most and least; `coreference/distances`."""
    rows = distances.filter(
        (pl.col("candidates") == candidates) & (pl.col("predictor") == "head") & (pl.col("total") > 0)
    )
    ranked = rows.drop_nulls("accuracy").sort("accuracy", "distance_low", descending=[True, False]).to_dicts()
    if not ranked:
        return []
    best, worst = ranked[0], ranked[-1]
    if best["accuracy"] == worst["accuracy"]:
        where = _range(best) if len(ranked) == 1 else "at every distance"
        return [f"Where the nearest antecedent is {where}, the best head finds {percent(best['accuracy'])}."]
    return [
        f"The best head finds most where the nearest antecedent is {_range(best)} ({percent(best['accuracy'])} of "
        f"{count(best['total'], 'case')}), least where it is {_range(worst)} ({percent(worst['accuracy'])} of "
        f"{count(worst['total'], 'case')})."
    ]


def _range(row: dict) -> str:
    low, high = row["distance_low"], row["distance_high"]
    if high is None:
        return f"{low:,} words away or more"
    return f"{count(low, 'word')} away" if low == high else f"{low:,} to {high:,} words away"


def passage_sentences(links: pl.DataFrame) -> list[str]:
    """Say in how many cases of the passage that figure 5 shows the best head is right; `coreference/links`."""
    if links.is_empty():
        return []
    right = links.group_by("anaphor").agg(hit=(pl.col("antecedent") & pl.col("picked")).any())
    row = links.row(0, named=True)
    return [
        f"In the passage that is drawn, of {row['document']}, head {head(row)} is right in {right['hit'].sum()} of "
        f"{count(right.height, 'case')}."
    ]
