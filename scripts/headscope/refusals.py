"""
Which architectures have no map of attention weights for every layer and head: by name, with the reason.

Read off a checkpoint's config.json, before any weights are fetched or loaded. Whatever is not named here is judged by
the maps that it returns (`headscope.models.loaded.check_maps`, `headscope.models.describing`).
"""

import json
from collections.abc import Mapping
from pathlib import Path

from headscope.errors import InputError

WINDOWED = (
    "its attention is a sliding window beside a few global tokens, computed in chunks, and what transformers returns "
    "is a band of offsets, no map of tokens by tokens"
)
HASHED = "its attention is hashed into buckets and cut into chunks, so its maps are of buckets, not of tokens"
CHUNKED_T5 = "its encoder attends within blocks, so its maps are of blocks, not of tokens by tokens"
APPROXIMATED = "its attention is an approximation that never makes the weights of one token for every other"
STATE_SPACE = "it is a state-space or recurrent model, which has no attention weights"
NO_ATTENTION = "it mixes tokens by Fourier transforms and has no attention weights"
POOLED = "it pools tokens between its layers, so the maps of later layers are not of the tokens of the text"
LATENT = "its layers attend among latent vectors, not among the tokens of the text"
SCORES = "what transformers returns as its attention are scores before the softmax, no attention weights"
SINKS = (
    "its heads have a sink outside of the text that takes part of every softmax, so the attention to the tokens of the "
    "text does not sum to one"
)
DIFFERENCES = "its attention is a difference of two softmaxes, so weights can be below zero and rows do not sum to one"
HYBRID = (
    "only some of its layers have attention, the others are state-space, convolution or linear-attention layers "
    "without weights, so its layers and heads have no common table"
)
BLOCK_SPARSE = (
    "its attention is block sparse with blocks drawn at random, so what transformers returns leaves weights out; "
    'a checkpoint with "attention_type": "original_full" in its config.json is taken'
)
LAYER_KINDS = (
    "beside layers of full or sliding attention it has others ({found}), whose weights, if they have any, are no map "
    "of tokens by tokens"
)

REASONS = {
    "longformer": WINDOWED,
    "led": WINDOWED,
    "reformer": HASHED,
    "longt5": CHUNKED_T5,
    "nystromformer": APPROXIMATED,
    "yoso": APPROXIMATED,
    "mra": APPROXIMATED,
    "mamba": STATE_SPACE,
    "mamba2": STATE_SPACE,
    "falcon_mamba": STATE_SPACE,
    "rwkv": STATE_SPACE,
    "xlstm": STATE_SPACE,
    "fnet": NO_ATTENTION,
    "funnel": POOLED,
    "canine": POOLED,
    "perceiver": LATENT,
    "squeezebert": SCORES,
    "gpt_oss": SINKS,
    "diffllama": DIFFERENCES,
    "bailing_hybrid": HYBRID,
    "bamba": HYBRID,
    "granitemoehybrid": HYBRID,
    "jamba": HYBRID,
    "kimi_linear": HYBRID,
    "lfm2": HYBRID,
    "lfm2_moe": HYBRID,
    "lfm3": HYBRID,
    "minimax": HYBRID,
    "nemotron_h": HYBRID,
    "olmo_hybrid": HYBRID,
    "qwen3_5": HYBRID,
    "qwen3_5_text": HYBRID,
    "qwen3_5_moe": HYBRID,
    "qwen3_5_moe_text": HYBRID,
    "qwen3_next": HYBRID,
    "recurrent_gemma": HYBRID,
    "zamba": HYBRID,
    "zamba2": HYBRID,
}
"""By the `model_type` of config.json."""
BLOCK_SPARSE_TYPES = ("big_bird", "bigbird_pegasus")
LAYER_TYPES = ("full_attention", "sliding_attention", "attention")


def why_no_maps(config: Mapping) -> str | None:
    """
    Return why a model has no attention maps, in words that follow its name, or None where it may have them.

    Parameters
    ----------
    config
        What its config.json holds.
    """
    kind = config.get("model_type")
    if kind in BLOCK_SPARSE_TYPES:
        return BLOCK_SPARSE if config.get("attention_type", "block_sparse") == "block_sparse" else None
    if kind in REASONS:
        return REASONS[kind]
    others = {layer for layer in config.get("layer_types") or () if layer not in LAYER_TYPES}
    return LAYER_KINDS.format(found=", ".join(sorted(map(str, others)))) if others else None


def refuse_without_maps(folder: Path, name: str):
    """
    Refuse an architecture that is known to have no attention maps, by its config.json alone.

    Raises
    ------
    InputError
        With the architecture and the reason.
    """
    config = read_config(folder, name) or {}
    reason = why_no_maps(config)
    if reason:
        raise InputError(
            f"model {name}: expected an architecture with a map of attention weights for every layer and head, found "
            f"{config['model_type']}: {reason}"
        )


def read_config(folder: Path, name: str) -> dict | None:
    """
    Read the config.json of a checkpoint, None where it has none.

    Raises
    ------
    InputError
        If it is not one.
    """
    file = Path(folder) / "config.json"
    if not file.is_file():
        return None
    try:
        config = json.loads(file.read_text("utf-8"))
    except ValueError as error:
        config = error
    if not isinstance(config, dict):
        raise InputError(f"model {name}: expected JSON with the keys of a model in {file}, found: {config}")
    return config
