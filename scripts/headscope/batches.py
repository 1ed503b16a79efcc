"""
Batches of encoded examples: of one length each, so that nothing is ever touched by padding.

So the size of a batch changes nothing beyond the rounding of a matrix product (on the CPUs we tried: not a bit).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np
import polars as pl
import torch

from headscope.errors import MachineError
from headscope.jobs import LOG, is_out_of_memory

Done = TypeVar("Done")

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


def halving(
    work: Callable[[np.ndarray], Iterable[Done]], batches: Iterable[np.ndarray], table: pl.DataFrame
) -> Iterator[Done]:
    """
    Yield what `work` makes of each batch; where memory is short, of its halves, and of theirs.

    Parameters
    ----------
    work
        Takes the row numbers of a batch. Called again with half of them when it runs out of memory, so what it does
        before must not count.
    batches
        As `plan_batches` returns them. After one was halved, those after it start as small.
    table
        The encoded examples.

    Raises
    ------
    MachineError
        If an example alone does not fit.
    """
    pieces = 1
    for batch in batches:
        waiting = np.array_split(batch, min(pieces, len(batch)))[::-1]
        while waiting:
            rows = waiting.pop()
            try:
                done = list(work(rows))
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                cause = next(iter(str(error).splitlines()), type(error).__name__)
            else:
                yield from done
                del done
                continue
            _give_memory_back()
            if len(rows) == 1:
                raise _too_long(table.row(int(rows[0]), named=True), cause)
            pieces *= 2
            waiting += np.array_split(rows, 2)[::-1]
            LOG.warning("memory is short for %d examples at once: going on with %d", len(rows), -(-len(rows) // 2))


def _give_memory_back():
    """After the error is forgotten, and with it the tensors of the pass that failed."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _too_long(row, cause):
    tokens = len(row["ids"])
    return MachineError(
        f"example {row['example']} ({row['where']}), {tokens} tokens: expected it to fit into memory by itself, found "
        f"too little ({cause}); run fewer jobs at once, or where there is more memory, or set max_tokens of the corpus "
        f"below {tokens}"
    )


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
