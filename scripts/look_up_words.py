"""Look the words of a treebank up in a text file of word vectors, in lower case."""

from pathlib import Path

import polars as pl

from headscope.encoding import read_encoded
from headscope.jobs import LOG, run
from headscope.probes.vector_files import look_up
from headscope.probes.vectors import FILE, Vectors, vocabulary, write_vectors
from headscope.writing import write_table


def main(encoded, trees, file, vectors, coverage, coverage_csv, name):
    """Write a vector for every different word, and how many the file has; `name` is what the file is called."""
    examples = read_encoded(encoded)
    words = vocabulary(FILE, examples, pl.read_parquet(trees))
    found = look_up(file, words["word"], name)
    words = words.with_columns(known=pl.Series(found.known))
    made = Vectors(words, found.matrix, FILE, Path(name).name, examples.corpus)
    write_vectors(made, vectors)
    write_table(made.coverage(), coverage, coverage_csv)
    _, types, known_types, tokens, known_tokens = made.coverage().row(0)
    LOG.info("%s: %d of %d different words, %d of %d words", made.label, known_types, types, known_tokens, tokens)
    if found.repeated:
        LOG.warning("%s: %d lines repeat a word; the first of each counts", name, found.repeated)


if __name__ == "__main__":
    run(main, snakemake)
