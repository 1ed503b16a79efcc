"""Average how far every head looks over queries, then over the examples of all shards, with standard errors."""

import polars as pl

from headscope.description import Description
from headscope.distance import merge_distance
from headscope.encoding import read_encoded
from headscope.jobs import run
from headscope.writing import write_table


def main(description, encoded, counts, heads, heads_csv):
    """Write the table distance/heads."""
    described = Description.read(description)
    table = merge_distance(lambda: map(pl.read_parquet, counts), read_encoded(encoded), described)
    write_table(table, heads, heads_csv)


if __name__ == "__main__":
    run(main, snakemake)
