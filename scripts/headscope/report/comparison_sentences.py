"""What the tables that compare models say as sentences: a table in, sentences out."""

from collections.abc import Callable

import polars as pl

from headscope.pages import is_missing
from headscope.probes.names import ATTENTION
from headscope.report.surface_sentences import NAMES
from headscope.report.words import count, head, listed, percent, relation
from headscope.syntax.names import ALL, scheme_in


def compared_surface(table: pl.DataFrame) -> list[str]:
    """Say what models differ most in: the mean over their heads; the table `compare/surface`."""
    weighted = (pl.col("mean") * pl.col("heads")).sum() / pl.col("heads").sum()
    means = table.drop_nulls("mean").group_by("measure", "model", maintain_order=True).agg(mean=weighted)
    sentences = _apart(means.filter(pl.col("measure").is_in(list(NAMES))), "measure", "mean", _said_of_attention)
    return sentences + _apart(means.filter(measure="entropy"), "measure", "mean", _said_of_entropy)


def _said_of_attention(high: dict, low: dict) -> str:
    return (
        f"Models differ most in attention to {NAMES[high['measure']]}: a head of {high['model']} gives it "
        f"{percent(high['mean'], 1)} on average, one of {low['model']} {percent(low['mean'], 1)}."
    )


def _said_of_entropy(high: dict, low: dict) -> str:
    return (
        f"Heads of {high['model']} attend most broadly ({high['mean']:.2f} nats on average), those of {low['model']} "
        f"most narrowly ({low['mean']:.2f})."
    )


def compared_syntax(table: pl.DataFrame, scheme: str, rare: int) -> list[str]:
    """Say how much of all trees the best heads find, and the relation on which models differ; `compare/syntax`."""
    rows = table.filter(scheme=scheme_in(table, scheme)).filter((pl.col("total") >= rare) | (pl.col("relation") == ALL))
    rows = rows.drop_nulls("accuracy")
    every = _in_order(rows.filter(relation=ALL), "accuracy")
    others = rows.filter(pl.col("relation") != ALL)
    return [
        *_ranking("The best single head for all relations", every),
        *_apart(others, "relation", "accuracy", _said_of_relation),
    ]


def _said_of_relation(high: dict, low: dict) -> str:
    return (
        f"Models differ most on the {relation(high['relation'])}: head {head(high)} of {high['model']} finds "
        f"{percent(high['accuracy'])}, the best head of {low['model']} ({head(low)}) {percent(low['accuracy'])}."
    )


def compared_coreference(table: pl.DataFrame, candidates: str) -> list[str]:
    """Say how well the best head of each model finds antecedents; the table `compare/coreference`."""
    rows = table.filter(candidates=candidates, predictor="head").drop_nulls("all_accuracy")
    return _ranking("The best head for antecedents", _in_order(rows.with_columns(accuracy="all_accuracy"), "accuracy"))


def compared_probes(table: pl.DataFrame) -> list[str]:
    """Say how much of the trees the probe over attention finds of each model; the table `compare/probes`."""
    rows = table.filter(probe=ATTENTION).drop_nulls("uas").with_columns(accuracy="uas")
    return _ranking("The probe over attention alone", _in_order(rows, "accuracy"), named=False)


def compared_pairs(table: pl.DataFrame) -> list[str]:
    """Say how far apart models are, or why nothing is compared; the table `compare/pairs`."""
    return [_said_of_pair(row) for row in table.to_dicts()]


def _said_of_pair(row: dict) -> str:
    pair = f"{row['model']} and {row['other_model']}"
    if is_missing(row["divergence"]):
        return f"Not compared: {row['refused'] or f'{pair} share no example'}."
    left_out = f" ({row['left_out']:,} left out)" if row["left_out"] else ""
    return (
        f"Heads of {pair} diverge by {row['divergence']:.3f} nats on average, over "
        f"{count(row['queries'], row['level'])} of {count(row['examples'], 'example')}{left_out}."
    )


def compared_nearest(table: pl.DataFrame) -> list[str]:
    """Say of each pair of models which heads are most alike, and which has nothing like it; `compare/nearest`."""
    sentences = []
    for (model, other), rows in table.drop_nulls("divergence").group_by("model", "other_model", maintain_order=True):
        ranked = rows.sort("divergence", "layer", "head").to_dicts()
        closest, alone = ranked[0], next(row for row in ranked if row["divergence"] == ranked[-1]["divergence"])
        said = (
            f"Of {model}, head {head(closest)} has the nearest counterpart in {other} (head {_other(closest)}, "
            f"{closest['divergence']:.3f} nats)"
        )
        if closest != alone:
            said += f", head {head(alone)} the farthest (head {_other(alone)}, {alone['divergence']:.3f})"
        sentences.append(f"{said}.")
    return sentences


def _other(row: dict) -> str:
    return f"{row['other_layer']}-{row['other_head']}"


def compared_layers(table: pl.DataFrame) -> list[str]:
    """Say of each pair of models which layers are most alike; the table `compare/layers`."""
    sentences = []
    for (model, other), rows in table.drop_nulls("divergence").group_by("model", "other_model", maintain_order=True):
        row = rows.sort("divergence", "layer", "other_layer").row(0, named=True)
        sentences.append(
            f"Layer {row['layer']} of {model} and layer {row['other_layer']} of {other} are most alike "
            f"({row['divergence']:.3f} nats)."
        )
    return sentences


def compared_left_out(table: pl.DataFrame) -> list[str]:
    """Say how many examples are not compared; the table `compare/left_out`."""
    rows = table.group_by("model", "other_model", maintain_order=True).len().rows()
    return [
        f"Of {model} and {other}, {count(number, 'example')} could not be compared." for model, other, number in rows
    ]


def _in_order(rows: pl.DataFrame, value: str) -> list[dict]:
    return rows.sort(value, "model", descending=[True, False]).to_dicts()


def _ranking(what: str, rows: list[dict], named: bool = True) -> list[str]:
    """Name every model with what it finds, the best first."""
    if len(rows) < 2:
        return []
    found = [f"{percent(row['accuracy'])} in {row['model']}{f' ({head(row)})' if named else ''}" for row in rows]
    return [f"{what} finds {listed(found)}."]


def _apart(rows: pl.DataFrame, key: str, value: str, say: Callable[[dict, dict], str]) -> list[str]:
    """Say it of the key on which the highest and the lowest model lie farthest apart; ties by key, then by model."""
    apart = rows.group_by(key).agg(apart=pl.max(value) - pl.min(value)).filter(pl.col("apart") > 0)
    widest = apart.sort("apart", key, descending=[True, False])
    if widest.is_empty():
        return []
    ranked = _in_order(rows.filter(pl.col(key) == widest[key][0]), value)
    return [say(ranked[0], ranked[-1])]
