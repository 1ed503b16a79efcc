"""
How unlike every two heads are, counted: sums of the Jensen-Shannon divergence of their attention.

JS(P, Q) = H((P + Q)/2) − (H(P) + H(Q))/2 takes one logarithm a pair, token and key, and each pair is computed once.
Per example, sums over query tokens (`pair_sums`); per shard, sums over its examples (`count_divergence`).
Source: Clark et al. 2019, section 6.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import polars as pl
import torch

from headscope.description import Description
from headscope.divergence import STEPS_PER_NAT, pairs_of_heads
from headscope.store import Maps

PAPER_SMOOTHING = 0.001
TINY = 1e-30  # its logarithm is finite, so 0 log 0 is 0 without a branch; any weight plus it is that weight


class _WithNumPy:
    """Entropies on a CPU: NumPy's logarithm has twice the speed of torch's, and blocks stay in the cache."""

    cells, rows = 2**13, 8  # (query, key) of a map, and heads: 256 KiB a block

    def __init__(self):
        self._sums, self._logarithms = np.empty((2, self.rows, self.cells), np.float32)

    def array(self, weights: torch.Tensor) -> np.ndarray:
        return weights.to(torch.float32, copy=True).numpy()

    def zeros(self, count: int) -> np.ndarray:
        return np.zeros(count)

    def entropy(self, halves: np.ndarray, others: np.ndarray) -> np.ndarray:
        rows, cells = others.shape
        sums = np.add(halves, others, out=self._sums[:rows, :cells])
        logarithms = np.log(sums, out=self._logarithms[:rows, :cells])
        return -np.vecdot(sums, logarithms)


class _WithTorch:
    """Entropies on a GPU, in blocks that are worth a kernel each."""

    cells, rows = 2**18, 2**8

    def __init__(self, device: torch.device):
        self._device = device

    def array(self, weights: torch.Tensor) -> torch.Tensor:
        return weights.to(self._device, torch.float32, copy=True)

    def zeros(self, count: int) -> torch.Tensor:
        return torch.zeros(count, dtype=torch.float64, device=self._device)

    def entropy(self, halves: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
        return torch.special.entr(halves + others).sum(-1, dtype=torch.float64)


def pair_sums(
    weights: np.ndarray | torch.Tensor, smoothing: str = "none", device: torch.device | None = None
) -> np.ndarray:
    """
    Sum the divergence of every two heads over the query tokens of one example.

    Parameters
    ----------
    weights
        Attention maps (layer, head, query, key) of any float type; computed in float32, added in float64.
    smoothing
        `none`: 0 log 0 is 0; `paper`: 0.999 of each weight and 0.001 spread evenly over the keys, as the authors'
        script has it.
    device
        A GPU of NVIDIA computes there; any other device and None leave it to the CPU. Weights that are a tensor are
        left where they are.

    Returns
    -------
    float64 (pair,) in nats: heads in the order of layer and head, each with those after it.
    """
    using = _arithmetic(weights, device)
    heads = weights.shape[0] * weights.shape[1]
    first, other = np.triu_indices(heads, 1)
    own, mixed = using.zeros(heads), using.zeros(len(first))
    for halves in _halves(weights, smoothing, using):
        _add_entropies(own, halves, halves, using)
        pair = 0
        for head in range(heads - 1):
            later = halves[head + 1 :]
            _add_entropies(mixed[pair : pair + len(later)], halves[head], later, using)
            pair += len(later)
    own, mixed = (torch.as_tensor(sums).cpu().numpy() for sums in (own, mixed))
    return np.maximum(mixed - (own[first] + own[other]) / 2, 0)  # what is below 0 is rounding


def cross_sums(
    weights: np.ndarray | torch.Tensor,
    others: np.ndarray | torch.Tensor,
    smoothing: str = "none",
    device: torch.device | None = None,
) -> np.ndarray:
    """
    Sum the divergence of every head of one model from every head of another over the queries of one example.

    Parameters
    ----------
    weights, others
        Attention maps (layer, head, query, key) of the same queries and keys, as for `pair_sums`.
    smoothing, device
        As for `pair_sums`.

    Returns
    -------
    float64 (head, other head) in nats: heads in the order of layer and head.

    Raises
    ------
    ValueError
        If the maps are not of the same queries and keys.
    """
    if weights.shape[2:] != others.shape[2:]:
        raise ValueError(f"expected maps of the same queries and keys, got {weights.shape} and {others.shape}")
    using = _arithmetic(weights, device)
    heads, other_heads = (maps.shape[0] * maps.shape[1] for maps in (weights, others))
    own, other_own = using.zeros(heads), using.zeros(other_heads)
    mixed = using.zeros(heads * other_heads).reshape(heads, other_heads)
    for halves, other_halves in zip(*(_halves(maps, smoothing, using) for maps in (weights, others)), strict=True):
        _add_entropies(own, halves, halves, using)
        _add_entropies(other_own, other_halves, other_halves, using)
        for head in range(heads):
            _add_entropies(mixed[head], halves[head], other_halves, using)
    own, other_own, mixed = (torch.as_tensor(sums).cpu().numpy() for sums in (own, other_own, mixed))
    return np.maximum(mixed - (own[:, None] + other_own) / 2, 0)


def _arithmetic(weights: np.ndarray | torch.Tensor, device: torch.device | None):
    if isinstance(weights, torch.Tensor):
        return _WithTorch(weights.device)
    return _WithTorch(device) if device is not None and device.type == "cuda" else _WithNumPy()


def _halves(weights: np.ndarray | torch.Tensor, smoothing: str, using) -> Iterator:
    """Yield half of every weight, smoothed, float32 (head, cell of a map), a block of cells at a time."""
    layers, heads, queries, keys = weights.shape
    maps = torch.as_tensor(weights).reshape(layers * heads, queries * keys)
    for start in range(0, queries * keys, using.cells):
        halves = using.array(maps[:, start : start + using.cells])
        if smoothing == "paper":
            halves *= 1 - PAPER_SMOOTHING
            halves += PAPER_SMOOTHING / keys
        halves /= 2
        halves += TINY
        yield halves


def _add_entropies(sums, halves, others, using):
    """Add to `sums` the entropy of each of `others` together with its row of `halves`, or with the one row there is."""
    for row in range(0, len(others), using.rows):
        part = slice(row, row + using.rows)
        sums[part] += using.entropy(halves if halves.ndim == 1 else halves[part], others[part])


def in_steps(sums: np.ndarray) -> np.ndarray:
    """Round nats to whole steps of 2^-32, int64: added as integers, no order of examples changes a bit."""
    return np.rint(sums * STEPS_PER_NAT).astype(np.int64)


def count_divergence(
    maps: Iterable[Maps], description: Description, smoothing: str = "none", device: torch.device | None = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """
    Sum the divergence of every two heads over the query tokens of a shard.

    The sums of an example are rounded to whole steps of 2^-32 nats and added as integers, so no order of examples and
    no sharding changes a bit, while a shard keeps one number a pair.

    Returns
    -------
    sums
        layer, head, other_layer, other_head, steps (int64): each pair of heads once.
    examples
        example: the numbers of those that were added, in order.
    """
    heads = description.layers * description.heads
    total, examples = np.zeros(heads * (heads - 1) // 2, np.int64), []
    for batch in maps:
        for example, weights in zip(batch.examples.tolist(), batch.weights, strict=True):
            total += in_steps(pair_sums(weights, smoothing, device))
            examples.append(example)
    first, other = np.triu_indices(heads, 1)
    sums = pairs_of_heads(first, other, description.heads).with_columns(steps=total)
    return sums, pl.DataFrame({"example": sorted(examples)}, {"example": pl.UInt32})
