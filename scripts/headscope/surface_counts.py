"""
Surface patterns of every head, counted: per example and head, sums over query tokens, one table a shard.

`headscope.surface` turns the sums into means. Source: Clark et al. 2019, sections 3.1 to 3.3.
"""

import math
from collections.abc import Iterable

import numpy as np
import polars as pl
import torch

from headscope.encoding import Encoded, Kind
from headscope.errors import InputError
from headscope.store import Maps
from headscope.sums import table_of_sums
from headscope.surface import COUNTS, MEASURES

TINY = 1e-30  # its logarithm is finite, so 0 log 0 is 0 without a branch
BLOCK_WEIGHTS = 2**21  # float32 weights worked on at once: 8 MiB, which stay in the cache


class Scratch:
    """Two float32 work areas that outlive a call: fresh memory would cost more than the arithmetic."""

    def __init__(self):
        self._areas = torch.empty(2, 0)

    def blocks(self, shape: tuple[int, ...], device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        """Return two uninitialised blocks of this shape on a device, valid until the next call."""
        needed = math.prod(shape)
        if needed > self._areas.shape[1] or self._areas.device != device:
            self._areas = torch.empty(2, needed, device=device)
        first, second = self._areas[:, :needed]
        return first.view(shape), second.view(shape)


def surface_sums(weights: np.ndarray | torch.Tensor, kinds: np.ndarray, scratch: Scratch) -> np.ndarray:
    """
    Sum each measure over the query tokens of one example.

    Parameters
    ----------
    weights
        Attention maps (layer, head, query, key) of any float type; computed in float32, where they are.
    kinds
        The `Kind` of each token, uint8 (token,).

    Returns
    -------
    sums
        float64 (layer, head, measure), in the order of `MEASURES`; entropies in nats. A measure over queries that
        the example does not have is 0, to be divided by a count of 0.
    """
    layers, heads, size, _ = weights.shape
    entropy_of = row_entropy if isinstance(weights, np.ndarray) else row_entropy_with_torch
    maps = torch.as_tensor(weights.reshape(layers * heads, size, size))
    keys = torch.from_numpy(np.stack([kinds == kind for kind in (Kind.CLS, Kind.SEP, Kind.PUNCTUATION)])).float()
    is_sep = torch.from_numpy(np.flatnonzero(kinds == Kind.SEP)).to(maps.device)
    keys = keys.to(maps.device)
    sums = torch.empty(layers * heads, len(MEASURES), dtype=torch.float64, device=maps.device)
    step = max(1, BLOCK_WEIGHTS // size**2)
    for start in range(0, len(maps), step):
        part, out = maps[start : start + step], sums[start : start + step]
        block, spare = scratch.blocks(part.shape, maps.device)
        block.copy_(part)
        for column, offset in enumerate((0, -1, 1)):
            out[:, column] = block.diagonal(offset, dim1=-2, dim2=-1).sum(-1)
        received = block.sum(-2)
        out[:, 3:6] = received @ keys.T
        out[:, 6] = block[:, is_sep][:, :, is_sep].sum((-2, -1))
        out[:, 7] = out[:, 4] - out[:, 6]
        entropy = entropy_of(block, spare)
        out[:, 8] = entropy.sum(-1)
        out[:, 9] = entropy @ keys[0]
        out[:, 10] = received[:, 0]
    return sums.reshape(layers, heads, -1).cpu().numpy()


def row_entropy(weights: torch.Tensor, spare: torch.Tensor) -> torch.Tensor:
    """
    Return the entropy in nats of each row of float32 weights (..., query, key), float32 (..., query).

    `spare`, of the same shape, is overwritten. The logarithm is NumPy's, which on a CPU has twice the speed of torch's.
    """
    torch.clamp(weights, min=TINY, out=spare)
    logarithms = spare.numpy()
    np.log(logarithms, out=logarithms)
    return torch.from_numpy(-np.vecdot(weights.numpy(), logarithms))


def row_entropy_with_torch(weights: torch.Tensor, spare: torch.Tensor) -> torch.Tensor:
    """Return what `row_entropy` does, computed on the device of the weights."""
    torch.clamp(weights, min=TINY, out=spare)
    return -spare.log_().mul_(weights).sum(-1)


def count_surface(maps: Iterable[Maps], encoded: Encoded) -> pl.DataFrame:
    """
    Sum each measure per example and head.

    Returns
    -------
    One row per (example, layer, head), sorted: the counts of its queries (`COUNTS`) and the sums (`MEASURES`).

    Raises
    ------
    InputError
        If a map has another size than its example.
    """
    kinds_of = dict(zip(encoded.table["example"].to_list(), encoded.table["kinds"], strict=True))
    parts, scratch = [], Scratch()
    for batch in maps:
        for example, weights in zip(batch.examples.tolist(), batch.weights, strict=True):
            kinds = kinds_of[example].to_numpy()
            if len(kinds) != weights.shape[-1]:
                raise InputError(
                    f"example {example}: expected maps of {len(kinds)} tokens, found {weights.shape[-1]}; the shard "
                    "was made from another corpus: delete it and run again"
                )
            parts.append((example, *_query_counts(kinds), surface_sums(weights, kinds, scratch)))
    return table_of_sums(parts, COUNTS, MEASURES)


def _query_counts(kinds: np.ndarray) -> tuple[int, int, int]:
    return len(kinds), int((kinds == Kind.CLS).sum()), int((kinds == Kind.SEP).sum())
