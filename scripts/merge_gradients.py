"""Average the gradients over entries, then over the examples of all shards, with standard errors."""

import polars as pl

from headscope.description import Description
from headscope.encoding import read_encoded
from headscope.gradients.merging import merge_gradients, refused_tables
from headscope.jobs import run
from headscope.mlm.answer import HeadAnswer
from headscope.writing import write_table


def main(description, encoded, answer, counts, layers, layers_csv, heads, heads_csv, loss, loss_csv):
    """Write the tables gradients/layers, gradients/heads and gradients/loss."""
    said = HeadAnswer.read(answer)
    if said.refused:
        by_layer, by_head, of_loss = refused_tables(said.refused)
    else:
        by_layer, by_head, of_loss = merge_gradients(
            lambda: map(pl.read_parquet, counts), read_encoded(encoded), Description.read(description)
        )
    write_table(by_layer, layers, layers_csv)
    write_table(by_head, heads, heads_csv)
    write_table(of_loss, loss, loss_csv)


if __name__ == "__main__":
    run(main, snakemake)
