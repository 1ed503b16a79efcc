import itertools

import numpy as np
import polars as pl
import pytest

from headscope.behaviours import BEHAVIOURS, behaviour_of, singled_out
from headscope.clusters import (
    classical_positions,
    head_positions,
    layer_test,
    map_heads,
    similar_beside_similar,
    square,
)

THRESHOLDS = {
    "to_next": 0.5,
    "to_previous": 0.5,
    "entropy": 3.8,
    "to_cls": 0.6,
    "to_sep": 0.6,
    "to_punctuation": 0.6,
}


def distances(positions):
    return np.linalg.norm(positions[:, None] - positions[None], axis=-1)


def long_table(matrix, heads):
    """`clusters/divergence` from a matrix, its rows in no order."""
    rows = [
        (*(part + 1 for part in (*divmod(first, heads), *divmod(other, heads))), matrix[first, other])
        for first, other in itertools.product(range(len(matrix)), repeat=2)
    ]
    types = dict.fromkeys(("layer", "head", "other_layer", "other_head"), pl.UInt16) | {"divergence": pl.Float64}
    return pl.DataFrame(rows, types, orient="row").sample(fraction=1, shuffle=True, seed=1)


def heads_table(layers, heads, **measures):
    layer, head = np.indices((layers, heads)).reshape(2, -1) + 1
    columns = {"layer": layer, "head": head} | dict.fromkeys(BEHAVIOURS, 0.0) | measures
    return pl.DataFrame(columns).cast({"layer": pl.UInt16, "head": pl.UInt16} | dict.fromkeys(BEHAVIOURS, pl.Float64))


@pytest.fixture(scope="module")
def plane():
    """Four layers of three heads in the plane; each layer further to the upper left."""
    generator = np.random.default_rng(2)
    return generator.random((12, 2)) + np.repeat(np.arange(4), 3)[:, None] * [-2.0, 0.5]


def test_the_matrix_is_in_the_order_of_layer_and_head():
    matrix = distances(np.random.default_rng(1).random((6, 2)))
    np.testing.assert_array_equal(square(long_table(matrix, 3)), matrix)


def test_heads_that_lie_in_a_plane_are_found_there(plane):
    positions, stress = head_positions(distances(plane), 4, starts=2, seed=0)
    np.testing.assert_allclose(distances(positions), distances(plane), atol=1e-3)
    assert stress < 1e-3
    np.testing.assert_allclose(distances(classical_positions(distances(plane))), distances(plane), atol=1e-9)


def test_the_map_is_centred_with_its_width_across_and_later_layers_to_the_right(plane):
    positions, _ = head_positions(distances(plane), 4, starts=2, seed=0)
    np.testing.assert_allclose(positions.mean(0), 0, atol=1e-9)
    np.testing.assert_allclose(np.cov(positions.T)[0, 1], 0, atol=1e-9)
    assert np.ptp(positions[:, 0]) > np.ptp(positions[:, 1])
    means = positions[:, 0].reshape(4, 3).mean(1)
    assert (np.diff(means) > 0).all()


def test_the_lowest_stress_is_kept_the_same_bits_each_time_and_is_kruskals():
    divergence = distances(np.random.default_rng(3).random((20, 7)))
    few, stress_of_few = head_positions(divergence, 4, starts=1, seed=0)
    many, stress_of_many = head_positions(divergence, 4, starts=12, seed=0)
    assert stress_of_many <= stress_of_few
    np.testing.assert_array_equal(many, head_positions(divergence, 4, starts=12, seed=0)[0])
    assert stress_of_many > 0.05, "seven dimensions do not fit into two"
    for positions, stress in ((few, stress_of_few), (many, stress_of_many)):
        found = distances(positions)
        assert stress == pytest.approx(np.sqrt(((found - divergence) ** 2).sum() / (found**2).sum()), rel=1e-3)


def test_heads_that_are_all_the_same_stand_in_one_place():
    positions, stress = head_positions(np.zeros((4, 4)), 2, starts=2, seed=0)
    assert not positions.any()
    assert stress == 0


def test_similar_heads_stand_beside_each_other():
    group = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2])
    divergence = np.where(group[:, None] == group, 0.1, 0.5)
    np.fill_diagonal(divergence, 0)
    place = similar_beside_similar(divergence)
    assert sorted(place) == list(range(1, 10))
    for number in range(3):
        assert np.ptp(place[group == number]) == 2
    assert similar_beside_similar(np.zeros((1, 1))).tolist() == [1]


def test_within_against_between_layers_by_hand():
    """Of the three ways to deal four heads to two layers only the real one is as close."""
    divergence = np.array([[0, 1, 5, 6], [1, 0, 7, 8], [5, 7, 0, 3], [6, 8, 3, 0]]) / 10
    within, between, p_value = layer_test(divergence, 2, permutations=3000, seed=0)
    assert within == pytest.approx((0.1 + 0.3) / 2)
    assert between == pytest.approx((0.5 + 0.6 + 0.7 + 0.8) / 4)
    assert p_value == pytest.approx(1 / 3, abs=0.03)
    assert layer_test(divergence, 2, 3000, 0)[2] == p_value


def test_layers_that_mean_nothing_have_a_p_value_spread_evenly():
    generator = np.random.default_rng(4)
    p_values = [layer_test(distances(generator.random((12, 3))), 3, 200, 0)[2] for _ in range(100)]
    assert 0.35 < np.mean(p_values) < 0.65
    assert np.mean(np.array(p_values) <= 0.1) < 0.25


@pytest.mark.parametrize(("layers", "missing"), [(1, "between"), (6, "within")])
def test_what_cannot_be_compared_is_null(layers, missing):
    matrix = distances(np.random.default_rng(5).random((6, 2)))
    table, heads = long_table(matrix, 6 // layers), heads_table(layers, 6 // layers)
    _, tests = map_heads(table, heads, THRESHOLDS, starts=1, permutations=100, seed=0)
    nulls = {name for name in tests.columns if tests[name].item() is None}
    assert nulls == {missing, "p_value"}


def test_a_later_behaviour_wins_and_what_a_model_does_not_have_tells_nothing():
    rows = {
        "to_next": [0.6, 0.5, 0.6, 0.1, 0.6, 0.0],
        "to_previous": [0.0, 0.1, 0.6, 0.1, 0.0, 0.0],
        "entropy": [1.0, 1.0, 1.0, 3.9, 4.0, 1.0],
        "to_cls": [0.0, 0.7, 0.0, None, None, 0.7],
        "to_sep": [0.0, 0.0, 0.0, None, 0.7, 0.0],
        "to_punctuation": [0.0, 0.0, 0.0, 0.0, 0.0, 0.61],
    }
    found = pl.DataFrame(rows).select(behaviour_of(THRESHOLDS))
    assert found.to_series().to_list() == ["next", "cls", "previous", "broad", "sep", "punctuation"]
    at_the_threshold = pl.DataFrame({measure: [limit] for measure, limit in THRESHOLDS.items()})
    assert at_the_threshold.select(behaviour_of(THRESHOLDS)).item() == "other"


def test_the_map_has_a_row_a_head_whatever_the_order_of_its_input(plane):
    table = long_table(distances(plane), 3)
    heads = heads_table(4, 3, to_next=[0.9] + [0.0] * 11)
    mapped, tests = map_heads(table, heads, THRESHOLDS, starts=2, permutations=100, seed=0)
    again, _ = map_heads(table.reverse(), heads.reverse(), THRESHOLDS, starts=2, permutations=100, seed=0)
    assert mapped.equals(again)
    assert mapped.columns == ["layer", "head", "x", "y", "behaviour", "place"]
    assert mapped.select("layer", "head").rows() == list(itertools.product(range(1, 5), range(1, 4)))
    assert mapped["behaviour"].to_list() == ["next"] + ["other"] * 11
    assert sorted(mapped["place"]) == list(range(1, 13))
    assert tests["within"].item() < tests["between"].item()
    assert tests["p_value"].item() == pytest.approx(1 / 101)


def syntax_table(*rows):
    names = ("relation", "total", "layer", "head", "ci_low", "baseline_accuracy")
    table = pl.DataFrame([dict(zip(names, row, strict=True)) for row in rows])
    return table.with_columns(pl.lit("stanford").alias("scheme"), pl.col("layer", "head").cast(pl.UInt16))


def test_heads_are_singled_out_by_syntax_and_coreference():
    table1 = syntax_table(
        ("all", 900, 3, 3, 0.5, 0.2),
        ("dobj", 50, 3, 1, 0.7, 0.3),
        ("det", 90, 3, 1, 0.8, 0.5),
        ("nn", 60, 2, 2, 0.4, 0.5),  # its interval reaches below the best offset
        ("rare", 3, 1, 1, 0.9, 0.1),
    )
    table2 = pl.DataFrame(
        {
            "candidates": ["mentions", "mentions", "mentions", "words"],
            "predictor": ["nearest", "head", "held_out", "head"],
            "layer": [None, 2, None, 1],
            "head": [None, 4, None, 4],
            "all_accuracy": [0.3, 0.6, 0.5, 0.4],
        },
        schema_overrides={"layer": pl.UInt16, "head": pl.UInt16},
    )
    found = singled_out([table1, table1], [table2], "stanford", rare=20)
    assert found.rows() == [(2, 4, "coreference"), (3, 1, "dobj, det")]
    assert singled_out([], [], "stanford", rare=20).is_empty()
    assert singled_out([table1], [], "ud", rare=20).is_empty()
