"""How the tables of syntax read: schemes, directions, heads, signs, and which relations are worth a row."""

import polars as pl

from headscope.errors import InputError

SCHEME_NAMES = {"ud": "Universal Dependencies", "stanford": "Stanford Dependencies"}
DIRECTION_NAMES = {"dependent_to_head": "dependent to head", "head_to_dependent": "head to dependent"}
SCHEMES, DIRECTIONS = tuple(SCHEME_NAMES), tuple(DIRECTION_NAMES)
ALL, PUNCTUATION = "all", "punct"
SHOWN_RELATIONS = 5


def scheme_name(scheme: str) -> str:
    """Return the scheme's full name."""
    return SCHEME_NAMES.get(scheme, scheme)


def scheme_in(table1: pl.DataFrame, scheme: str) -> str:
    """Return the scheme in which `syntax/table1` is shown: the one asked for, or `ud` if it has none of it."""
    return scheme if scheme in table1["scheme"] else SCHEMES[0]


def signed(number: float, digits: int = 0) -> str:
    """Return a number with its sign, a true minus where it is below 0."""
    return f"{number:+.{digits}f}".replace("-", "−")


def offsets_in_order(bounds: tuple[int, int]) -> list[int]:
    """Return the fixed offsets that a baseline tries, 0 left out: the nearest first, then the one to the right."""
    offsets = (offset for offset in range(bounds[0], bounds[1] + 1) if offset)
    return sorted(offsets, key=lambda offset: (abs(offset), -offset))


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
    rows = table1.filter(scheme=scheme_in(table1, scheme))
    is_all = pl.col("relation") == ALL
    kept = rows.filter(is_all | (pl.col("total") >= rare))
    return kept.sort(~is_all, -pl.col("total").cast(pl.Int64), "relation"), len(rows) - len(kept)


def relations_to_show(table1: pl.DataFrame, scheme: str, named: list[str], rare: int) -> pl.DataFrame:
    """
    Return the rows of `table1` that figure 5 shows.

    Those named, else the five (of at least `rare` dependents) whose best head gains most over the best fixed offset, by
    the lower end of its interval.

    Raises
    ------
    InputError
        If a relation that is named does not occur.
    """
    scheme = scheme_in(table1, scheme)
    rows = table1.filter((pl.col("scheme") == scheme) & (pl.col("relation") != ALL))
    unknown = [relation for relation in named if relation not in rows["relation"]]
    if unknown:
        raise InputError(
            f"figure_5.relations: expected relations of the scheme {scheme} that occur, found {', '.join(unknown)}; "
            f"there are {', '.join(rows['relation'])}"
        )
    if named:
        return rows.filter(pl.col("relation").is_in(named))
    gain = pl.col("ci_low") - pl.col("baseline_accuracy")
    return rows.filter(pl.col("total") >= rare).sort(gain, descending=True, maintain_order=True).head(SHOWN_RELATIONS)


def left_out_sentence(left_out: int, rare: int) -> str:
    """Return the sentence that says how many relations a table or chart leaves out, empty where none."""
    if not left_out:
        return ""
    return f"Left out: {left_out} {'relation' if left_out == 1 else 'relations'} with fewer than {rare:,} dependents."
