"""Describe a model once: what every later stage needs to know of it."""

import torch
from torch import nn

from headscope.description import Description, LayerView
from headscope.errors import InputError
from headscope.models.fingerprints import tokenizer_fingerprint, weights_fingerprint
from headscope.models.loaded import LoadedModel, check_rows

PROBE_TOKENS = 256
PROBE_TEXT = "The heads of a model look at the words before them, at the words after them, and at nothing. "
NO_LIMIT = 1_000_000  # tokenizers without a limit of their own say 1e30


def describe(
    model: LoadedModel, name: str, source: str, revision: str | None, random_init: int | None = None
) -> Description:
    """
    Run the model once on a short text and say what it is; refuses it as `LoadedModel.forward` does.

    Layers and heads are counted in the maps, as executed. Whether a layer is causal is read off the maps; a window
    is taken from the model's config, or from the maps where the config says nothing. `random_init` is the seed with
    which `load` drew the weights.

    Raises
    ------
    InputError
        If there are no maps, if they are not square, if only some layers have one, or if a layer sees what is neither
        all, nor all before it, nor a window.
    """
    config = model.network.config.get_text_config()
    limit = _limit(model)
    size = min(limit or PROBE_TOKENS, PROBE_TOKENS)
    text = model.tokenizer(PROBE_TEXT * PROBE_TOKENS, truncation=True, max_length=size, return_tensors="pt")
    maps, row_sum_error = model.forward(text["input_ids"])
    check_rows(row_sum_error)
    _refuse_layers_without_maps(model, text["input_ids"][:, :1], len(maps))
    return Description(
        name=name,
        source=source,
        revision=revision,
        random_init=random_init,
        architecture=type(model.network).__name__,
        layers=len(maps),
        heads=maps[0].shape[1],
        width=config.hidden_size,
        parameters=sum(weights.numel() for weights in model.network.parameters()),
        limit=limit,
        segments=model.takes_segments,
        special_tokens=_special_tokens(model.tokenizer),
        views=[_view(layer[0].float().cpu(), config, number) for number, layer in enumerate(maps)],
        weights=weights_fingerprint(model.network),
        tokenizer=tokenizer_fingerprint(model.tokenizer),
    )


def _refuse_layers_without_maps(model, ids, maps: int):
    """Number layers by their maps only where every layer has one; layers are told by their hidden states, if given."""
    try:
        layers = len(model.hidden_states(ids)) - 1
    except InputError:
        return
    if layers > maps:
        raise InputError(
            f"{type(model.network).__name__}: expected attention maps of each of its {layers} layers, found {maps}; "
            "the other layers have no attention, so layers and heads have no common table"
        )


def _limit(model) -> int | None:
    """The longest input: the tokenizer's word, and the learned positions (RoBERTa's start after the padding id)."""
    config = model.network.config.get_text_config()
    limits = [model.tokenizer.model_max_length, getattr(config, "max_position_embeddings", NO_LIMIT)]
    for path, module in model.network.named_modules():
        if isinstance(module, nn.Embedding) and path.endswith("position_embeddings") and module.padding_idx is not None:
            limits.append(module.num_embeddings - module.padding_idx - 1)
    limit = min(limit for limit in limits if limit and limit > 0)
    return None if limit >= NO_LIMIT else int(limit)


def _special_tokens(tokenizer) -> dict:
    """The special tokens by role; a model without cls or sep uses its begin or end token where it sets one."""
    roles = {
        "cls": tokenizer.cls_token or tokenizer.bos_token,
        "sep": tokenizer.sep_token or tokenizer.eos_token,
        "mask": tokenizer.mask_token,
        "pad": tokenizer.pad_token,
        "unk": tokenizer.unk_token,
    }
    return {role: [token, tokenizer.convert_tokens_to_ids(token)] for role, token in roles.items() if token is not None}


def _view(weights: torch.Tensor, config, layer: int) -> LayerView:
    """
    What one layer sees, from its maps (head, query, key) and the config.

    A key that no head gives any weight is taken for unseen only where whole regions say so: a trained head can
    give a single visible key a weight that underflows to zero.
    """
    seen = (weights > 0).any(0)
    size = len(seen)
    causal = size > 1 and not seen.triu(1).any()
    queries, keys = seen.nonzero(as_tuple=True)
    observed = int((queries - keys).abs().max())
    declared = _declared_reach(config, layer)
    view = LayerView(bool(causal), observed if declared is None and observed < size // 2 else declared)
    if (weights[:, torch.from_numpy(~view.mask(size))] > 0).any():
        raise InputError(
            f"layer {layer + 1}: expected attention that is full, causal or a window of fixed width, found weights "
            f"outside of {view}; this attention pattern is not supported"
        )
    return view


def _declared_reach(config, layer: int) -> int | None:
    kinds = getattr(config, "layer_types", None)
    if kinds and kinds[layer] == "full_attention":
        return None
    if getattr(config, "local_attention", None) and kinds:
        return config.local_attention // 2
    if getattr(config, "attention_layers", None):  # GPT-Neo's
        return config.window_size - 1 if config.attention_layers[layer] == "local" else None
    window = getattr(config, "sliding_window", None)
    return window - 1 if window else None
