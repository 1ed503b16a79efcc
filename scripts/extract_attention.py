"""Run a model over one shard of a corpus and store the attention maps. On a GPU where there is one."""

from headscope.attention import extract_shard
from headscope.description import Description
from headscope.encoding import read_encoded
from headscope.jobs import progress, run
from headscope.models.loading import load_described
from headscope.sources import locate


def main(description, encoded, attention, checkpoint, loading, shard, dtype, fold, device, budget_mb):
    """Write the maps of shard `2-of-4`; `budget_mb` bounds those of a batch (0: chosen for the device)."""
    described = Description.read(description)
    examples = read_encoded(encoded).shard(*map(int, shard.split("-of-")))
    model = load_described(locate(checkpoint), described, device, loading)
    with progress(examples.table.height, "examples") as done:
        extract_shard(model, described, examples, attention, dtype, budget_mb, fold, done)


if __name__ == "__main__":
    run(main, snakemake, "device", "budget_mb")
