"""Sum the surface measures of every head over the examples of one shard."""

from headscope.description import Description
from headscope.encoding import read_encoded
from headscope.jobs import run
from headscope.maps_source import open_maps
from headscope.surface_counts import count_surface
from headscope.writing import write_table


def main(description, encoded, attention, counts, live, shard, **how):
    """Write one row per (example, layer, head): counts of queries and sums over them."""
    described = Description.read(description)
    examples = read_encoded(encoded, shard)
    write_table(count_surface(open_maps(attention, described, examples, live, **how), examples), counts)


if __name__ == "__main__":
    run(main, snakemake, "device", "budget_mb")
