"""Draw how well every head follows the most frequent relations."""

import polars as pl

from headscope.charts.syntax_heads import syntax_heads
from headscope.charts.theme import save
from headscope.jobs import run


def main(heads, table1, library, html, svg, png, model, corpus, scheme, relations):
    """Write the heat maps as a page, as SVG and as PNG."""
    chart = syntax_heads(pl.read_parquet(heads), pl.read_parquet(table1), model, corpus, scheme, relations)
    save(chart, html, svg, png, library)


if __name__ == "__main__":
    run(main, snakemake)
