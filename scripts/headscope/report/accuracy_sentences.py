"""What Table 1 and the paper's claims say, as sentences: a table in, sentences out."""

import polars as pl

from headscope.comparison.claims import NOT_APPLICABLE, VERDICTS
from headscope.pages import is_missing
from headscope.report.words import (
    capitalised,
    count,
    head,
    held_out,
    interval,
    listed,
    percent,
    relation,
    that,
    with_article,
)
from headscope.syntax.names import ALL, common_relations, relations_to_show, scheme_in
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
        f"{interval(row['ci_low'], row['ci_high'])}{held_out(row['held_out_accuracy'], 'sentences')}"
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
    """
    Say what the best heads find: of the relations that figure 5 shows, of that where they do worst, and of all.

    Parameters
    ----------
    table1
        The table `syntax/table1`.
    """
    shown = relations_to_show(table1, scheme, [], rare).to_dicts()
    every = table1.filter(scheme=scheme_in(table1, scheme), relation=ALL).to_dicts()
    if not shown:
        return [*map(relation_sentence, every), f"No relation has {count(rare, 'dependent')} or more."]
    common = common_relations(table1, scheme, rare)[0].filter(pl.col("relation") != ALL)
    said = [*map(relation_sentence, shown), *_worst(common), *map(relation_sentence, every)]
    return [*_why_these(len(shown), common.height, rare), *said]


def _why_these(shown: int, common: int, rare: int) -> list[str]:
    if shown == common:
        return []
    listed_are = f"{capitalised(count(shown, 'relation'))} of {common:,} with {count(rare, 'dependent')} or more"
    return [
        f"{listed_are} {'is' if shown == 1 else 'are'} listed: where the best head gains most over always guessing one "
        "place, by the lower end of its interval."
    ]


def _worst(common: pl.DataFrame) -> list[str]:
    """Name the relation where the best head does worst against the guess, of at least two; ties by name."""
    gain = pl.col("accuracy") - pl.col("baseline_accuracy")
    ranked = common.drop_nulls(["accuracy", "baseline_accuracy"]).sort(gain, "relation")
    if ranked.height < 2:
        return []
    row = ranked.row(0, named=True)
    does = "do worst against" if row["accuracy"] < row["baseline_accuracy"] else "gain least over"
    return [
        f"Heads {does} such a guess with the {relation(row['relation'])}: head {head(row)} finds "
        f"{percent(row['accuracy'])} of {count(row['total'], 'case')}, the guess {percent(row['baseline_accuracy'])}."
    ]


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
