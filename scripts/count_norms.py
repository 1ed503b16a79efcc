"""Run a model over one shard of a corpus and sum attention weights and norms. On a GPU where there is one."""

from headscope.description import Description
from headscope.encoding import read_encoded
from headscope.jobs import LOG, progress, run
from headscope.models.loading import load_described
from headscope.norms.architectures import why_not
from headscope.norms.counts import count_norms, no_counts
from headscope.sources import locate
from headscope.writing import write_table


def main(description, encoded, counts, checkpoint, loading, shard, device, budget_mb):
    """Write one row per (example, layer, head) of shard `2-of-4`; none for a model whose norms cannot be computed."""
    described = Description.read(description)
    reason = why_not(described.architecture)
    if reason:
        LOG.warning("%s", reason)
        write_table(no_counts(), counts)
        return
    examples = read_encoded(encoded, shard)
    model = load_described(locate(checkpoint), described, device, loading)
    with progress(examples.table.height, "examples") as done:
        write_table(count_norms(model, described, examples, budget_mb, done), counts)


if __name__ == "__main__":
    run(main, snakemake, "device", "budget_mb")
