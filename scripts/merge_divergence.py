"""Average the divergence of every two heads over the query tokens of all shards."""

import polars as pl

from headscope.description import Description
from headscope.divergence import merge_divergence
from headscope.encoding import read_encoded
from headscope.jobs import run
from headscope.writing import write_table


def main(description, encoded, sums, examples, divergence, divergence_csv):
    """Write the table clusters/divergence."""
    shards, added = map(pl.read_parquet, sums), map(pl.read_parquet, examples)
    merged = merge_divergence(shards, added, read_encoded(encoded), Description.read(description))
    write_table(merged, divergence, divergence_csv)


if __name__ == "__main__":
    run(main, snakemake)
