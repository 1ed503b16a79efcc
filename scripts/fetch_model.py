"""Download a model of the Hugging Face hub at its pinned revision. One of the rules that use the network."""

from headscope.fetch import fetch_checkpoint
from headscope.jobs import run


def main(files, folder, source, revision, allow_pickle, allow_remote_code, random_init):
    """Fill the folder, then write the list of what lies there with its digests."""
    fetch_checkpoint(source, revision, folder, files, allow_pickle, allow_remote_code, random_init)


if __name__ == "__main__":
    run(main, snakemake)
