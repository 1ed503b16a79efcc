"""The columns that count the entries of each kind of key that gradients are averaged over."""

from headscope.keys import KEYS

ENTRIES = tuple(f"{key}_entries" for key in KEYS)
