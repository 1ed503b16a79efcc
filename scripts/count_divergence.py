"""Sum the divergence of every two heads over the query tokens of one shard. On a GPU where there is one."""

from headscope.description import Description
from headscope.devices import pick_device
from headscope.divergence_counts import count_divergence
from headscope.encoding import read_encoded
from headscope.jobs import run
from headscope.maps_source import open_maps
from headscope.writing import write_table


def main(description, encoded, attention, sums, examples, live, shard, smoothing, device, budget_mb):
    """Write one row per pair of heads, and the examples that were added."""
    described = Description.read(description)
    maps = open_maps(attention, described, read_encoded(encoded, shard), live, device, budget_mb)
    by_pair, added = count_divergence(maps, described, smoothing, pick_device(device))
    write_table(by_pair, sums)
    write_table(added, examples)


if __name__ == "__main__":
    run(main, snakemake, "device", "budget_mb")
