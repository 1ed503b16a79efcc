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
    drawn_correct, drawn_total = np.hsplit(resampled_sums(np.hstack([correct, total]), resamples, seed), 2)
    accuracies = np.full(drawn_total.shape, np.nan)
    np.divide(drawn_correct, drawn_total, out=accuracies, where=drawn_total > 0)
    return interval(accuracies, confidence)


def resampled_sums(values: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """
    Sum values (unit, column) over units drawn with replacement, as many as there are: float64 (resample, column).

    Every column is taken on the same draws.
    """
    generator = np.random.default_rng(seed)
    units = len(values)
    values = values.astype(np.float64)
    sums = np.empty((resamples, values.shape[1]))
    for start in range(0, resamples, RESAMPLES_AT_ONCE):
        part = sums[start : start + RESAMPLES_AT_ONCE]
        times = [np.bincount(generator.integers(0, units, units), minlength=units) for _ in part]
        part[:] = np.array(times, np.float64) @ values
    return sums


def resampled_means(values: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """
    Average values (unit, ...) over units drawn with replacement, as many as there are: float64 (resample, ...).

    NaN where a unit has no value; a mean of nothing is NaN.
    """
    flat = values.reshape(len(values), -1)
    known = ~np.isnan(flat)
    total, count = np.hsplit(resampled_sums(np.hstack([np.where(known, flat, 0), known]), resamples, seed), 2)
    means = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return means.reshape(resamples, *values.shape[1:])


def interval(drawn: np.ndarray, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the lower and upper percentile of each statistic over resamples (resample, statistic), NaN left out.

    NaN where all are.
    """
    tail = (1 - confidence) / 2
    low, high = np.full((2, drawn.shape[1]), np.nan)
    counted = ~np.isnan(drawn).all(0)
    if counted.any():
        low[counted], high[counted] = np.nanquantile(drawn[:, counted], [tail, 1 - tail], axis=0)
    return low, high


def rank_correlation(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """
    Return Spearman's rank correlation of each row of two arrays (row, item): float64 (row,).

    Equal values share the mean of their ranks. Items that are NaN in either are left out of a row; NaN where a row
    has fewer than two items or they are all equal.
    """
    return np.array([_rank_correlation(*pair) for pair in zip(first, second, strict=True)])


def _rank_correlation(first, second) -> float:
    known = ~(np.isnan(first) | np.isnan(second))
    if known.sum() < 2:
        return np.nan
    one, two = (_centred_ranks(values[known]) for values in (first, second))
    size = np.sqrt((one @ one) * (two @ two))
    return one @ two / size if size > 0 else np.nan


def _centred_ranks(values) -> np.ndarray:
    _, place, times = np.unique(values, return_inverse=True, return_counts=True)
    ranks = np.cumsum(times) - (times - 1) / 2
    return ranks[place] - (len(values) + 1) / 2
