"""Describe the machine that the models run on, and the versions of what they run in, for the report."""

from headscope.files import replacing
from headscope.jobs import run
from headscope.report.machine import machine, versions
from headscope.seals import sealed_json


def main(descriptions, described):
    """Write both as JSON; `descriptions` of models are there so that a change of one describes the machine again."""
    with replacing(described) as temporary:
        facts = {"machine": machine(), "versions": versions()}
        temporary.write_text(sealed_json(facts), encoding="utf-8")


if __name__ == "__main__":
    run(main, snakemake)
