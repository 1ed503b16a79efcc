"""Choose the passage that figure 5 shows by a stated rule and take what the best head does in it."""

import polars as pl

from headscope.coreference.cut import cut_mentions
from headscope.coreference.passages import CANDIDATES, passage_to_show, shown_passage
from headscope.description import Description
from headscope.encoding import read_encoded, word_rows
from headscope.jobs import run
from headscope.maps_source import open_maps
from headscope.writing import write_table


def main(
    description,
    encoded,
    documents,
    mentions,
    table2,
    attention,
    links,
    links_csv,
    passage,
    passage_csv,
    live,
    document,
    **how,
):
    """Write the tables coreference/links and coreference/passage; `document` None leaves the choice to the rule."""
    described, examples = Description.read(description), read_encoded(encoded)
    texts = pl.read_parquet(documents)
    kept, _ = cut_mentions(pl.read_parquet(mentions), examples)
    number, words = passage_to_show(texts, kept, examples, document)
    weights = open_maps(attention, described, examples, live, **how).example(number)
    rows = word_rows(examples.example(number)["kinds"])
    best = pl.read_parquet(table2).filter(candidates=CANDIDATES, predictor="head").row(0, named=True)
    text = texts.filter(example=number).row(0, named=True)
    shown, words_shown = shown_passage(best, text, kept.filter(example=number), weights[..., rows, rows], words)
    write_table(shown, links, links_csv)
    write_table(words_shown, passage, passage_csv)


if __name__ == "__main__":
    run(main, snakemake, "device", "budget_mb")
