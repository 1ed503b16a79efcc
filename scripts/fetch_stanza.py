"""Download the models of a Stanza parser. One of the rules that use the network."""

import stanza

from headscope.fetch import fetch_stanza
from headscope.jobs import run


def main(listed, folder, language, package):
    """Fill the folder, then write the list of what lies there with its digests."""
    fetch_stanza(language, package, folder, listed, stanza.download)


if __name__ == "__main__":
    run(main, snakemake)
