"""What the report's explorer shows of a model: its heads by every measure, its best heads, a map, and examples."""

import base64
from typing import NamedTuple

import polars as pl

from headscope.coreference.names import TYPES
from headscope.pages import is_missing
from headscope.report.accuracy_sentences import relation_sentence
from headscope.report.coreference_sentences import coreference_sentences
from headscope.report.measures import measures
from headscope.report.results import Shown
from headscope.report.words import relation
from headscope.syntax.names import ALL, common_relations, relations_to_show, scheme_in

TABLES = {
    "surface/heads": "Surface patterns",
    "clusters/map": "Clusters",
    "syntax/heads": "Syntax",
    "coreference/heads": "Coreference",
    "gradients/heads": "Gradients",
    "norms/heads": "Norms",
    "probes/weights": "Probes",
}
LABEL_LETTERS = 60


class Relation(NamedTuple):
    """
    Something that heads are scored on.

    `measure`: the name of the measure that scores them; `sentence`: what is said of the best; `layer`, `head`: the
    best; `baseline`: an accuracy without heads, None where there is none.
    """

    corpus: str
    title: str
    measure: str
    sentence: str
    layer: int
    head: int
    baseline: float | None


def explorer_data(runs: list[Shown], examples: dict[str, pl.DataFrame]) -> dict:
    """
    Return all that the explorer shows of one model, ready for JSON.

    Parameters
    ----------
    runs
        Of this model.
    examples
        By corpus, the tables that `headscope.report.examples.shown_example` makes rows of.
    """
    described = runs[0].described
    relations = [relation for run in runs for relation in _relations(run)]
    found = [(run, measure) for run in runs for measure in measures(run)]
    return {
        "model": described.name,
        "layers": described.layers,
        "heads": described.heads,
        "corpora": [_corpus(run, examples.get(run.corpus)) for run in runs],
        "measures": [
            measure._asdict() | {"corpus": run.corpus, "group": TABLES[measure.table]} for run, measure in found
        ],
        "relations": [relation._asdict() for relation in relations],
    }


def _relations(run: Shown) -> list[Relation]:
    return _of_trees(run) + _of_mentions(run)


def _of_trees(run: Shown) -> list[Relation]:
    """Those that figure 5 shows first, then the others."""
    table1 = run.table("syntax/table1")
    if table1 is None:
        return []
    scheme = scheme_in(table1, run.scheme)
    shown = pl.concat([relations_to_show(table1, scheme, [], run.rare), common_relations(table1, scheme, run.rare)[0]])
    return [
        Relation(
            run.corpus,
            "all relations" if row["relation"] == ALL else relation(row["relation"]),
            f"{run.corpus}/syntax/heads/{scheme}/{row['relation']}",
            relation_sentence(row),
            row["layer"],
            row["head"],
            row["baseline_accuracy"],
        )
        for row in shown.unique("relation", keep="first", maintain_order=True).to_dicts()
        if not is_missing(row["accuracy"])
    ]


def _of_mentions(run: Shown) -> list[Relation]:
    table2, heads = run.table("coreference/table2"), run.table("coreference/heads")
    if table2 is None or heads is None:
        return []
    nearest = table2.filter(candidates=run.candidates, predictor="nearest").to_dicts()
    said = coreference_sentences(table2, run.candidates)[0]
    relations = []
    for kind in TYPES:
        best = (
            heads.filter(candidates=run.candidates, mention_type=kind)
            .drop_nulls("accuracy")
            .sort("accuracy", "layer", "head", descending=[True, False, False])
            .head(1)
            .to_dicts()
        )
        for row in best:
            relations.append(
                Relation(
                    run.corpus,
                    "coreference" if kind == "all" else f"coreference, {kind} mentions",
                    f"{run.corpus}/coreference/heads/{kind}",
                    said if kind == "all" else "",
                    row["layer"],
                    row["head"],
                    nearest[0][f"{kind}_accuracy"] if nearest else None,
                )
            )
    return relations


def _corpus(run: Shown, examples: pl.DataFrame | None) -> dict:
    mapped = run.table("clusters/map")
    return {
        "name": run.corpus,
        "unit": "token" if run.kind == "text" else "word",
        "map": None
        if mapped is None
        else mapped.select("layer", "head", "x", "y", "behaviour").to_dict(as_series=False),
        "examples": [] if examples is None else [_example(row) for row in examples.to_dicts()],
    }


def _example(row: dict) -> dict:
    text = " ".join(row["rows"])
    label = text if len(text) <= LABEL_LETTERS else f"{text[: LABEL_LETTERS - 1]}…"
    return {
        "label": f"{row['example']}: {label}",
        "rows": row["rows"],
        "left_out": row["left_out"],
        "weights": base64.b64encode(row["weights"]).decode("ascii"),
    }
