"""What the report says of several models and of the steps of a series, on tables that can be read by eye."""

import polars as pl
import pytest

from headscope.report.together import SAID, Ways, sentences_of
from headscope.tables import result_tables

WAYS = Ways("stanford", "mentions", 20)


def frame(columns, *rows):
    return pl.DataFrame(rows, columns.split(), orient="row", infer_schema_length=None)


def said(name, table, ways=WAYS):
    return sentences_of(name, table, ways)


def test_models_differ_most_where_their_means_lie_farthest_apart():
    table = frame(
        "model measure layer heads mean",
        ("a", "to_sep", 1, 1, 0.3),
        ("a", "to_sep", 2, 3, 0.7),  # 0.6 over all four heads
        ("b", "to_sep", 1, 2, 0.1),
        ("c", "to_sep", 1, 2, 0.2),
        ("a", "to_cls", 1, 4, 0.1),
        ("b", "to_cls", 1, 4, 0.1),
        ("a", "to_next", 1, 4, None),  # a has no such token
        ("b", "to_next", 1, 4, 0.9),
        ("a", "entropy", 1, 4, 1.5),
        ("b", "entropy", 1, 4, 2.25),
    )
    assert said("compare/few/surface", table) == [
        "Models differ most in attention to [SEP]: a head of a gives it 60.0 % on average, one of b 10.0 %.",
        "Heads of b attend most broadly (2.25 nats on average), those of a most narrowly (1.50).",
    ]
    assert said("compare/few/surface", table.filter(model="a")) == [], "one model differs from none"
    assert said("compare/few/surface", table.filter(measure="to_cls")) == [], "nor do two that are alike"


def test_models_are_ranked_on_trees_and_the_relation_that_parts_them_is_named():
    table = frame(
        "model scheme relation total layer head accuracy",
        ("a", "stanford", "all", 900, 3, 2, 0.4),
        ("b", "stanford", "all", 900, 1, 1, 0.5),
        ("a", "stanford", "dobj", 30, 3, 1, 0.7),
        ("b", "stanford", "dobj", 30, 2, 2, 0.3),
        ("a", "stanford", "amod", 30, 3, 4, 0.9),
        ("b", "stanford", "amod", 30, 2, 4, 0.5),  # as far apart: the first by name
        ("a", "stanford", "neg", 19, 3, 4, 0.0),
        ("b", "stanford", "neg", 19, 3, 4, 1.0),  # rare
        ("a", "ud", "amod", 30, 3, 4, 0.0),
        ("b", "ud", "amod", 30, 3, 4, 1.0),
    )
    assert said("compare/trees/syntax", table) == [
        "The best single head for all relations finds 50 % in b (1-1) and 40 % in a (3-2).",
        "Models differ most on the adjective (amod): head 3-4 of a finds 90 %, the best head of b (2-4) 50 %.",
    ]


def test_models_are_ranked_on_coreference_and_probes():
    table = frame(
        "model candidates predictor layer head all_accuracy",
        ("b", "mentions", "head", 1, 2, 0.5),
        ("a", "mentions", "head", 2, 2, 0.5),  # as good: by name
        ("c", "mentions", "head", None, None, None),
        ("a", "mentions", "nearest", None, None, 0.9),
        ("a", "words", "head", 1, 1, 0.8),
    )
    assert said("compare/docs/coreference", table) == [
        "The best head for antecedents finds 50 % in a (2-2) and 50 % in b (1-2)."
    ]
    probes = frame("model probe uas", ("a", "attention", 0.6), ("b", "attention", 0.7), ("a", "attention+words", 0.9))
    assert said("compare/trees/probes", probes) == ["The probe over attention alone finds 70 % in b and 60 % in a."]


def test_pairs_of_models_say_how_far_apart_they_are_or_why_not():
    table = frame(
        "model other_model level examples queries left_out divergence refused",
        ("a", "b", "token", 6, 1254, 0, 0.25, None),
        ("a", "c", "word", 1, 1, 2, 0.5, None),
        ("a", "d", "token", 0, 0, 6, None, "a and d cut all examples into other tokens"),
        ("a", "e", "word", 0, 0, 0, None, None),
    )
    assert said("compare/few/pairs", table) == [
        "Heads of a and b diverge by 0.250 nats on average, over 1,254 tokens of six examples.",
        "Heads of a and c diverge by 0.500 nats on average, over one word of one example (2 left out).",
        "Not compared: a and d cut all examples into other tokens.",
        "Not compared: a and e share no example.",
    ]
    left_out = frame("model other_model example", ("a", "c", 1), ("a", "c", 2), ("a", "d", 1))
    assert said("compare/few/left_out", left_out) == [
        "Of a and c, two examples could not be compared.",
        "Of a and d, one example could not be compared.",
    ]


def test_the_nearest_heads_and_layers_of_two_models_are_named():
    table = frame(
        "model layer head other_model other_layer other_head divergence",
        ("a", 1, 1, "b", 2, 2, 0.1),
        ("a", 1, 2, "b", 2, 1, 0.1),
        ("a", 2, 1, "b", 1, 1, 0.4),
        ("a", 2, 2, "b", 1, 2, None),
        ("b", 1, 1, "a", 2, 1, 0.4),
    )
    assert said("compare/few/nearest", table) == [
        "Of a, head 1-1 has the nearest counterpart in b (head 2-2, 0.100 nats), head 2-1 the farthest (head "
        "1-1, 0.400).",
        "Of b, head 1-1 has the nearest counterpart in a (head 2-1, 0.400 nats).",
    ]
    layers = frame("model layer other_model other_layer divergence", ("a", 2, "b", 1, 0.3), ("a", 1, "b", 3, 0.3))
    assert said("compare/few/layers", layers) == ["Layer 1 of a and layer 3 of b are most alike (0.300 nats)."]


def steps_of_trees():
    return frame(
        "step scheme relation total layer head direction accuracy",
        (0, "stanford", "all", 900, 1, 2, "d", 0.1),
        (0, "stanford", "dobj", 30, 1, 2, "d", 0.2),
        (0, "stanford", "amod", 30, 1, 2, "d", 0.8),
        (0, "stanford", "neg", 3, 1, 2, "d", 0.0),
        (0, "stanford", "conj", 30, 1, 2, "d", None),
        (500, "stanford", "dobj", 30, 1, 3, "d", 0.9),
        (1000, "stanford", "all", 900, 3, 1, "d", 0.5),
        (1000, "stanford", "dobj", 30, 1, 2, "d", 0.7),
        (1000, "stanford", "amod", 30, 1, 2, "d", 0.75),
        (1000, "stanford", "neg", 3, 1, 2, "d", 1.0),
        (1000, "stanford", "conj", 30, 1, 2, "d", 0.9),
    )


def test_a_series_says_what_changes_most_from_its_first_step_to_its_last():
    table = steps_of_trees()
    assert said("series/run/trees/syntax/best", table) == [
        "Of all relations the best head finds 10 % at step 0 (1-2) and 50 % at step 1,000 (3-1).",
        "What changes most is the direct object (dobj): from 20 % (1-2) to 70 % (1-2).",
    ]
    assert said("series/run/trees/syntax/traced", table) == [
        "Of the heads that are best in the end, 1-2 has changed most: on the direct object (dobj) from 20 % at step 0 "
        "to 70 % at step 1,000.",
    ]
    for name in ("best", "traced"):
        assert said(f"series/run/trees/syntax/{name}", table.filter(step=0)) == [], "one step changes nothing"


def test_a_series_says_which_layer_and_head_change_most():
    table = frame(
        "step layer head to_sep to_previous to_next entropy",
        (0, 1, 1, 0.1, 0.5, None, 9.0),
        (0, 2, 1, 0.1, 0.5, None, 9.0),
        (9, 1, 1, 0.5, 0.4, None, 1.0),
        (9, 2, 1, 0.3, 0.2, None, 1.0),
    )
    assert said("series/run/few/surface/heads", table) == [
        "Head 1-1 changes most: it gives [SEP] 10.0 % of its attention at step 0 and 50.0 % at step 9.",
    ]
    assert said("series/run/few/surface/layers", table.drop("head")) == [
        "From step 0 to step 9 attention to [SEP] changes most: from 10.0 % of a head's on average to 40.0 %; in a "
        "single layer that to [SEP], in layer 1, from 10.0 % to 50.0 %.",
    ]
    still = table.with_columns(to_sep=0.1, to_previous=0.5)
    assert said("series/run/few/surface/heads", still) == said("series/run/few/surface/layers", still) == []
    assert said("series/run/few/surface/heads", table.filter(step=9)) == []


@pytest.mark.parametrize("name", SAID)
def test_every_table_that_is_spoken_of_is_one_that_a_run_has_and_may_be_empty(name):
    above, _, rest = name.partition("/")
    assert name in result_tables()
    assert said(f"{above}/{'few' if above == 'compare' else 'run/few'}/{rest}", pl.DataFrame()) == []


def test_a_table_of_which_nothing_is_said_says_nothing():
    assert said("compare/few/divergence", pl.DataFrame({"divergence": [0.1]})) == []
