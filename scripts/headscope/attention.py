"""
From encoded examples to attention maps: batches without padding, one forward pass each.

A batch holds examples of one length only, so no map is ever touched by padding, and the size of a batch changes
nothing beyond the rounding of a matrix product (on the CPUs we tried: not a bit).
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import torch

from headscope.description import Description
from headscope.encoding import Encoded
from headscope.errors import InputError
from headscope.models import LoadedModel, check_rows
from headscope.store import Maps, ShardInfo, writing_shard

CPU_BUDGET_MB = 24  # maps that stay near the cache; larger batches are slower on a CPU, not faster
GPU_BUDGET_SHARE = 0.2  # of the free memory: softmax and its input, and the maps of two batches in flight


def plan_batches(lengths: np.ndarray, maps_per_example: int, budget_mb: float) -> list[np.ndarray]:
    """
    Group examples of one length into batches whose float32 maps fit the budget.

    Parameters
    ----------
    lengths
        Tokens of each example, int64 (example,).
    maps_per_example
        Layers × heads.
    budget_mb
        MiB of attention maps a batch; an example larger than that is a batch of its own.

    Returns
    -------
    list of row numbers (int64), the longest examples first, in their order within a length.
    """
    batches = []
    for length in np.unique(lengths)[::-1]:
        rows = np.flatnonzero(lengths == length)
        bytes_per_example = 4 * maps_per_example * int(length) ** 2
        at_once = max(1, int(budget_mb * 2**20 // bytes_per_example))
        batches += [rows[start : start + at_once] for start in range(0, len(rows), at_once)]
    return batches


def automatic_budget_mb(device: torch.device) -> float:
    """Return the MiB of attention maps a batch may hold on this device."""
    if device.type != "cuda":
        return CPU_BUDGET_MB
    free, _ = torch.cuda.mem_get_info(device)
    return free / 2**20 * GPU_BUDGET_SHARE


class _InFlight(NamedTuple):
    """A batch whose maps are being computed or copied; on a CPU it is already there."""

    examples: np.ndarray
    weights: torch.Tensor
    row_sum_error: torch.Tensor
    copied: torch.cuda.Event | None

    def landed(self) -> Maps:
        if self.copied is not None:
            self.copied.synchronize()
        check_rows(self.row_sum_error)
        return Maps(self.examples, self.weights.numpy())


class _Launcher:
    """Runs batches of a model; on a GPU the maps of one batch are copied while the next is computed."""

    def __init__(self, model: LoadedModel, dtype: str):
        self._model = model
        self._dtype = getattr(torch, dtype)
        self._copies = torch.cuda.Stream(model.device) if model.device.type == "cuda" else None

    def launch(self, examples, ids, segments) -> _InFlight:
        maps, row_sum_error = self._model.forward(torch.from_numpy(ids), torch.from_numpy(segments))
        shape = (len(ids), len(maps), *maps[0].shape[1:])
        stacked = torch.empty(shape, dtype=self._dtype, device=self._model.device)
        for number, layer in enumerate(maps):
            stacked[:, number] = layer
        if self._copies is None:
            return _InFlight(examples, stacked.cpu(), row_sum_error, None)
        self._copies.wait_stream(torch.cuda.current_stream(self._model.device))
        with torch.cuda.stream(self._copies):
            host = torch.empty(shape, dtype=self._dtype, pin_memory=True)
            host.copy_(stacked, non_blocking=True)
            stacked.record_stream(self._copies)
            copied = torch.cuda.Event()
            copied.record()
        return _InFlight(examples, host, row_sum_error, copied)


def attention_maps(
    model: LoadedModel, encoded: Encoded, maps_per_example: int, budget_mb: float, dtype: str = "float32"
) -> Iterator[Maps]:
    """
    Yield the attention maps of every example, a batch of one length at a time, longest first.

    Parameters
    ----------
    encoded
        Examples in this model's tokens.
    maps_per_example
        Layers × heads.
    budget_mb
        MiB of float32 maps a batch may hold.
    dtype
        Of the maps yielded: `float16` or `float32`.

    Raises
    ------
    InputError
        If a map is not one (see `headscope.models.check_maps`).
    """
    table, lengths = encoded.table, encoded.lengths()
    numbers = table["example"].to_numpy()
    launcher, waiting = _Launcher(model, dtype), None
    for rows in plan_batches(lengths, maps_per_example, budget_mb):
        part = table[rows]
        shape = (len(rows), lengths[rows[0]])
        ids = part["ids"].explode(empty_as_null=False).to_numpy().astype(np.int64).reshape(shape)
        segments = part["segments"].explode(empty_as_null=False).to_numpy().astype(np.int64).reshape(shape)
        launched = launcher.launch(numbers[rows], ids, segments)
        if waiting:
            yield waiting.landed()
        waiting = launched
    if waiting:
        yield waiting.landed()


def extract_shard(
    model: LoadedModel,
    described: Description,
    encoded: Encoded,
    path,
    dtype: str = "float16",
    budget_mb: float = 0,
    done: Callable[[int], None] = lambda examples: None,
):
    """
    Store the attention maps of these examples; one batch is written while the next is computed.

    Parameters
    ----------
    dtype
        Of the maps on disk: `float16` or `float32`.
    budget_mb
        As for `plan_batches`; 0 chooses it for the model's device.
    done
        Called with the number of examples handed to the disk.

    Raises
    ------
    InputError
        If the examples were encoded for another tokenizer, or a map is not one.
    """
    if encoded.tokenizer != described.tokenizer:
        raise InputError(
            f"model {described.name}: expected examples in its own tokens ({described.tokenizer}), found those of "
            f"another tokenizer ({encoded.tokenizer}); delete the folder encoded/ of this model and run again"
        )
    info = ShardInfo(dtype, described.layers, described.heads, described.weights, encoded.corpus)
    budget_mb = budget_mb or automatic_budget_mb(model.device)
    maps = attention_maps(model, encoded, described.layers * described.heads, budget_mb, dtype)
    with writing_shard(path, info) as shard, ThreadPoolExecutor(max_workers=1) as disk:
        pending = None
        for batch in maps:
            if pending:
                pending.result()
            pending = disk.submit(shard.write, batch)
            done(len(batch.examples))
        if pending:
            pending.result()
