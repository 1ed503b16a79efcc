"""Run a model over a part of a corpus and store the attention maps in shards. On a GPU where there is one."""

from headscope.attention import extract_shard
from headscope.description import Description
from headscope.encoding import read_encoded
from headscope.jobs import progress, run
from headscope.models.loading import load_described
from headscope.sources import locate


def main(description, encoded, attention, checkpoint, loading, shard, dtype, fold, device, budget_mb):
    """
    Write the maps of part `2-of-4` into as many shards as `attention` has paths.

    `budget_mb` bounds those of a batch (0: chosen for the device).
    """
    described = Description.read(description)
    parts = read_encoded(encoded, shard).parts(len(attention))
    model = load_described(locate(checkpoint), described, device, loading)
    with progress(sum(part.table.height for part in parts), "examples") as done:
        for examples, path in zip(parts, attention, strict=True):
            extract_shard(model, described, examples, path, dtype, budget_mb, fold, done)


if __name__ == "__main__":
    run(main, snakemake, "device", "budget_mb")
