"""What each analysis says of a run: all its sentences (`say`), and those among the findings at the top (`find`)."""

from collections.abc import Callable

import polars as pl

from headscope.report.accuracy_sentences import relation_sentence, syntax_sentences
from headscope.report.coreference_sentences import (
    coreference_sentences,
    distance_sentences,
    passage_sentences,
    type_sentences,
)
from headscope.report.probe_sentences import coverage_sentences, curve_sentences, probe_sentences, weight_sentences
from headscope.report.results import Shown
from headscope.report.surface_sentences import (
    cluster_sentences,
    divergence_sentences,
    gradient_sentences,
    maps_sentences,
    norm_sentences,
    strongest_sentences,
    surface_sentences,
)
from headscope.syntax.names import ALL, relations_to_show, scheme_in


def nothing(run: Shown) -> list[str]:
    return []


def _if_there(run: Shown, name: str, say: Callable[[pl.DataFrame], list[str]]) -> list[str]:
    table = run.table(name)
    return [] if table is None else say(table)


def say_surface(run: Shown) -> list[str]:
    said = surface_sentences(run.table("surface/heads"), run.table("surface/uniform"), run.described)
    return said + _if_there(run, "surface/maps", maps_sentences)


def find_surface(run: Shown) -> list[str]:
    return strongest_sentences(run.table("surface/heads"), run.described)


def say_gradients(run: Shown) -> list[str]:
    return gradient_sentences(run.table("gradients/loss"), run.table("gradients/layers"), run.described)


def say_norms(run: Shown) -> list[str]:
    return norm_sentences(run.table("norms/layers"), run.table("norms/claims"), run.described)


def find_norms(run: Shown) -> list[str]:
    return [] if run.table("norms/layers") is None else say_norms(run)[:1]


def say_clusters(run: Shown) -> list[str]:
    said = cluster_sentences(run.table("clusters/tests"), run.table("clusters/map"))
    return said + _if_there(run, "clusters/divergence", divergence_sentences)


def find_clusters(run: Shown) -> list[str]:
    return say_clusters(run)[:1]


def say_syntax(run: Shown) -> list[str]:
    return syntax_sentences(run.table("syntax/table1"), run.scheme, run.rare)


def find_syntax(run: Shown) -> list[str]:
    """Say it of the relation that gains most, and of all."""
    table1 = run.table("syntax/table1")
    every = table1.filter(scheme=scheme_in(table1, run.scheme), relation=ALL).to_dicts()
    gaining = relations_to_show(table1, run.scheme, [], run.rare).head(1).to_dicts()
    return [relation_sentence(row) for row in gaining + every]


def say_coreference(run: Shown) -> list[str]:
    table2 = run.table("coreference/table2")
    return [
        *coreference_sentences(table2, run.candidates),
        *_if_there(run, "coreference/heads", lambda heads: type_sentences(heads, table2, run.candidates)),
        *_if_there(run, "coreference/distances", lambda distances: distance_sentences(distances, run.candidates)),
        *_if_there(run, "coreference/links", passage_sentences),
    ]


def find_coreference(run: Shown) -> list[str]:
    return coreference_sentences(run.table("coreference/table2"), run.candidates)[:1]


def say_probes(run: Shown) -> list[str]:
    return [
        *probe_sentences(run.table("probes/table3")),
        *_if_there(run, "probes/weights", weight_sentences),
        *_if_there(run, "probes/curve", curve_sentences),
        *_if_there(run, "probes/coverage", coverage_sentences),
    ]


def find_probes(run: Shown) -> list[str]:
    return probe_sentences(run.table("probes/table3"))[:1]
