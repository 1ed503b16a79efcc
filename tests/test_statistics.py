import numpy as np
import pytest

from headscope.statistics import interval, mean_and_error, rank_correlation, resampled_means


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


def test_resampled_means_spread_like_the_standard_error_and_leave_out_what_is_not_there():
    values = np.random.default_rng(0).standard_normal((200, 2, 3))
    values[::2, 0, 0] = np.nan
    mean, error, _ = mean_and_error(lambda: [values])
    drawn = resampled_means(values, 2000, seed=1)
    assert drawn.shape == (2000, 2, 3)
    np.testing.assert_allclose(drawn.mean(0), mean, atol=0.01)
    np.testing.assert_allclose(drawn.std(0), error, rtol=0.1)


def test_every_column_is_resampled_on_the_same_draws():
    values = np.random.default_rng(0).random((30, 1))
    drawn = resampled_means(np.hstack([values, values]), 100, seed=1)
    np.testing.assert_array_equal(drawn[:, 0], drawn[:, 1])


def test_a_mean_of_nothing_has_no_resamples():
    assert np.isnan(resampled_means(np.full((5, 1), np.nan), 10, seed=0)).all()


def test_an_interval_is_of_percentiles_and_of_what_there_is():
    low, high = interval(np.column_stack([np.arange(101.0), np.full(101, np.nan)]))
    np.testing.assert_allclose([low[0], high[0]], [2.5, 97.5])
    assert np.isnan([low[1], high[1]]).all()


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1, 2, 3, 4], [10, 20, 30, 1000], 1),
        ([1, 2, 3, 4], [4, 3, 2, -9], -1),
        ([1, 2, 3, 4], [2, 1, 4, 3], 0.6),  # 1 - 6 · 4 / (4 · 15)
        ([1, 1, 2], [1, 2, 3], np.sqrt(3) / 2),  # ranks 1.5 1.5 3 and 1 2 3
        ([1, 2, np.nan, 3], [1, 2, 0, 3], 1),
        ([1, 1, 1], [1, 2, 3], np.nan),
        ([1, np.nan], [1, 2], np.nan),
    ],
)
def test_rank_correlation_by_hand(first, second, expected):
    found = rank_correlation(np.array([first, first], float), np.array([second, second], float))
    np.testing.assert_allclose(found, [expected, expected], rtol=1e-12)
