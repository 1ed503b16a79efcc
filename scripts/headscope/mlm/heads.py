"""
The head that guesses masked tokens: the checkpoint's own, or one fitted by the rule train_mlm_head.

A head maps the hidden states of chosen tokens to a score for every token of the vocabulary. Transformers fills a head
that a checkpoint lacks with random weights; such a one is never used.
"""

from pathlib import Path

import numpy as np
import torch
import transformers
from torch import nn
from transformers.modeling_outputs import BaseModelOutput

from headscope.description import Description
from headscope.errors import InputError
from headscope.mlm.masking import Vocabulary
from headscope.models.loaded import LoadedModel
from headscope.models.loading import load_masked
from headscope.tensors import read_tensors, write_tensors

FORMAT_VERSION = 1
METADATA = "headscope.mlm_head"
NORM_EPSILON = 1e-5


class NoHeadError(InputError):
    """The model cannot be asked for masked tokens; the sentence says why, and the rest of the workflow goes on."""


class StandardHead(nn.Module):
    """
    BERT's head: dense layer, GELU, layer norm, then the input embeddings as decoder, with a bias.

    Parameters
    ----------
    embeddings
        The input embeddings of the model, (vocabulary, embedding width); they stay as they are.
    width
        Of the hidden states.
    """

    def __init__(self, embeddings: torch.Tensor, width: int):
        super().__init__()
        size, embedding_width = embeddings.shape
        self.dense = nn.Linear(width, embedding_width)
        self.norm = nn.LayerNorm(embedding_width, NORM_EPSILON)
        self.bias = nn.Parameter(torch.zeros(size))
        self.register_buffer("embeddings", embeddings.detach(), persistent=False)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the scores (token, vocabulary) of hidden states (token, width)."""
        guessed = self.norm(nn.functional.gelu(self.dense(hidden)))
        return torch.addmm(self.bias, guessed, self.embeddings.T)


class _Given(nn.Module):
    """Stands in for the encoder of a checkpoint's own model: passes on the hidden states that it is given."""

    def __init__(self, encoder: nn.Module):
        super().__init__()
        self.embeddings = getattr(encoder, "embeddings", None)  # DeBERTa's head asks its encoder for them

    def forward(self, *_, inputs_embeds, **__) -> BaseModelOutput:
        return BaseModelOutput(last_hidden_state=inputs_embeds)


class OwnHead(nn.Module):
    """The head of a checkpoint that was trained with one, whatever its architecture calls it."""

    def __init__(self, masked: transformers.PreTrainedModel):
        super().__init__()
        setattr(masked, masked.base_model_prefix, _Given(masked.base_model))
        self.masked = masked

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the scores (token, vocabulary) of hidden states (token, width)."""
        return self.masked(inputs_embeds=hidden[None], return_dict=True).logits[0]


def vocabulary_of(model: LoadedModel) -> Vocabulary:
    """
    Return what may stand in the place of a masked token of this model.

    Raises
    ------
    NoHeadError
        If its tokenizer has no mask token.
    """
    tokenizer = model.tokenizer
    if tokenizer.mask_token_id is None:
        raise NoHeadError(
            f"its tokenizer ({type(tokenizer).__name__}) has no mask token, so no masked token can be guessed"
        )
    known = min(len(tokenizer), model.network.get_input_embeddings().num_embeddings)
    return Vocabulary(tokenizer.mask_token_id, np.setdiff1d(np.arange(known), tokenizer.all_special_ids))


def refuse_causal(described: Description):
    """
    Refuse a model whose tokens do not see those after them: a masked token is no task for it.

    Raises
    ------
    NoHeadError
        If any layer is causal.
    """
    if described.causal:
        raise NoHeadError(
            f"{described.architecture} is causal, and the gradients are those of a masked language model's loss; what "
            "those of its own loss would mean is another question"
        )


def load_head(folder: Path, described: Description, model: LoadedModel, loading: dict, file: str | None) -> nn.Module:
    """
    Return the head of a model, frozen, in float32 and on its device.

    Parameters
    ----------
    folder
        The checkpoint.
    loading
        The keys of the config entry that say how it is loaded.
    file
        A head that was fitted; None: the checkpoint's own.

    Raises
    ------
    NoHeadError
        If the model is causal, has no mask token, or its checkpoint has no trained head.
    InputError
        If the file is no head of this model.
    """
    refuse_causal(described)
    vocabulary_of(model)
    head = read_head(file, described, model) if file else _own_head(folder, described, loading)
    return head.eval().float().requires_grad_(False).to(model.device)


def _own_head(folder: Path, described: Description, loading: dict) -> OwnHead:
    masked, missing = load_masked(folder, described.name, loading)
    if masked is None:
        raise NoHeadError(
            f"transformers knows no masked language model of {described.architecture} alone, without a decoder"
        )
    if missing:
        raise NoHeadError(
            f"its checkpoint holds no trained head for masked tokens ({', '.join(missing[:3])} are missing from it); "
            "fit one with mlm_head: train in the model's config entry, or name the file of one"
        )
    return OwnHead(masked)


def write_head(head: StandardHead, path, described: Description, notes: dict):
    """Write a head in float16, with the fingerprint of the model it belongs to and notes on its making."""
    tensors = {name: weights.half() for name, weights in head.state_dict().items()}
    write_tensors(tensors, path, METADATA, {"format": FORMAT_VERSION, "model": described.weights} | notes)


def read_head(path, described: Description, model: LoadedModel) -> StandardHead:
    """
    Read what `write_head` wrote.

    Raises
    ------
    InputError
        If it is no such file, of another model, or damaged.
    """
    remedy = "fit it again with mlm_head: train"
    tensors, said = read_tensors(path, METADATA, "the head of a model in safetensors", remedy)
    if said.get("format") != FORMAT_VERSION:
        raise InputError(
            f"{path}: expected a head of format {FORMAT_VERSION}, found {said.get('format', 'a file that is none')}; "
            "fit one with mlm_head: train"
        )
    if said["model"] != described.weights:
        raise InputError(
            f"{path}: expected a head fitted to the weights of {described.name} ({described.weights}), found one of "
            f"others ({said['model']}), or of the same in another dtype; fit one with mlm_head: train"
        )
    head = StandardHead(model.network.get_input_embeddings().weight, described.width)
    wanted = {name: tuple(weights.shape) for name, weights in head.state_dict().items()}
    found = {name: tuple(weights.shape) for name, weights in tensors.items()}
    if found != wanted:
        raise InputError(f"{path}: expected the tensors {wanted}, found {found}; {remedy}")
    head.load_state_dict(tensors)
    return head
