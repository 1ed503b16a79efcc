"""Average the surface measures of several models over the heads of each layer."""

import polars as pl

from headscope.comparison.tables import surface_by_depth
from headscope.jobs import run
from headscope.writing import write_table


def main(heads, uniform, surface, surface_csv, models):
    """Write the table compare/surface."""
    by_head, even = (dict(zip(models, map(pl.read_parquet, paths), strict=True)) for paths in (heads, uniform))
    write_table(surface_by_depth(by_head, even), surface, surface_csv)


if __name__ == "__main__":
    run(main, snakemake)
