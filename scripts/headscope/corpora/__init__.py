"""Readers, one a format: a corpus file in, a table of examples and a table of what was skipped out."""

import polars as pl

SKIPPED = pl.Schema({"example": pl.UInt32, "where": pl.String, "reason": pl.String})
"""What every reader and encoder passes over: example number (null where it has none), file:line, reason."""
