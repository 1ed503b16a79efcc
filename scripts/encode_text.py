"""Turn the pairs of a text corpus into the tokens of one model."""

import polars as pl

from headscope.description import Description
from headscope.encoding import write_encoded
from headscope.jobs import LOG, run
from headscope.models.loading import load_tokenizer
from headscope.sources import locate
from headscope.tokenizing import encode_pairs, within_limit
from headscope.writing import write_table


def main(description, pairs, encoded, skipped, checkpoint, allow_remote_code, max_tokens, segments):
    """Write the encoded examples, and those of which nothing is left."""
    described = Description.read(description)
    within_limit(max_tokens, described)
    tokenizer = load_tokenizer(locate(checkpoint), described.name, allow_remote_code)
    kept, left_out = encode_pairs(pl.read_parquet(pairs), tokenizer, max_tokens, segments)
    write_encoded(kept, encoded, described.tokenizer)
    write_table(left_out, skipped)
    cut = kept["truncated"].sum()
    LOG.info("%d examples, %d of them cut to %d tokens; %d skipped", kept.height, cut, max_tokens, left_out.height)


if __name__ == "__main__":
    run(main, snakemake)
