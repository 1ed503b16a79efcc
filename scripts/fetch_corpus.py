"""Download a corpus and check it against its SHA-256. One of the rules that use the network."""

from headscope.fetch import fetch_file
from headscope.jobs import run


def main(file, url, sha256):
    """Write the file once its digest is right."""
    fetch_file(url, sha256, file)


if __name__ == "__main__":
    run(main, snakemake)
