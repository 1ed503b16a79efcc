"""What the probes are called, in files, in tables and in print, and what the paper's own reached."""

from typing import NamedTuple

RIGHT_BRANCHING = "right-branching"
BEST_OFFSET = "best offset"
STRUCTURAL = "structural"
ATTENTION = "attention"
ATTENTION_WORDS = "attention+words"
DISTANCES_WORDS = "distances+words"
CONTROL = ".control"  # ends the name of a probe that learns from permuted trees
RANDOM = ".random"  # ends the name of a probe over the random twin of the model


class Learned(NamedTuple):
    """What a probe that is trained reads: attention maps, distances, word vectors; and whether trees are permuted."""

    attention: bool
    distances: bool
    words: bool
    control: bool


LEARNED = {
    ATTENTION: Learned(attention=True, distances=False, words=False, control=False),
    ATTENTION_WORDS: Learned(attention=True, distances=False, words=True, control=False),
    DISTANCES_WORDS: Learned(attention=False, distances=True, words=True, control=False),
    ATTENTION + CONTROL: Learned(attention=True, distances=False, words=False, control=True),
    ATTENTION_WORDS + CONTROL: Learned(attention=True, distances=False, words=True, control=True),
}
"""The probes that `train_probe` learns, by the name of their file."""

CURVES = (ATTENTION, ATTENTION_WORDS)
"""The probes that are also learned from fewer sentences."""

PRINTED = {
    RIGHT_BRANCHING: "Right-branching",
    BEST_OFFSET: "Best fixed offset",
    DISTANCES_WORDS: "Distances + words",
    ATTENTION + RANDOM: "Attention, random init",
    ATTENTION_WORDS + RANDOM: "Attention + words, random init",
    ATTENTION: "Attention",
    ATTENTION_WORDS: "Attention + words",
    ATTENTION + CONTROL: "Attention, permuted trees",
    ATTENTION_WORDS + CONTROL: "Attention + words, permuted trees",
    STRUCTURAL: "Structural probe",
}
"""Every row of Table 3, in its order."""

PAPER_UAS = {
    RIGHT_BRANCHING: 26,
    DISTANCES_WORDS: 58,
    ATTENTION_WORDS + RANDOM: 30,
    ATTENTION: 61,
    ATTENTION_WORDS: 77,
}
PAPER_UUAS = {STRUCTURAL: 80}
"""Clark et al. 2019, table 3, per cent: bert-base-uncased on the Penn Treebank, words as GloVe vectors."""
