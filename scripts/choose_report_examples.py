"""Choose the examples that the report's explorer shows, take their maps, and count all examples."""

import polars as pl

from headscope.description import Description
from headscope.encoding import read_encoded
from headscope.files import replacing
from headscope.jobs import run
from headscope.maps_source import open_maps
from headscope.report.examples import SHOWN, counts_of, examples_to_show, shown_example
from headscope.seals import sealed_json
from headscope.store import on_host
from headscope.writing import write_table


def main(description, encoded, attention, shown, counted, live, number, most, kind, **how):
    """Write one row an example: its tokens or words, and its maps quantised for display; and the counts as JSON."""
    described, examples = Description.read(description), read_encoded(encoded)
    maps, rows = open_maps(attention, described, examples, live, **how), []
    for chosen in examples_to_show(examples, number, most):
        weights = on_host(maps.example(chosen))
        rows.append(shown_example(examples.example(chosen), weights, most, of_words=kind != "text"))
    write_table(pl.DataFrame(rows, SHOWN, orient="row"), shown)
    with replacing(counted) as temporary:
        temporary.write_text(sealed_json(counts_of(examples)), encoding="utf-8")


if __name__ == "__main__":
    run(main, snakemake, "device", "budget_mb")
