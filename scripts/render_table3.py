"""Render Table 3, what probes over all heads know of the trees, as a page and as Markdown."""

from functools import partial

import polars as pl

from headscope.description import Description
from headscope.jobs import run
from headscope.pages import write_both
from headscope.probes.table3 import render_table3


def main(description, table3, html, markdown, corpus, train):
    """Write the page and the Markdown."""
    described, table = Description.read(description), pl.read_parquet(table3)
    write_both(html, markdown, partial(render_table3, table, described.title, corpus, described.origin, train))


if __name__ == "__main__":
    run(main, snakemake)
