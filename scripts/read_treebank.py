"""Read a treebank: sentences with their heads and relations, as annotated and, of English, in the paper's labels."""

from headscope.corpora.trees import read_trees
from headscope.jobs import LOG, run
from headscope.writing import write_table


def main(treebank, trees, skipped, name, format, most_bad, language):
    """Write the trees, and what is none; `name` stands for the file in both."""
    read, bad = read_trees(treebank, format, name, most_bad, language)
    write_table(read, trees)
    write_table(bad, skipped)
    LOG.info("%s: %d trees of %d words, %d bad", name, read.height, read["words"].list.len().sum(), bad.height)


if __name__ == "__main__":
    run(main, snakemake)
