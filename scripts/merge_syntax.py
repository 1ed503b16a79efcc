"""From the hits of all shards to the accuracy of every head, and the best of each relation with its interval."""

from headscope.description import Description
from headscope.encoding import read_encoded
from headscope.jobs import run
from headscope.syntax.accuracy import Options, merge_syntax, read_scored, schemes_in
from headscope.writing import write_table


def main(description, encoded, hits, heads, heads_csv, table1, table1_csv, every, offsets, resamples, seed):
    """Write the tables syntax/heads and syntax/table1."""
    described = Description.read(description)
    examples = read_encoded(encoded)
    scored = {scheme: read_scored(hits, scheme, described, examples) for scheme in schemes_in(hits)}
    by_head, best = merge_syntax(scored, Options(every, tuple(offsets), resamples, seed))
    write_table(by_head, heads, heads_csv)
    write_table(best, table1, table1_csv)


if __name__ == "__main__":
    run(main, snakemake)
