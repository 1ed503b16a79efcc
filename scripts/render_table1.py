"""Render Table 1, which head follows which relation, as a page and as Markdown."""

from functools import partial

import polars as pl

from headscope.description import Description
from headscope.jobs import run
from headscope.pages import write_both
from headscope.syntax.table1 import render_table1


def main(description, table1, html, markdown, corpus, rare):
    """Write the page and the Markdown."""
    described, table = Description.read(description), pl.read_parquet(table1)
    of_run = (described.title, corpus, described.origin, rare)
    write_both(html, markdown, partial(render_table1, table, *of_run, causal=described.causal))


if __name__ == "__main__":
    run(main, snakemake)
