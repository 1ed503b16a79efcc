"""Result tables on the disk, as Parquet and as CSV."""

import polars as pl

from headscope.errors import ESCAPES
from headscope.files import replacing
from headscope.seals import seal

CONTROLS = {chr(code): escape for code, escape in ESCAPES.items()}
FORMULA = r"(?s)^[=+@\t\r-].*[(|!]"  # what a spreadsheet that opens a CSV would run; -LRB-, -5 and @you are none


def write_table(table: pl.DataFrame, *paths):
    """
    Write one table to each path, as Parquet or CSV by its ending.

    Parquet has words of a corpus as they are; for CSV see `as_csv`.
    """
    for path in paths:
        with replacing(path) as temporary:
            if str(path).endswith(".csv"):
                as_csv(table, temporary)
            else:
                table.write_parquet(temporary)
                seal(temporary)


def as_csv(table: pl.DataFrame, path=None) -> str | None:
    """
    Write a table as CSV to a path; return it as text where there is none.

    Words of a corpus that a spreadsheet would run as a formula, such as `=cmd|…`, get an apostrophe before them, and
    characters that a terminal would obey are written as escapes.
    """
    shown = pl.col(pl.String).str.replace_many(CONTROLS).str.replace(FORMULA, "'$0")
    return table.with_columns(shown).write_csv(path)
