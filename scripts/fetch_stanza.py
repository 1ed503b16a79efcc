"""Download the models of a Stanza parser, with coreference or without. One of the rules that use the network."""

import stanza

from headscope.corpora.resolving import transformer_of
from headscope.fetch import fetch_stanza
from headscope.jobs import run


def main(listed, folder, language, package, coref_package=None, transformer_revision=None, allow_pickle=False):
    """Fill the folder, then write the list of what lies there with its digests."""
    of_transformer = transformer_of, transformer_revision, allow_pickle
    fetch_stanza(language, package, folder, listed, stanza.download, coref_package, *of_transformer)


if __name__ == "__main__":
    run(main, snakemake)
