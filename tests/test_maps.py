import numpy as np
import polars as pl
import pytest

from headscope.encoding import Kind
from headscope.errors import InputError
from headscope.maps import named_heads, shown_cells, typical_heads, window

TEXT, CLS, SEP = Kind.TEXT, Kind.CLS, Kind.SEP


def table(**measures):
    columns = {"entropy": 0.0, "to_next": 0.0, "to_sep": 0.0, "to_punctuation": 0.0} | measures
    heads = pl.DataFrame({"layer": [1, 1, 2, 2], "head": [1, 2, 1, 2]}, {"layer": pl.UInt16, "head": pl.UInt16})
    return heads.with_columns(pl.Series(name, np.broadcast_to(value, 4)) for name, value in columns.items())


def test_each_behaviour_is_shown_by_its_strongest_head():
    heads = table(
        entropy=[1.0, 4.25, 2, 2], to_next=[0.1, 0.2, 0.75, 0.3], to_sep=[0.9, 0.1, 0, 0], to_punctuation=[0, 0, 0, 0.5]
    )
    assert [panel[1:] for panel in typical_heads(heads)] == [(1, 2), (2, 1), (1, 1), (2, 2)]
    assert typical_heads(heads)[0].title == "1-2 broad (4.2 nats)"
    assert typical_heads(heads)[1].title == "2-1 to the next token (75%)"


def test_no_head_is_shown_twice_and_ties_go_to_the_first():
    heads = table(entropy=[1.0, 1, 1, 9], to_next=[0.1, 0.1, 0, 0.9], to_sep=[0.1, 0, 0, 0.9])
    assert [panel[1:] for panel in typical_heads(heads)] == [(2, 2), (1, 1), (1, 2), (2, 1)]


def test_a_behaviour_the_model_cannot_have_is_left_out():
    heads = table(entropy=[1.0, 2, 3, 4]).with_columns(to_sep=pl.lit(None, pl.Float64))
    assert len(typical_heads(heads)) == 3


def test_named_heads_must_exist():
    assert named_heads(["2-3"], layers=2, heads=3)[0][1:] == (2, 3)
    for name in ("3-1", "1-4"):
        with pytest.raises(InputError, match=f"layers up to 2 and heads up to 3, found {name}"):
            named_heads([name], layers=2, heads=3)


def test_a_short_example_is_shown_whole():
    kinds = np.array([CLS, TEXT, SEP, TEXT, SEP])
    assert window(kinds, 28).tolist() == [0, 1, 2, 3, 4]


def test_a_long_example_shows_special_tokens_and_those_around_the_first_separator():
    kinds = np.array([CLS, *[TEXT] * 9, SEP, *[TEXT] * 9, SEP])
    assert window(kinds, 7).tolist() == [0, 8, 9, 10, 11, 12, 20]
    assert window(kinds, 1).tolist() == [0, 10, 20]


def test_without_a_separator_the_start_is_shown():
    assert window(np.array([TEXT] * 20), 4).tolist() == [0, 1, 2, 3]


def test_cells_are_those_of_the_whole_map():
    weights = np.arange(2 * 2 * 16, dtype=np.float16).reshape(2, 2, 4, 4)
    panels = named_heads(["2-1"], 2, 2)
    cells = shown_cells(weights, 5, panels, ["[CLS]", "a", "b", "[SEP]"], np.array([0, 3]))
    assert cells.select("example", "layer", "head", "query", "key").rows() == [
        (5, 2, 1, 1, 1),
        (5, 2, 1, 1, 4),
        (5, 2, 1, 4, 1),
        (5, 2, 1, 4, 4),
    ]
    assert cells["weight"].to_list() == [32, 35, 44, 47]
    assert cells.select("query_token", "key_token").row(1) == ("[CLS]", "[SEP]")
