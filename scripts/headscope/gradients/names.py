"""The kinds of keys that gradients are averaged over, in the order of the tables, and the columns of their counts."""

KEYS = ("cls", "sep", "punctuation", "other")
ENTRIES = tuple(f"{key}_entries" for key in KEYS)
