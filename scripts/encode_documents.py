"""Turn the documents of a corpus into the tokens of one model, cut at a word to the limit."""

import polars as pl

from headscope.coreference.cut import cut_mentions
from headscope.description import Description
from headscope.encoding import read_encoded, write_encoded
from headscope.jobs import LOG, run
from headscope.models.loading import load_tokenizer
from headscope.sources import locate
from headscope.tokenizing import encode_words, within_limit
from headscope.writing import write_table

DOCUMENT_TOKENS = 512


def main(description, documents, mentions, encoded, skipped, checkpoint, allow_remote_code, max_tokens):
    """Write the encoded documents, and what was dropped; `max_tokens` None is 512, or the model's limit if lower."""
    described = Description.read(description)
    if max_tokens is None:
        max_tokens = min(DOCUMENT_TOKENS, described.limit or DOCUMENT_TOKENS)
    within_limit(max_tokens, described)
    tokenizer = load_tokenizer(locate(checkpoint), described.name, allow_remote_code)
    kept, left_out = encode_words(pl.read_parquet(documents), tokenizer, max_tokens, cut=True)
    write_encoded(kept, encoded, described.tokenizer)
    _, dropped = cut_mentions(pl.read_parquet(mentions), read_encoded(encoded))
    write_table(pl.concat([left_out, dropped]), skipped)
    LOG.info("%d documents, %d of them cut, %d skipped", kept.height, kept["truncated"].sum(), left_out.height)


if __name__ == "__main__":
    run(main, snakemake)
