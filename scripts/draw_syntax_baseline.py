"""Draw the best head of each relation beside the best fixed offset."""

import polars as pl

from headscope.charts.syntax_baseline import syntax_baseline
from headscope.charts.theme import save
from headscope.jobs import run


def main(table1, library, html, svg, png, model, corpus, scheme, rare):
    """Write the bars as a page, as SVG and as PNG."""
    save(syntax_baseline(pl.read_parquet(table1), model, corpus, scheme, rare), html, svg, png, library)


if __name__ == "__main__":
    run(main, snakemake)
