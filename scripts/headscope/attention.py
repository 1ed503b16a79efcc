"""
From encoded examples to attention maps: batches without padding, one forward pass each.

A batch holds examples of one length only, so no map is ever touched by padding, and the size of a batch changes
nothing beyond the rounding of a matrix product (on the CPUs we tried: not a bit).
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl
import torch

from headscope.batches import automatic_budget_mb, halving, plan_batches, token_matrix
from headscope.description import Description
from headscope.encoding import Encoded
from headscope.folding import fold_into_words
from headscope.models.loaded import LoadedModel, check_rows
from headscope.shards import write_behind
from headscope.store import Maps, ShardInfo, writing_shard


class _InFlight(NamedTuple):
    """Maps that are being computed or copied; on a CPU they are already there."""

    examples: np.ndarray
    weights: torch.Tensor
    row_sum_error: torch.Tensor
    copied: torch.cuda.Event | None

    def landed(self) -> Maps:
        if self.copied is not None:
            self.copied.synchronize()
        check_rows(self.row_sum_error)
        return Maps(self.examples, self.weights.numpy() if self.weights.device.type == "cpu" else self.weights)


class _Launcher:
    """Runs batches of a model; on a GPU the maps stay, or those of one batch are copied while the next is computed."""

    def __init__(self, model: LoadedModel, dtype: str, fold: str, stay: bool):
        self._model = model
        self._dtype = getattr(torch, dtype)
        self._fold = fold
        on_gpu = model.device.type == "cuda"
        self._stay = stay and on_gpu
        self._copies = torch.cuda.Stream(model.device) if on_gpu and not stay else None

    def launch(self, rows: pl.DataFrame) -> Iterator[_InFlight]:
        """Start one batch of encoded examples of one length; its maps come in runs of one size."""
        ids, segments, words = (token_matrix(rows[name]) for name in ("ids", "segments", "words"))
        maps, row_sum_error = self._model.forward(ids, segments)
        stacked = torch.empty(
            (len(ids), len(maps), *maps[0].shape[1:]),
            dtype=self._dtype if words is None else torch.float32,
            device=self._model.device,
        )
        for number, layer in enumerate(maps):
            stacked[:, number] = layer
        examples = rows["example"].to_numpy()
        if words is None:
            yield self._on_its_way(examples, stacked, row_sum_error)
            return
        sizes = rows["kinds"].list.len().to_numpy()
        for start, stop in pairwise([*np.flatnonzero(np.diff(sizes, prepend=-1)), len(sizes)]):
            folded = fold_into_words(stacked[start:stop], words[start:stop].to(stacked.device), self._fold)
            yield self._on_its_way(examples[start:stop], folded.to(self._dtype), row_sum_error)

    def _on_its_way(self, examples, weights, row_sum_error) -> _InFlight:
        if self._copies is None:
            return _InFlight(examples, weights if self._stay else weights.cpu(), row_sum_error, None)
        self._copies.wait_stream(torch.cuda.current_stream(self._model.device))
        with torch.cuda.stream(self._copies):
            host = torch.empty(weights.shape, dtype=self._dtype, pin_memory=True)
            host.copy_(weights, non_blocking=True)
            weights.record_stream(self._copies)
            copied = torch.cuda.Event()
            copied.record()
        return _InFlight(examples, host, row_sum_error, copied)


def attention_maps(
    model: LoadedModel,
    encoded: Encoded,
    maps_per_example: int,
    budget_mb: float,
    dtype: str = "float32",
    fold: str = "mean",
    stay: bool = False,
) -> Iterator[Maps]:
    """
    Yield the attention maps of every example, a batch of one length at a time, longest first.

    Parameters
    ----------
    encoded
        Examples in this model's tokens; those with words get word-level maps.
    maps_per_example
        Layers × heads.
    budget_mb
        MiB of float32 maps a batch may hold.
    dtype
        Of the maps yielded: `float16` or `float32`.
    fold
        How the tokens of a word attend as one, see `fold_into_words`.
    stay
        Whether maps that an NVIDIA GPU makes stay on it, as tensors. Any others are NumPy's.

    Raises
    ------
    InputError
        If a map is not one (see `headscope.models.loaded.check_maps`).
    """
    launcher, waiting, table = _Launcher(model, dtype, fold, stay), None, encoded.table
    batches = plan_batches(encoded.lengths(), encoded.sizes(), maps_per_example, budget_mb)
    for launched in halving(lambda rows: launcher.launch(table[rows]), batches, table):
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
    fold: str = "mean",
    done: Callable[[int], None] = lambda examples: None,
):
    """
    Store the attention maps of these examples; one batch is written while the next is computed.

    Parameters
    ----------
    dtype
        Of the maps on disk: `float16` or `float32`.
    budget_mb
        As for `headscope.batches.plan_batches`; 0 chooses it for the model's device.
    fold
        How the tokens of a word attend as one, see `fold_into_words`.
    done
        Called with the number of examples handed to the disk.

    Raises
    ------
    InputError
        If the examples were encoded for another tokenizer, or a map is not one.
    """
    encoded.refuse_other_tokens(described)
    info = ShardInfo(dtype, described.layers, described.heads, described.weights, encoded.corpus)
    budget_mb = budget_mb or automatic_budget_mb(model.device)
    maps = attention_maps(model, encoded, described.layers * described.heads, budget_mb, dtype, fold)
    with writing_shard(path, info) as shard:
        write_behind(shard, maps, done)
