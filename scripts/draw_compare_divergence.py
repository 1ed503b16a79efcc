"""Draw how unlike the heads of two models are: every two layers, and the nearest of every head."""

import polars as pl

from headscope.charts.compare_divergence import compare_divergence
from headscope.charts.theme import save
from headscope.jobs import run


def main(nearest, layers, pairs, library, html, svg, png, corpus):
    """Write the figure as a page, as SVG and as PNG."""
    save(compare_divergence(*map(pl.read_parquet, (layers, nearest, pairs)), corpus), html, svg, png, library)


if __name__ == "__main__":
    run(main, snakemake)
