"""Resolve the coreference of a text with Stanza. On a GPU where there is one, never on the network."""

from headscope.corpora.parsing import read_lines
from headscope.corpora.resolving import load_resolver, resolve_file
from headscope.jobs import LOG, progress, run
from headscope.writing import write_table


def main(text, corefud, skipped, models, language, package, coref_package, max_words, name, device):
    """Write the documents as CorefUD, and what was left out; `name` stands for the file in both."""
    resolver = load_resolver(models, language, package, coref_package, device)
    with progress(sum(line.opens_document for line in read_lines(text, name)), "documents") as done:
        count, left_out = resolve_file(text, corefud, resolver, max_words, name, done)
    write_table(left_out, skipped)
    LOG.info("%s: %d documents resolved, %d rows of what is not in them", name, count, left_out.height)


if __name__ == "__main__":
    run(main, snakemake, "device")
