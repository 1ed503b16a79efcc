"""Draw figure 1: token-to-token maps of single heads."""

import polars as pl

from headscope.charts.figure_1 import figure_1
from headscope.charts.theme import save
from headscope.jobs import run


def main(maps, library, html, svg, png, model, corpus):
    """Write the figure as a page, as SVG and as PNG."""
    save(figure_1(pl.read_parquet(maps), model, corpus), html, svg, png, library)


if __name__ == "__main__":
    run(main, snakemake)
