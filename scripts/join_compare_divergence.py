"""Put the tables of all pairs of models on a corpus together."""

import polars as pl

from headscope.jobs import run
from headscope.writing import write_table

TABLES = ("divergence", "nearest", "layers", "pairs", "left_out")


def main(**files):
    """Write each table as Parquet and CSV: `of_NAME` are its parts, one a pair, `NAME` and `NAME_csv` its files."""
    for name in TABLES:
        whole = pl.concat(map(pl.read_parquet, files[f"of_{name}"]))
        write_table(whole, files[name], files[f"{name}_csv"])


if __name__ == "__main__":
    run(main, snakemake)
