import math

import numpy as np
import polars as pl
import pytest
import torch
import vl_convert
from test_divergence import as_defined, random_maps
from test_surface import describe

from headscope import divergence_counts
from headscope.between.agreement import TOKEN, WORD, agreement, common_maps
from headscope.between.counting import count_between
from headscope.between.merging import DIVERGENCE, merge_between, nearest, the_other_way
from headscope.charts.compare_divergence import compare_divergence
from headscope.divergence_counts import cross_sums, pair_sums
from headscope.encoding import ENCODED, Encoded, Kind
from headscope.errors import InputError
from headscope.store import Maps

CLS, SEP, SPECIAL, TEXT, STOP = Kind.CLS, Kind.SEP, Kind.SPECIAL, Kind.TEXT, Kind.PUNCTUATION
NAMES = ("one", "two")


def encode(examples, words=True):
    """Examples as {number: [(token, kind), ...]}."""
    rows = [
        {
            "example": number,
            "where": f"file:{number}",
            "truncated": False,
            "ids": [0] * len(tokens),
            "segments": None,
            "words": [*range(len(tokens))] if words else None,
            "tokens": [token for token, _ in tokens],
            "kinds": [kind for _, kind in tokens],
        }
        for number, tokens in examples.items()
    ]
    return Encoded(pl.DataFrame(rows, ENCODED), "corpus", "tokenizer")


def sentence(*words, before=(), after=()):
    return [*before, *((word, STOP if word == "." else TEXT) for word in words), *after]


BERT_SIDES = {"before": [("[CLS]", CLS)], "after": [("[SEP]", SEP)]}


def test_divergence_of_two_models_by_hand():
    one = np.array([[[1, 0], [1, 0]], [[0.5, 0.5], [1, 0]]], np.float32)[None]
    other = np.array([[[0, 1], [1, 0]], [[1, 0], [1, 0]], [[0, 1], [0, 1]]], np.float32)[None]
    half_way = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25)) - math.log(2) / 2
    expected = [[math.log(2), 0, 2 * math.log(2)], [half_way, half_way, half_way + math.log(2)]]
    np.testing.assert_allclose(cross_sums(one, other), expected, atol=1e-6)


@pytest.mark.parametrize("arithmetic", ["_WithNumPy", "_WithTorch"])
@pytest.mark.parametrize(("cells", "rows"), [(7, 1), (50, 4), (2**13, 8)])
def test_sums_are_those_of_the_definition_in_every_block(monkeypatch, arithmetic, cells, rows):
    chosen = getattr(divergence_counts, arithmetic)
    monkeypatch.setattr(chosen, "cells", cells)
    monkeypatch.setattr(chosen, "rows", rows)
    if arithmetic == "_WithTorch":
        monkeypatch.setattr(divergence_counts, "_WithNumPy", lambda: chosen(torch.device("cpu")))
    one, other = random_maps(9, 1, 2, 3), random_maps(9, 2, 3, 3).astype(np.float32)
    expected = [[as_defined(first, second) for second in other.reshape(9, 9, 9)] for first in one.reshape(6, 9, 9)]
    np.testing.assert_allclose(cross_sums(one, other) / 9, np.array(expected) / 9, atol=1e-5)
    np.testing.assert_array_equal(cross_sums(other, one), cross_sums(one, other).T)


@pytest.mark.parametrize("smoothing", ["none", "paper"])
def test_a_model_beside_itself_is_the_divergence_within_it(smoothing):
    weights = random_maps(20, 3)
    across = cross_sums(weights, weights, smoothing)
    np.testing.assert_array_equal(across[np.triu_indices(6, 1)], pair_sums(weights, smoothing))
    np.testing.assert_allclose(across.diagonal(), 0, atol=1e-6)


def test_maps_of_other_queries_or_keys_are_refused():
    with pytest.raises(ValueError, match="of the same queries and keys"):
        cross_sums(random_maps(5, 1), random_maps(6, 1))


def test_words_are_queries_and_special_tokens_one_key_a_kind():
    kinds = [CLS, TEXT, STOP, SEP, SEP]
    weights = np.array([[0.2] * 5, [0.1, 0.2, 0.3, 0.15, 0.25], [0.5, 0, 0.5, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]])
    found = common_maps(weights[None, None].astype(np.float32), kinds, WORD)
    # [CLS] and both [SEP] after the words, then special tokens of other kinds
    np.testing.assert_allclose(found[0, 0], [[0.2, 0.3, 0.1, 0.4, 0], [0, 0.5, 0.5, 0, 0]], atol=1e-6)
    assert common_maps(weights[None, None], kinds, TOKEN) is not None
    np.testing.assert_array_equal(common_maps(weights[None, None], kinds, TOKEN)[0, 0], weights)


def test_rows_of_words_still_sum_to_one():
    kinds = [SPECIAL, TEXT, TEXT, STOP, SEP, CLS]  # as XLNet has them, at the end
    found = common_maps(random_maps(6, 1).astype(np.float32), kinds, WORD)
    assert found.shape == (2, 3, 3, 6)
    np.testing.assert_allclose(found.sum(-1), 1, atol=2e-3)


def test_two_models_agree_on_the_words_of_a_treebank_whatever_their_special_tokens():
    one = encode({1: sentence("A", "b", ".", **BERT_SIDES), 2: sentence("c", **BERT_SIDES)})
    other = encode({1: sentence("A", "b", "."), 3: sentence("d")})
    agreed = agreement(one, other, *NAMES)
    assert (agreed.level, agreed.refused) == (WORD, None)
    assert agreed.common.rows() == [(1, 3)]
    assert agreed.left_out.rows() == [(2, "file:2", "skipped for two"), (3, "file:3", "skipped for one")]


def test_documents_that_were_cut_at_different_words_are_left_out_with_the_reason():
    one, other = encode({1: sentence("a", "b"), 2: sentence("c")}), encode({1: sentence("a"), 2: sentence("c")})
    agreed = agreement(one, other, *NAMES)
    assert agreed.common.rows() == [(2, 1)]
    assert agreed.left_out.rows() == [(1, "file:1", "cut after another word")]


def test_a_text_in_the_same_tokens_is_compared_though_segment_ids_differ():
    """DistilBERT has none, BERT has."""
    one = encode({1: sentence("a", "##b", **BERT_SIDES)}, words=False)
    other = one._replace(table=one.table.with_columns(segments=pl.lit([0] * 4, pl.List(pl.UInt8))), corpus="another")
    agreed = agreement(one, other, *NAMES)
    assert (agreed.level, agreed.refused) == (TOKEN, None)
    assert agreed.common.rows() == [(1, 4)]


def test_a_text_in_other_tokens_is_refused_though_some_examples_are_alike():
    one = encode({1: sentence("a", "b"), 2: sentence("c")}, words=False)
    other = encode({1: sentence("ab"), 2: sentence("c")}, words=False)
    agreed = agreement(one, other, *NAMES)
    assert agreed.refused.startswith("one and two cut 1 of 2 examples of this text into other tokens; compare them on")
    assert agreed.common.height == 0
    assert agreed.left_out["reason"].to_list() == ["other tokens", "alike, but others are not"]


def test_models_without_a_common_example_are_refused():
    agreed = agreement(encode({1: sentence("a")}), encode({2: sentence("b")}), *NAMES)
    assert agreed.refused == "one and two have no example in common; see skipped.csv of both"


class Other(dict):
    """Stands in for the shards of the other model."""

    example = dict.__getitem__


@pytest.fixture(scope="module")
def corpus():
    """Seven sentences as a model with special tokens and one without have them, and their maps."""
    words = {number: [f"w{place}" for place in range(3 + number)] for number in range(1, 8)}
    one = encode({number: sentence(*text, **BERT_SIDES) for number, text in words.items()})
    other = encode({number: sentence(*text) for number, text in words.items()})
    maps = {number: random_maps(len(text) + 2, number) for number, text in words.items()}
    other_maps = Other({number: random_maps(len(text), 10 + number, 1, 4) for number, text in words.items()})
    return one, other, maps, other_maps


DESCRIBED = describe(2, 3), describe(1, 4)


def merged(corpus, parts):
    one, other, maps, other_maps = corpus
    agreed = agreement(one, other, *NAMES)
    counted = [
        count_between(
            [Maps(np.array([number]), maps[number][None]) for number in part],
            other_maps,
            (one, other),
            DESCRIBED,
            agreed,
        )
        for part in parts
    ]
    return merge_between(*zip(*counted, strict=True), agreed, *NAMES)


def test_any_number_of_shards_and_any_order_gives_the_same_bits(corpus):
    whole = merged(corpus, [[1, 2, 3, 4, 5, 6, 7]])
    for parts in ([[1, 2, 3], [4, 5, 6, 7]], [[3, 1, 2], [], [5, 4], [7, 6]], [[number] for number in corpus[2]]):
        for table, other in zip(merged(corpus, parts), whole, strict=True):
            assert table.equals(other)


def test_the_tables_are_means_over_all_common_queries(corpus):
    _, _, maps, other_maps = corpus
    found = merged(corpus, [[1, 2, 3], [4, 5, 6, 7]])
    assert found.divergence.height == 6 * 4
    sums, words = 0, 0
    for number, weights in maps.items():
        rows = weights[1, 0].astype(np.float64)[1:-1]
        keys = np.concatenate([rows[:, 1:-1], rows[:, :1], rows[:, -1:]], -1)
        without = np.pad(other_maps[number][0, 3].astype(np.float64), ((0, 0), (0, 2)))
        sums, words = sums + as_defined(keys, without), words + len(rows)
    row = found.divergence.row(
        by_predicate=(pl.col("layer") == 2) & (pl.col("head") == 1) & (pl.col("other_head") == 4)
    )
    assert row[:6] == ("one", 2, 1, "two", 1, 4)
    assert row[6] == pytest.approx(sums / words, abs=1e-5)
    assert found.pairs.row(0, named=True) == {
        "model": "one",
        "other_model": "two",
        "level": WORD,
        "examples": 7,
        "queries": words,
        "left_out": 0,
        "divergence": pytest.approx(found.divergence["divergence"].mean()),
        "refused": None,
    }
    assert found.layers.height == 2
    first_layer = found.divergence.filter(layer=1)["divergence"].mean()
    assert found.layers.row(0) == ("one", 1, "two", 1, pytest.approx(first_layer))


def table_of(values):
    """The divergences of the heads 1-1, 1-2, ... of `one` (rows) from those of `two`."""
    rows = [
        ("one", 1, head, "two", 1, other, value)
        for head, line in enumerate(values, start=1)
        for other, value in enumerate(line, start=1)
    ]
    return pl.DataFrame(rows, DIVERGENCE, orient="row")


def test_the_nearest_of_every_head_and_the_first_of_equals():
    table = table_of([[0.3, 0.1, 0.1], [0.2, 0.4, 0.5]])
    assert nearest(table).rows() == [("one", 1, 1, "two", 1, 2, 0.1), ("one", 1, 2, "two", 1, 1, 0.2)]
    assert nearest(the_other_way(table)).rows() == [
        ("two", 1, 1, "one", 1, 2, 0.2),
        ("two", 1, 2, "one", 1, 1, 0.1),
        ("two", 1, 3, "one", 1, 1, 0.1),
    ]


@pytest.mark.parametrize(
    ("parts", "found"), [([[1, 2, 3], [4, 5]], "found 5 with 2"), ([[1, 2, 3, 4, 5, 6, 7], [7]], "found 8 with 0")]
)
def test_missing_or_doubled_examples_are_refused(corpus, parts, found):
    with pytest.raises(InputError, match=f"expected each of 7 common examples once, {found} missing"):
        merged(corpus, parts)


def written(chart):
    return vl_convert.vegalite_to_svg(chart.to_json())


def refused_pair():
    one, other = encode({1: sentence("a", "b")}, words=False), encode({1: sentence("ab")}, words=False)
    agreed = agreement(one, other, *NAMES)
    counted = count_between([Maps(np.array([1]), random_maps(2, 1)[None])], Other(), (one, other), DESCRIBED, agreed)
    return merge_between([counted[0]], [counted[1]], agreed, *NAMES)


def test_of_a_refused_pair_there_are_empty_tables_and_the_reason():
    found = refused_pair()
    assert (found.divergence.height, found.nearest.height, found.layers.height) == (0, 0, 0)
    row = found.pairs.row(0, named=True)
    assert row["refused"].startswith("one and two cut 1 of 1 examples")
    assert (row["examples"], row["left_out"], row["divergence"]) == (0, 1, None)


def test_the_figure_shows_every_two_layers_and_the_nearest_of_every_head(corpus):
    found = merged(corpus, [[*corpus[2]]])
    chart = compare_divergence(found.layers, found.nearest, found.pairs, "trees")
    sources = chart.to_dict()["datasets"].values()
    assert sorted(len(rows) for rows in sources) == [2, 4, 6]
    text = written(chart)
    for row in found.nearest.iter_rows(named=True):
        assert f">{row['other_layer']}-{row['other_head']}</text>" in text
    assert "trees: 7 examples, 49 words" in text


def test_the_figure_of_a_refused_pair_says_why():
    found = refused_pair()
    assert "cut 1 of 1 examples" in written(compare_divergence(found.layers, found.nearest, found.pairs, "text"))
