"""A model as the analyses use it: run on a batch, with its attention maps checked."""

import inspect
import math
from dataclasses import dataclass

import torch
import transformers
from torch import nn

from headscope.errors import InputError

OF_SEGMENTS = "seg_embed"  # XLNet's weights for whether two tokens are of one segment; its tokenizer does not name them
ROW_SUM_TOLERANCE = 1e-3  # a float32 softmax over thousands of keys is off by 1e-6; see also check_rows


@dataclass(frozen=True)
class LoadedModel:
    """A model in evaluation mode on its device, with its tokenizer."""

    network: nn.Module
    tokenizer: transformers.PreTrainedTokenizerBase
    device: torch.device

    @property
    def takes_segments(self) -> bool:
        """Whether the model tells the segments of a pair apart."""
        if "token_type_ids" not in inspect.signature(self.network.forward).parameters:
            return False
        types = getattr(self.network.config, "type_vocab_size", None)
        if types is not None:
            return types > 1
        in_the_tokenizer = "token_type_ids" in self.tokenizer.model_input_names
        return in_the_tokenizer or any(name.endswith(OF_SEGMENTS) for name, _ in self.network.named_parameters())

    def forward(self, ids, segments=None):
        """
        Run one batch of equally long inputs.

        Parameters
        ----------
        ids
            Token ids, int64 (example, token).
        segments
            Segment ids of the same shape; ignored by a model without segments.

        Returns
        -------
        maps
            One (example, head, query, key) a layer.
        row_sum_error
            The largest |sum of a row - 1|, a scalar of the maps' dtype still on the device; `check_rows` refuses a
            bad one.

        Raises
        ------
        InputError
            If there are no maps or they are not square.
        """
        with torch.inference_mode():
            _, maps = self.states_and_maps(ids, segments)
            errors = [(layer.sum(-1, dtype=torch.float32) - 1).abs().amax() for layer in maps]
            return maps, torch.stack(errors).amax().to(maps[0].dtype)

    def states_and_maps(self, ids, segments=None):
        """
        Run one batch as `forward` does, keeping what a backward pass needs where the caller's mode says so.

        Returns
        -------
        states
            The last hidden states, (example, token, width).
        maps
            One (example, head, query, key) a layer.

        Raises
        ------
        InputError
            If there are no maps or they are not square.
        """
        output = self._run(ids, segments, output_attentions=True)
        maps = getattr(output, "attentions", None)
        check_maps(maps, tuple(ids.shape), self.network)
        return getattr(output, "last_hidden_state", None), maps

    def hidden_states(self, ids, segments=None) -> tuple[torch.Tensor, ...]:
        """
        Run one batch as `forward` does, for the hidden states of the embeddings and of each layer.

        Returns
        -------
        One (example, token, width) for the embeddings and for each layer, on the device.

        Raises
        ------
        InputError
            If the model returns none, or not one of each token.
        """
        with torch.inference_mode():
            states = getattr(self._run(ids, segments, output_hidden_states=True), "hidden_states", None)
        shapes = {tuple(layer.shape[:-1]) for layer in states or ()}
        if shapes != {tuple(ids.shape)} or len({layer.shape[-1] for layer in states}) > 1:
            found = [tuple(layer.shape) for layer in states] if states else "none"
            raise InputError(
                f"{type(self.network).__name__}: expected hidden states of every layer, a vector of one width for each "
                f"token, found {found}; the structural probe cannot read this model"
            )
        return states

    def _run(self, ids, segments, **asked):
        inputs = {"input_ids": ids.to(self.device)}
        if self.takes_segments and segments is not None:
            inputs["token_type_ids"] = segments.to(self.device)
        return self.network(**inputs, **asked, return_dict=True)


def check_maps(maps, ids_shape: tuple[int, int], network: nn.Module):
    """
    Refuse attention maps that are absent or not square.

    Raises
    ------
    InputError
        One sentence that names the cause.
    """
    kind = type(network).__name__
    if not maps or any(layer is None for layer in maps):
        used = getattr(network.config, "_attn_implementation", "its own")
        if used == "eager":
            raise InputError(f"{kind} returned no attention maps: it has no attention weights, or does not give them")
        raise InputError(
            f"{kind} returned no attention maps: its attention implementation is {used!r}, which does not give "
            "them; use attention: eager in the model's config entry, or a model that has it"
        )
    examples, size = ids_shape
    expected = (examples, maps[0].shape[1], size, size)
    for number, layer in enumerate(maps, start=1):
        if layer.shape != expected:
            raise InputError(
                f"{kind}, layer {number}: expected maps of shape {expected} (example, head, query, key), found "
                f"{tuple(layer.shape)}; sparse or chunked attention, or layers of unlike heads, have no common table"
            )


def check_rows(row_sum_error):
    """
    Refuse maps whose rows do not sum to one, given the largest error of any row in the maps' dtype.

    Rounding to that dtype is forgiven: a row of bfloat16 weights may be off by its precision.

    Raises
    ------
    InputError
        If the error is beyond rounding, or not finite.
    """
    error = float(row_sum_error)
    if not error <= max(ROW_SUM_TOLERANCE, 2 * torch.finfo(row_sum_error.dtype).eps):
        found = f"a row that is off by {error:.3g}" if math.isfinite(error) else "values that are not finite"
        raise InputError(
            f"attention maps: expected every row to sum to 1, found {found}; the model's weights are broken (NaN), or "
            "what it returns are no attention probabilities"
        )
