"""Table 1, which head follows which relation: as Markdown and as a page that needs nothing else."""

import polars as pl

from headscope.pages import MISSING, Column, Part, as_markdown, as_page, is_papers_model, percent
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
PAPER_SCHEME = "stanford"
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
CAUSAL_NOTE = (
    "This model is causal: a word attends only to words before it. So “dependent to head” finds only heads before "
    "their dependent, and “head to dependent” only dependents before their head; all others count in n, as misses."
)
TITLE = "Table 1: which head follows which relation"
COLUMNS = (
    Column("Relation", is_text=True),
    Column("n"),
    Column("Head"),
    Column("Direction", is_text=True),
    Column("Accuracy [95 % interval]"),
    Column("Held out"),
    Column("Baseline (offset)"),
)
PAPER_COLUMNS = tuple(Column(name, is_paper=True) for name in ("Head (paper)", "Accuracy (paper)", "Baseline (paper)"))


def render_table1(
    table1: pl.DataFrame, model: str, corpus: str, source: str, rare: int, as_html: bool, causal: bool = False
) -> str:
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
    causal
        Whether the model sees no later word: then the notes say what its heads cannot find.
    """
    parts = table1_parts(table1, source, rare, causal)
    run = f"{model} on {corpus}"
    return as_page(TITLE, run, parts, anchor="scheme") if as_html else as_markdown(TITLE, run, parts)


def table1_parts(table1: pl.DataFrame, source: str, rare: int, causal: bool = False) -> list[Part]:
    """Return the tables that `render_table1` prints; parameters as there."""
    seen = (CAUSAL_NOTE,) if causal else ()
    return [
        _part(table1, scheme, rare, is_papers_model(source) and scheme == PAPER_SCHEME, seen)
        for scheme in table1["scheme"].unique(maintain_order=True)
    ]


def _part(table1, scheme, rare, with_paper, seen) -> Part:
    shown, left_out = common_relations(table1, scheme, rare)
    rows = [_cells(row) + (_paper_cells(row["relation"]) if with_paper else []) for row in shown.to_dicts()]
    notes = [*filter(None, [left_out_sentence(left_out, rare)]), *NOTES, *seen, *(PAPER_NOTES if with_paper else ())]
    return Part(scheme_name(scheme), COLUMNS + (PAPER_COLUMNS if with_paper else ()), rows, notes)


def _cells(row: dict) -> list[str]:
    return [
        row["relation"],
        f"{row['total']:,}",
        f"{row['layer']}-{row['head']}",
        DIRECTION_NAMES[row["direction"]],
        f"{percent(row['accuracy'])} [{percent(row['ci_low'])}, {percent(row['ci_high'])}]",
        percent(row["held_out_accuracy"]),
        f"{percent(row['baseline_accuracy'])} ({signed(row['baseline_offset'])})",
    ]


def _paper_cells(relation: str) -> list[str]:
    if relation not in PAPER:
        return [MISSING] * len(PAPER_COLUMNS)
    head, accuracy, baseline, offset = PAPER[relation]
    return [head, f"{accuracy:.1f}", f"{baseline:.1f} ({signed(offset)})"]
