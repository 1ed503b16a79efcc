"""Parse a text with Stanza into dependency trees. On a GPU where there is one, never on the network."""

from headscope.corpora.parsing import load_parser, parse_file, read_lines
from headscope.jobs import LOG, progress, run
from headscope.writing import write_table


def main(text, conllu, skipped, models, language, package, format, max_words, name, device):
    """Write the trees as CoNLL-U, and what was left out; `name` stands for the file in both."""
    parser = load_parser(models, language, package, format, device)
    with progress(sum(1 for _ in read_lines(text, name)), "lines") as done:
        count, left_out = parse_file(text, conllu, parser, max_words, name, done)
    write_table(left_out, skipped)
    LOG.info("%s: %d sentences parsed, %d sentences or lines skipped", name, count, left_out.height)


if __name__ == "__main__":
    run(main, snakemake, "device")
