"""What Tables 1, 2 and 3 and the comparison of models say, as sentences: a table in, sentences out."""

import polars as pl

from headscope.comparison.claims import NOT_APPLICABLE, VERDICTS
from headscope.coreference.names import CANDIDATE_NAMES, DIRECTIONS
from headscope.pages import is_missing
from headscope.probes.names import ATTENTION, ATTENTION_WORDS, BEST_OFFSET, PRINTED, RIGHT_BRANCHING, STRUCTURAL
from headscope.report.words import count, head, interval, listed, percent, relation, that, with_article
from headscope.syntax.names import ALL, relations_to_show, scheme_in
from headscope.syntax.names import DIRECTIONS as TREE_DIRECTIONS


def relation_sentence(row: dict) -> str:
    """Say how well the best head finds a relation: a row of `syntax/table1`."""
    accuracy = row["accuracy"]
    if row["relation"] == ALL:
        what = "the head word of any dependent"
    else:
        name = relation(row["relation"])
        to_head = row["direction"] == TREE_DIRECTIONS[0]
        what = f"the head word of {with_article(name)}" if to_head else f"the {name} of a word"
    if is_missing(accuracy):
        return f"No case of {what} was scored."
    said = (
        f"Head {head(row)} finds {what} in {percent(accuracy)} of {count(row['total'], 'case')}"
        f"{interval(row['ci_low'], row['ci_high'])}"
    )
    if is_missing(row["baseline_accuracy"]):
        return f"{said}."
    offset = row["baseline_offset"]
    from_dependent = row["direction"] == TREE_DIRECTIONS[0] or row["relation"] == ALL
    places = _places(offset if from_dependent else -offset)
    return f"{said}; always guessing {places} finds {percent(row['baseline_accuracy'])}."


def _places(offset: int) -> str:
    if abs(offset) == 1:
        return "the next word" if offset > 0 else "the word before"
    number = count(abs(offset), "word")
    return f"{number} {'ahead' if offset > 0 else 'back'}"


def syntax_sentences(table1: pl.DataFrame, scheme: str, rare: int) -> list[str]:
    """Say what the best heads find: of the relations that figure 5 shows, then of all; the table `syntax/table1`."""
    shown = relations_to_show(table1, scheme, [], rare).to_dicts()
    every = table1.filter(scheme=scheme_in(table1, scheme), relation=ALL).to_dicts()
    if not shown:
        return [*map(relation_sentence, every), f"No relation has {count(rare, 'dependent')} or more."]
    return [relation_sentence(row) for row in shown + every]


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
    )
    beside = {"nearest": "taking the nearest finds", "rules": "a resolver of four rules finds"}
    others = [
        f"{name} {percent(rows[predictor]['all_accuracy'])}"
        for predictor, name in beside.items()
        if predictor in rows and not is_missing(rows[predictor]["all_accuracy"])
    ]
    kinds = [
        f"{percent(best[f'{kind}_accuracy'])} of {count(best[f'{kind}_total'], name)}"
        for kind, name in (("pronoun", "pronoun"), ("proper", "proper noun"), ("nominal", "other noun"))
        if best[f"{kind}_total"] and not is_missing(best[f"{kind}_accuracy"])
    ]
    sentences = [f"{said}; {' and '.join(others)}." if others else f"{said}."]
    return sentences + ([f"It is right about {listed(kinds)}."] if kinds else [])


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


def claims_sentences(claims: pl.DataFrame) -> list[str]:
    """Say how many of the paper's claims hold for each model; the table `compare/claims`."""
    sentences = []
    for (model,), rows in claims.group_by("model", maintain_order=True):
        verdicts = rows["verdict"].to_list()
        answered = [verdict for verdict in verdicts if verdict != NOT_APPLICABLE]
        if not answered:
            sentences.append(f"{model}: none of the paper's claims says anything of it.")
            continue
        parts = [
            that(answered.count(VERDICTS["yes"]), "holds", "hold"),
            that(answered.count(VERDICTS["no"]), "does not", "do not"),
            that(answered.count("undecided"), "is undecided", "are undecided"),
        ]
        if len(answered) < len(verdicts):
            parts.append(that(len(verdicts) - len(answered), "says nothing of it", "say nothing of it"))
        sentences.append(f"{model}: of {len(verdicts)} of the paper's claims {listed(parts)}.")
    return sentences
