"""Download the models of a Stanza parser, with coreference or without. One of the rules that use the network."""

import stanza

from headscope.corpora.resolving import transformer_of
from headscope.fetch import fetch_stanza
from headscope.jobs import run


def main(listed, folder, language, package, coref_package=None):
    """Fill the folder, then write the list of what lies there with its digests."""
    fetch_stanza(language, package, folder, listed, stanza.download, coref_package, transformer_of)


if __name__ == "__main__":
    run(main, snakemake)
