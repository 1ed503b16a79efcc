"""Take the word vectors of a treebank out of the model: the mean input embedding of the tokens of each word."""

import polars as pl

from headscope.description import Description
from headscope.encoding import read_encoded
from headscope.jobs import LOG, run
from headscope.models.loading import load_described
from headscope.probes.embeddings import mean_embeddings
from headscope.probes.vectors import MODEL, Vectors, vocabulary, write_vectors
from headscope.sources import locate
from headscope.writing import write_table


def main(description, encoded, trees, vectors, coverage, coverage_csv, checkpoint, loading):
    """Write a vector for every different word, and how many have one."""
    described, examples = Description.read(description), read_encoded(encoded)
    examples.refuse_other_tokens(described)
    words = vocabulary(MODEL, examples, pl.read_parquet(trees)).with_columns(known=pl.lit(True))
    model = load_described(locate(checkpoint), described, "cpu", loading)
    matrix = mean_embeddings(model, described.name, words["word"])
    made = Vectors(words, matrix, MODEL, described.name, examples.corpus)
    write_vectors(made, vectors)
    write_table(made.coverage(), coverage, coverage_csv)
    LOG.info("%s: %d different words", made.label, words.height)


if __name__ == "__main__":
    run(main, snakemake)
