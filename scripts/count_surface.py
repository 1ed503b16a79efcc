"""Sum the surface measures of every head over the examples of one shard."""

from headscope.description import Description
from headscope.encoding import read_encoded
from headscope.files import write_table
from headscope.jobs import run
from headscope.store import Shard
from headscope.surface import count_surface


def main(description, encoded, attention, counts):
    """Write one row per (example, layer, head): counts of queries and sums over them."""
    described = Description.read(description)
    examples = read_encoded(encoded)
    maps = Shard(attention, model=described.weights, corpus=examples.corpus)
    write_table(count_surface(maps, examples), counts)


if __name__ == "__main__":
    run(main, snakemake)
