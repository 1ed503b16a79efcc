"""
How a probe learns: mini-batches of sentences of about one length, Adam, early stopping on sentences held out.

Clark et al. 2019 take one sentence a step and one pass (Adam, 0.002); the probes and what they are trained for, the
likelihood of the gold heads, are the same.
"""

import copy
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import polars as pl
import torch
from torch import nn

from headscope.errors import InputError
from headscope.probes.networks import negative_log_likelihood, rates
from headscope.probes.sentences import Batch, Sentences, plan_by_length

HELD_OUT = 10  # one in so many training sentences
WORTHWHILE = 0.001  # the share by which a loss must fall to count as lower
LEAST_STEPS = 20  # an epoch; batches of a small treebank are made smaller
EPOCHS = pl.Schema(
    {
        "trained": pl.UInt32,
        "seed": pl.UInt8,
        "epoch": pl.UInt16,
        "learning_rate": pl.Float64,
        "training": pl.Float64,
        "held_out": pl.Float64,
    }
)
"""After each epoch the loss of a word in nats: as it was met while training, and on the sentences held out."""


class Settings(NamedTuple):
    """How probes learn: most passes, passes without a lower held-out loss before the end, words a step, Adam's rate."""

    epochs: int
    patience: int
    batch_words: int
    learning_rate: float


class Split(NamedTuple):
    """Positions of the sentences to learn from and of those held out, int64."""

    training: np.ndarray
    held_out: np.ndarray


def split_sentences(sentences: int, count: int | None, generator: np.random.Generator) -> Split:
    """
    Draw so many sentences (None: all) and hold out a tenth of them, at least one.

    Raises
    ------
    InputError
        If there are fewer than two.
    """
    if sentences < 2:
        raise InputError(
            f"training treebank: expected two sentences or more, one of them to be held out, found {sentences}; name a "
            "larger one in probes.train"
        )
    drawn = generator.permutation(sentences)[:count]
    held_out = max(1, len(drawn) // HELD_OUT)
    return Split(np.sort(drawn[held_out:]), np.sort(drawn[:held_out]))


def learn(
    make: Callable[[np.random.Generator], nn.Module],
    sentences: Sentences,
    count: int | None,
    seed: int,
    vectors: torch.Tensor | None,
    settings: Settings,
    device: torch.device,
) -> tuple[nn.Module, list[tuple]]:
    """
    Train one probe.

    Whenever a pass over the training sentences has not lowered the loss of those held out, the rate is halved; after
    `patience` such passes in a row training ends. The probe of the lowest held-out loss is kept.

    Parameters
    ----------
    make
        Returns a probe that has learned nothing yet, its random numbers drawn from the generator.
    sentences
        To learn from, a tenth of them held out.
    count
        How many of them to take at all; None: all.
    seed
        Of the sentences that are drawn and held out, their order, and the probe's first numbers.
    vectors
        Of all words, on the device; None for a probe without words.

    Returns
    -------
    probe
        On the device.
    epochs
        A row after each pass, columns as `EPOCHS`.
    """
    generator = np.random.default_rng([seed, count or 0])
    split = split_sentences(len(sentences.sizes), count, generator)
    probe = make(generator).to(device)
    words = max(1, min(settings.batch_words, int(sentences.sizes[split.training].sum()) // LEAST_STEPS))
    adam, rate = torch.optim.Adam(rates(probe, settings.learning_rate)), settings.learning_rate
    best, best_loss, behind, rows = copy.deepcopy(probe.state_dict()), np.inf, 0, []
    for epoch in range(1, settings.epochs + 1):
        training = train_epoch(probe, adam, sentences, split.training, words, vectors, generator)
        held_out = mean_loss(probe, sentences, split.held_out, settings.batch_words, vectors)
        rows.append((len(split.training) + len(split.held_out), seed, epoch, rate, training, held_out))
        behind = 0 if held_out < best_loss * (1 - WORTHWHILE) else behind + 1
        if behind:
            rate /= 2
            for group in adam.param_groups:
                group["lr"] /= 2
        if held_out < best_loss:
            best, best_loss = copy.deepcopy(probe.state_dict()), held_out
        if behind == settings.patience:
            break
    probe.load_state_dict(best)
    return probe.eval(), rows


def train_epoch(probe, adam, sentences, chosen, words, vectors, generator) -> float:
    """Make one pass over the chosen sentences; return the mean loss of a word as it was met."""
    device = next(probe.parameters()).device
    total, counted = torch.zeros((), dtype=torch.float64, device=device), 0
    for batch in _batches(probe, sentences, chosen, words, generator):
        of_batch = int(batch.counted.sum())
        if of_batch:
            adam.zero_grad(set_to_none=True)
            for part in _parts(probe, batch, device):
                loss = negative_log_likelihood(probe(part, vectors), part)
                (loss / of_batch).backward()
                total += loss.detach()
            adam.step()
            counted += of_batch
    return float(total) / max(counted, 1)


def mean_loss(probe, sentences, chosen, words, vectors) -> float:
    """Return the mean loss of a word that counts in the chosen sentences, in nats."""
    total, counted, device = 0.0, 0, next(probe.parameters()).device
    with torch.inference_mode():
        for batch in _batches(probe, sentences, chosen, words, None):
            for part in _parts(probe, batch, device):
                total += float(negative_log_likelihood(probe(part, vectors), part))
            counted += int(batch.counted.sum())
    return total / max(counted, 1)


def _batches(probe, sentences: Sentences, chosen: np.ndarray, words: int, generator):
    plan = plan_by_length(sentences.sizes[chosen], words, generator)
    by_key = getattr(probe, "reads_words", False) and next(probe.parameters()).device.type == "cpu"
    return sentences.batches((chosen[rows] for rows in plan), by_key)


def _parts(probe, batch: Batch, device: torch.device):
    """The batch on the device, whole on a GPU, on a processor in parts that stay near its cache."""
    return batch.to(device).parts(probe.pairs_at_once if device.type == "cpu" else None)
