"""Draw the best head of each relation in several models."""

import polars as pl

from headscope.charts.compare_syntax import compare_syntax
from headscope.charts.theme import save
from headscope.description import titles
from headscope.jobs import run


def main(descriptions, syntax, library, html, svg, png, corpus, scheme, rare):
    """Write the dots as a page, as SVG and as PNG."""
    chart = compare_syntax(pl.read_parquet(syntax), titles(descriptions), corpus, scheme, rare)
    save(chart, html, svg, png, library)


if __name__ == "__main__":
    run(main, snakemake)
