"""Means with standard errors, accuracies with intervals: what turns counts into numbers with an uncertainty."""

from collections.abc import Callable, Iterable

import numpy as np

RESAMPLES_AT_ONCE = 100


def mean_and_error(batches: Callable[[], Iterable[np.ndarray]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Mean over examples and its standard error, in constant memory and without cancellation.

    Values are added one example at a time in their order, in two passes: however the examples are cut into
    batches, the result has the same bits.

    Parameters
    ----------
    batches
        A function that yields float64 arrays (example, ...) with NaN where an example has no value; called twice.

    Returns
    -------
    mean, standard error, count
        Each (...); the standard error is s / sqrt(count) with s over count - 1. NaN for a mean of nothing and for
        the standard error of fewer than two.
    """
    total = count = 0
    for batch in batches():
        for value in batch:
            known = ~np.isnan(value)
            total = total + np.where(known, value, 0)
            count = count + known
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / count
        squares = 0
        for batch in batches():
            for value in batch:
                squares = squares + np.where(np.isnan(value), 0, value - mean) ** 2
        error = np.sqrt(squares / (count - 1)) / np.sqrt(count)
    return mean, np.where(count > 1, error, np.nan), count


def bootstrap_intervals(
    correct: np.ndarray, total: np.ndarray, resamples: int, seed: int, confidence: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """
    Intervals of accuracies by bootstrap over units (sentences, documents), which are drawn with replacement.

    Parameters
    ----------
    correct, total
        Counts (unit, accuracy); units without any count as well, for they are drawn too.
    resamples
        How many corpora are drawn; every accuracy is taken on the same ones.
    seed
        Of the draw.

    Returns
    -------
    low, high
        Percentiles of each accuracy over the drawn corpora, (accuracy,); corpora in which nothing was counted are
        left out. NaN where all are.
    """
    generator = np.random.default_rng(seed)
    units = len(total)
    counts = np.hstack([correct, total]).astype(np.float64)
    drawn_counts = np.empty((resamples, counts.shape[1]))
    for start in range(0, resamples, RESAMPLES_AT_ONCE):
        part = drawn_counts[start : start + RESAMPLES_AT_ONCE]
        times = [np.bincount(generator.integers(0, units, units), minlength=units) for _ in part]
        part[:] = np.array(times, np.float64) @ counts
    drawn_correct, drawn_total = np.hsplit(drawn_counts, 2)
    accuracies = np.full(drawn_total.shape, np.nan)
    np.divide(drawn_correct, drawn_total, out=accuracies, where=drawn_total > 0)
    tail = (1 - confidence) / 2
    low, high = np.full((2, total.shape[1]), np.nan)
    counted = ~np.isnan(accuracies).all(0)
    if counted.any():
        low[counted], high[counted] = np.nanquantile(accuracies[:, counted], [tail, 1 - tail], axis=0)
    return low, high
