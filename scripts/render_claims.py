"""Render what was found of the claims about [SEP], as a page and as Markdown."""

from functools import partial

import polars as pl

from headscope.description import Description
from headscope.jobs import run
from headscope.norms.claims_page import render_claims
from headscope.pages import write_both


def main(description, claims, html, markdown, corpus):
    """Write the page and the Markdown."""
    described, table = Description.read(description), pl.read_parquet(claims)
    write_both(html, markdown, partial(render_claims, table, described, corpus))


if __name__ == "__main__":
    run(main, snakemake)
