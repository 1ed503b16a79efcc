"""Tables for readers, as Markdown and as a page that needs nothing else: what Tables 1 to 3 share."""

import html as markup
import re
from collections.abc import Callable
from dataclasses import dataclass

from headscope.errors import printable
from headscope.files import replacing

PAPER_CHECKPOINT = "bert-base-uncased"
OTHER_MODEL = "This model is not the paper's: its numbers stand here for orientation, not for comparison."
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
class Column:
    """A column: its name, whether it holds words (not numbers), and whether its numbers are the paper's."""

    name: str
    is_text: bool = False
    is_paper: bool = False


@dataclass(frozen=True)
class Part:
    """
    One table of a page: its heading, columns, rows of cells, and the sentences under it.

    `paper` stands above the columns of the paper's numbers and says what they are, on a page only.
    """

    heading: str
    columns: tuple[Column, ...]
    rows: list[list[str]]
    notes: list[str]
    paper: str = ""


def is_papers_model(source: str) -> bool:
    """Tell from where a model is from whether it is the one of Clark et al. 2019."""
    return re.split(r"[/\\:]", source.rstrip("/\\"))[-1] == PAPER_CHECKPOINT


def percent(share: float | None, digits: int = 1) -> str:
    """Return a share in percent, a dash where it is missing (null or NaN)."""
    return MISSING if is_missing(share) else f"{100 * share:.{digits}f}"


def interval(low: float | None, high: float | None, digits: int = 1) -> str:
    """Return an interval of shares in brackets, as it follows a number; empty where there is none."""
    return "" if is_missing(low) or is_missing(high) else f" [{percent(low, digits)}, {percent(high, digits)}]"


def is_missing(number: float | None) -> bool:
    """Tell whether a number is null or NaN."""
    return number is None or number != number


def write_both(html, markdown, render: Callable[[bool], str]):
    """Write what `render` returns, given whether a page is wanted: the page and the Markdown."""
    for path, as_html in ((html, True), (markdown, False)):
        with replacing(path) as temporary:
            temporary.write_text(render(as_html), encoding="utf-8")


def as_markdown(title: str, run: str, parts: list[Part], notes: tuple[str, ...] = ()) -> str:
    """
    Return the tables as Markdown.

    Parameters
    ----------
    run
        What was measured on what: the line under the title.
    notes
        What holds for all tables, at the end.
    """
    blocks = [f"# {plain(title)}", plain(run)]
    for part in parts:
        rule = [":--" if column.is_text else "--:" for column in part.columns]
        names = [column.name for column in part.columns]
        lines = [names, rule, *([plain(cell) for cell in row] for row in part.rows)]
        blocks += [f"## {plain(part.heading)}", "\n".join(f"| {' | '.join(line)} |" for line in lines)]
        blocks += _list(part.notes)
    blocks += ["## Notes", *_list(notes)] if notes else []
    return printable("\n\n".join(blocks) + "\n")


def _list(notes) -> list[str]:
    return ["\n".join(f"- {note}" for note in notes)] if notes else []


def plain(text: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    return MARKDOWN_SIGNS.sub(r"\\\1", " ".join(text.split()))


def as_page(title: str, run: str, parts: list[Part], anchor: str, notes: tuple[str, ...] = (), style: str = "") -> str:
    """
    Return the tables as one HTML page.

    Parameters
    ----------
    run, notes
        As for `as_markdown`.
    anchor
        The headings are called this with a number, for links.
    style
        Further rules of style, each on its line.
    """
    blocks = [html_table(part, f"{anchor}-{number}") for number, part in enumerate(parts, start=1)]
    blocks += [f"<h2>Notes</h2>\n{_html_list(notes)}"] if notes else []
    title, run = map(markup.escape, (title, run))
    return printable(PAGE.format(title=title, style=STYLE + style, run=run, tables="\n".join(blocks)))


def html_table(part: Part, name: str, level: int = 2) -> str:
    """
    Return a table as HTML, between its heading and the sentences under it.

    Parameters
    ----------
    name
        The id of the heading.
    level
        Of the heading, 2 to 6.
    """
    classes = _classes(part.columns)
    head = "".join(
        f'<th scope="col"{kind}>{_with_small(column.name)}</th>'
        for column, kind in zip(part.columns, classes, strict=True)
    )
    body = []
    for first, *others in part.rows:
        cells = [f'<th scope="row"{classes[0]}>{markup.escape(first)}</th>']
        cells += [f"<td{kind}>{_with_small(cell)}</td>" for cell, kind in zip(others, classes[1:], strict=True)]
        body.append(f"<tr>{''.join(cells)}</tr>")
    rows = "\n".join(body)
    return f"""\
<h{level} id="{name}">{markup.escape(part.heading)}</h{level}>
<div class="wide" role="region" aria-labelledby="{name}" tabindex="0">
<table aria-labelledby="{name}">
<thead>{_above(part)}<tr>{head}</tr></thead>
<tbody>
{rows}
</tbody>
</table>
</div>{_html_list(part.notes)}"""


def _above(part: Part) -> str:
    """Return a first row of the head, which says above the columns of the paper what they are."""
    if not part.paper:
        return ""
    ours = sum(not column.is_paper for column in part.columns)
    return (
        f'<tr><td colspan="{ours}"></td><th scope="colgroup" colspan="{len(part.columns) - ours}" '
        f'class="text paper paper-first">{markup.escape(part.paper)}</th></tr>'
    )


def _classes(columns: tuple[Column, ...]) -> list[str]:
    classes, after_ours = [], False
    for column in columns:
        names = ["text"] * column.is_text + ["paper"] * column.is_paper
        names += ["paper-first"] * (column.is_paper and after_ours)
        classes.append(f' class="{" ".join(names)}"' if names else "")
        after_ours = not column.is_paper
    return classes


def _html_list(notes) -> str:
    return "\n<ul>" + "".join(f"<li>{markup.escape(note)}</li>" for note in notes) + "</ul>" if notes else ""


def _with_small(text: str) -> str:
    """Escape a cell and set its bracketed part smaller."""
    return re.sub(r" ([\[(].*[\])])$", r" <small>\1</small>", markup.escape(text))
