"""Table 3, how much of the trees all heads hold together: as Markdown and as a page that needs nothing else."""

import polars as pl

from headscope.pages import (
    MISSING,
    OTHER_MODEL,
    Column,
    Part,
    as_markdown,
    as_page,
    interval,
    is_missing,
    is_papers_model,
    percent,
    plain,
)
from headscope.probes.names import CONTROL, PAPER_UAS, PAPER_UUAS, PRINTED

COLUMNS = (
    Column("Probe", is_text=True),
    Column("Features", is_text=True),
    Column("UAS [95 % interval]"),
    Column("UUAS [95 % interval]"),
    Column("UAS, tree"),
    Column("Selectivity"),
    Column("Runs"),
    Column("UAS (paper)", is_paper=True),
)
NOTES = (
    "In percent: the mean over the runs ± their standard deviation; in brackets the 95 % interval of the mean by "
    "bootstrap over sentences. Every run has its own beginning, order and held-out tenth of the sentences.",
    "UAS: words whose most probable head is the right one. Punctuation does not count, the root of a sentence does.",
    "UUAS: edges of the tree between two words that the prediction has too, whichever end is the head; edges of "
    "punctuation do not count.",
    "UAS, tree: the heads are those of the maximum spanning tree, so that they make a tree.",
    "Permuted trees: each sentence is given the tree of another sentence of the same length, so every position keeps "
    "its distribution of heads; learned and scored so, where a sentence that alone has its length does not count. "
    "Selectivity: UAS minus that of the same probe on permuted trees, in points.",
    "Right-branching: the next word is the head. Best fixed offset: the word so many places away is, the offset chosen "
    "on the sentences to learn from. Random init: the same probe over the model with random weights.",
    "Features: what a probe reads; word vectors are static and are not learned.",
)
TRAINED = "Trained on {trained} sentences of {train}, a tenth of them held out for early stopping."
SCORED = "Scored on {sentences} sentences of {corpus}: {words} words, {edges} edges."
PAPER_NOTE = (
    "Paper: Clark et al. 2019, table 3: bert-base-uncased on the Penn Treebank, words as GloVe vectors; of the "
    "structural probe (Hewitt and Manning 2019) the UUAS."
)
SAME_MODEL = "This model is the paper's. Where the trees, the word vectors or the training differ, so may the numbers."
STYLE = """
main { max-width: 84rem; }
th, td { padding-inline: .5rem; }
td.text { white-space: normal; min-width: 11rem; }
tbody th { min-width: min(12rem, 36vw); }"""
TITLE = "Table 3: what probes over all heads know of the trees"
HEADING = "Probes"


def render_table3(table3: pl.DataFrame, model: str, corpus: str, source: str, train: str, as_html: bool) -> str:
    """
    Return Table 3: the baselines, the probes over attention, their controls, and the structural probe.

    Parameters
    ----------
    table3
        The table `probes/table3`, rows in any order; what is not in it has no row.
    source
        Where the model is from, which says whether it is the paper's.
    train
        The name of the treebank that the probes learned from.
    as_html
        A whole page instead of Markdown.
    """
    part = table3_part(table3)
    run = f"{model} on {corpus}"
    names = {"train": train, "corpus": corpus}
    if as_html:
        return as_page(TITLE, run, [part], "probes", table3_notes(table3, source, names), STYLE)
    shown = {key: plain(name) for key, name in names.items()}
    return as_markdown(TITLE, run, [part], table3_notes(table3, source, shown))


def table3_part(table3: pl.DataFrame) -> Part:
    """Return the table that `render_table3` prints."""
    rows = [_cells(row) for probe in PRINTED for row in table3.filter(probe=probe).to_dicts()]
    return Part(HEADING, COLUMNS, rows, [])


def table3_notes(table3: pl.DataFrame, source: str, names: dict[str, str]) -> tuple[str, ...]:
    """Return what `render_table3` says under it; `names` are the treebanks, of which `train` was learned from."""
    real = table3.filter(~pl.col("probe").str.ends_with(CONTROL))
    counts = {name: _range(real[name]) for name in ("trained", "sentences", "words", "edges")}
    return (
        *([TRAINED.format(**counts, **names)] if counts["trained"] != MISSING else []),
        *([SCORED.format(**counts, **names)] if counts["sentences"] != MISSING else []),
        *NOTES,
        PAPER_NOTE,
        SAME_MODEL if is_papers_model(source) else OTHER_MODEL,
    )


def _range(counts: pl.Series) -> str:
    """Return the one count of all probes, or the lowest and highest; a dash where no probe has any."""
    known = sorted(set(counts.drop_nulls()))
    return " to ".join(f"{count:,}" for count in dict.fromkeys(known[:1] + known[-1:])) or MISSING


def _cells(row: dict) -> list[str]:
    return [
        PRINTED[row["probe"]],
        row["features"] or MISSING,
        _score(row, "uas") + interval(row["uas_low"], row["uas_high"]),
        _score(row, "uuas") + interval(row["uuas_low"], row["uuas_high"]),
        _score(row, "tree_uas"),
        percent(row["selectivity"]).replace("-", "−"),
        MISSING if row["trained"] is None else str(row["seeds"]),
        _paper(row["probe"]),
    ]


def _score(row: dict, name: str) -> str:
    """Return the mean and, of several runs, their standard deviation."""
    deviation = "" if is_missing(row[f"{name}_sd"]) else f" ± {percent(row[f'{name}_sd'])}"
    return percent(row[name]) + ("" if is_missing(row[name]) else deviation)


def _paper(probe: str) -> str:
    if probe in PAPER_UUAS:
        return f"{PAPER_UUAS[probe]} (UUAS)"
    return str(PAPER_UAS.get(probe, MISSING))
