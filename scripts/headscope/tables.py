"""
The result tables as a contract: what each column is, for readers, the manual and the tests.

`tables.yaml` beside this file is the one list. Run as a program, this fills the columns into pages of the manual.
"""

import re
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import polars as pl
import yaml

from headscope.errors import InputError

LIST = Path(__file__).with_suffix(".yaml")
BESIDE = {
    "se": "standard error of {} over examples",
    "max": "{} of the head of the layer that has most",
}
BLOCK = re.compile(r"(<!-- columns of (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


class Column(NamedTuple):
    """A column: its Polars type by name, its unit (empty: none), and what it means."""

    type: str
    unit: str
    meaning: str


class Table(NamedTuple):
    """
    A result table.

    `path` is that of its files without ending, with wildcards; `page` that of the manual; `rows` what a row is.
    """

    name: str
    path: str
    page: str
    rows: str
    columns: dict[str, Column]

    @property
    def schema(self) -> pl.Schema:
        """The Polars types of its columns, in order."""
        return pl.Schema({name: getattr(pl, column.type) for name, column in self.columns.items()})

    def matches(self, path) -> bool:
        """Whether a file of this path, of any ending, is this table."""
        steps = Path(path).with_suffix("").parts
        wanted = self.path.split("/")
        return len(steps) >= len(wanted) and all(
            step == name or name.startswith("{") for step, name in zip(steps[-len(wanted) :], wanted, strict=True)
        )


@cache
def result_tables() -> dict[str, Table]:
    """Return every result table by its name, such as `surface/heads`."""
    listed = yaml.safe_load(LIST.read_text("utf-8"))
    return {
        name: Table(name, entry["path"], entry["page"], entry["rows"], _columns(entry, listed))
        for name, entry in listed["tables"].items()
    }


def _columns(entry: dict, listed: dict) -> dict[str, Column]:
    like = listed["tables"][entry["like"]] if "like" in entry else {"columns": []}
    known = listed["columns"] | like.get("here", {}) | entry.get("here", {})
    found = {}
    for written in [*entry.get("before", []), *entry.get("columns", like["columns"])]:
        name, _, more = written.partition(" +")
        if more == "ci":
            found |= {f"{name}_{end}": Column(*known[end]) for end in ("ci_low", "ci_high")}
            continue
        found[name] = Column(*known[name])
        if more:
            found[f"{name}_{more}"] = found[name]._replace(meaning=BESIDE[more].format(name))
    return found


def table_at(path) -> Table:
    """
    Return the result table that a file is, by its path.

    Raises
    ------
    InputError
        If it is none.
    """
    found = [table for table in result_tables().values() if table.matches(path)]
    if not found:
        raise InputError(
            f"{path}: expected the file of a result table below results/, such as "
            "results/minilm/demo/surface/heads.parquet, found no table of that name; the manual lists all"
        )
    return max(found, key=lambda table: sum(not step.startswith("{") for step in table.path.split("/")))


def read_table(path) -> pl.DataFrame:
    """
    Read a result table, Parquet or CSV, with the types that the manual gives its columns.

    Raises
    ------
    InputError
        If there is no such file, it is no result table, or its columns are others.
    """
    table = table_at(path)
    if not Path(path).is_file():
        raise InputError(f"{path}: expected the table {table.name}, found no file; run the workflow first")
    is_text = str(path).endswith(".csv")
    found = pl.read_csv(path, infer_schema=False) if is_text else pl.read_parquet(path)
    if found.columns != table.schema.names():
        raise InputError(
            f"{path}: expected the columns {', '.join(table.schema.names())}, found {', '.join(found.columns)}; it "
            "is of another version of headscope: run the workflow again"
        )
    if is_text:
        return found.select(_from_text(name, kind) for name, kind in table.schema.items())
    return found


def _from_text(name: str, kind) -> pl.Expr:
    return pl.col(name) == "true" if kind == pl.Boolean else pl.col(name).cast(kind)


def reference(table: Table) -> str:
    """Return the columns of a table as Markdown."""
    lines = [
        f"`{table.path}.parquet` and `.csv`; rows: {table.rows}.",
        "",
        "| column | type | unit | what it is |",
        "|---|---|---|---|",
        *(
            f"| `{name}` | {column.type} | {column.unit or '–'} | {column.meaning} |"
            for name, column in table.columns.items()
        ),
    ]
    return "\n".join(lines) + "\n"


def filled(page: str) -> str:
    """Return a page with the columns of tables between their marks: `<!-- columns of NAME -->` and `<!-- end -->`."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{reference(result_tables()[found[2]])}\n{found[3]}", page)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(filled(path.read_text("utf-8")), encoding="utf-8")
