"""Every measure of single heads in the result tables, in one shape: what the report's explorer colours heads by."""

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from headscope.coreference.names import DIRECTION_NAMES as COREFERENCE_DIRECTIONS
from headscope.coreference.names import TYPE_NAMES
from headscope.keys import KEYS
from headscope.report.results import Shown
from headscope.report.words import relation
from headscope.syntax.names import ALL, common_relations, scheme_in
from headscope.syntax.names import DIRECTION_NAMES as SYNTAX_DIRECTIONS

SHARE, NUMBER, KIND = "share", "number", "kind"
SURFACE = {
    "entropy": ("entropy (nats)", NUMBER),
    "to_previous": ("attention to the previous token", SHARE),
    "to_next": ("attention to the next token", SHARE),
    "to_self": ("attention to the token itself", SHARE),
    "to_cls": ("attention to {cls}", SHARE),
    "to_sep": ("attention to {sep}", SHARE),
    "to_punctuation": ("attention to full stops and commas", SHARE),
    "to_first": ("attention to the first token", SHARE),
    "sep_to_sep": ("attention from {sep} to {sep}", SHARE),
    "other_to_sep": ("attention from other tokens to {sep}", SHARE),
    "entropy_from_cls": ("entropy from {cls} (nats)", NUMBER),
}
KEY_NAMES = dict(zip(KEYS, ("{cls}", "{sep}", "full stops and commas", "other tokens"), strict=True))
NORMS = {
    "weight_share": ("share of attention: {key}", SHARE),
    "norm_share": ("share of norms: {key}", SHARE),
    "value_norm": ("value norm: {key}", NUMBER),
}


class Measure(NamedTuple):
    """
    A number for every head.

    `name`: of this measure, the only one so called of its model; `table`: where it is from; `title`: what a reader
    sees; `unit`: `share`, `number` or `kind` (a word); `values`, `errors` (standard errors, or None), `notes` (words
    about each value, or None): an entry a head, layer by layer, None where there is no value.
    """

    name: str
    table: str
    title: str
    unit: str
    values: list
    errors: list | None = None
    notes: list | None = None


def measures(run: Shown) -> Iterator[Measure]:
    """Yield the measures of a run in the order of the analyses; one that the model does not have is left out."""
    for source in (_surface, _behaviour, _syntax, _coreference, _gradients, _norms, _probes):
        for measure in source(run):
            if any(value is not None for value in measure.values):
                yield measure


def _surface(run: Shown) -> Iterator[Measure]:
    table = run.table("surface/heads")
    if table is not None:
        for column, (title, unit) in SURFACE.items():
            yield _measure(run, "surface/heads", column, title, unit, table, column, f"{column}_se")


def _behaviour(run: Shown) -> Iterator[Measure]:
    table = run.table("clusters/map")
    if table is not None:
        yield _measure(run, "clusters/map", "behaviour", "behaviour, as figure 6 is coloured", KIND, table, "behaviour")


def _gradients(run: Shown) -> Iterator[Measure]:
    table = run.table("gradients/heads")
    for key in KEYS if table is not None else ():
        rows = table.filter(key=key)
        title = f"gradient of the loss: {KEY_NAMES[key]}"
        yield _measure(run, "gradients/heads", key, title, NUMBER, rows, "magnitude", "magnitude_se")


def _norms(run: Shown) -> Iterator[Measure]:
    table = run.table("norms/heads")
    for column, (title, unit) in NORMS.items() if table is not None else ():
        for key in KEYS:
            named = title.replace("{key}", KEY_NAMES[key])
            rows = table.filter(key=key)
            yield _measure(run, "norms/heads", f"{column}/{key}", named, unit, rows, column, f"{column}_se")


def _syntax(run: Shown) -> Iterator[Measure]:
    heads, table1 = run.table("syntax/heads"), run.table("syntax/table1")
    if heads is None or table1 is None:
        return
    scheme = scheme_in(table1, run.scheme)
    for name in common_relations(table1, scheme, run.rare)[0]["relation"]:
        title = "accuracy on all relations" if name == ALL else f"accuracy on {relation(name)}"
        rows = heads.filter(scheme=scheme, relation=name)
        yield _accuracy(run, "syntax/heads", f"{scheme}/{name}", title, rows, SYNTAX_DIRECTIONS)


def _coreference(run: Shown) -> Iterator[Measure]:
    heads = run.table("coreference/heads")
    for kind, name in TYPE_NAMES.items() if heads is not None else ():
        rows = heads.filter(candidates=run.candidates, mention_type=kind)
        title = f"accuracy on coreference, {name} mentions" if kind == ALL else f"accuracy on coreference, {name}"
        yield _accuracy(run, "coreference/heads", kind, title, rows, COREFERENCE_DIRECTIONS)


def _probes(run: Shown) -> Iterator[Measure]:
    table = run.table("probes/weights")
    if table is None:
        return
    for (probe, direction), rows in table.group_by("probe", "direction", maintain_order=True):
        title = f"weight in the probe over {probe}, {direction.replace('_', ' ')}"
        yield _measure(run, "probes/weights", f"{probe}/{direction}", title, NUMBER, rows, "weight")


def _accuracy(run: Shown, table: str, name: str, title: str, rows: pl.DataFrame, directions: dict) -> Measure:
    """Take each head in its better direction (ties: the first by name, as the heat maps do)."""
    better = (
        rows.drop_nulls("accuracy")
        .sort("accuracy", "direction", descending=[True, False])
        .unique(["layer", "head"], keep="first", maintain_order=True)
        .with_columns(
            note=pl.format("{} of {}, {}", "correct", "total", pl.col("direction").replace_strict(directions))
        )
    )
    return _measure(run, table, name, title, SHARE, better, "accuracy", notes="note")


def _measure(
    run: Shown,
    table: str,
    name: str,
    title: str,
    unit: str,
    rows: pl.DataFrame,
    column: str,
    errors: str | None = None,
    notes: str | None = None,
) -> Measure:
    described = run.described
    every = pl.DataFrame(
        [(layer, head) for layer in range(1, described.layers + 1) for head in range(1, described.heads + 1)],
        {"layer": pl.UInt16, "head": pl.UInt16},
        orient="row",
    )
    keys = ["layer", "head"]
    joined = every.join(rows.cast(dict.fromkeys(keys, pl.UInt16)), keys, "left", maintain_order="left")
    named = title.replace("{cls}", described.token("cls")).replace("{sep}", described.token("sep"))
    return Measure(
        f"{run.corpus}/{table}/{name}",
        table,
        named,
        unit,
        _rounded(joined[column]),
        _rounded(joined[errors]) if errors and errors in joined.columns else None,
        joined[notes].to_list() if notes else None,
    )


def _rounded(values: pl.Series) -> list:
    """Return four digits of each number, as display needs, None for a missing one; words as they are."""
    return values.fill_nan(None).round_sig_figs(4).to_list() if values.dtype.is_float() else values.to_list()
