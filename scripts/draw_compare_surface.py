"""Draw what the heads of several models look at, by relative depth."""

import polars as pl

from headscope.charts.compare_surface import compare_surface
from headscope.charts.theme import save
from headscope.description import titles
from headscope.jobs import run


def main(descriptions, surface, library, html, svg, png, corpus):
    """Write the panels as a page, as SVG and as PNG."""
    save(compare_surface(pl.read_parquet(surface), titles(descriptions), corpus), html, svg, png, library)


if __name__ == "__main__":
    run(main, snakemake)
