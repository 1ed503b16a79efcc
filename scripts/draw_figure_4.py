"""Draw figure 4: how broadly every head attends."""

import polars as pl

from headscope.charts.figure_4 import figure_4
from headscope.charts.theme import save
from headscope.description import Description
from headscope.jobs import run


def main(description, heads, uniform, library, html, svg, png, corpus):
    """Write the figure as a page, as SVG and as PNG."""
    described = Description.read(description)
    save(figure_4(pl.read_parquet(heads), pl.read_parquet(uniform), described, corpus), html, svg, png, library)


if __name__ == "__main__":
    run(main, snakemake)
