"""Set attention, norms and gradients of [SEP] and [CLS] side by side, and test what is said of them."""

import polars as pl

from headscope.description import Description
from headscope.jobs import run
from headscope.norms.claims import sep_claims
from headscope.norms.shares import key_shares
from headscope.writing import write_table


def main(description, counts, layers, gradients, shares, shares_csv, claims, claims_csv, resamples, seed):
    """Write the tables norms/shares and norms/claims; a model without a head for masked tokens has no gradients."""
    described = Description.read(description)
    of_gradients = pl.read_parquet(gradients)

    def sums():
        return map(pl.read_parquet, counts)

    write_table(key_shares(pl.read_parquet(layers), of_gradients, sums), shares, shares_csv)
    write_table(sep_claims(sums, described, of_gradients, resamples, seed), claims, claims_csv)


if __name__ == "__main__":
    run(main, snakemake)
