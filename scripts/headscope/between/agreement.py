"""
What two models have in common of a corpus: the examples, and the queries and keys of their maps.

Of a text, maps of tokens: both models must cut it into the same tokens, special ones included, and every token is a
query and a key. Of a treebank or documents, maps of words, which are the same whatever the tokenizer: each word is a
query; the keys are the words, and one more key for each kind of special token (`SPECIAL_KEYS`) with the sum over those
of its kind, 0 where a model has none. So every row still sums to one, and nothing is scaled.
"""

from typing import NamedTuple

import numpy as np
import polars as pl

from headscope.encoding import WORDS, Encoded, Kind

TOKEN, WORD = "token", "word"
SPECIAL_KEYS = (Kind.CLS, Kind.SEP, Kind.SPECIAL)
COMMON = pl.Schema({"example": pl.UInt32, "queries": pl.UInt32})
LEFT_OUT = pl.Schema({"example": pl.UInt32, "where": pl.String, "reason": pl.String})


class Agreement(NamedTuple):
    """
    Which examples of a corpus two models can be compared on.

    `level` is `token` or `word`; `common` has example and queries of those that are compared, `left_out` example, where
    and reason of those that are not; `refused` is a sentence where the models cannot be compared, else None, and
    then nothing is common.
    """

    level: str
    common: pl.DataFrame
    left_out: pl.DataFrame
    refused: str | None


def agreement(encoded: Encoded, other: Encoded, name: str, other_name: str) -> Agreement:
    """
    Compare a corpus in the tokens of one model with the same in those of another.

    Parameters
    ----------
    name, other_name
        What the models are called in the reasons.
    """
    level = TOKEN if encoded.table["words"].null_count() else WORD
    columns = ["example", "where", "tokens", "kinds"]
    both = encoded.table.select(columns).join(
        other.table.select(columns), "example", "full", coalesce=True, suffix="_other", maintain_order="left_right"
    )
    common, differing, left_out = [], [], []
    for example, where, tokens, kinds, other_where, other_tokens, other_kinds in both.sort("example").iter_rows():
        if tokens is None or other_tokens is None:
            skipping = name if tokens is None else other_name
            left_out.append((example, where or other_where, f"skipped for {skipping}"))
        elif _compared(tokens, kinds, level) == _compared(other_tokens, other_kinds, level):
            common.append((example, where, len(_queries(kinds, level))))
        else:
            differing.append((example, where, "cut after another word" if level == WORD else "other tokens"))
    refused = _refusal(level, name, other_name, len(common), len(differing))
    kept = [] if refused else [(example, queries) for example, _, queries in common]
    alike = [(example, where, "alike, but others are not") for example, where, _ in common] if refused else []
    rows = sorted(left_out + differing + alike)
    return Agreement(
        level, pl.DataFrame(kept, COMMON, orient="row"), pl.DataFrame(rows, LEFT_OUT, orient="row"), refused
    )


def common_maps(weights: np.ndarray, kinds: np.ndarray, level: str) -> np.ndarray:
    """
    Return the maps of one example as they are compared, (layer, head, query, key).

    Parameters
    ----------
    weights
        Attention maps (layer, head, row, row), NumPy's or a tensor; returned likewise.
    kinds
        The `Kind` of each row, (row,).
    level
        `token`: all as it is; `word`: the queries and keys of the word level, in float32.
    """
    if level == TOKEN:
        return weights
    rows = weights[:, :, _queries(kinds, level)]
    special_keys = [[row for row, found in enumerate(kinds) if found == kind] for kind in SPECIAL_KEYS]
    if not isinstance(weights, np.ndarray):
        import torch

        rows = rows.float()
        special = [rows[..., keys].sum(-1, keepdim=True) for keys in special_keys]
        return torch.cat([rows[..., _queries(kinds, level)], *special], -1)
    rows = rows.astype(np.float32)
    special = [rows[..., keys].sum(-1, keepdims=True) for keys in special_keys]
    return np.concatenate([rows[..., _queries(kinds, level)], *special], -1)


def _queries(kinds, level: str) -> list[int]:
    """The rows of a map that are compared."""
    return [row for row, kind in enumerate(kinds) if level == TOKEN or kind in WORDS]


def _compared(tokens: list[str], kinds: list[int], level: str) -> list:
    """What must be the same in both models: tokens and their kinds, or the words."""
    return [*zip(tokens, kinds, strict=True)] if level == TOKEN else [tokens[row] for row in _queries(kinds, level)]


def _refusal(level: str, name: str, other_name: str, common: int, differing: int) -> str | None:
    if level == TOKEN and differing:
        return (
            f"{name} and {other_name} cut {differing:,} of {common + differing:,} examples of this text into other "
            "tokens; compare them on a treebank or on documents, whose words are the same for every model"
        )
    if not common:
        return f"{name} and {other_name} have no example in common; see skipped.csv of both"
    return None
