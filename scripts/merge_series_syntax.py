"""Follow the heads of each relation over the steps of a checkpoint series."""

import polars as pl

from headscope.jobs import run
from headscope.series import merge_series_syntax
from headscope.writing import write_table


def main(table1, heads, best, best_csv, traced, traced_csv, steps):
    """Write the best head of each relation at each step, and what the best of the last step scores at each."""
    at_each, followed = merge_series_syntax(map(pl.read_parquet, table1), map(pl.read_parquet, heads), steps)
    write_table(at_each, best, best_csv)
    write_table(followed, traced, traced_csv)


if __name__ == "__main__":
    run(main, snakemake)
