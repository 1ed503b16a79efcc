"""Choose relations and sentences for figure 5 by a stated rule and take their maps."""

import polars as pl

from headscope.description import Description
from headscope.encoding import read_encoded
from headscope.jobs import run
from headscope.maps_source import open_maps
from headscope.syntax.examples import EXAMPLES, sentences_to_show, shown_words
from headscope.syntax.names import relations_to_show
from headscope.writing import write_table


def main(description, encoded, trees, table1, attention, examples, examples_csv, live, scheme, relations, rare, **how):
    """Write one row per cell of each sentence shown."""
    described, sentences = Description.read(description), read_encoded(encoded)
    read = pl.read_parquet(trees).filter(pl.col("example").is_in(sentences.table["example"].implode()))
    maps, parts = open_maps(attention, described, sentences, live, **how), [EXAMPLES.to_frame()]
    for row in relations_to_show(pl.read_parquet(table1), scheme, relations, rare).iter_rows(named=True):
        for rank, number in enumerate(sentences_to_show(read, row["scheme"], row["relation"]), start=1):
            kinds = sentences.example(number)["kinds"]
            parts.append(shown_words(row, rank, read.filter(example=number), kinds, maps.example(number)))
    write_table(pl.concat(parts), examples, examples_csv)


if __name__ == "__main__":
    run(main, snakemake, "device", "budget_mb")
