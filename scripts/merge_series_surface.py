"""Follow what heads look at over the steps of a checkpoint series."""

import polars as pl

from headscope.jobs import run
from headscope.series import merge_series_surface
from headscope.writing import write_table


def main(of_steps, heads, heads_csv, layers, layers_csv, steps):
    """Write the surface measures of each head, and of each layer, at each step."""
    by_head, by_layer = merge_series_surface(map(pl.read_parquet, of_steps), steps)
    write_table(by_head, heads, heads_csv)
    write_table(by_layer, layers, layers_csv)


if __name__ == "__main__":
    run(main, snakemake)
