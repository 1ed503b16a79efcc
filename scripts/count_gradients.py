"""Sum the gradients of the loss by attention weight over one shard. On a GPU where there is one."""

from headscope.description import Description
from headscope.encoding import read_encoded
from headscope.gradients.counting import count_gradients, no_gradients
from headscope.jobs import progress, run
from headscope.mlm.answer import HeadAnswer
from headscope.mlm.heads import load_head
from headscope.models.loading import load_described
from headscope.sources import locate
from headscope.writing import write_table


def main(description, encoded, answer, counts, checkpoint, loading, shard, seed, device, budget_mb, file=None):
    """Write one row per (example, layer, head) of shard `2-of-4`; none where the model has no head."""
    if HeadAnswer.read(answer).refused:
        write_table(no_gradients(), counts)
        return
    described, folder = Description.read(description), locate(checkpoint)
    examples = read_encoded(encoded, shard)
    model = load_described(folder, described, device, loading)
    head = load_head(folder, described, model, loading, file or None)
    with progress(examples.table.height, "examples") as done:
        write_table(count_gradients(model, head, described, examples, seed, budget_mb, done), counts)


if __name__ == "__main__":
    run(main, snakemake, "device", "budget_mb")
