"""Put what every stage passed over into one table: nothing vanishes silently."""

import polars as pl

from headscope.jobs import LOG, run
from headscope.writing import write_table


def main(stages, skipped, skipped_csv):
    """Write example (null where it never became one), where and reason."""
    table = pl.concat(pl.read_parquet(stage) for stage in stages)
    write_table(table, skipped, skipped_csv)
    for reason, count in table["reason"].value_counts(sort=True).iter_rows():
        LOG.info("%d skipped: %s", count, reason)


if __name__ == "__main__":
    run(main, snakemake)
