"""Measure everything and write the table into README.md, between its two marks."""

import os
import platform
import sys

from benchmarks import (
    coreference,
    divergence,
    extraction,
    gradients,
    memory,
    norms,
    probes,
    scale,
    store,
    structural,
    surface,
    syntax,
    vectors,
    workflow,
)
from benchmarks.common import REPOSITORY

BEGIN, END = "<!-- benchmarks: written by `make bench` -->", "<!-- end of benchmarks -->"


def processor():
    """Return what kind of processor this is."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    return f"{os.cpu_count()} cores, {names[0] if names else platform.processor() or platform.machine()}"


def main():
    rows = []
    parts = (extraction, store, surface, syntax, coreference, divergence, gradients, norms)
    for part in (*parts, probes, structural, vectors, memory, scale, workflow):
        for row in part.measure():
            print(" | ".join(row), file=sys.stderr, flush=True)
            rows.append(row)
    table = ["| measured | result | held to |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
    said = (
        f"On {processor()}; the median of five pairs of runs and their range (two pairs for the loops over words); "
        "demo model, segments of 128 tokens."
    )
    readme = REPOSITORY / "README.md"
    before, _, rest = readme.read_text("utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    readme.write_text("\n".join([before + BEGIN, said, "", *table, "", END]) + after, encoding="utf-8")


if __name__ == "__main__":
    main()
