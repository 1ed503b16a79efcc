"""Draw figure 3: how much the loss hangs on the attention to each kind of key."""

import polars as pl

from headscope.charts.figure_3 import figure_3
from headscope.charts.theme import save
from headscope.description import Description
from headscope.jobs import run


def main(description, layers, heads, loss, library, html, svg, png, corpus):
    """Write the figure as a page, as SVG and as PNG."""
    tables = map(pl.read_parquet, (layers, heads, loss))
    save(figure_3(*tables, Description.read(description), corpus), html, svg, png, library)


if __name__ == "__main__":
    run(main, snakemake)
