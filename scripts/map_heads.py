"""Place the heads on a map by their divergence, say what each does, and test whether those of a layer are closer."""

import polars as pl

from headscope.clusters import map_heads
from headscope.jobs import run
from headscope.writing import write_table


def main(divergence, heads, mapped, mapped_csv, tests, tests_csv, thresholds, starts, permutations, seed):
    """Write the tables clusters/map and clusters/tests."""
    by_head, tested = map_heads(
        pl.read_parquet(divergence), pl.read_parquet(heads), thresholds, starts, permutations, seed
    )
    write_table(by_head, mapped, mapped_csv)
    write_table(tested, tests, tests_csv)


if __name__ == "__main__":
    run(main, snakemake)
