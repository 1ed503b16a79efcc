"""Sum how far every head looks over the examples of one shard."""

from headscope.description import Description
from headscope.distance import count_distance
from headscope.encoding import read_encoded
from headscope.jobs import run
from headscope.maps_source import open_maps
from headscope.writing import write_table


def main(description, encoded, attention, counts, live, shard, **how):
    """Write one row per (example, layer, head): tokens, and the sum of distances over them."""
    described = Description.read(description)
    examples = read_encoded(encoded, shard)
    write_table(count_distance(open_maps(attention, described, examples, live, **how)), counts)


if __name__ == "__main__":
    run(main, snakemake, "device", "budget_mb")
