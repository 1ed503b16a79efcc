"""The kinds of key token that shares, norms and gradients are told apart by, in the order of the tables."""

KEYS = ("cls", "sep", "punctuation", "other")
