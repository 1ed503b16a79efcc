"""Score the structural probe on the sentences of a test treebank."""

import polars as pl
import torch

from headscope.description import Description
from headscope.encoding import read_encoded
from headscope.jobs import run
from headscope.probes.structural.files import read_probe
from headscope.probes.structural.scoring import count_structural
from headscope.probes.trees import Trees
from headscope.states.store import StatesShard
from headscope.writing import write_table


def main(description, encoded, trees, states, probe, counts, scheme):
    """Write one row per (seed, sentence)."""
    described, examples = Description.read(description), read_encoded(encoded)
    torch.set_num_threads(1)
    gold = Trees.read(pl.read_parquet(trees), scheme).only(examples.table["example"].to_numpy())
    shards = [StatesShard(path, described.weights, examples.corpus) for path in states]
    write_table(count_structural(shards, examples, gold, read_probe(probe, described.weights)), counts)


if __name__ == "__main__":
    run(main, snakemake)
