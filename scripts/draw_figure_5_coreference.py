"""Draw the coreference part of figure 5: a passage as the head sees it that finds antecedents best."""

import polars as pl

from headscope.charts.figure_5_coreference import figure_5_coreference
from headscope.charts.theme import save
from headscope.jobs import run


def main(links, passage, library, html, svg, png, model, corpus):
    """Write the figure as a page, as SVG and as PNG."""
    chart = figure_5_coreference(pl.read_parquet(links), pl.read_parquet(passage), model, corpus)
    save(chart, html, svg, png, library)


if __name__ == "__main__":
    run(main, snakemake)
