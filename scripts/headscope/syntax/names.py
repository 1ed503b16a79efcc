"""How the tables of syntax read: schemes, directions, heads, signs, and which relations are worth a row."""

import polars as pl

SCHEME_NAMES = {"ud": "Universal Dependencies", "stanford": "Stanford Dependencies"}
DIRECTION_NAMES = {"dependent_to_head": "dependent to head", "head_to_dependent": "head to dependent"}
SCHEMES, DIRECTIONS = tuple(SCHEME_NAMES), tuple(DIRECTION_NAMES)
ALL, PUNCTUATION = "all", "punct"


def scheme_name(scheme: str) -> str:
    """Return the scheme's full name."""
    return SCHEME_NAMES.get(scheme, scheme)


def signed(offset: int) -> str:
    """Return a number with its sign, a true minus where it is below 0."""
    return f"{offset:+d}".replace("-", "−")


def common_relations(table1: pl.DataFrame, scheme: str, rare: int) -> tuple[pl.DataFrame, int]:
    """
    Return one scheme's rows, `all` first and the others by falling total, and how many relations are left out.

    Parameters
    ----------
    table1
        The table `syntax/table1`.
    rare
        A relation with fewer dependents is left out; `all`, which is no relation, never is.
    """
    rows = table1.filter(scheme=scheme)
    is_all = pl.col("relation") == ALL
    kept = rows.filter(is_all | (pl.col("total") >= rare))
    return kept.sort(~is_all, -pl.col("total").cast(pl.Int64), "relation"), len(rows) - len(kept)


def left_out_sentence(left_out: int, rare: int) -> str:
    """Return the sentence that says how many relations a table or chart leaves out, empty where none."""
    if not left_out:
        return ""
    return f"Left out: {left_out} {'relation' if left_out == 1 else 'relations'} with fewer than {rare:,} dependents."
