"""
From encoded examples to the hidden states of their words, in the batches of extraction: no padding.

The state of a word is the mean over its tokens, in float32; special tokens are left out. Source: Hewitt & Manning 2019,
section 4 and appendix A.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import torch

from headscope.batches import automatic_budget_mb, halving, plan_batches, token_matrix
from headscope.description import Description
from headscope.encoding import Encoded, word_rows
from headscope.errors import InputError
from headscope.folding import tokens_of_words
from headscope.models.loaded import LoadedModel
from headscope.shards import write_behind
from headscope.states.store import States, StatesInfo, writing_states

COPIES = 4  # of a batch's states at once: as computed, by word, rounded, and of those before on their way to the disk


def average_over_tokens(states: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
    """
    Average the states of the tokens of each word.

    Parameters
    ----------
    states
        float32 (example, token, width).
    words
        The word of each token, int64 (example, token): 0, 0, 1, 2, ... Every example of as many words.

    Returns
    -------
    float32 (example, word, width)

    Raises
    ------
    ValueError
        As `headscope.folding.tokens_of_words`.
    """
    belongs = tokens_of_words(words).to(states.dtype)
    return (belongs / belongs.sum(-2, keepdim=True)).mT @ states


def word_states(
    model: LoadedModel, described: Description, encoded: Encoded, dtype: str, budget_mb: float
) -> Iterator[States]:
    """
    Yield the hidden states of the words of every example, the longest first.

    Parameters
    ----------
    encoded
        Examples with words, in this model's tokens.
    dtype
        Of the states yielded: `float16` or `float32`.
    budget_mb
        MiB of float32 maps and copies of the states that a batch may take.

    Raises
    ------
    InputError
        If the model returns no hidden states, another number of layers than it has maps, or numbers that are not
        finite or beyond the dtype.
    """
    table, kept = encoded.table, COPIES * (described.layers + 1) * described.width
    maps = described.layers * described.heads

    def of_batch(rows: np.ndarray) -> Iterator[States]:
        batch = table[rows]
        layers = model.hidden_states(token_matrix(batch["ids"]), token_matrix(batch["segments"]))
        wanted, found = ((described.layers + 1, described.width), (len(layers), layers[0].shape[-1]))
        if wanted != found:
            raise InputError(
                f"model {described.name}: expected hidden states of the embeddings and of each layer, {wanted[0]} of "
                f"width {wanted[1]}, found {found[0]} of width {found[1]}; the structural probe cannot read this model"
            )
        words = token_matrix(batch["words"]).to(layers[0].device)
        sizes = batch["kinds"].list.len().to_numpy()
        for start, stop in pairwise([*np.flatnonzero(np.diff(sizes, prepend=-1)), len(sizes)]):
            inside = [word_rows(kinds) for kinds in batch["kinds"][start:stop].to_list()]
            averaged = (average_over_tokens(layer[start:stop].float(), words[start:stop]) for layer in layers)
            of_words = (
                torch.stack([states[own] for states, own in zip(layer, inside, strict=True)]) for layer in averaged
            )
            rounded = [_rounded(states, dtype, described.name, layer) for layer, states in enumerate(of_words)]
            yield States(batch["example"][start:stop].to_numpy(), rounded)

    yield from halving(of_batch, plan_batches(encoded.lengths(), encoded.sizes(), maps, budget_mb, kept), table)


def _rounded(states: torch.Tensor, dtype: str, name: str, layer: int) -> np.ndarray:
    """To this dtype, on the CPU; numbers that it does not hold are refused."""
    largest, most = float(states.abs().amax()), torch.finfo(getattr(torch, dtype)).max
    if not np.isfinite(largest):
        raise InputError(
            f"model {name}: expected finite hidden states, found others in layer {layer}; its weights are broken "
            "(NaN), or overflow in this dtype: use float32 in its config entry"
        )
    if largest > most:
        raise InputError(
            f"model {name}: expected hidden states of at most {most:,.0f} for {dtype}, found {largest:,.0f} in layer "
            f"{layer}; set probes: {{states: float32}} (twice the room)"
        )
    return states.to(getattr(torch, dtype)).cpu().numpy()


def extract_states(
    model: LoadedModel,
    described: Description,
    encoded: Encoded,
    path,
    dtype: str = "float16",
    budget_mb: float = 0,
    done: Callable[[int], None] = lambda examples: None,
):
    """
    Store the hidden states of the words of these examples; one batch is written while the next is computed.

    Parameters
    ----------
    dtype
        Of the states on disk: `float16` or `float32`.
    budget_mb
        As for `word_states`; 0 chooses it for the model's device.
    done
        Called with the number of examples handed to the disk.

    Raises
    ------
    InputError
        If the examples were encoded for another tokenizer, or as `word_states`.
    """
    encoded.refuse_other_tokens(described)
    info = StatesInfo(dtype, described.layers, described.width, described.weights, encoded.corpus)
    states = word_states(model, described, encoded, dtype, budget_mb or automatic_budget_mb(model.device))
    with writing_states(path, info) as shard:
        write_behind(shard, states, done)
