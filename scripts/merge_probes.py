"""From the counts of all probes to Table 3, the learning curve and the weights of every head."""

import polars as pl

from headscope.description import Description
from headscope.encoding import read_encoded
from headscope.jobs import run
from headscope.probes.files import read_learned
from headscope.probes.merging import all_counts, learning_curve, table_3, weights_of_heads
from headscope.writing import write_table


def main(
    description,
    encoded,
    counts,
    of_twins,
    probes,
    table3,
    table3_csv,
    curve,
    curve_csv,
    weights,
    weights_csv,
    resamples,
):
    """Write the tables probes/table3, probes/curve and probes/weights."""
    described = Description.read(description)
    together = all_counts(map(pl.read_parquet, counts), map(pl.read_parquet, of_twins), read_encoded(encoded))
    write_table(table_3(together, resamples), table3, table3_csv)
    write_table(learning_curve(together, resamples), curve, curve_csv)
    learned = [read_learned(path, described.weights) for path in probes]
    write_table(weights_of_heads(learned, described), weights, weights_csv)


if __name__ == "__main__":
    run(main, snakemake)
