"""What the template shows: figures, tables and sections, made of the results of a run."""

import json
import re
from collections.abc import Iterable
from types import SimpleNamespace
from typing import NamedTuple

import polars as pl
from jinja2 import Environment
from markupsafe import Markup

from headscope.pages import MISSING, Column, Part, html_table
from headscope.report.facts import shareable
from headscope.report.packing import packed
from headscope.report.results import Results
from headscope.report.words import count
from headscope.writing import as_csv

FEW_ROWS, PREVIEW = 24, 8
MOST_ROWS, MOST_BYTES = 20_000, 2_000_000  # of a table's CSV in the page; the file of the run has all of it


class Figure(NamedTuple):
    """A figure: the id of its packed specification, its own title, its caption."""

    id: str
    title: str
    caption: str


class Table(NamedTuple):
    """
    A table: the id of its packed CSV, its name, its size in words, what its file is called, its first rows.

    `part`: what the CSV has where it is not the whole table, and which file of the run has all; empty where it is.
    """

    id: str
    name: str
    size: str
    file: str
    preview: Markup
    part: str


class Section(NamedTuple):
    """A section: the id of its heading, its title, sentences, claims, figures, whole tables, and tables to fold out."""

    anchor: str
    title: str
    sentences: list[str]
    beside: Markup | None
    figures: list[Figure]
    parts: list[Markup]
    tables: list[Table]


class Shelf:
    """
    Turns results into what the template shows, and keeps what the page has to carry, each thing once.

    `packed`: by id, what stands in the page as data.
    """

    def __init__(self, results: Results, captions: dict[str, str]):
        self._results, self._captions = results, captions
        self.packed: dict[str, str] = {}

    def figures(self, names: Iterable[str], **wildcards: str) -> list[Figure]:
        """Return those of these figures (`minilm/demo/figures/figure_1`) that there are; wildcards are for captions."""
        found = ((name, self._results.figure(name)) for name in names)
        return [self._figure(name, specification, wildcards) for name, specification in found if specification]

    def _figure(self, name: str, specification: str, wildcards: dict[str, str]) -> Figure:
        caption = self._captions.get(name.rpartition("/")[2], "")
        text = Environment().from_string(caption).render(snakemake={"wildcards": SimpleNamespace(**wildcards)})
        title = json.loads(specification).get("title", {}).get("text", name)
        return Figure(self.keep("figure", name, specification), title, text.strip())

    def tables(self, names: Iterable[str], below: str = "") -> list[Table]:
        """Return those of these tables (`minilm/demo/surface/heads`) that there are, without `below` in their names."""
        found = ((name, self._results.table(name)) for name in names)
        return [self._table(name, table, below) for name, table in found if table is not None]

    def _table(self, name: str, table: pl.DataFrame, below: str) -> Table:
        if "where" in table.columns:
            table = table.with_columns(pl.col("where").map_elements(shareable, return_dtype=pl.String))
        csv, rows = carried(table)
        id = self.keep("table", name, csv)
        few = table.height <= FEW_ROWS
        size = f"{count(table.height, 'row')}, {count(table.width, 'column')}" + (
            "" if few else f"; the first {PREVIEW}"
        )
        first = as_part(table if few else table.head(PREVIEW), name.removeprefix(below))
        preview = Markup(html_table(first, f"{id}-preview", level=4))
        file, whole = name.replace("/", "-"), rows == table.height
        part = "" if whole else f"The first {rows:,} of {table.height:,} rows; results/{name}.csv has all of them."
        file = f"{file}.csv" if whole else f"{file}-first-{rows}-rows.csv"
        return Table(id, name.removeprefix(below), size, file, preview, part)

    def keep(self, kind: str, name: str, text: str) -> str:
        """Take a text into the page as data, and return its id."""
        id = f"{kind}-{anchor(name)}"
        self.packed[id] = packed(text)
        return id


def carried(table: pl.DataFrame) -> tuple[str, int]:
    """
    Return the CSV of a table as the page carries it, and how many rows that has.

    All of them; of a large table as many of the first as `MOST_ROWS` and `MOST_BYTES` (in UTF-8) allow.
    """
    csv = as_csv(table.head(MOST_ROWS))
    rows = min(table.height, MOST_ROWS)
    while rows and len(csv.encode("utf-8")) > MOST_BYTES:
        rows = min(rows - 1, rows * MOST_BYTES // len(csv.encode("utf-8")))
        csv = as_csv(table.head(rows))
    return csv, rows


def anchor(name: str) -> str:
    """Return a name as an id: whatever is no letter, digit, dot, dash or underscore is said by its code."""
    return re.sub(r"[^A-Za-z0-9._-]", lambda letter: f"-{ord(letter[0]):x}-", name)


def as_part(table: pl.DataFrame, heading: str) -> Part:
    """Return a table as a page shows it: four digits of each number, a dash for what is missing."""
    columns = tuple(Column(name, is_text=kind == pl.String) for name, kind in table.schema.items())
    return Part(heading, columns, [[_cell(value) for value in row] for row in table.rows()], [])


def _cell(value) -> str:
    match value:
        case None:
            return MISSING
        case bool():
            return "yes" if value else "no"
        case float():
            return MISSING if value != value else f"{value:.4g}".replace("-", "−", 1) if value < 0 else f"{value:.4g}"
        case _:
            return str(value)


def printed(parts: Iterable[Part], name: str, level: int = 4) -> list[Markup]:
    """Return whole tables as HTML; their headings are called this with a number."""
    return [Markup(html_table(part, f"{name}-{number}", level)) for number, part in enumerate(parts, start=1)]
