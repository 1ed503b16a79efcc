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
from headscope.description import Description
from headscope.pages import STYLE
from headscope.report.accuracy_sentences import claims_sentences
from headscope.report.explorer import explorer_data
from headscope.report.facts import Job, corpus_facts, model_facts, shareable, time_of, time_part
from headscope.report.results import Results, Shown
from headscope.report.sections import Analysis, analyses_of, claims_part
from headscope.report.shown import Section, Shelf, anchor, printed
from headscope.report.surface_sentences import skipped_sentence
from headscope.report.together import CLAIMS, Ways, together_sections
from headscope.report.words import capitalised

FOLDER = Path(__file__).parent


MOST_TOLD, MOST_FINDINGS = ("syntax", "coreference", "probes", "surface", "clusters", "norms"), 5
"""The analyses in the order of their findings at the top, and how many of these a model has beside its claims."""


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
    titles = {model.name: model.title for model in described}
    ways = Ways(settings["syntax"]["scheme"], settings["coreference"]["candidates"], settings["syntax"]["rare"])
    together = together_sections(results, claims, titles, shelf, ways)
    explorers = _explorers(runs, shelf)
    times = time_part(benchmarks)
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"tight": tight, "capitalised": capitalised}
    return environment.get_template("report.html.jinja").render(
        title="What the attention heads look at",
        subtitle="; ".join(run["title"] for run in shown_runs),
        style=Markup(STYLE + "\n" + (FOLDER / "report.css").read_text("utf-8")),
        script=Markup((FOLDER / "report.js").read_text("utf-8")),
        library=Markup(library),
        findings=_findings(runs, claims),
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
        name = _section_of(shown, analysis)
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


def _section_of(shown: Shown, analysis: Analysis) -> str:
    """Return the id of a section."""
    return f"{anchor(f'{shown.described.name}/{shown.corpus}')}-{analysis.name}"


def _findings(runs: list[Run], claims: pl.DataFrame | None) -> list[dict]:
    """Return the findings of each model: of its analyses, each on the first corpus that has any, and its claims."""
    findings = []
    for described, of_model in _by_model(runs):
        found = {}
        for shown in (run.shown for run in of_model):
            for analysis in analyses_of(shown):
                if not found.get(analysis.name):
                    where = {"section": _section_of(shown, analysis), "corpus": shown.corpus}
                    found[analysis.name] = [where | {"text": text} for text in analysis.find(shown)]
        lines = [line for analysis in MOST_TOLD for line in found.get(analysis, [])][:MOST_FINDINGS]
        judged = [] if claims is None else claims_sentences(claims.filter(model=described.name))
        for text in judged:
            lines.append({"section": "claims", "corpus": "", "text": text.removeprefix(f"{described.name}: ")})
        findings.append({"title": described.title, "lines": lines})
    return findings


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
