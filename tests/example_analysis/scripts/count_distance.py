"""Sum how far every head looks over the examples of one shard."""

from headscope.description import Description
from headscope.distance import count_distance
from headscope.encoding import read_encoded
from headscope.jobs import run
from headscope.store import Shard
from headscope.writing import write_table


def main(description, encoded, attention, counts):
    """Write one row per (example, layer, head): tokens, and the sum of distances over them."""
    described = Description.read(description)
    maps = Shard(attention, model=described.weights, corpus=read_encoded(encoded).corpus)
    write_table(count_distance(maps), counts)


if __name__ == "__main__":
    run(main, snakemake)
