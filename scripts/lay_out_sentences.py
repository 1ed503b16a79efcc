"""Lay the attention between the words of a training treebank out for probes, sentence by sentence."""

import polars as pl

from headscope.description import Description
from headscope.encoding import read_encoded
from headscope.jobs import run
from headscope.maps_source import open_maps
from headscope.probes.laying import write_sentences
from headscope.probes.trees import Trees, permuted_trees
from headscope.probes.vectors import read_vectors, word_numbers
from headscope.writing import write_table


def main(description, encoded, trees, vectors, attention, sentences, index, live, scheme, **how):
    """Write the sentences and their index."""
    described = Description.read(description)
    examples, table = read_encoded(encoded), pl.read_parquet(trees)
    maps = open_maps(attention, described, examples, live, **how)
    gold = Trees.read(table, scheme).only(examples.table["example"].to_numpy())
    numbers = word_numbers(read_vectors(vectors), examples, table)
    write_table(write_sentences([maps], examples, gold, permuted_trees(gold), numbers, sentences), index)


if __name__ == "__main__":
    run(main, snakemake, "device", "budget_mb")
