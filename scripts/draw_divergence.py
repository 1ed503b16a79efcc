"""Draw the divergence of every two heads as a heat map, similar heads beside each other."""

import polars as pl

from headscope.charts.divergence import divergence_matrix
from headscope.charts.theme import save
from headscope.description import Description
from headscope.jobs import run


def main(description, divergence, uniform, mapped, library, html, svg, png, corpus):
    """Write the figure as a page, as SVG and as PNG."""
    tables = [pl.read_parquet(path) for path in (divergence, mapped, uniform)]
    save(divergence_matrix(*tables, Description.read(description), corpus), html, svg, png, library)


if __name__ == "__main__":
    run(main, snakemake)
