"""Load a model, try it on a short text, and write down what every later stage needs to know of it."""

from headscope.jobs import LOG, run
from headscope.models.describing import describe
from headscope.models.loading import load
from headscope.sources import fetched_commit, locate, refuse_changed


def main(description, name, checkpoint, source, revision, loading, fetched=None):
    """Write the description, or refuse the model with one sentence."""
    if fetched:
        refuse_changed(fetched, locate(checkpoint))
    model = load(locate(checkpoint), name, **loading)
    commit = fetched_commit(fetched) if fetched else revision
    described = describe(model, name, source, commit, loading["random_init"])
    described.write(description)
    LOG.info("%s: %s, %d layers of %d heads", name, described.architecture, described.layers, described.heads)


if __name__ == "__main__":
    run(main, snakemake)
