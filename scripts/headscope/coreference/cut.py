"""What is left of the mentions of documents that are cut to the limit of a model."""

import polars as pl

from headscope.corpora import SKIPPED
from headscope.encoding import Encoded, word_rows


def cut_mentions(mentions: pl.DataFrame, encoded: Encoded) -> tuple[pl.DataFrame, pl.DataFrame]:
    """
    Drop the mentions that do not stand wholly in the words that were encoded.

    Parameters
    ----------
    mentions
        Columns as `headscope.corpora.documents.MENTIONS`.
    encoded
        Documents, of which some are cut (`truncated`).

    Returns
    -------
    kept
        The mentions of encoded documents that lie before the cut.
    skipped
        One row a document that lost mentions: how many cross its cut, and how many stand behind it.
    """
    table = encoded.table.select("example", "where", words=_words(encoded.table["kinds"]))
    joined = mentions.join(table.rename({"where": "document_where"}), on="example", maintain_order="left")
    kept = joined.filter(pl.col("last") <= pl.col("words")).select(mentions.columns)
    lost = joined.filter(pl.col("last") > pl.col("words"))
    crossing = (pl.col("first") <= pl.col("words")).sum()
    counted = lost.group_by("example", "document_where", "words", maintain_order=True).agg(
        crossing=crossing, behind=pl.len() - crossing
    )
    reason = pl.format(
        "document cut after {} words: {} mentions cross the cut and {} stand behind it; they are dropped",
        "words",
        "crossing",
        "behind",
    )
    return kept, counted.select("example", where="document_where", reason=reason).cast(SKIPPED)


def _words(kinds: pl.Series) -> pl.Series:
    return pl.Series([(rows := word_rows(row)).stop - rows.start for row in kinds.to_list()], dtype=pl.UInt32)
