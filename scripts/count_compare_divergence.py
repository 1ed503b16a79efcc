"""Sum the divergence of every head of one model from every head of another on a shard. On a GPU where there is one."""

from headscope.between.agreement import agreement
from headscope.between.counting import count_between
from headscope.description import Description
from headscope.devices import pick_device
from headscope.encoding import read_encoded
from headscope.jobs import LOG, run
from headscope.maps_source import open_maps
from headscope.writing import write_table


def main(
    description,
    other_description,
    encoded,
    other_encoded,
    attention,
    other_attention,
    sums,
    examples,
    live,
    other_live,
    shard,
    smoothing,
    **how,
):
    """Write one row per pair of heads, and the examples that were added: none where the models cannot be compared."""
    described = Description.read(description), Description.read(other_description)
    both = read_encoded(encoded), read_encoded(other_encoded)
    agreed = agreement(*both, *(one.name for one in described))
    if agreed.refused:
        LOG.warning("%s", agreed.refused)
    maps = open_maps(attention, described[0], both[0].shard_named(shard), live, **how)
    others = open_maps(other_attention, described[1], both[1], other_live, **how)
    by_pair, added = count_between(maps, others, both, described, agreed, smoothing, pick_device(how["device"]))
    write_table(by_pair, sums)
    write_table(added, examples)


if __name__ == "__main__":
    run(main, snakemake, "device", "budget_mb")
