"""Describe the machine that the models run on, and the versions of what they run in, for the report."""

import json

from headscope.files import replacing
from headscope.jobs import run
from headscope.report.machine import machine, versions


def main(descriptions, described):
    """Write both as JSON; `descriptions` of models are there so that a change of one describes the machine again."""
    with replacing(described) as temporary:
        facts = {"machine": machine(), "versions": versions()}
        temporary.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    run(main, snakemake)
