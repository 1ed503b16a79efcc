"""Which examples the report's explorer shows, and their maps, quantised for display."""

import numpy as np
import polars as pl

from headscope.encoding import Encoded
from headscope.maps import window

LEVELS = 255  # of an attention weight as it is shown
SHOWN = pl.Schema(
    {
        "example": pl.UInt32,
        "where": pl.String,
        "rows": pl.List(pl.String),
        "left_out": pl.UInt32,
        "weights": pl.Binary,
    }
)
"""`rows`: the tokens or words shown; `left_out`: how many are not; `weights`: uint8 (layer, head, query, key)."""


def examples_to_show(encoded: Encoded, count: int, most: int) -> list[int]:
    """
    Return the numbers of the examples that are shown.

    The longest of those whose maps have at most `most` rows; where there are fewer than `count`, then the shortest of
    the others, of which a part is shown. Of equally long ones the first.
    """
    sizes = pl.DataFrame({"example": encoded.table["example"], "size": encoded.sizes()})
    fitting = sizes.filter(pl.col("size") <= most).sort("size", "example", descending=[True, False])
    others = sizes.filter(pl.col("size") > most).sort("size", "example")
    return sorted(pl.concat([fitting, others])["example"].head(count).to_list())


def shown_example(example: dict, weights: np.ndarray, most: int, of_words: bool) -> dict:
    """
    Return a row of the table `SHOWN`.

    Parameters
    ----------
    example
        The row of the encoded examples.
    weights
        Its maps (layer, head, query, key).
    most
        How many rows of a map are shown; of a longer one of words the first, of one of tokens those that figure 1 would
        show.
    """
    kinds = np.array(example["kinds"], dtype=np.uint8)
    positions = np.arange(min(most, len(kinds))) if of_words else window(kinds, most)
    return {
        "example": example["example"],
        "where": example["where"],
        "rows": [example["tokens"][position] for position in positions],
        "left_out": len(kinds) - len(positions),
        "weights": quantised(weights[..., positions[:, None], positions]).tobytes(),
    }


def counts_of(encoded: Encoded) -> dict:
    """Return how many examples there are, cut ones among them, their tokens and rows of maps, and their fingerprint."""
    return {
        "examples": encoded.table.height,
        "truncated": int(encoded.table["truncated"].sum()),
        "tokens": int(encoded.lengths().sum()),
        "rows": int(encoded.sizes().sum()),
        "fingerprint": encoded.corpus,
    }


def quantised(weights: np.ndarray) -> np.ndarray:
    """Return shares from 0 to 1 as 0 to 255, rounded, uint8: off by at most 1/510."""
    return np.rint(np.clip(weights.astype(np.float32), 0, 1) * LEVELS).astype(np.uint8)
