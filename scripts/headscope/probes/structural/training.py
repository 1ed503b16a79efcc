"""
How the structural probe is learned, and its layer chosen.

As the authors do it: Adam at a rate of 0.001, and a tenth of the rate whenever a pass over the training sentences has
not lowered the loss of those held out. Otherwise than theirs: the spread of the states of each layer is taken for one
while learning, and the first projection puts two words about one edge apart, so that no layer of any model begins far
off. Source: Hewitt & Manning 2019, appendix A.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl
import torch

from headscope.errors import InputError
from headscope.jobs import LOG
from headscope.probes.sentences import plan_by_length
from headscope.probes.structural.decoding import count_edges
from headscope.probes.structural.distances import distance_loss, squared_distances
from headscope.probes.structural.sentences import Batch, Sentences
from headscope.probes.training import LEAST_STEPS, WORTHWHILE, Split, split_sentences

LEARNING_RATE, DECAY = 0.001, 0.1
LAYERS = pl.Schema(
    {
        "layer": pl.UInt16,
        "epochs": pl.UInt16,
        "loss": pl.Float64,
        "edges": pl.UInt32,
        "edges_correct": pl.UInt32,
        "uuas": pl.Float64,
        "chosen": pl.Boolean,
    }
)
"""
How a layer was chosen: a row a layer, 0 being the embeddings.

`epochs`: passes until learning ended; `loss`, `edges`, `edges_correct` and `uuas` (0 to 1; null: no edges) are those of
the sentences held out of the first run, at its lowest loss.
"""


class Settings(NamedTuple):
    """How the probe is learned: rank, runs, most passes, passes without a lower loss before the end, words a step."""

    rank: int
    seeds: int
    epochs: int
    patience: int
    batch_words: int


class Learned(NamedTuple):
    """The projection of one run at one layer, float32 (rank, width) on the CPU, its held-out loss, and its passes."""

    projection: torch.Tensor
    loss: float
    epochs: int


class _Learner:
    """The probe of one layer while it is learned; what others do does not touch it."""

    def __init__(self, layer: int, seed: int, spread: float, width: int, settings: Settings, device: torch.device):
        bound = np.sqrt(3 / (2 * settings.rank * width))  # so that two words are at first one edge apart
        first = np.random.default_rng([seed, layer]).uniform(-bound, bound, (settings.rank, width))
        self._projection = torch.from_numpy(first.astype(np.float32)).to(device).requires_grad_()
        self._adam = torch.optim.Adam([self._projection], lr=LEARNING_RATE)
        self.layer, self._spread, self._patience = layer, spread, settings.patience
        self._behind, self._best = 0, Learned(self._kept(), np.inf, 0)

    @property
    def learns(self) -> bool:
        return self._behind < self._patience

    def loss(self, batch: Batch, states: torch.Tensor) -> torch.Tensor:
        """The sum over sentences."""
        return distance_loss(squared_distances(states, self._projection / self._spread), batch.gold, batch.shares)

    def step(self, batch: Batch, states: torch.Tensor):
        self._adam.zero_grad(set_to_none=True)
        (self.loss(batch, states) / len(batch.gold)).backward()
        self._adam.step()

    def hear(self, loss: float, epoch: int):
        """Take the loss of the sentences held out after a pass."""
        self._behind = 0 if loss < self._best.loss * (1 - WORTHWHILE) else self._behind + 1
        if self._behind:
            self._adam.param_groups[0]["lr"] *= DECAY
        self._best = Learned(self._kept(), loss, epoch) if loss < self._best.loss else self._best._replace(epochs=epoch)

    def _kept(self) -> torch.Tensor:
        return (self._projection.detach() / self._spread).cpu().clone()

    def learned(self) -> Learned:
        return self._best


def learn_layers(
    sentences: Sentences, layers: range, spreads: np.ndarray, seed: int, settings: Settings, device: torch.device
) -> tuple[list[Learned], Split]:
    """
    Learn a probe of each of consecutive layers, all in one pass over the states; each is what it would be alone.

    Whenever a pass has not lowered the loss of the sentences held out, the rate is a tenth of what it was; after
    `patience` such passes in a row learning ends. The projection of the lowest held-out loss is kept.

    Parameters
    ----------
    spreads
        Of all layers, as `Sentences.spreads` returns them.
    seed
        Of the first projection, the sentences that are held out, and the order of the others.

    Returns
    -------
    What each layer learned, and the sentences it learned from.
    """
    generator = np.random.default_rng([seed])
    split = split_sentences(len(sentences.sizes), None, generator)
    words = max(1, min(settings.batch_words, int(sentences.sizes[split.training].sum()) // LEAST_STEPS))
    learners = [_Learner(layer, seed, spreads[layer], sentences.width, settings, device) for layer in layers]
    for epoch in range(1, settings.epochs + 1):
        learning = [learner for learner in learners if learner.learns]
        if not learning:
            break
        read = range(learning[0].layer, learning[-1].layer + 1)
        for batch in _batches(sentences, split.training, words, generator, read, device):
            for learner in learning:
                learner.step(batch, batch.states[learner.layer - read.start])
        losses = np.zeros(len(learning))
        with torch.inference_mode():
            for batch in _batches(sentences, split.held_out, settings.batch_words, None, read, device):
                losses += [float(learner.loss(batch, batch.states[learner.layer - read.start])) for learner in learning]
        for learner, loss in zip(learning, (losses / len(split.held_out)).tolist(), strict=True):
            learner.hear(loss, epoch)
        found = ", ".join(f"{learner.layer}: {learner.learned().loss:.3f}" for learner in learners)
        LOG.info("seed %d, pass %d: lowest held-out loss of layers %s", seed, epoch, found)
    return [learner.learned() for learner in learners], split


def _batches(sentences, chosen, words, generator, layers, device) -> Iterator[Batch]:
    plan = (chosen[rows] for rows in plan_by_length(sentences.sizes[chosen], words, generator))
    for batch in sentences.batches(plan, layers):
        yield Batch(*(part.to(device) for part in batch))


def choose_layer(sentences: Sentences, learned: list[Learned], held_out: np.ndarray) -> pl.DataFrame:
    """
    Score each layer on the sentences held out and choose that of the highest UUAS, of several the lowest.

    Parameters
    ----------
    learned
        What every layer learned, from 0.
    held_out
        Positions of sentences.

    Returns
    -------
    Columns as `LAYERS`.
    """
    projections = torch.stack([layer.projection for layer in learned])
    edges, correct = 0, np.zeros(len(learned), np.int64)
    for position in held_out.tolist():
        states, (heads, counted) = sentences.states(position, sentences.layers), sentences.tree(position)
        of_sentence, found = count_edges(states, projections, heads, counted)
        edges, correct = edges + of_sentence, correct + found
    columns = {
        "layer": list(sentences.layers),
        "epochs": [layer.epochs for layer in learned],
        "loss": [layer.loss for layer in learned],
        "edges": [edges] * len(learned),
        "edges_correct": correct,
        "uuas": (correct / edges).tolist() if edges else [None] * len(learned),
        "chosen": np.arange(len(learned)) == correct.argmax(),
    }
    return pl.DataFrame(columns).cast(LAYERS)


def learn_structural(
    sentences: Sentences, settings: Settings, device: torch.device
) -> tuple[int, torch.Tensor, pl.DataFrame]:
    """
    Learn every layer once, choose one, and learn it once more for each further seed.

    Returns
    -------
    layer
        The one chosen, 0 being the embeddings.
    projections
        Of each seed, float32 (seed, rank, width).
    layers
        How it was chosen, columns as `LAYERS`.

    Raises
    ------
    InputError
        If the rank is beyond the width of the states, or there are fewer than two sentences.
    """
    if settings.rank > sentences.width:
        raise InputError(
            f"probes.structural_rank: expected at most {sentences.width}, the width of the model's hidden states, "
            f"found {settings.rank}; set a lower one"
        )
    if len(sentences.sizes) < 2:
        raise InputError(
            f"probes.train: expected sentences of two words or more to learn from and to hold out, found "
            f"{len(sentences.sizes)}; name a larger treebank"
        )
    spreads = sentences.spreads()
    learned, split = learn_layers(sentences, sentences.layers, spreads, 0, settings, device)
    table = choose_layer(sentences, learned, split.held_out)
    layer = int(table.filter("chosen")["layer"].item())
    runs = [learned[layer]]
    for seed in range(1, settings.seeds):
        only, _ = learn_layers(sentences, range(layer, layer + 1), spreads, seed, settings, device)
        runs += only
    return layer, torch.stack([run.projection for run in runs]), table
