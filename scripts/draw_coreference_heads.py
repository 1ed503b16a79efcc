"""Draw how often every head finds the antecedent, one panel a type of mention."""

import polars as pl

from headscope.charts.coreference_heads import coreference_heads
from headscope.charts.theme import save
from headscope.jobs import run


def main(heads, table2, library, html, svg, png, model, corpus, candidates):
    """Write the heat maps as a page, as SVG and as PNG."""
    chart = coreference_heads(pl.read_parquet(heads), pl.read_parquet(table2), model, corpus, candidates)
    save(chart, html, svg, png, library)


if __name__ == "__main__":
    run(main, snakemake)
