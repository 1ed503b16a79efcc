"""Score every head on the sentences of one shard: one bit per dependent and head-direction."""

import polars as pl

from headscope.description import Description
from headscope.encoding import read_encoded
from headscope.jobs import run
from headscope.maps_source import open_maps
from headscope.syntax.scoring import count_syntax
from headscope.writing import write_table


def main(description, encoded, trees, attention, hits, live, shard, **how):
    """Write one row per (scheme, example, word)."""
    described = Description.read(description)
    examples = read_encoded(encoded, shard)
    maps = open_maps(attention, described, examples, live, **how)
    write_table(count_syntax(maps, examples, pl.read_parquet(trees)), hits)


if __name__ == "__main__":
    run(main, snakemake, "device", "budget_mb")
