"""Draw how well the best head of each relation follows it, over the steps of a checkpoint series."""

import polars as pl

from headscope.charts.series import series_syntax
from headscope.charts.theme import save
from headscope.jobs import run


def main(best, traced, library, html, svg, png, series, corpus, scheme, rare):
    """Write the figure as a page, as SVG and as PNG."""
    tables = pl.read_parquet(best), pl.read_parquet(traced)
    save(series_syntax(*tables, series, corpus, scheme, rare), html, svg, png, library)


if __name__ == "__main__":
    run(main, snakemake)
