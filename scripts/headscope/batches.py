"""
Batches of encoded examples: of one length each, so that nothing is ever touched by padding.

So the size of a batch changes nothing beyond the rounding of a matrix product (on the CPUs we tried: not a bit).
"""

import numpy as np
import polars as pl
import torch

CPU_BUDGET_MB = 24  # maps that stay near the cache; larger batches are slower on a CPU, not faster
GPU_BUDGET_SHARE = 0.2  # of the free memory: softmax and its input, and the maps of two batches in flight


def plan_batches(
    lengths: np.ndarray, sizes: np.ndarray, maps_per_example: int, budget_mb: float, numbers_per_token: int = 0
) -> list[np.ndarray]:
    """
    Group examples of one length into batches whose float32 maps fit the budget.

    Parameters
    ----------
    lengths
        Tokens of each example, int64 (example,).
    sizes
        Rows of each example's maps, int64 (example,); equal ones stand together within a length.
    maps_per_example
        Layers × heads.
    budget_mb
        MiB of attention maps a batch; an example larger than that is a batch of its own.
    numbers_per_token
        What else is kept of each token, in float32.

    Returns
    -------
    list of row numbers (int64), the longest examples first, in their order within a length and size.
    """
    batches = []
    for length in np.unique(lengths)[::-1]:
        rows = np.flatnonzero(lengths == length)
        rows = rows[np.argsort(sizes[rows], kind="stable")]
        bytes_per_example = 4 * int(length) * (maps_per_example * int(length) + numbers_per_token)
        at_once = max(1, int(budget_mb * 2**20 // bytes_per_example))
        batches += [rows[start : start + at_once] for start in range(0, len(rows), at_once)]
    return batches


def automatic_budget_mb(device: torch.device) -> float:
    """Return the MiB of attention maps a batch may hold on this device."""
    if device.type != "cuda":
        return CPU_BUDGET_MB
    free, _ = torch.cuda.mem_get_info(device)
    return free / 2**20 * GPU_BUDGET_SHARE


def token_matrix(lists: pl.Series) -> torch.Tensor | None:
    """Return lists of one length as int64 (example, token); None where there are none."""
    if lists.null_count():
        return None
    return torch.from_numpy(lists.explode(empty_as_null=False).to_numpy().astype(np.int64).reshape(len(lists), -1))
