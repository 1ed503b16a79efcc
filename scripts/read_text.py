"""Pair the paragraphs of a text corpus: examples that any model can read."""

from headscope.corpora.text import read_pairs
from headscope.jobs import LOG, run
from headscope.writing import write_table


def main(text, pairs, skipped, name, format):
    """Write the pairs, and what found no partner; `name` stands for the file in both."""
    paired, left_over = read_pairs(text, format, shown_as=name)
    write_table(paired, pairs)
    write_table(left_over, skipped)
    LOG.info("%s: %d pairs, %d paragraphs skipped", name, paired.height, left_over.height)


if __name__ == "__main__":
    run(main, snakemake)
