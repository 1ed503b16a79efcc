"""Score what probes learned over a model on the sentences of a test treebank, and the heads that need no model."""

import polars as pl
import torch

from headscope.description import Description
from headscope.encoding import read_encoded
from headscope.jobs import run
from headscope.maps_source import open_maps
from headscope.probes.files import read_learned
from headscope.probes.scoring import count_baselines, count_probes
from headscope.probes.trees import Trees
from headscope.probes.vectors import read_vectors, word_numbers
from headscope.writing import write_table


def main(description, encoded, trees, training_trees, vectors, attention, probes, counts, live, scheme, offsets, **how):
    """Write one row per (probe, number of training sentences, seed, sentence)."""
    described = Description.read(description)
    torch.set_num_threads(1)
    examples, table = read_encoded(encoded), pl.read_parquet(trees)
    words = read_vectors(vectors)
    maps = open_maps(attention, described, examples, live, **how)
    learned = [read_learned(path, described.weights) for path in probes]
    gold = Trees.read(table, scheme).only(examples.table["example"].to_numpy())
    numbers = word_numbers(words, examples, table)
    scored = count_probes(maps, examples, gold, learned, words, numbers, described)
    baselines = count_baselines(gold, Trees.read(pl.read_parquet(training_trees), scheme), tuple(offsets))
    write_table(pl.concat([baselines, scored]), counts)


if __name__ == "__main__":
    run(main, snakemake, "device", "budget_mb")
