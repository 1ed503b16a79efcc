"""Score every head on the documents of one shard: one bit per anaphor, candidate set and head-direction."""

import polars as pl

from headscope.coreference.scoring import count_coreference
from headscope.description import Description
from headscope.encoding import read_encoded
from headscope.jobs import run
from headscope.maps_source import open_maps
from headscope.writing import write_table


def main(description, encoded, documents, mentions, attention, hits, live, shard, **how):
    """Write one row per (candidates, document, anaphor)."""
    described = Description.read(description)
    examples = read_encoded(encoded, shard)
    maps = open_maps(attention, described, examples, live, **how)
    write_table(count_coreference(maps, examples, pl.read_parquet(documents), pl.read_parquet(mentions)), hits)


if __name__ == "__main__":
    run(main, snakemake, "device", "budget_mb")
