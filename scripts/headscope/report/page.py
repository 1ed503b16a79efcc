"""The report as one page: every run with its sections, what models have in common, and the explorer of their heads."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import polars as pl
import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from headscope import __version__
from headscope.charts.explorer import views
from headscope.comparison.claims_page import paper_claims_parts
from headscope.description import Description
from headscope.pages import STYLE
from headscope.report.accuracy_sentences import claims_sentences
from headscope.report.explorer import explorer_data
from headscope.report.facts import Job, corpus_facts, model_facts, shareable, time_of, time_part
from headscope.report.results import Results, Shown
from headscope.report.sections import analyses_of, claims_part
from headscope.report.shown import Section, Shelf, anchor, printed
from headscope.report.surface_sentences import skipped_sentence

FOLDER = Path(__file__).parent
CLAIMS = "compare/claims"


class Run(NamedTuple):
    """One model on one corpus: what is shown of it, its examples for the explorer, and their counts."""

    shown: Shown
    examples: pl.DataFrame
    counted: dict


def report(
    runs: list[Run],
    described: list[Description],
    results: Results,
    settings: dict,
    captions: dict[str, str],
    machine: dict,
    benchmarks: list[Job],
    library: str,
) -> str:
    """
    Return the page.

    Parameters
    ----------
    runs
        In the order of the page.
    described
        Of every model, random twins included.
    settings
        The whole config.
    captions
        Of figures, by the name of the figure, as Snakemake's own report has them.
    machine
        What `describe_machine` wrote.
    benchmarks
        Of the jobs of this config, as far as their logs are here.
    library
        The library that draws, as `headscope.charts.javascript.bundle` returns it.
    """
    shelf, claims = Shelf(results, captions), results.table(CLAIMS)
    corpora = {corpus["name"]: corpus for corpus in settings["corpora"]}
    shown_runs = [_run(run, corpora[run.shown.corpus], claims, benchmarks, shelf) for run in runs]
    together = _together(results, claims, {model.name: model.title for model in described}, shelf)
    explorers = _explorers(runs, shelf)
    times = time_part(benchmarks)
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["tight"] = tight
    return environment.get_template("report.html.jinja").render(
        title="What the attention heads look at",
        subtitle="; ".join(run["title"] for run in shown_runs),
        style=Markup(STYLE + "\n" + (FOLDER / "report.css").read_text("utf-8")),
        script=Markup((FOLDER / "report.js").read_text("utf-8")),
        library=Markup(library),
        claims=[] if claims is None else claims_sentences(claims),
        models=[{"title": model.title, "facts": model_facts(model)} for model in described],
        machine=machine["machine"],
        versions={"headscope": __version__} | machine["versions"],
        times=None if times is None else printed([times], "times")[0],
        settings=yaml.safe_dump(shareable(settings), sort_keys=False, allow_unicode=True),
        runs=shown_runs,
        together=together,
        explorers=explorers,
        packed=shelf.packed,
    )


def tight(sentence: str) -> str:
    """Return a sentence in which no line breaks inside the name of a head or before a percent sign."""
    return re.sub(r"\b(\d+)-(\d+)\b", "\\1\N{NON-BREAKING HYPHEN}\\2", sentence).replace(" %", "\N{NO-BREAK SPACE}%")


def _run(run: Run, corpus: dict, claims: pl.DataFrame | None, benchmarks: list[Job], shelf: Shelf) -> dict:
    shown = run.shown
    folder = f"{shown.described.name}/{shown.corpus}"
    facts = corpus_facts(corpus, run.counted)
    facts["Passed over"] = skipped_sentence(shown.table("skipped"))
    facts |= time_of(benchmarks, shown.described.name, shown.corpus)
    wildcards = {"model": shown.described.name, "corpus": shown.corpus}
    sections = []
    for analysis in analyses_of(shown):
        beside = claims_part(claims, analysis, shown)
        name = f"{anchor(folder)}-{analysis.name}"
        sections.append(
            Section(
                name,
                analysis.title,
                analysis.say(shown),
                None if beside is None else printed([beside], f"{name}-beside")[0],
                shelf.figures((f"{folder}/figures/{figure}" for figure in analysis.figures), **wildcards),
                printed(analysis.parts(shown), f"{name}-table"),
                shelf.tables((f"{folder}/{table}" for table in analysis.tables), f"{folder}/"),
            )
        )
    return {
        "anchor": f"run-{anchor(folder)}",
        "title": f"{shown.described.title} on {shown.corpus}",
        "facts": facts,
        "sections": sections,
        "tables": shelf.tables([f"{folder}/skipped"], f"{folder}/"),
    }


def _together(results: Results, claims: pl.DataFrame | None, titles: dict[str, str], shelf: Shelf) -> list[Section]:
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
            heading = title.format(" on ".join(folder.split("/")[1:]))
            sections.append(Section(anchor(folder), heading, [], None, shown, [], shelf.tables(tables, f"{folder}/")))
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


def _explorers(runs: list[Run], shelf: Shelf) -> list[dict[str, str]]:
    """Take what the explorer shows of each model into the page."""
    if not runs:
        return []
    shelf.keep("explorer", "-views", json.dumps(views()))
    explorers = []
    for described, of_model in _by_model(runs):
        data = explorer_data([run.shown for run in of_model], {run.shown.corpus: run.examples for run in of_model})
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        explorers.append({"id": shelf.keep("explorer", described.name, text), "title": described.title})
    return explorers


def _by_model(runs: list[Run]) -> Iterable[tuple[Description, list[Run]]]:
    names = dict.fromkeys(run.shown.described.name for run in runs)
    for name in names:
        of_model = [run for run in runs if run.shown.described.name == name]
        yield of_model[0].shown.described, of_model
