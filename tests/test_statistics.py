import numpy as np

from headscope.statistics import mean_and_error


def test_mean_and_standard_error_by_hand():
    values = np.array([[1.0, 5.0], [2.0, np.nan], [6.0, np.nan]])
    mean, error, count = mean_and_error(lambda: [values])
    np.testing.assert_allclose(mean, [3, 5])
    np.testing.assert_allclose(error, [np.sqrt(7 / 3), np.nan])  # squares 4 + 1 + 9 over 2, over 3
    assert count.tolist() == [3, 1]


def test_batches_change_no_bit():
    values = np.random.default_rng(0).random((101, 7))
    whole = mean_and_error(lambda: [values])
    for sections in (2, 5, 101):
        parts = mean_and_error(lambda sections=sections: np.array_split(values, sections))
        for one, other in zip(whole, parts, strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_small_spread_around_a_large_mean_is_not_cancelled():
    spread = np.random.default_rng(0).standard_normal(1000)
    _, error, _ = mean_and_error(lambda: [1e9 + 1e-3 * spread[:, None]])
    np.testing.assert_allclose(error, 1e-3 * spread.std(ddof=1) / np.sqrt(1000), rtol=1e-3)


def test_of_nothing_there_is_no_mean():
    mean, error, count = mean_and_error(lambda: [np.full((3, 2), np.nan)])
    assert np.isnan(mean).all()
    assert np.isnan(error).all()
    assert count.tolist() == [0, 0]
