"""Which maps to show: a few heads that stand for a behaviour, and a part of an example that fits on a page."""

from typing import NamedTuple

import numpy as np
import polars as pl

from headscope.encoding import Kind
from headscope.errors import InputError
from headscope.store import on_host

BEHAVIOURS = {
    "entropy": "broad ({:.1f} nats)",
    "to_next": "to the next token ({:.0%})",
    "to_sep": "to the separator ({:.0%})",
    "to_punctuation": "to punctuation ({:.0%})",
}
MAPS = pl.Schema(
    {
        "example": pl.UInt32,
        "panel": pl.String,
        "layer": pl.UInt16,
        "head": pl.UInt16,
        "query": pl.UInt32,
        "key": pl.UInt32,
        "query_token": pl.String,
        "key_token": pl.String,
        "weight": pl.Float32,
    }
)


class Panel(NamedTuple):
    """A head to show and what it stands for; layer and head from 1."""

    title: str
    layer: int
    head: int


def typical_heads(heads: pl.DataFrame) -> list[Panel]:
    """
    Pick one head for each behaviour: the one with the highest mean, no head twice.

    Parameters
    ----------
    heads
        The table `surface/heads`. A behaviour that the model cannot have (no separator) is left out.
    """
    panels = []
    for measure, behaviour in BEHAVIOURS.items():
        chosen = pl.DataFrame([panel[1:] for panel in panels], {"layer": pl.UInt16, "head": pl.UInt16}, orient="row")
        free = heads.filter(pl.col(measure).is_not_null()).join(chosen, on=["layer", "head"], how="anti")
        if not free.is_empty():
            best = free.sort(measure, "layer", "head", descending=[True, False, False]).row(0, named=True)
            title = f"{best['layer']}-{best['head']} {behaviour.format(best[measure])}"
            panels.append(Panel(title, best["layer"], best["head"]))
    return panels


def named_heads(names: list[str], layers: int, heads: int) -> list[Panel]:
    """
    Turn `3-1` into a panel.

    Raises
    ------
    InputError
        If the model has no such head.
    """
    panels = [Panel(name, *map(int, name.split("-"))) for name in names]
    for panel in panels:
        if panel.layer > layers or panel.head > heads:
            raise InputError(
                f"figure_1.heads: expected layers up to {layers} and heads up to {heads}, found {panel.title}; "
                "name a head that the model has"
            )
    return panels


def window(kinds: np.ndarray, tokens: int) -> np.ndarray:
    """
    Choose which tokens of an example to show.

    Parameters
    ----------
    kinds
        The `Kind` of each token, uint8 (token,).
    tokens
        How many to show at most; special tokens are shown even beyond that.

    Returns
    -------
    positions, from 0 and ascending: all of a short example, else the special tokens and those nearest to the first
    separator (to the start where there is none).
    """
    special = ~np.isin(kinds, (Kind.TEXT, Kind.PUNCTUATION))
    separators = np.flatnonzero(kinds == Kind.SEP)
    centre = separators[0] if len(separators) else 0
    by_distance = np.argsort(np.abs(np.arange(len(kinds)) - centre), kind="stable")
    nearest = by_distance[~special[by_distance]][: max(0, tokens - special.sum())]
    return np.sort(np.concatenate([np.flatnonzero(special), nearest]))


def shown_cells(
    weights: np.ndarray, example: int, panels: list[Panel], tokens: list[str], positions: np.ndarray
) -> pl.DataFrame:
    """
    Return the cells of the chosen maps as a table, one row per (panel, query, key).

    Parameters
    ----------
    weights
        Maps of one example (layer, head, query, key).
    example, tokens
        Its number and its tokens.
    positions
        The tokens to show, from 0. Weights are as in the whole map: rows do not sum to one over a part of the keys.
    """
    query, key = (axis.ravel() for axis in np.meshgrid(positions, positions, indexing="ij"))
    names = np.array(tokens, dtype=object)
    parts = [
        pl.DataFrame(
            {
                "example": [example] * len(query),
                "panel": [title] * len(query),
                "layer": [layer] * len(query),
                "head": [head] * len(query),
                "query": query + 1,
                "key": key + 1,
                "query_token": names[query],
                "key_token": names[key],
                "weight": on_host(weights[layer - 1, head - 1])[query, key].astype(np.float32),
            },
            MAPS,
        )
        for title, layer, head in panels
    ]
    return pl.concat(parts)
