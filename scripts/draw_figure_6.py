"""Draw figure 6: which heads are alike, by behaviour and by layer."""

import polars as pl

from headscope.behaviours import singled_out
from headscope.charts.figure_6 import figure_6
from headscope.charts.theme import save
from headscope.description import Description
from headscope.jobs import run


def main(description, heads, uniform, mapped, tests, table1, table2, library, html, svg, png, corpus, scheme, rare):
    """Write the figure as a page, as SVG and as PNG; table1 and table2 are those of all corpora that have them."""
    named = singled_out(map(pl.read_parquet, table1), map(pl.read_parquet, table2), scheme, rare)
    tables = [pl.read_parquet(path) for path in (mapped, heads, uniform, tests)]
    save(figure_6(*tables, named, Description.read(description), corpus), html, svg, png, library)


if __name__ == "__main__":
    run(main, snakemake)
