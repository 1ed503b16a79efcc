"""Render Table 1, which head follows which relation, as a page and as Markdown."""

import polars as pl

from headscope.description import Description
from headscope.files import replacing
from headscope.jobs import run
from headscope.syntax.table1 import render_table1


def main(description, table1, html, markdown, corpus, rare):
    """Write the page and the Markdown."""
    described, table = Description.read(description), pl.read_parquet(table1)
    for path, as_html in ((html, True), (markdown, False)):
        with replacing(path) as temporary:
            text = render_table1(table, described.title, corpus, described.origin, rare, as_html)
            temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    run(main, snakemake)
