"""
What the attention heads of a language model look at: the library of headscope.

One module a subject: corpora, models, encoding, attention, store (the
way of the data), surface (one analysis), statistics, charts. Nothing is imported before it is asked for, so that
`import headscope.charts` needs no torch and the Snakefile needs neither torch nor polars.
"""

__version__ = "0.1.0"
