"""What tells one model from another: digests of its weights and of its tokenizer."""

import hashlib
import json

import torch
from torch import nn

POOLER = "pooler"  # in the names of weights that no map depends on


def weights_fingerprint(network: nn.Module) -> str:
    """
    Return a digest of every parameter and buffer: name, dtype, shape and bytes.

    Poolers are left out: no map depends on them, and where a checkpoint has none they are random on every loading.
    """
    digest = hashlib.blake2b(digest_size=16)
    for name, weights in sorted(network.state_dict().items()):
        if POOLER in name:
            continue
        digest.update(f"{name} {weights.dtype} {tuple(weights.shape)}".encode())
        digest.update(weights.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
    return digest.hexdigest()


def tokenizer_fingerprint(tokenizer) -> str:
    """Return a digest of what decides a tokenizer's output: its rules, vocabulary and special tokens."""
    rules = tokenizer.backend_tokenizer.to_str() if tokenizer.is_fast else sorted(tokenizer.get_vocab().items())
    said = json.dumps([type(tokenizer).__name__, rules, str(tokenizer.special_tokens_map)], ensure_ascii=False)
    return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()
