"""What is of no single run: all claims, then each comparison of models and each series of checkpoints, as sections."""

from collections.abc import Callable
from typing import NamedTuple

import polars as pl

from headscope.comparison.claims_page import paper_claims_parts
from headscope.report import comparison_sentences as comparison
from headscope.report import series_sentences as series
from headscope.report.accuracy_sentences import claims_sentences
from headscope.report.results import Results
from headscope.report.shown import Section, Shelf, anchor, printed

CLAIMS = "compare/claims"


class Ways(NamedTuple):
    """What tables are shown in, as for the figures: scheme of relations, candidates of coreference, what is rare."""

    scheme: str
    candidates: str
    rare: int


def _plainly(say: Callable[[pl.DataFrame], list[str]]) -> Callable[[pl.DataFrame, Ways], list[str]]:
    return lambda table, ways: say(table)


SAID: dict[str, Callable[[pl.DataFrame, Ways], list[str]]] = {
    "compare/surface": _plainly(comparison.compared_surface),
    "compare/syntax": lambda table, ways: comparison.compared_syntax(table, ways.scheme, ways.rare),
    "compare/coreference": lambda table, ways: comparison.compared_coreference(table, ways.candidates),
    "compare/probes": _plainly(comparison.compared_probes),
    "compare/pairs": _plainly(comparison.compared_pairs),
    "compare/nearest": _plainly(comparison.compared_nearest),
    "compare/layers": _plainly(comparison.compared_layers),
    "compare/left_out": _plainly(comparison.compared_left_out),
    "series/surface/layers": _plainly(series.changed_layers),
    "series/surface/heads": _plainly(series.changed_heads),
    "series/syntax/best": lambda table, ways: series.changed_best(table, ways.scheme, ways.rare),
    "series/syntax/traced": lambda table, ways: series.changed_traced(table, ways.rare),
}
"""By the path of a table, without corpus and series."""


def sentences_of(name: str, table: pl.DataFrame, ways: Ways) -> list[str]:
    """Return what a table such as `compare/few/surface` or `series/run/few/surface/heads` says; it may be nothing."""
    above, *parts = name.split("/")
    say = SAID.get("/".join([above, *parts[1 if above == "compare" else 2 :]]))
    return [] if say is None or table.is_empty() else say(table, ways)


def together_sections(
    results: Results, claims: pl.DataFrame | None, titles: dict[str, str], shelf: Shelf, ways: Ways
) -> list[Section]:
    """What is of no single run: all claims, then each folder of comparisons and of series."""
    sections = []
    if claims is not None:
        judged = {model: title for model, title in titles.items() if model in claims["model"]}
        parts = printed(paper_claims_parts(claims, judged), "claims-table")
        tables = shelf.tables([CLAIMS])
        sections.append(Section("claims", "The paper's claims", claims_sentences(claims), None, [], parts, tables))
    for above, title in (("compare", "Models on {}"), ("series", "Training of {}")):
        for folder, names in _folders(results, f"{above}/").items():
            tables, figures = names
            wildcards = _wildcards(folder)
            shown = [figure for name in figures for figure in shelf.figures([name], **wildcards | _wildcards(name))]
            said = [line for name in tables for line in sentences_of(name, results.table(name), ways)]
            heading = title.format(" on ".join(folder.split("/")[1:]))
            sections.append(Section(anchor(folder), heading, said, None, shown, [], shelf.tables(tables, f"{folder}/")))
    return sections


def _folders(results: Results, above: str) -> dict[str, tuple[list[str], list[str]]]:
    """The tables and figures of each comparison (`compare/CORPUS`) or series (`series/SERIES/CORPUS`)."""
    depth = 2 if above == "compare/" else 3
    found = {}
    for place, ending in enumerate(("parquet", "html")):
        for name in results.names(ending, above):
            if name != CLAIMS:
                folder = "/".join(name.split("/")[:depth])
                found.setdefault(folder, ([], []))[place].append(name)
    return dict(sorted(found.items()))


def _wildcards(name: str) -> dict[str, str]:
    """The wildcards in the path of a comparison's or series' figure."""
    above, *parts = name.split("/")
    names = ("series", "corpus") if above == "series" else ("corpus", "model", "other")
    return dict(zip(names, parts, strict=False))
