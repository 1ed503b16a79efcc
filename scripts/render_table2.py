"""Render Table 2, which head finds the antecedent, as a page and as Markdown."""

from functools import partial

import polars as pl

from headscope.coreference.table2 import render_table2
from headscope.description import Description
from headscope.jobs import run
from headscope.pages import write_both


def main(description, table2, html, markdown, corpus):
    """Write the page and the Markdown."""
    described, table = Description.read(description), pl.read_parquet(table2)
    of_run = (described.title, corpus, described.origin)
    write_both(html, markdown, partial(render_table2, table, *of_run, causal=described.causal))


if __name__ == "__main__":
    run(main, snakemake)
