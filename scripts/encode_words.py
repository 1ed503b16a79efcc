"""Turn the sentences of a treebank into the tokens of one model, each token with its word."""

import polars as pl

from headscope.description import Description
from headscope.encoding import write_encoded
from headscope.jobs import LOG, run
from headscope.models.loading import load_tokenizer
from headscope.sources import locate
from headscope.tokenizing import encode_words, within_limit
from headscope.writing import write_table


def main(description, trees, encoded, skipped, checkpoint, allow_remote_code, max_tokens):
    """Write the encoded sentences, and those that do not fit; `max_tokens` None is the model's limit."""
    described = Description.read(description)
    if max_tokens is not None:
        within_limit(max_tokens, described)
    tokenizer = load_tokenizer(locate(checkpoint), described.name, allow_remote_code)
    kept, left_out = encode_words(pl.read_parquet(trees), tokenizer, max_tokens or described.limit)
    write_encoded(kept, encoded, described.tokenizer)
    write_table(left_out, skipped)
    LOG.info("%d sentences, %d skipped", kept.height, left_out.height)


if __name__ == "__main__":
    run(main, snakemake)
