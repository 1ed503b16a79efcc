"""Average the surface measures over queries, then over the examples of all shards, with standard errors."""

import polars as pl

from headscope.description import Description
from headscope.encoding import read_encoded
from headscope.jobs import run
from headscope.surface import merge_surface
from headscope.writing import write_table


def main(description, encoded, counts, heads, heads_csv, uniform, uniform_csv, neighbours):
    """Write the tables surface/heads and surface/uniform."""
    described = Description.read(description)
    by_head, by_layer = merge_surface(
        lambda: map(pl.read_parquet, counts), read_encoded(encoded), described, neighbours
    )
    write_table(by_head, heads, heads_csv)
    write_table(by_layer, uniform, uniform_csv)


if __name__ == "__main__":
    run(main, snakemake)
