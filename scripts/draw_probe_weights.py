"""Draw which heads the probes read: their weights as heat maps of layer and head."""

import polars as pl

from headscope.charts.probe_weights import probe_weights
from headscope.charts.theme import save
from headscope.jobs import run


def main(weights, library, html, svg, png, model, train):
    """Write the heat maps as a page, as SVG and as PNG."""
    save(probe_weights(pl.read_parquet(weights), model, train), html, svg, png, library)


if __name__ == "__main__":
    run(main, snakemake)
