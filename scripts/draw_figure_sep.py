"""Draw attention, norms and gradients of [SEP] and [CLS], layer by layer."""

import polars as pl

from headscope.charts.figure_sep import figure_sep
from headscope.charts.theme import save
from headscope.description import Description
from headscope.encoding import read_encoded
from headscope.jobs import run


def main(description, encoded, shares, heads, library, html, svg, png, corpus):
    """Write the figure as a page, as SVG and as PNG."""
    described, lengths = Description.read(description), read_encoded(encoded).lengths()
    tables = pl.read_parquet(shares), pl.read_parquet(heads)
    save(figure_sep(*tables, described, corpus, len(lengths), int(lengths.sum())), html, svg, png, library)


if __name__ == "__main__":
    run(main, snakemake)
