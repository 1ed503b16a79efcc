"""Choose heads and tokens for figure 1 and take their maps."""

import numpy as np
import polars as pl

from headscope.description import Description
from headscope.encoding import read_encoded
from headscope.jobs import run
from headscope.maps import named_heads, shown_cells, typical_heads, window
from headscope.maps_source import open_maps
from headscope.writing import write_table


def main(description, encoded, heads, attention, maps, maps_csv, live, example, chosen, tokens, **how):
    """Write one row per (panel, query, key) of the tokens shown."""
    described = Description.read(description)
    examples = read_encoded(encoded)
    shown = examples.example(example)
    named = named_heads(chosen, described.layers, described.heads)
    panels = named or typical_heads(pl.read_parquet(heads))
    weights = open_maps(attention, described, examples, live, **how).example(shown["example"])
    positions = window(np.array(shown["kinds"], dtype=np.uint8), tokens)
    write_table(shown_cells(weights, shown["example"], panels, shown["tokens"], positions), maps, maps_csv)


if __name__ == "__main__":
    run(main, snakemake, "device", "budget_mb")
