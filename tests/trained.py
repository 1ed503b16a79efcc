"""A model over its training: checkpoints from random weights to ones in which a head looks at the previous token."""

from pathlib import Path

import torch
import transformers
from checkpoints import SIZES, wordpiece

from headscope.models.random_weights import RandomWeights

STEPS = (0, 100, 1000, 10000)
LAYER, HEAD = 2, 3  # of the planted head, from 1
TURNS = torch.tensor(
    [2.0, 1.3, 0.8, 0.4]
)  # radians from a position to the next, each in two dimensions of the embedding
SHARPNESS = 3.0
TOKENS = 64


def save_series(folder: Path, steps=STEPS) -> Path:
    """Checkpoints `step0`, `step100`, ... in a folder: a head is random at the first, the planted one at the last."""
    for number, step in enumerate(steps):
        save_step(folder / f"step{step}", number / (len(steps) - 1))
    return folder


def save_step(folder: Path, share: float) -> Path:
    """A BERT of 3 layers and 4 heads, `share` of the way from random weights to the planted head."""
    tokenizer = wordpiece()
    config = transformers.BertConfig(vocab_size=len(tokenizer), max_position_embeddings=TOKENS, **SIZES)
    with RandomWeights(0):
        network = transformers.AutoModel.from_config(config)
    with torch.no_grad():
        plant(network, share)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def plant(network, share: float):
    """
    Write positions as angles into the embeddings, and turn the queries of one head back by one position.

    A query then is what the key of the position before it is. The other weights are so small that the angles stand in
    the hidden states of every layer.
    """
    angles = torch.arange(TOKENS)[:, None] * TURNS
    waves = torch.cat([angles.cos(), angles.sin()], -1)  # (position, 8)
    size = waves.shape[1]
    network.embeddings.position_embeddings.weight[:, :size] = waves
    back = torch.zeros(size, size)
    pairs = torch.arange(len(TURNS))
    back[pairs, pairs] = back[pairs + len(TURNS), pairs + len(TURNS)] = TURNS.cos()
    back[pairs, pairs + len(TURNS)] = TURNS.sin()
    back[pairs + len(TURNS), pairs] = -TURNS.sin()
    rows = slice(size * (HEAD - 1), size * HEAD)
    attention = network.encoder.layer[LAYER - 1].attention.self
    for linear, planted in ((attention.query, SHARPNESS * back), (attention.key, torch.eye(size))):
        linear.weight[rows] *= 1 - share
        linear.weight[rows, :size] += share * planted
