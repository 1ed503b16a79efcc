"""Draw figure 5: sentences as the heads see them that follow a relation best."""

import polars as pl

from headscope.charts.figure_5 import figure_5
from headscope.charts.theme import save
from headscope.jobs import run


def main(examples, library, html, svg, png, model, corpus):
    """Write the figure as a page, as SVG and as PNG."""
    save(figure_5(pl.read_parquet(examples), model, corpus), html, svg, png, library)


if __name__ == "__main__":
    run(main, snakemake)
