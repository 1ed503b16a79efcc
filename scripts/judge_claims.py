"""Judge the paper's claims by the result tables of one model on one corpus."""

import polars as pl

from headscope.comparison.catalogue import CLAIMS_OF
from headscope.comparison.claims import Run, judge_claims
from headscope.description import Description
from headscope.jobs import run
from headscope.writing import write_table


def main(description, claims, claims_csv, kind, rare, **tables):
    """Write the table claims; `tables` are the result tables of this kind of corpus, as far as there are any."""
    read = {name: pl.read_parquet(path) for name, path in tables.items()}
    judged = judge_claims(Run(Description.read(description), read, rare), CLAIMS_OF[kind])
    write_table(judged, claims, claims_csv)


if __name__ == "__main__":
    run(main, snakemake)
