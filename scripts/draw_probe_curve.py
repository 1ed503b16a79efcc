"""Draw how much the probes learn from how many sentences."""

import polars as pl

from headscope.charts.probe_curve import probe_curve
from headscope.charts.theme import save
from headscope.jobs import run


def main(curve, table3, library, html, svg, png, model, corpus, train):
    """Write the lines as a page, as SVG and as PNG."""
    chart = probe_curve(pl.read_parquet(curve), pl.read_parquet(table3), model, corpus, train)
    save(chart, html, svg, png, library)


if __name__ == "__main__":
    run(main, snakemake)
