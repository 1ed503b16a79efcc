"""Read documents with coreference: their words, and the mentions of their entities with head, type and features."""

from headscope.corpora.documents import read_documents
from headscope.jobs import LOG, run
from headscope.writing import write_table


def main(corpus, documents, mentions, skipped, names, format, discontinuous):
    """Write documents, mentions, and what can be used of neither; `names` stand for the files in all of them."""
    texts, found, bad = read_documents(corpus, format, names, discontinuous)
    write_table(texts, documents)
    write_table(found, mentions)
    write_table(bad, skipped)
    heads = ", ".join(f"{count} by {rule}" for rule, count in found["head_by"].value_counts(sort=True).iter_rows())
    parts = found["discontinuous"].sum()
    LOG.info(
        "%d documents, %d mentions (head words: %s; %d joined from parts)", texts.height, found.height, heads, parts
    )


if __name__ == "__main__":
    run(main, snakemake)
