"""Draw how often the antecedent is found by how far away it is."""

import polars as pl

from headscope.charts.coreference_distances import coreference_distances
from headscope.charts.theme import save
from headscope.jobs import run


def main(distances, table2, library, html, svg, png, model, corpus, candidates):
    """Write the lines as a page, as SVG and as PNG."""
    chart = coreference_distances(pl.read_parquet(distances), pl.read_parquet(table2), model, corpus, candidates)
    save(chart, html, svg, png, library)


if __name__ == "__main__":
    run(main, snakemake)
