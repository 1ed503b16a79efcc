"""Table 1, which head follows which relation: as Markdown and as a page that needs nothing else."""

import html as markup
import re
from dataclasses import dataclass

import polars as pl

from headscope.syntax.names import DIRECTION_NAMES, common_relations, left_out_sentence, scheme_name, signed

# Clark et al. 2019, table 1: bert-base-uncased on the Wall Street Journal part of the Penn Treebank, dev set.
# Relation: head, accuracy, baseline, its offset. The row auxpass is that of the authors' notebook.
PAPER = {
    "all": ("7-6", 34.5, 26.3, 1),
    "prep": ("7-4", 66.7, 61.8, -1),
    "pobj": ("9-6", 76.3, 34.6, -2),
    "det": ("8-11", 94.3, 51.7, 1),
    "nn": ("4-10", 70.4, 70.2, 1),
    "nsubj": ("8-2", 58.5, 45.5, 1),
    "amod": ("4-10", 75.6, 68.3, 1),
    "dobj": ("8-10", 86.8, 40.0, -2),
    "advmod": ("7-6", 48.8, 40.2, 1),
    "aux": ("4-10", 81.1, 71.5, 1),
    "poss": ("7-6", 80.5, 47.7, 1),
    "auxpass": ("4-10", 94.1, 82.5, 1),
    "ccomp": ("8-1", 48.8, 12.4, -2),
    "mark": ("8-2", 50.7, 14.5, 2),
    "prt": ("6-7", 99.1, 91.4, -1),
}
PAPER_SCHEME, PAPER_CHECKPOINT = "stanford", "bert-base-uncased"
PAPER_NOTES = (
    "Paper: Clark et al. 2019, table 1 (Wall Street Journal part of the Penn Treebank), offsets −3 to 2; its row "
    "“all” counts punctuation and roots too.",
    "For auxpass the paper prints 82.5 and 40.5, a shifted row; the numbers here are those of the authors' notebook.",
)
NOTES = (
    "Accuracy in percent, with its 95 % interval by bootstrap over sentences.",
    "Held out: the head is chosen on one half of the sentences and scored on the other.",
    "Baseline: the best fixed offset; +1 takes the next word for the head, −1 the word before.",
)
TITLE = "Table 1: which head follows which relation"
COLUMNS = ("Relation", "n", "Head", "Direction", "Accuracy [95 % interval]", "Held out", "Baseline (offset)")
PAPER_COLUMNS = ("Head (paper)", "Accuracy (paper)", "Baseline (paper)")
TEXT_COLUMNS = {"Relation", "Direction"}
MISSING = "–"
MARKDOWN_SIGNS = re.compile(r"([\\`*_{}\[\]<>|#&~])")
PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p class="run">{run}</p>
{tables}
</main>
</body>
</html>
"""
STYLE = """\
:root { color-scheme: light dark; }
:root { --ink: #1b1f24; --quiet: #57606a; --line: #d5dae0; --paper: #ffffff; --band: #f5f7f9; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ed; --quiet: #a3acb6; --line: #3a424b; --paper: #14181d; --band: #1c2228; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 72rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; overflow-wrap: anywhere; }
h1 { margin: 0; font-size: 1.5rem; line-height: 1.25; }
h2 { margin: 2rem 0 .5rem; font-size: 1.15rem; }
.run { margin: .25rem 0 0; color: var(--quiet); }
.wide { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
.wide:focus-visible { outline: 3px solid #4a90d9; outline-offset: 2px; }
table { width: 100%; border-collapse: collapse; font-size: .95rem; }
table { font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { padding: .35rem .75rem; text-align: right; font-weight: normal; }
thead th { padding-block: .5rem; vertical-align: bottom; border-bottom: 2px solid var(--line); font-weight: 600; }
thead th small { display: block; color: var(--quiet); font-weight: normal; }
tbody tr + tr > * { border-top: 1px solid var(--line); }
tbody tr > * { background: var(--paper); }
tbody tr:nth-child(even) > * { background: var(--band); }
tbody th { font-weight: 600; white-space: normal; min-width: 6rem; }
tr > th:first-child { position: sticky; left: 0; }
thead th { background: var(--paper); }
.text { text-align: left; }
.paper { color: var(--quiet); }
.paper-first { border-left: 1px solid var(--line); }
td small { color: var(--quiet); font-size: .85em; }
ul { margin: .75rem 0 0; padding-left: 1.1rem; color: var(--quiet); font-size: .9rem; }"""


@dataclass(frozen=True)
class _Part:
    """The table of one scheme: columns, rows of cells, and the sentences under it."""

    scheme: str
    columns: tuple[str, ...]
    rows: list[list[str]]
    notes: list[str]


def render_table1(table1: pl.DataFrame, model: str, corpus: str, source: str, rare: int, as_html: bool) -> str:
    """
    Return Table 1, one table a scheme: `all` first, then the relations by falling number of dependents.

    Parameters
    ----------
    table1
        The table `syntax/table1`.
    source
        Where the model is from; beside bert-base-uncased stand the numbers of the paper (scheme `stanford` only).
    rare
        A relation with fewer dependents is left out, and counted under the table.
    as_html
        A whole page instead of Markdown.
    """
    is_papers_model = re.split(r"[/\\:]", source.rstrip("/\\"))[-1] == PAPER_CHECKPOINT
    parts = [
        _part(table1, scheme, rare, is_papers_model and scheme == PAPER_SCHEME)
        for scheme in table1["scheme"].unique(maintain_order=True)
    ]
    run = f"{model} on {corpus}"
    return _page(parts, run) if as_html else _markdown(parts, run)


def _part(table1, scheme, rare, with_paper) -> _Part:
    shown, left_out = common_relations(table1, scheme, rare)
    rows = [_cells(row) + (_paper_cells(row["relation"]) if with_paper else []) for row in shown.to_dicts()]
    notes = [*filter(None, [left_out_sentence(left_out, rare)]), *NOTES, *(PAPER_NOTES if with_paper else ())]
    return _Part(scheme, COLUMNS + (PAPER_COLUMNS if with_paper else ()), rows, notes)


def _cells(row: dict) -> list[str]:
    return [
        row["relation"],
        f"{row['total']:,}",
        f"{row['layer']}-{row['head']}",
        DIRECTION_NAMES[row["direction"]],
        f"{_percent(row['accuracy'])} [{_percent(row['ci_low'])}, {_percent(row['ci_high'])}]",
        _percent(row["held_out_accuracy"]),
        f"{_percent(row['baseline_accuracy'])} ({signed(row['baseline_offset'])})",
    ]


def _paper_cells(relation: str) -> list[str]:
    if relation not in PAPER:
        return [MISSING] * len(PAPER_COLUMNS)
    head, accuracy, baseline, offset = PAPER[relation]
    return [head, f"{accuracy:.1f}", f"{baseline:.1f} ({signed(offset)})"]


def _percent(share: float | None) -> str:
    return MISSING if share is None or share != share else f"{100 * share:.1f}"


def _markdown(parts: list[_Part], run: str) -> str:
    blocks = [f"# {TITLE}", _plain(run)]
    for part in parts:
        rule = [":--" if column in TEXT_COLUMNS else "--:" for column in part.columns]
        lines = [part.columns, rule, *([_plain(cell) for cell in row] for row in part.rows)]
        blocks += [
            f"## {_plain(scheme_name(part.scheme))}",
            "\n".join(f"| {' | '.join(line)} |" for line in lines),
            "\n".join(f"- {note}" for note in part.notes),
        ]
    return "\n\n".join(blocks) + "\n"


def _plain(text: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    return MARKDOWN_SIGNS.sub(r"\\\1", " ".join(text.split()))


def _page(parts: list[_Part], run: str) -> str:
    return PAGE.format(
        title=TITLE,
        style=STYLE,
        run=markup.escape(run),
        tables="\n".join(_html_table(part, number) for number, part in enumerate(parts, start=1)),
    )


def _html_table(part: _Part, number: int) -> str:
    classes = [_classes(column) for column in part.columns]
    head = "".join(
        f'<th scope="col"{kind}>{_with_small(column)}</th>' for column, kind in zip(part.columns, classes, strict=True)
    )
    body = []
    for first, *others in part.rows:
        cells = [f'<th scope="row"{classes[0]}>{markup.escape(first)}</th>']
        cells += [f"<td{kind}>{_with_small(cell)}</td>" for cell, kind in zip(others, classes[1:], strict=True)]
        body.append(f"<tr>{''.join(cells)}</tr>")
    notes = "".join(f"<li>{markup.escape(note)}</li>" for note in part.notes)
    rows = "\n".join(body)
    return f"""\
<h2 id="scheme-{number}">{markup.escape(scheme_name(part.scheme))}</h2>
<div class="wide" role="region" aria-labelledby="scheme-{number}" tabindex="0">
<table aria-labelledby="scheme-{number}">
<thead><tr>{head}</tr></thead>
<tbody>
{rows}
</tbody>
</table>
</div>
<ul>{notes}</ul>"""


def _classes(column: str) -> str:
    names = ["text"] * (column in TEXT_COLUMNS) + ["paper"] * (column in PAPER_COLUMNS)
    names += ["paper-first"] * (column == PAPER_COLUMNS[0])
    return f' class="{" ".join(names)}"' if names else ""


def _with_small(text: str) -> str:
    """Escape a cell and set its bracketed part smaller."""
    return re.sub(r" ([\[(].*[\])])$", r" <small>\1</small>", markup.escape(text))
