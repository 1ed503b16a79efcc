"""Which sentences figure 5 shows, and what a head does in them."""

import numpy as np
import polars as pl

from headscope.encoding import word_rows
from headscope.store import on_host
from headscope.syntax.names import DIRECTIONS
from headscope.syntax.scoring import Gold, predicted_heads, tree_hits

EXAMPLES = pl.Schema(
    {
        "scheme": pl.String,
        "relation": pl.String,
        "layer": pl.UInt16,
        "head": pl.UInt16,
        "direction": pl.String,
        "accuracy": pl.Float64,
        "rank": pl.UInt8,
        "example": pl.UInt32,
        "query": pl.UInt16,
        "key": pl.UInt16,
        "query_word": pl.String,
        "key_word": pl.String,
        "weight": pl.Float32,
        "of_relation": pl.Boolean,
        "gold": pl.Boolean,
        "picked": pl.Boolean,
        "hit": pl.Boolean,
    }
)
SHOWN_WORDS = (6, 16)


def sentences_to_show(trees: pl.DataFrame, scheme: str, relation: str) -> list[int]:
    """Return the examples that figure 5 shows: the two of 6 to 16 words with most dependents of the relation."""
    dependents = pl.col(f"{scheme}_relations").list.count_matches(relation)
    counted = trees.select("example", words=pl.col("words").list.len(), dependents=dependents)
    fitting = counted.filter(pl.col("words").is_between(*SHOWN_WORDS) & (pl.col("dependents") > 0))
    return fitting.sort("dependents", "example", descending=[True, False])["example"].head(2).to_list()


def shown_words(row: dict, rank: int, sentence: pl.DataFrame, kinds: list[int], weights: np.ndarray) -> pl.DataFrame:
    """
    Return the attention of one head from each word of a sentence to each other word, one row a cell.

    Parameters
    ----------
    row
        The row of `table1`: scheme, relation, layer, head, direction, accuracy.
    sentence
        The row of the trees.
    kinds
        The `Kind` of each row of the map.
    weights
        Maps of the sentence (layer, head, query, key), special tokens included.

    Returns
    -------
    Columns as `EXAMPLES`. `of_relation`: the cell is of a dependent of the relation; `gold`: and of its head;
    `picked`: and the one that is scored; `hit`: its dependent counts as right.
    """
    inside = word_rows(kinds)
    cells = on_host(weights[row["layer"] - 1, row["head"] - 1])[inside, inside]
    trees, direction = Gold.of(sentence, row["scheme"]), DIRECTIONS.index(row["direction"])
    picked = predicted_heads(cells[None, None, None])
    hits = tree_hits(picked, trees.heads[None], trees.possessors[None])[0, :, direction, 0, 0]
    query, key = np.indices(cells.shape).reshape(2, -1)
    dependent, other = (query, key) if direction == 0 else (key, query)
    of_relation = (trees.relations == row["relation"]).to_numpy()[dependent]
    words = sentence["words"].item().to_numpy()
    shown = {
        name: [row[name]] * len(query) for name in ("scheme", "relation", "layer", "head", "direction", "accuracy")
    }
    shown |= {
        "rank": [rank] * len(query),
        "example": [sentence["example"].item()] * len(query),
        "query": query + 1,
        "key": key + 1,
        "query_word": words[query],
        "key_word": words[key],
        "weight": cells.ravel().astype(np.float32),
        "of_relation": of_relation,
        "gold": of_relation & (trees.heads[dependent] == other + 1),
        "picked": of_relation & (picked[0, direction, 0, 0][dependent] == other),
        "hit": of_relation & hits[dependent],
    }
    return pl.DataFrame(shown, EXAMPLES).filter(pl.col("query") != pl.col("key"))
