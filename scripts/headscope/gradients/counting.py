"""
The gradient of the masked language model's loss with respect to every attention weight, by one backward pass.

Each example's loss is the mean over its own masked tokens, so a batch changes no gradient. Per example and head,
sums of magnitudes by kind of key (`count_gradients`, one table a shard).
Source: Clark et al. 2019, section 3.2.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import polars as pl
import torch
from torch.nn.functional import cross_entropy

from headscope.batches import automatic_budget_mb, halving, plan_batches, token_matrix
from headscope.description import Description
from headscope.encoding import KIND_OF_KEY, Encoded
from headscope.errors import InputError
from headscope.gradients.names import ENTRIES
from headscope.keys import KEYS
from headscope.mlm.heads import vocabulary_of
from headscope.mlm.masking import Masked, mask_tokens
from headscope.models.loaded import LoadedModel

ONE_AT_A_TIME = 1e-9  # MiB: plan_batches makes a batch of each example
GPU_BUDGET_PART = 1 / 8  # of extraction's: what a backward pass needs is several times the maps of short examples
COLUMNS = (
    {"example": pl.UInt32, "layer": pl.UInt16, "head": pl.UInt16, "masked": pl.UInt32, "loss": pl.Float64}
    | dict.fromkeys(ENTRIES, pl.UInt32)
    | dict.fromkeys(KEYS, pl.Float64)
)


class Backward(NamedTuple):
    """What one backward pass gives: the loss of each example, float64, and d loss / d weight, one a layer."""

    losses: np.ndarray
    gradients: tuple[torch.Tensor, ...]


def ready_for_gradients(model: LoadedModel) -> LoadedModel:
    """
    Freeze a loaded model and let gradients flow from its embeddings on, in float32.

    In half precision most gradients of attention weights would vanish, so the weights are taken as they are and only
    the arithmetic is widened. The model is changed in place.
    """
    model.network.float().requires_grad_(False)
    model.network.enable_input_require_grads()
    return model


def attention_gradients(
    model: LoadedModel, head: torch.nn.Module, masked: list[Masked], segments: torch.Tensor | None = None
) -> Backward:
    """
    Return the losses of equally long examples and their gradients with respect to every attention weight.

    Parameters
    ----------
    model
        As `ready_for_gradients` returns it.
    head
        Maps hidden states (token, width) to scores (token, vocabulary).
    masked
        The examples as the model reads them.
    segments
        Their segment ids, int64 (example, token).

    Returns
    -------
    losses in nats, each the mean over an example's masked tokens, and gradients (example, head, query, key).

    Raises
    ------
    InputError
        If the model returns no maps, or maps that its output does not depend on.
    """
    states, maps = model.states_and_maps(torch.from_numpy(np.stack([example.ids for example in masked])), segments)
    if not all(layer.requires_grad for layer in maps):
        raise InputError(
            f"{type(model.network).__name__}: expected attention maps that gradients flow through, found maps "
            "that were cut off from the computation; use attention: eager in the model's config entry"
        )
    losses = [_loss(head, states[row], example) for row, example in enumerate(masked)]
    try:
        gradients = torch.autograd.grad(torch.stack(losses).sum(), maps)
    except RuntimeError as error:
        if "not have been used" not in str(error):
            raise
        raise InputError(
            f"{type(model.network).__name__}: expected an output that depends on every attention map, found one that "
            "does not: what the model returns are copies; use attention: eager in its config entry"
        ) from error
    found = torch.stack(losses).detach().double().cpu().numpy()
    if not np.isfinite(found).all():
        raise InputError(
            "the loss of masked tokens: expected finite numbers, found others; the weights are broken (NaN)"
        )
    return Backward(found, gradients)


def _loss(head, states, example):
    """One example at a time: a product of another number of tokens is rounded otherwise."""
    positions, targets = (torch.from_numpy(part).to(states.device) for part in (example.positions, example.targets))
    return cross_entropy(head(states[positions]), targets)


def gradient_sums(gradients: np.ndarray, kinds: np.ndarray, visible: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Sum the magnitudes of one example's gradients by kind of key.

    Parameters
    ----------
    gradients
        (layer, head, query, key), float32.
    kinds
        The `Kind` of each token as the model reads it, uint8 (token,).
    visible
        Which keys each query of a layer sees, bool (layer, query, key); other weights are no part of the model.

    Returns
    -------
    entries
        How many weights have a key of each kind, int64 (layer, kind), in the order of `KEYS`.
    sums
        float64 (layer, head, kind).
    """
    of_kind = np.stack([kinds == kind for kind in KIND_OF_KEY.values()])
    of_kind = np.vstack([of_kind, ~of_kind.any(0)]).T  # (token, kind)
    entries = visible.sum(1) @ of_kind.astype(np.int64)
    magnitudes = np.abs(gradients)
    if not visible.all():
        magnitudes *= visible[:, None]
    by_key = magnitudes.sum(-2, dtype=np.float64)
    return entries, np.stack([by_key[..., chosen].sum(-1) for chosen in of_kind.T], axis=-1)


def count_gradients(
    model: LoadedModel,
    head: torch.nn.Module,
    described: Description,
    encoded: Encoded,
    seed: int,
    budget_mb: float = 0,
    done: Callable[[int], None] = lambda examples: None,
) -> pl.DataFrame:
    """
    Sum the magnitudes of the gradients per example, head and kind of key.

    Parameters
    ----------
    model
        As loaded; made `ready_for_gradients` here.
    encoded
        Examples with token-level maps.
    seed
        Of the masking, together with the example's number.
    budget_mb
        MiB of attention maps a batch on a GPU, as for `plan_batches`; 0 chooses it. A CPU takes one example at a time:
        several gain nothing there, and the backward pass through several is rounded otherwise in the last place.
    done
        Called with the number of examples counted.

    Returns
    -------
    One row per (example, layer, head), sorted: the tokens masked, the loss (nats), and for each kind of key the number
    of entries and the sum of their magnitudes.

    Raises
    ------
    InputError
        As `attention_gradients`, if a loss is not finite, or if the examples are not tokens of this model.
    """
    encoded.refuse_other_tokens(described)
    ready_for_gradients(model)
    vocabulary, table = vocabulary_of(model), encoded.table
    if model.device.type == "cpu":
        budget_mb = ONE_AT_A_TIME
    elif not budget_mb:
        budget_mb = automatic_budget_mb(model.device) * GPU_BUDGET_PART

    def of_batch(rows: np.ndarray) -> Iterator[tuple]:
        batch = table[rows]
        masked = [
            mask_tokens(ids.to_numpy(), kinds.to_numpy(), vocabulary, (seed, example))
            for example, ids, kinds in zip(batch["example"].to_list(), batch["ids"], batch["kinds"], strict=True)
        ]
        backward = attention_gradients(model, head, masked, token_matrix(batch["segments"]))
        visible = np.stack([view.mask(len(masked[0].ids)) for view in described.views])
        for row, (number, example) in enumerate(zip(batch["example"].to_list(), masked, strict=True)):
            gradients = torch.stack([layer[row] for layer in backward.gradients]).cpu().numpy()
            sums = gradient_sums(gradients, example.kinds, visible)
            yield number, len(example.targets), backward.losses[row], *sums

    parts = []
    batches = plan_batches(encoded.lengths(), encoded.sizes(), described.layers * described.heads, budget_mb)
    for part in halving(of_batch, batches, table):
        parts.append(part)
        done(1)
    return _table(sorted(parts, key=lambda part: part[0]))


def no_gradients() -> pl.DataFrame:
    """Return the table of `count_gradients` over nothing."""
    return pl.DataFrame(schema=COLUMNS)


def _table(parts) -> pl.DataFrame:
    if not parts:
        return no_gradients()
    examples, masked, losses, entries, sums = zip(*parts, strict=True)
    layers, heads, _ = sums[0].shape
    layer, head = np.indices((layers, heads)).reshape(2, -1) + 1
    data = {"example": examples, "masked": masked, "loss": losses}
    data = {name: np.repeat(np.asarray(values), layers * heads) for name, values in data.items()}
    data |= {"layer": np.tile(layer, len(parts)), "head": np.tile(head, len(parts))}
    data |= dict(zip(ENTRIES, np.stack(entries).repeat(heads, axis=1).reshape(-1, len(KEYS)).T, strict=True))
    data |= dict(zip(KEYS, np.stack(sums).reshape(-1, len(KEYS)).T, strict=True))
    return pl.DataFrame(data).select(*COLUMNS).cast(COLUMNS)
