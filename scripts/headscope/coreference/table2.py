"""Table 2, which candidate a mention picks as its antecedent: as Markdown and as a page that needs nothing else."""

import polars as pl

from headscope.coreference.names import CANDIDATE_NAMES, PREDICTORS, TYPE_NAMES, predictor_name
from headscope.pages import (
    MISSING,
    OTHER_MODEL,
    Column,
    Part,
    as_markdown,
    as_page,
    interval,
    is_papers_model,
    percent,
)

# Clark et al. 2019, table 2: bert-base-uncased on CoNLL-2012, documents cut to 128 tokens.
# Predictor: accuracy on all mentions, pronouns, proper nouns, nominals.
PAPER = {
    "nearest": (27, 29, 29, 19),
    "head_match": (52, 47, 67, 40),
    "rules": (69, 70, 77, 60),
    "head": (65, 64, 73, 58),
}
PAPER_CANDIDATES = "mentions"
PAPER_RUN = "Clark et al. 2019: bert-base-uncased on CoNLL-2012"
PAPER_NOTES = (
    "Paper: Clark et al. 2019, table 2: bert-base-uncased on CoNLL-2012, documents cut to 128 tokens; its best head is "
    "5-4. Its candidates were never published: they are not known to be those of this table.",
)
SAME_MODEL = "This model is the paper's. Where the corpus, the cut or the candidates differ, so may the numbers."
NOTES = (
    "Accuracy in percent, with its 95 % interval by bootstrap over documents; n is the number of mentions scored.",
    "Scored is a mention with an earlier mention of its entity in the document, as far as the model reads it. The type "
    "of a mention is that of its head word.",
    "A head is right when the candidate with the most attention is the head word of another mention of the entity; "
    "where the candidates are earlier mentions, of an earlier one.",
    "Held out: the head is chosen on one half of the documents and scored on the other; the mean of both halves.",
    "Nearest: the nearest candidate. Same head word: the nearest with the mention's head word, else the nearest.",
    "Four-sieve rules: the first that any candidate passes of (1) the same full string, (2) the same head word, (3) "
    "agreement in number, gender and person, (4) any; of those that pass it, the nearest.",
)
CAUSAL_NOTE = (
    "This model is causal: a word attends only to words before it. So an earlier mention never attends to the anaphor "
    "(“antecedent to anaphor” finds none among earlier mentions), and “anaphor to antecedent” finds none after it; "
    "these count in n, as misses."
)
STYLE = """
main { max-width: 78rem; }
th.paper, td.paper { padding-inline: .5rem; }
tbody th { min-width: min(13rem, 36vw); }
thead [colspan] { white-space: normal; }"""
TITLE = "Table 2: which head finds the antecedent"
PREDICTOR = Column("Predictor", is_text=True)
PAPER_COLUMNS = tuple(Column(f"{name.capitalize()} (paper)", is_paper=True) for name in TYPE_NAMES.values())


def render_table2(
    table2: pl.DataFrame, model: str, corpus: str, source: str, as_html: bool, causal: bool = False
) -> str:
    """
    Return Table 2, one table a set of candidates; the paper's numbers stand beside those over earlier mentions.

    Parameters
    ----------
    table2
        The table `coreference/table2`.
    source
        Where the model is from, which says whether it is the paper's.
    as_html
        A whole page instead of Markdown.
    causal
        Whether the model sees no later word: then the notes say what its heads cannot find.
    """
    notes = (*NOTES, CAUSAL_NOTE) if causal else NOTES
    parts = table2_parts(table2, source)
    run = f"{model} on {corpus}"
    if as_html:
        return as_page(TITLE, run, parts, anchor="candidates", notes=notes, style=STYLE)
    return as_markdown(TITLE, run, parts, notes=notes)


def table2_parts(table2: pl.DataFrame, source: str) -> list[Part]:
    """Return the tables that `render_table2` prints; parameters as there."""
    return [
        _part(rows, candidates, SAME_MODEL if is_papers_model(source) else OTHER_MODEL)
        for (candidates,), rows in table2.group_by("candidates", maintain_order=True)
    ]


def _part(table2: pl.DataFrame, candidates: str, about_model: str) -> Part:
    with_paper = candidates == PAPER_CANDIDATES
    by_predictor = {row["predictor"]: row for row in table2.to_dicts()}
    rows = [
        _cells(by_predictor[predictor]) + (_paper_cells(predictor) if with_paper else [])
        for predictor in PREDICTORS
        if predictor in by_predictor
    ]
    return Part(
        f"Candidates: {CANDIDATE_NAMES[candidates]}",
        (PREDICTOR, *_columns(table2), *(PAPER_COLUMNS if with_paper else ())),
        rows,
        [*PAPER_NOTES, about_model] if with_paper else [],
        PAPER_RUN if with_paper else "",
    )


def _columns(table2: pl.DataFrame) -> list[Column]:
    counts = table2.select(pl.max(f"{kind}_total" for kind in TYPE_NAMES)).row(0)
    names = zip(TYPE_NAMES.values(), counts, strict=True)
    return [Column(f"{name.capitalize()} (n = {count or 0:,})") for name, count in names]


def _cells(row: dict) -> list[str]:
    return [predictor_name(row), *(_accuracy(row, kind) for kind in TYPE_NAMES)]


def _accuracy(row: dict, kind: str) -> str:
    """Return an accuracy with its interval, if it has one: a single document gives none."""
    return percent(row[f"{kind}_accuracy"]) + interval(row[f"{kind}_ci_low"], row[f"{kind}_ci_high"])


def _paper_cells(predictor: str) -> list[str]:
    return [str(accuracy) for accuracy in PAPER.get(predictor, [MISSING] * len(PAPER_COLUMNS))]
