"""Run a model over one shard of a corpus and store the hidden states of its words. On a GPU where there is one."""

from headscope.description import Description
from headscope.encoding import read_encoded
from headscope.jobs import progress, run
from headscope.models.loading import load_described
from headscope.sources import locate
from headscope.states.extraction import extract_states


def main(description, encoded, states, checkpoint, loading, shard, dtype, device, budget_mb):
    """Write the states of shard `2-of-4`; `budget_mb` bounds the numbers of a batch (0: chosen for the device)."""
    described = Description.read(description)
    examples = read_encoded(encoded).shard(*map(int, shard.split("-of-")))
    model = load_described(locate(checkpoint), described, device, loading)
    with progress(examples.table.height, "examples") as done:
        extract_states(model, described, examples, states, dtype, budget_mb, done)


if __name__ == "__main__":
    run(main, snakemake, "device", "budget_mb")
