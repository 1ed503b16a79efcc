"""The paper's claims, model by model: as Markdown and as a page that needs nothing else."""

import polars as pl

from headscope.comparison.catalogue import SECTIONS
from headscope.comparison.claims import NOT_APPLICABLE, VERDICTS
from headscope.pages import MISSING, Column, Part, as_markdown, as_page, is_missing, plain

TITLE = "What the paper says, and whether it holds"
ANSWERS = (*VERDICTS.values(), NOT_APPLICABLE)
NOTES = (
    "Claims: Clark et al. 2019, sections 3 to 6. Paper: its own number, for bert-base-uncased on other texts; it "
    "stands here for orientation, not for comparison.",
    "Each value is taken from the result tables of that model and corpus; in brackets its 95 % interval where the "
    "table has one, in parentheses what it rests on. A difference of two numbers with intervals has the widest "
    "interval that these allow.",
    "Holds: the whole interval is as expected; does not hold: none of it is; undecided: part of it is. Without an "
    "interval the value alone says.",
    "The paper gives no bounds for “early”, “broad” or “close”: where a claim compares depths or entropies, the bound "
    "is ours, and such that nearly even attention does not pass it.",
    "The best head is chosen on the sentences or documents that it is scored on, as in the paper: see the held-out "
    "columns of Tables 1 and 2.",
    "Relative depth: layer ÷ number of layers, so the last layer has 1.",
)
STYLE = """
main { max-width: 110rem; }
td { white-space: normal; min-width: 9rem; vertical-align: top; }
td.text { min-width: 13rem; }
tbody th { min-width: min(15rem, 36vw); vertical-align: top; }"""
FORMATS = {
    "share": "{:.1%}",
    "points": "{:+.1%}",
    "nats": "{:+.2f}",
    "number": "{:.3f}",
    "p": "{:.4f}",
    "count": "{:.0f}",
}
UNITS = {"share": " %", "points": " points", "nats": " nats", "number": "", "p": "", "count": ""}


def render_paper_claims(claims: pl.DataFrame, titles: dict[str, str], as_html: bool) -> str:
    """
    Return the table `compare/claims`: how often each model agrees, then a table a section and corpus.

    Parameters
    ----------
    titles
        What a reader sees of each model, in the order of the columns.
    as_html
        A whole page instead of Markdown.
    """
    heads = titles if as_html else {model: plain(title) for model, title in titles.items()}
    parts = [_summary(claims, titles), *paper_claims_parts(claims, heads)]
    run = ", ".join(titles.values())
    if as_html:
        return as_page(TITLE, run, parts, "section", NOTES, STYLE)
    return as_markdown(TITLE, run, parts, NOTES)


def paper_claims_parts(claims: pl.DataFrame, titles: dict[str, str]) -> list[Part]:
    """Return a table for each section and corpus; parameters as of `render_paper_claims`."""
    parts = []
    for section, about in SECTIONS.items():
        of_section = claims.filter(section=section)
        for (corpus,), rows in of_section.group_by("corpus", maintain_order=True):
            shown = {model: title for model, title in titles.items() if model in rows["model"]}
            parts.append(_part(f"Section {section}, {about}: {corpus}", rows, shown))
    return parts


def _summary(claims: pl.DataFrame, titles: dict[str, str]) -> Part:
    rows = []
    for model, title in titles.items():
        answers = claims.filter(model=model)["verdict"]
        rows.append([title, *(str((answers == answer).sum()) for answer in ANSWERS)])
    return Part(
        "How many claims",
        (Column("Model", is_text=True), *(Column(answer.capitalize()) for answer in ANSWERS)),
        rows,
        [],
    )


def _part(heading: str, rows: pl.DataFrame, titles: dict[str, str]) -> Part:
    columns = [
        Column("Claim", is_text=True),
        Column("Measured", is_text=True),
        Column("Paper", is_text=True, is_paper=True),
        *(Column(title, is_text=True) for title in titles.values()),
    ]
    lines = []
    for _, of_claim in rows.group_by("claim", maintain_order=True):
        by_model = {row["model"]: row for row in of_claim.to_dicts()}
        first = next(iter(by_model.values()))
        measured = f"{first['definition']}. Holds if {first['expected']}".replace(" -", " −")
        answers = [answer(by_model[model]) if model in by_model else MISSING for model in titles]
        line = [first["statement"], measured, first["paper"], *answers]
        lines.append([cell.replace(" %", "\N{NO-BREAK SPACE}%") for cell in line])
    return Part(heading, tuple(columns), lines, [])


def answer(row: dict) -> str:
    """Return what was found of a claim, a row of `compare/claims`: verdict, value, interval, what it rests on."""
    if row["verdict"] == NOT_APPLICABLE:
        return f"{MISSING} ({row['detail']})"
    unit = row["unit"]
    cell = f"{row['verdict']}: {_number(row['value'], unit)}{UNITS[unit]}"
    if not is_missing(row["ci_low"]):
        cell += f" [{_number(row['ci_low'], unit)}, {_number(row['ci_high'], unit)}]"
    return cell + (f" ({row['detail']})" if row["detail"] else "")


def _number(value: float, unit: str) -> str:
    return FORMATS[unit].format(value).removesuffix("%").replace("-", "−")
