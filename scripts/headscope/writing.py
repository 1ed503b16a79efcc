"""Result tables on the disk, as Parquet and as CSV."""

import polars as pl

from headscope.errors import ESCAPES
from headscope.files import replacing
from headscope.seals import seal

FORMULA = r"(?s)^[=+@\t\r-].*[(|!]"  # what a spreadsheet that opens a CSV would run; -LRB-, -5 and @you are none


def write_table(table: pl.DataFrame, *paths):
    """
    Write one table to each path, as Parquet or CSV by its ending.

    In CSV, words of a corpus that a spreadsheet would run as a formula, such as `=cmd|…`, get an apostrophe before
    them, and characters that a terminal would obey are written as escapes; Parquet has them as they are.
    """
    for path in paths:
        with replacing(path) as temporary:
            if str(path).endswith(".csv"):
                escapes = {chr(code): escape for code, escape in ESCAPES.items()}
                shown = pl.col(pl.String).str.replace_many(escapes).str.replace(FORMULA, "'$0")
                table.with_columns(shown).write_csv(temporary)
            else:
                table.write_parquet(temporary)
                seal(temporary)
