"""
What the attention heads of a language model look at: the library of headscope.

One module a subject: corpora, models, encoding, attention, store (the
way of the data), surface (one analysis), statistics, charts. Nothing is imported before it is asked for, so that
`import headscope.charts` needs no torch and the Snakefile needs neither torch nor polars.

For a notebook the names of `__all__` stand here; docs/notebook.md shows them at work.
"""

import importlib

__version__ = "0.1.0"

HOMES = {
    "load_model": "notebook",
    "encode_text": "notebook",
    "encode_treebank": "notebook",
    "attention_of": "notebook",
    "attention_of_all": "notebook",
    "surface_tables": "notebook",
    "syntax_tables": "notebook",
    "figure_2": "charts.figure_2",
    "figure_4": "charts.figure_4",
    "read_table": "tables",
    "result_tables": "tables",
    "Shard": "store",
    "InputError": "errors",
}
"""The module of each public name."""

__all__ = [*HOMES]


def __getattr__(name: str):
    """Import a public name when it is first used (PEP 562)."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *HOMES])
