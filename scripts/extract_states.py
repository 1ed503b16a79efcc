"""Run a model over a part of a corpus and store the hidden states of words in shards. On a GPU where there is one."""

from headscope.description import Description
from headscope.encoding import read_encoded
from headscope.jobs import progress, run
from headscope.models.loading import load_described
from headscope.sources import locate
from headscope.states.extraction import extract_states


def main(description, encoded, states, checkpoint, loading, shard, dtype, device, budget_mb):
    """
    Write the states of part `2-of-4` into as many shards as `states` has paths.

    `budget_mb` bounds the numbers of a batch (0: chosen for the device).
    """
    described = Description.read(description)
    parts = read_encoded(encoded, shard).parts(len(states))
    model = load_described(locate(checkpoint), described, device, loading)
    with progress(sum(part.table.height for part in parts), "examples") as done:
        for examples, path in zip(parts, states, strict=True):
            extract_states(model, described, examples, path, dtype, budget_mb, done)


if __name__ == "__main__":
    run(main, snakemake, "device", "budget_mb")
