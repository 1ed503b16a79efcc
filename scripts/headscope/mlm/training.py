"""
Fit a head for masked tokens to a model that has none; the encoder stays as it is.

The hidden states of masked tokens are computed once, over several draws of each example, and kept; then the head
learns from them. It starts from a guess that needs no training (`first_head`) and is better than the frequencies of
the tokens.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import polars as pl
import torch
from torch.nn.functional import cross_entropy

from headscope.batches import automatic_budget_mb, halving, plan_batches, token_matrix
from headscope.description import Description
from headscope.encoding import Encoded, Kind
from headscope.jobs import LOG
from headscope.mlm.heads import StandardHead, refuse_causal, vocabulary_of
from headscope.mlm.masking import mask_tokens
from headscope.models.loaded import LoadedModel

WARM_UP = 0.05  # of all steps, over which the learning rate rises; then it falls to nothing
DAMPINGS, EMBEDDING_DAMPING = (0.03, 0.3, 3.0), 0.1  # of the first guess, as shares of the mean variance
LENGTHS = (0.03, 0.1, 0.2, 0.3, 0.5)  # of its step
LINEAR_MIDDLE = 4.0  # what GELU gets at first; its spread is then 1
MOST_TRIED = 2000  # masked tokens
SCORED_AT_ONCE = 512  # masked tokens


CURVE = {"epoch": pl.UInt16, "training": pl.Float64, "held_out": pl.Float64, "frequencies": pl.Float64}


class Settings(NamedTuple):
    """How a head is fitted: maskings of each example, passes over them, tokens a step, Adam's rate, the seed."""

    draws: int
    epochs: int
    batch: int
    learning_rate: float
    seed: int


class Task(NamedTuple):
    """Masked tokens to guess: hidden states, float16 (token, width), and true ids, int64 (token,)."""

    states: torch.Tensor
    targets: torch.Tensor


def collect(
    model: LoadedModel,
    described: Description,
    encoded: Encoded,
    draws: int,
    seed: int,
    done: Callable[[int], None] = lambda examples: None,
) -> Task:
    """
    Mask each example so many times and keep what the encoder makes of the masked tokens.

    Returns
    -------
    The masked tokens in the order of examples and draws.

    Raises
    ------
    NoHeadError
        If the model is causal, or its tokenizer has no mask token.
    """
    refuse_causal(described)
    vocabulary, table = vocabulary_of(model), encoded.table
    rows = zip(table["example"].to_list(), table["ids"], table["kinds"], strict=True)
    masked = [
        [mask_tokens(ids.to_numpy(), kinds.to_numpy(), vocabulary, (seed, draw, example)) for draw in range(draws)]
        for example, ids, kinds in rows
    ]
    targets = np.concatenate([one.targets for of_example in masked for one in of_example])
    ends = np.cumsum([len(one.targets) for of_example in masked for one in of_example]).reshape(-1, draws)
    states = torch.empty(len(targets), described.width, dtype=torch.float16)  # one piece: many would shred the memory
    budget_mb = automatic_budget_mb(model.device)
    batches = plan_batches(encoded.lengths(), encoded.sizes(), described.layers * described.heads, budget_mb)

    def keep(rows: np.ndarray, draw: int) -> list[int]:
        with torch.inference_mode():
            ids = torch.from_numpy(np.stack([masked[row][draw].ids for row in rows]))
            hidden, _ = model.states_and_maps(ids, token_matrix(table["segments"][rows]))
            for row, of_example in zip(rows.tolist(), hidden, strict=True):
                positions, end = masked[row][draw].positions, ends[row, draw]
                states[end - len(positions) : end] = of_example[positions]
        return [len(rows)]

    for draw in range(draws):
        for kept in halving(partial(keep, draw=draw), batches, table):
            done(kept)
    return Task(states, torch.from_numpy(targets))


def token_frequencies(encoded: Encoded, size: int) -> torch.Tensor:
    """Return the logarithm of each token's share of the text, add-one smoothed, float32 (vocabulary,)."""
    ids = encoded.table["ids"].explode(empty_as_null=False).to_numpy()
    kinds = encoded.table["kinds"].explode(empty_as_null=False).to_numpy()
    ordinary = ids[(kinds == Kind.TEXT) | (kinds == Kind.PUNCTUATION)]
    counts = torch.from_numpy(np.bincount(ordinary, minlength=size).astype(np.float64)) + 1
    return (counts / counts.sum()).log().float()


def first_head(model: LoadedModel, described: Description, training: Task, frequencies: torch.Tensor) -> StandardHead:
    """
    Return a head that knows the frequencies of the tokens and, roughly, what the hidden states add to them.

    The scores are those of a damped Newton step from the frequencies: hidden states are mapped to embeddings by least
    squares, whitened on both sides. Damping and length of the step are those that do best on the last tenth of the
    training tokens when the rest made it. The dense layer works where GELU is all but a straight line.

    Parameters
    ----------
    frequencies
        As `token_frequencies` returns them.
    """
    embeddings = model.network.get_input_embeddings().weight.detach().float()
    kept = max(1, len(training.targets) * 9 // 10)
    made_from = Task(*(part[:kept] for part in training))
    tried_on = Task(*(part[kept:][-MOST_TRIED:] for part in training))
    losses = {}
    for damping in DAMPINGS:
        step = _NewtonStep(made_from, embeddings.cpu(), frequencies, damping)
        for length in LENGTHS:
            head = step.head(embeddings, described.width, length).to(model.device)
            losses[damping, length] = mean_loss(head, tried_on) if len(tried_on.targets) else 0.0
    damping, length = min(losses, key=losses.get)
    return _NewtonStep(training, embeddings.cpu(), frequencies, damping).head(embeddings, described.width, length)


class _NewtonStep:
    """The step of softmax regression from frequencies (the weights zero, the bias their logarithm), in float64."""

    def __init__(self, task: Task, embeddings: torch.Tensor, frequencies: torch.Tensor, damping: float):
        shares, states = frequencies.double().exp(), task.states.double()
        centred = embeddings.double() - shares @ embeddings.double()
        self._frequencies = frequencies
        self._middle = states.mean(0)
        states = states - self._middle
        aims = states.T @ centred[task.targets] / len(states)
        weights = torch.linalg.solve(_damped(states.T @ states / len(states), damping), aims)
        self._weights = weights @ torch.linalg.inv(_damped((centred.T * shares) @ centred, EMBEDDING_DAMPING))
        self._spread = (states @ self._weights).std(1).mean()

    def head(self, embeddings: torch.Tensor, width: int, length: float) -> StandardHead:
        """Return a head whose guesses are this part of the step."""
        head = StandardHead(embeddings, width)
        weights = self._weights / self._spread
        with torch.no_grad():
            head.dense.weight.copy_(weights.T)
            head.dense.bias.copy_(LINEAR_MIDDLE - self._middle @ weights)
            head.norm.weight.fill_(length * self._spread)
            head.bias.copy_(self._frequencies)
        return head


def _damped(covariance: torch.Tensor, damping: float) -> torch.Tensor:
    return covariance + damping * covariance.diagonal().mean() * torch.eye(len(covariance), dtype=covariance.dtype)


def fit_head(
    model: LoadedModel,
    described: Description,
    training: Task,
    held_out: Task,
    frequencies: torch.Tensor,
    settings: Settings,
) -> tuple[StandardHead, list[tuple[int, float, float, float]]]:
    """
    Fit a head by Adam, the learning rate falling to zero, and round it to float16, as it is stored.

    Parameters
    ----------
    frequencies
        Of the training text, as `token_frequencies` returns them.

    Returns
    -------
    head
        In float32, its numbers those of float16.
    curve
        A row after each epoch, 0 being the head before training: epoch, the mean loss of the training tokens as they
        were met, of those held out, and the loss of those held out by the frequencies alone; in nats. The last row is
        of the rounded head.
    """
    baseline = -frequencies[held_out.targets].double().mean().item()
    head = first_head(model, described, training, frequencies).to(model.device)
    curve = [(0, mean_loss(head, training), mean_loss(head, held_out), baseline)]
    for epoch, loss in enumerate(_epochs(head, training, settings), start=1):
        if epoch == settings.epochs:
            head.half().float()
        curve.append((epoch, loss, mean_loss(head, held_out), baseline))
        LOG.info("epoch %d of %d: training %.3f, held out %.3f nats", epoch, settings.epochs, loss, curve[-1][2])
    return head, curve


def _epochs(head: StandardHead, training: Task, settings: Settings) -> Iterator[float]:
    """Train, yielding the mean loss of each epoch."""
    steps = settings.epochs * -(-len(training.targets) // settings.batch)
    warm_up = max(1, round(WARM_UP * steps))
    optimizer = torch.optim.Adam(head.parameters(), lr=settings.learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm_up, (steps - step) / max(1, steps - warm_up))
    )
    generator = torch.Generator().manual_seed(settings.seed)
    for _ in range(settings.epochs):
        total = 0.0
        for chosen in torch.randperm(len(training.targets), generator=generator).split(settings.batch):
            loss = _loss(head, training.states[chosen], training.targets[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item() * len(chosen)
        yield total / len(training.targets)


def mean_loss(head: StandardHead, task: Task) -> float:
    """Return the mean cross-entropy in nats of the masked tokens of a task."""
    total = 0.0
    with torch.inference_mode():
        for states, targets in zip(*(part.split(SCORED_AT_ONCE) for part in task), strict=True):
            total += _loss(head, states, targets).item() * len(targets)
    return total / len(task.targets)


def _loss(head, states, targets):
    device = head.bias.device
    return cross_entropy(head(states.to(device).float()), targets.to(device))
