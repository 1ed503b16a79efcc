"""Set the paper's claims side by side for every model, as a table, a page and Markdown."""

from functools import partial

import polars as pl

from headscope.comparison.claims_page import render_paper_claims
from headscope.comparison.tables import claims_by_model
from headscope.description import titles
from headscope.jobs import run
from headscope.pages import write_both
from headscope.writing import write_table


def main(descriptions, judged, claims, claims_csv, html, markdown, runs):
    """Write compare/claims; `runs` says of which model and corpus each table is."""
    table = claims_by_model(runs, map(pl.read_parquet, judged))
    write_table(table, claims, claims_csv)
    write_both(html, markdown, partial(render_paper_claims, table, titles(descriptions)))


if __name__ == "__main__":
    run(main, snakemake)
