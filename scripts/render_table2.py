"""Render Table 2, which head finds the antecedent, as a page and as Markdown."""

import polars as pl

from headscope.coreference.table2 import render_table2
from headscope.description import Description
from headscope.files import replacing
from headscope.jobs import run


def main(description, table2, html, markdown, corpus):
    """Write the page and the Markdown."""
    described, table = Description.read(description), pl.read_parquet(table2)
    for path, as_html in ((html, True), (markdown, False)):
        with replacing(path) as temporary:
            text = render_table2(table, described.title, corpus, described.origin, as_html)
            temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    run(main, snakemake)
