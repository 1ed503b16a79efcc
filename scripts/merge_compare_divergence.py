"""Average the divergence of the heads of two models over a corpus, and find the nearest of each."""

import polars as pl

from headscope.between.agreement import agreement
from headscope.between.merging import merge_between
from headscope.description import Description
from headscope.encoding import read_encoded
from headscope.jobs import run
from headscope.writing import write_table


def main(
    description, other_description, encoded, other_encoded, sums, examples, divergence, nearest, layers, pairs, left_out
):
    """Write the tables of the pair."""
    names = [Description.read(path).name for path in (description, other_description)]
    agreed = agreement(read_encoded(encoded), read_encoded(other_encoded), *names)
    merged = merge_between(map(pl.read_parquet, sums), map(pl.read_parquet, examples), agreed, *names)
    for table, path in zip(merged, (divergence, nearest, layers, pairs, left_out), strict=True):
        write_table(table, path)


if __name__ == "__main__":
    run(main, snakemake)
