"""Draw figure 2: where the attention of every head goes."""

import polars as pl

from headscope.charts.figure_2 import figure_2
from headscope.charts.theme import save
from headscope.description import Description
from headscope.jobs import run


def main(description, heads, uniform, library, html, svg, png, corpus):
    """Write the figure as a page, as SVG and as PNG."""
    described = Description.read(description)
    save(figure_2(pl.read_parquet(heads), pl.read_parquet(uniform), described, corpus), html, svg, png, library)


if __name__ == "__main__":
    run(main, snakemake)
