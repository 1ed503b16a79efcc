"""
Attention weights and norms of a shard, straight from the model: sums over the queries of each example and head.

For the keys of each kind ([CLS], [SEP], "." or ",", all others): the share of attention that they get, their share of
the norms `α_ij ‖f(x_j)‖`, and the norms `‖f(x_j)‖` themselves. Source: Kobayashi et al. 2020, section 3.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
import polars as pl
import torch

from headscope.batches import automatic_budget_mb, halving, plan_batches, token_matrix
from headscope.description import Description
from headscope.encoding import KIND_OF_KEY, Encoded
from headscope.errors import InputError
from headscope.keys import KEYS
from headscope.models.loaded import LoadedModel, check_rows
from headscope.norms.values import Seen, check_law, watching
from headscope.sums import table_of_sums

COUNTS = ("tokens", *KEYS)
SUMS = (*(f"{what}_{key}" for what in ("weight", "norm", "value") for key in KEYS), "norm_queries")


def count_norms(
    model: LoadedModel,
    described: Description,
    encoded: Encoded,
    budget_mb: float = 0,
    done: Callable[[int], None] = lambda examples: None,
) -> pl.DataFrame:
    """
    Run the model over these examples and sum weights and norms per example, head and kind of key.

    Parameters
    ----------
    encoded
        Examples of a text corpus in this model's tokens.
    budget_mb
        MiB of attention maps a batch may hold; 0 chooses it for the model's device.
    done
        Called with the number of examples finished.

    Returns
    -------
    One row per (example, layer, head), sorted: the numbers of its tokens by kind (`COUNTS`) and the sums (`SUMS`), see
    `layer_sums`.

    Raises
    ------
    InputError
        If the architecture is not known or its values do not add up (`check_law`), if the examples are not tokens of
        this model, or a map is not one.
    """
    encoded.refuse_other_tokens(described)
    if encoded.table["words"].count():
        raise InputError("norms: expected the examples of a text corpus, found examples of words; norms are of tokens")
    budget_mb = budget_mb or automatic_budget_mb(model.device)
    batches = plan_batches(encoded.lengths(), encoded.sizes(), described.layers * described.heads, budget_mb)
    parts = []
    launched = _launch(model, described.heads, batches, encoded.table)
    for batch, _ in pairwise(chain(launched, [None])):  # the next batch is on its way while this one is fetched
        parts += batch.landed()
        done(len(batch.examples))
    return table_of_sums(parts, COUNTS, SUMS)


def no_counts() -> pl.DataFrame:
    """Return the table of no example, for a model whose norms cannot be computed."""
    return table_of_sums([], COUNTS, SUMS)


class _InFlight(NamedTuple):
    """Sums (example, layer, head, sum) that are being computed, and the counts (example, count) that go with them."""

    examples: np.ndarray
    counts: np.ndarray
    sums: torch.Tensor
    row_sum_error: torch.Tensor

    def landed(self) -> list[tuple]:
        check_rows(self.row_sum_error)
        sums = self.sums.cpu().double().numpy()
        return list(zip(self.examples.tolist(), *self.counts.T.tolist(), sums, strict=True))


def _launch(model: LoadedModel, heads: int, batches: Iterable[np.ndarray], table: pl.DataFrame) -> Iterator[_InFlight]:
    is_checked = False
    with watching(model, heads) as watch:

        def of_batch(rows: np.ndarray) -> list[_InFlight]:
            nonlocal is_checked
            batch = table[rows]
            ids, segments, kinds = (token_matrix(batch[name]) for name in ("ids", "segments", "kinds"))
            watch.forget()
            maps, row_sum_error = model.forward(ids, segments)
            layers = watch.take(maps)
            if not is_checked:
                check_law(layers)
                is_checked = True
            keys = keys_of_kinds(kinds)
            sums = torch.stack([layer_sums(layer, keys.to(layer.maps.device)) for layer in layers], dim=1)
            counts = torch.cat([torch.full((len(ids), 1), ids.shape[1]), keys.sum(1).long()], dim=1)
            return [_InFlight(batch["example"].to_numpy(), counts.numpy(), sums, row_sum_error)]

        yield from halving(of_batch, batches, table)


def keys_of_kinds(kinds: torch.Tensor) -> torch.Tensor:
    """Turn kinds (example, token) into 1 where a token is a key of a kind, float32 (example, token, kind as `KEYS`)."""
    named = torch.stack([kinds == kind for kind in KIND_OF_KEY.values()], dim=-1)
    return torch.cat([named, ~named.any(-1, keepdim=True)], dim=-1).float()


def layer_sums(layer: Seen, keys: torch.Tensor) -> torch.Tensor:
    """
    Sum attention and norms of one layer over queries.

    Parameters
    ----------
    keys
        1 where a token is a key of a kind, float32 (example, token, kind).

    Returns
    -------
    float32 (example, head, sum), in the order of `SUMS`. With i over queries and j over the keys of a kind: `weight`,
    `Σ_i Σ_j α_ij`; `norm`, `Σ_i (Σ_j α_ij ‖f(x_j)‖ / the same over all keys)`, over the queries to which the head
    writes anything, of which there are `norm_queries`; `value`, `Σ_j ‖f(x_j)‖`.
    """
    norms = layer.projection.norms(layer.values)[..., None] * keys[:, None]  # (example, head, token, kind)
    keys = keys[:, None].expand_as(norms)
    by_query = layer.maps.float() @ torch.cat([keys, norms], dim=-1)
    weights, written = by_query.split(len(KEYS), dim=-1)
    total = written.sum(-1, keepdim=True)
    writes = total > 0
    shares = written / total.where(writes, 1)
    return torch.cat([weights.sum(-2), shares.sum(-2), norms.sum(-2), writes.float().sum(-2)], dim=-1)
