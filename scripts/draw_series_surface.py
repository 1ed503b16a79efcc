"""Draw what the heads of each layer look at, over the steps of a checkpoint series."""

import polars as pl

from headscope.charts.series import series_surface
from headscope.charts.theme import save
from headscope.description import Description
from headscope.jobs import run


def main(descriptions, layers, library, html, svg, png, series, corpus):
    """Write the figure as a page, as SVG and as PNG."""
    described = Description.read(descriptions[-1])
    save(series_surface(pl.read_parquet(layers), described, series, corpus), html, svg, png, library)


if __name__ == "__main__":
    run(main, snakemake)
