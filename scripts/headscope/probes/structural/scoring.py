"""The structural probe on the sentences of a test treebank: how many edges each run finds, sentence by sentence."""

from collections.abc import Iterable

import numpy as np
import polars as pl
import torch

from headscope.encoding import Encoded
from headscope.probes.names import STRUCTURAL
from headscope.probes.structural.decoding import count_edges
from headscope.probes.structural.files import StructuralProbe
from headscope.probes.structural.sentences import centred, refuse_other_words
from headscope.probes.tables import COUNTS
from headscope.probes.trees import Trees
from headscope.states.store import StatesShard


def count_structural(
    shards: Iterable[StatesShard], encoded: Encoded, trees: Trees, probe: StructuralProbe
) -> pl.DataFrame:
    """
    Score every run on every sentence.

    Parameters
    ----------
    shards
        Hidden states of the sentences; only the layer of the probe is read.
    encoded, trees
        The sentences and their trees.

    Returns
    -------
    Columns as `COUNTS`, by seed and example; words, correct and tree_correct are null, for the tree has no heads.

    Raises
    ------
    InputError
        If the shards do not hold every example once, or a tree has another number of words than there are states.
    """
    rows = []
    for shard in shards:
        for examples, (states,) in shard.of_layers([probe.layer]):
            for example, of_one in zip(examples.tolist(), centred(torch.from_numpy(states)), strict=True):
                heads, counted = trees.of(example)
                refuse_other_words(example, len(heads), len(of_one))
                rows.append((example, *count_edges(of_one, probe.projections, heads, counted)))
    examples, edges, correct = zip(*rows, strict=True) if rows else ((), (), ())
    seeds, rank, _ = probe.projections.shape
    encoded.refuse_other_examples(pl.Series("example", examples, pl.UInt32).sort(), "sentences", "states")
    columns = {
        "seed": np.tile(np.arange(seeds), len(examples)),
        "example": np.repeat(np.array(examples, np.uint32), seeds),
        "edges": np.repeat(np.array(edges, np.uint16), seeds),
        "edges_correct": np.concatenate(correct) if correct else [],
    }
    said = {"probe": STRUCTURAL, "features": f"states of layer {probe.layer}, rank {rank}", "trained": probe.trained}
    constants = [pl.lit(value).alias(name) for name, value in said.items()]
    nothing = [pl.lit(None).alias(name) for name in COUNTS if name not in columns | said]
    table = pl.DataFrame(columns).with_columns(*constants, *nothing)
    return table.select(*COUNTS).cast(COUNTS).sort("seed", "example")
