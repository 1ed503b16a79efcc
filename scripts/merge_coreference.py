"""From the hits of all shards to the accuracy of every head, Table 2, and accuracy by distance."""

import polars as pl

from headscope.coreference.accuracy import merge_coreference, read_scored
from headscope.coreference.cut import cut_mentions
from headscope.coreference.names import CANDIDATES
from headscope.description import Description
from headscope.encoding import read_encoded
from headscope.jobs import run
from headscope.writing import write_table


def main(
    description,
    encoded,
    mentions,
    hits,
    heads,
    heads_csv,
    table2,
    table2_csv,
    distances,
    distances_csv,
    scored_mentions,
    scored_mentions_csv,
    resamples,
    seed,
):
    """Write the tables coreference/heads, table2, distances, and mentions: those that are left of the documents."""
    described, examples = Description.read(description), read_encoded(encoded)
    scored = {candidates: read_scored(hits, candidates, described, examples) for candidates in CANDIDATES}
    by_head, best, by_distance = merge_coreference(scored, resamples, seed)
    write_table(by_head, heads, heads_csv)
    write_table(best, table2, table2_csv)
    write_table(by_distance, distances, distances_csv)
    write_table(cut_mentions(pl.read_parquet(mentions), examples)[0], scored_mentions, scored_mentions_csv)


if __name__ == "__main__":
    run(main, snakemake)
