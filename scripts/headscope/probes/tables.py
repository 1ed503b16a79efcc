"""The tables of the probes: what is counted on each sentence, and what is published."""

import polars as pl

COUNTS = pl.Schema(
    {
        "probe": pl.String,
        "features": pl.String,
        "trained": pl.UInt32,
        "seed": pl.UInt8,
        "example": pl.UInt32,
        "words": pl.UInt16,
        "correct": pl.UInt16,
        "tree_correct": pl.UInt16,
        "edges": pl.UInt16,
        "edges_correct": pl.UInt16,
    }
)
"""
One row per probe, number of training sentences, seed and sentence.

`words`: dependents that count, all but punctuation, the root among them; `correct`: whose head is the most probable
one; `tree_correct`: whose head is that of the maximum spanning tree. `edges`: joins of two words, both no punctuation;
`edges_correct`: those that are joined in the prediction, whichever is the head. Null where a probe has no such thing.
"""

TABLE3 = pl.Schema(
    {
        "probe": pl.String,
        "features": pl.String,
        "uas": pl.Float64,
        "uas_sd": pl.Float64,
        "uas_low": pl.Float64,
        "uas_high": pl.Float64,
        "uuas": pl.Float64,
        "uuas_sd": pl.Float64,
        "uuas_low": pl.Float64,
        "uuas_high": pl.Float64,
        "tree_uas": pl.Float64,
        "tree_uas_sd": pl.Float64,
        "selectivity": pl.Float64,
        "seeds": pl.UInt32,
        "trained": pl.UInt32,
        "sentences": pl.UInt32,
        "words": pl.UInt32,
        "edges": pl.UInt32,
    }
)
"""
`probes/table3`: one row a probe, in the order of `headscope.probes.names.PRINTED`.

`probe`: a key of `PRINTED`; `features`: what it reads, in words. Shares from 0 to 1: means over the runs of different
seed, `_sd` their standard deviation (null for a single run), `_low` and `_high` the 95 % interval of the mean by
bootstrap over sentences. `tree_uas`: with maximum-spanning-tree decoding. `selectivity`: UAS minus that of the same
probe on permuted trees. `trained`: the sentences it was given, the tenth held out for early stopping among them (null:
none); `sentences`, `words`, `edges`: what it was scored on.
"""

CURVE = pl.Schema(
    {
        "probe": pl.String,
        "trained": pl.UInt32,
        "uas": pl.Float64,
        "uas_sd": pl.Float64,
        "uas_low": pl.Float64,
        "uas_high": pl.Float64,
        "uuas": pl.Float64,
        "uuas_sd": pl.Float64,
        "seeds": pl.UInt32,
    }
)
"""`probes/curve`: the same by number of training sentences, all of them last."""

WEIGHTS = pl.Schema(
    {
        "probe": pl.String,
        "layer": pl.UInt16,
        "head": pl.UInt16,
        "direction": pl.String,
        "weight": pl.Float64,
        "weight_sd": pl.Float64,
    }
)
"""
`probes/weights`: what a probe over attention learned for each head, mean and standard deviation over seeds.

`direction`: `dependent_to_head` (w: attention from the dependent to the candidate) or `head_to_dependent` (u);
`weight`: logits per unit of attention; of a probe with words, at the mean word vector of the training words.
"""

COVERAGE = pl.Schema(
    {
        "vectors": pl.String,
        "types": pl.UInt32,
        "known_types": pl.UInt32,
        "tokens": pl.UInt32,
        "known_tokens": pl.UInt32,
    }
)
"""
`probes/coverage`: what the word vectors are, and how many different words (`types`) and words (`tokens`) of the encoded
sentences have one of their own.
"""
