"""Means, standard errors: what turns counts into numbers with an uncertainty."""

from collections.abc import Callable, Iterable

import numpy as np


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
