"""Render what was found of the claims about [SEP], as a page and as Markdown."""

import polars as pl

from headscope.description import Description
from headscope.files import replacing
from headscope.jobs import run
from headscope.norms.claims_page import render_claims


def main(description, claims, html, markdown, corpus):
    """Write the page and the Markdown."""
    described, table = Description.read(description), pl.read_parquet(claims)
    for path, as_html in ((html, True), (markdown, False)):
        with replacing(path) as temporary:
            temporary.write_text(render_claims(table, described, corpus, as_html), encoding="utf-8")


if __name__ == "__main__":
    run(main, snakemake)
