"""Write everything that a run found into one page that needs nothing else."""

from pathlib import Path

import polars as pl

from headscope.description import Description
from headscope.files import replacing
from headscope.jobs import run
from headscope.report.facts import jobs
from headscope.report.page import Run, report
from headscope.report.results import Results, Shown
from headscope.seals import unsealed_json


def main(descriptions, results, examples, counts, machine, library, html, runs, settings, captions, benchmarked, named):
    """
    Write the page.

    `runs` names model, corpus and kind in the order of `examples` and `counts`; `benchmarked` and `named` say which
    benchmarks below `logs` are those of this config.
    """
    described = {model.name: model for model in map(Description.read, descriptions)}
    root = Path(html).parent
    found = Results(root, results)
    how = settings["syntax"]["scheme"], settings["coreference"]["candidates"], settings["syntax"]["rare"]
    shown = [
        Run(
            Shown(described[model], corpus, kind, found, *how),
            pl.read_parquet(maps),
            unsealed_json(counted),
        )
        for (model, corpus, kind), maps, counted in zip(runs, examples, counts, strict=True)
    ]
    text = report(
        shown,
        [*described.values()],
        found,
        settings,
        captions,
        unsealed_json(machine),
        jobs(root.parent / "logs", benchmarked, named),
        Path(library).read_text("utf-8"),
    )
    with replacing(html) as temporary:
        temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    run(main, snakemake)
