"""Average attention weights and norms over the examples of all shards, with standard errors."""

import polars as pl

from headscope.description import Description
from headscope.encoding import read_encoded
from headscope.jobs import run
from headscope.norms.tables import merge_norms
from headscope.writing import write_table


def main(description, encoded, counts, layers, layers_csv, heads, heads_csv):
    """Write the tables norms/layers and norms/heads; without rows for a model whose norms cannot be computed."""
    by_layer, by_head = merge_norms(
        lambda: map(pl.read_parquet, counts), read_encoded(encoded), Description.read(description)
    )
    write_table(by_layer, layers, layers_csv)
    write_table(by_head, heads, heads_csv)


if __name__ == "__main__":
    run(main, snakemake)
