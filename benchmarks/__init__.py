"""
Speed and memory against a reference in the same run; `make bench` writes the table into README.md.

Ratios, because machines differ and are shared: each run of ours is paired with one of the reference, and the median
of the pairs is what counts.
"""
