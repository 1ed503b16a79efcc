"""Find out whether a model can guess masked tokens, and with which head; or why not."""

from headscope.description import Description
from headscope.jobs import LOG, run
from headscope.mlm.answer import HeadAnswer
from headscope.mlm.heads import NoHeadError, load_head
from headscope.models.loading import load_described
from headscope.sources import locate


def main(description, answer, checkpoint, loading, name, file=None):
    """Write where the head comes from, or one sentence that says why there is none; refuse a wrong file."""
    described, folder = Description.read(description), locate(checkpoint)
    try:
        load_head(folder, described, load_described(folder, described, "cpu", loading), loading, file or None)
    except NoHeadError as error:
        refused = f"model {described.name}: no gradients of a masked language model's loss: {error}"
        LOG.warning("%s", refused)
        HeadAnswer(None, refused).write(answer)
    else:
        LOG.info("%s: %s", described.name, name)
        HeadAnswer(name, None).write(answer)


if __name__ == "__main__":
    run(main, snakemake)
