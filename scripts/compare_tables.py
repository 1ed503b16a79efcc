"""Put the same result table of several models together."""

import polars as pl

from headscope.comparison.tables import by_model
from headscope.jobs import run
from headscope.writing import write_table


def main(tables, compared, compared_csv, models):
    """Write one table with a column `model`."""
    write_table(by_model(dict(zip(models, map(pl.read_parquet, tables), strict=True))), compared, compared_csv)


if __name__ == "__main__":
    run(main, snakemake)
