"""What a run is estimated to cost."""

import re

import numpy as np
import pytest
from checkpoints import REPOSITORY

from headscope.attention import extract_shard
from headscope.costs import STAGES, Shape, Speed, cost
from headscope.errors import InputError

IN_THE_MANUAL = ("extract_attention", "count_surface", "count_divergence", "count_norms", "count_gradients")
SLOW = Speed(operations=1000, numbers=100)


def test_operations_of_a_forward_pass_by_hand():
    shape = Shape(layers=2, heads=3, width=4, inner=8)
    # Query, key, value and output are 4 × 4 each, the feed-forward layers 4 × 8 and 8 × 4: 128 weights a layer, each
    # multiplied and added once a token; and twice 5 × 5 products of 4 numbers, for scores and for sums of values.
    assert shape.operations(np.array([5.0])).tolist() == [2 * (2 * 128 * 5 + 2 * 2 * 25 * 4)]
    assert shape.numbers(np.array([5.0, 1.0])).tolist() == [150, 6]
    assert shape.pairs() == 15


def test_feed_forward_layers_have_four_widths_unless_it_is_said():
    assert Shape(2, 3, 4).operations(5) == Shape(2, 3, 4, 16).operations(5)


def test_extraction_by_hand():
    found = cost("extract_attention", Shape(2, 3, 4, 8), [5, 1], "float32", SLOW)
    operations = 2 * (2 * 128 * 6 + 4 * 4 * 26)
    assert found.core_seconds == pytest.approx(operations / 1000 + 156 / 100)
    assert found.bytes == 156 * 4 + 12 * 24
    assert found.hours(cores=2) == pytest.approx(found.core_seconds / 7200)


def test_divergence_goes_by_pairs_of_heads():
    few, many = (cost("count_divergence", Shape(layers, 2, 4), [10], speed=SLOW).core_seconds for layers in (1, 2))
    assert many == pytest.approx(6 * few)


@pytest.mark.parametrize("stage", STAGES)
def test_costs_of_examples_add_up_and_go_by_the_speed(stage):
    shape = Shape(2, 3, 8)
    apart, together = [cost(stage, shape, [tokens]) for tokens in (7, 30)], cost(stage, shape, [7, 30])
    assert together.core_seconds == pytest.approx(sum(one.core_seconds for one in apart))
    assert together.core_seconds > 0
    assert together.bytes == pytest.approx(sum(one.bytes for one in apart))
    assert cost(stage, shape, [7, 30], speed=SLOW).core_seconds > together.core_seconds


def test_bytes_of_a_shard_are_those_that_it_has(bert, bert_described, encoded, tmp_path):
    shape = Shape(bert_described.layers, bert_described.heads, bert_described.width)
    for dtype in ("float16", "float32"):
        extract_shard(bert, bert_described, encoded, tmp_path / "shard", dtype)
        footer = 4096  # which a large shard has as well
        estimated = cost("extract_attention", shape, encoded.lengths(), dtype).bytes
        assert (tmp_path / "shard").stat().st_size == pytest.approx(estimated, rel=0.02, abs=footer)


@pytest.mark.parametrize(("stage", "dtype"), [("count_syntaxes", "float16"), ("count_syntax", "bfloat16")])
def test_an_unknown_stage_or_dtype_is_refused(stage, dtype):
    with pytest.raises(InputError, match="expected one of"):
        cost(stage, Shape(1, 1, 1), [1], dtype)


def test_the_speed_of_a_core_is_measured():
    speed = Speed.measured()
    assert speed.operations > 0
    assert speed.numbers > 0


def test_the_manual_has_the_numbers_that_are_computed():
    lines = (REPOSITORY / "docs" / "scale.md").read_text("utf-8").splitlines()
    rows = [row for row in ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines) if len(row) == 8]
    rows = [row for row in rows if row[0][0].isdigit()]
    assert len(rows) == 9
    for row in rows:
        layers, heads, width = (int(number) for number in re.findall(r"\d+", row[0].replace(",", "")))
        found = [cost(stage, Shape(layers, heads, width), [int(row[1])]) for stage in IN_THE_MANUAL]
        assert row[2] == f"{found[0].bytes / 1e6:.3g} MB"
        assert row[3:] == [f"{two_digits(1 / one.core_seconds):,g}" for one in found]


def two_digits(number):
    return float(f"{number:.2g}")
