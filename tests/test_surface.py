import math

import numpy as np
import polars as pl
import pytest

from headscope import surface_counts
from headscope.description import Description, LayerView
from headscope.encoding import ENCODED, Encoded, Kind
from headscope.errors import InputError
from headscope.store import Maps
from headscope.surface import MEASURES, example_means, merge_surface
from headscope.surface_counts import Scratch, count_surface, surface_sums

CLS, TEXT, DOT, SEP = Kind.CLS, Kind.TEXT, Kind.PUNCTUATION, Kind.SEP


def describe(layers, heads, views=None):
    views = views or [LayerView(causal=False, reach=None)] * layers
    return Description(
        "model", "source", None, None, "Model", layers, heads, 8, 1, None, True, {}, views, weights="w", tokenizer="t"
    )


def encoded_from(kinds_by_example):
    rows = [
        {
            "example": example,
            "where": f"file:{example}",
            "truncated": False,
            "tokens": ["x"] * len(kinds),
            "ids": [0] * len(kinds),
            "segments": [0] * len(kinds),
            "words": None,
            "kinds": list(map(int, kinds)),
        }
        for example, kinds in kinds_by_example.items()
    ]
    return Encoded(pl.DataFrame(rows, ENCODED), "corpus", "t")


def sums_of(weights, kinds):
    sums = surface_sums(np.asarray(weights, dtype=np.float32)[None, None], np.array(kinds, np.uint8), Scratch())
    return dict(zip(MEASURES, sums[0, 0], strict=True))


def test_measures_of_one_small_map_by_hand():
    weights = [
        # [CLS]  a    .   [SEP]
        [0.5, 0.25, 0.25, 0.0],  # [CLS]
        [0.0, 0.0, 1.0, 0.0],  # a
        [0.25, 0.25, 0.25, 0.25],  # .
        [0.0, 0.5, 0.0, 0.5],  # [SEP]
    ]
    sums = sums_of(weights, [CLS, TEXT, DOT, SEP])
    half, two, four = 1.5 * math.log(2), math.log(2), math.log(4)  # of (½ ¼ ¼), (½ ½) and (¼ ¼ ¼ ¼)
    expected = {
        "to_self": 0.5 + 0.0 + 0.25 + 0.5,
        "to_previous": 0.0 + 0.25 + 0.0,
        "to_next": 0.25 + 1.0 + 0.25,
        "to_cls": 0.5 + 0.0 + 0.25 + 0.0,
        "to_sep": 0.0 + 0.0 + 0.25 + 0.5,
        "to_punctuation": 0.25 + 1.0 + 0.25 + 0.0,
        "sep_to_sep": 0.5,
        "other_to_sep": 0.25,
        "entropy": half + 0 + four + two,
        "entropy_from_cls": half,
        "to_first": 0.5 + 0.0 + 0.25 + 0.0,
    }
    assert sums == pytest.approx(expected, abs=1e-6)


def test_previous_is_the_token_before_the_query():
    """The notebook's legend has the two swapped."""
    each_looks_back = np.eye(4, k=-1)
    each_looks_back[0, 0] = 1
    sums = sums_of(each_looks_back, [TEXT] * 4)
    assert (sums["to_previous"], sums["to_next"]) == (3, 0)


def test_all_separators_count_together():
    weights = np.full((5, 5), 0.2)
    sums = sums_of(weights, [CLS, TEXT, SEP, TEXT, SEP])
    assert sums["to_sep"] == pytest.approx(5 * 0.4)
    assert sums["sep_to_sep"] == pytest.approx(2 * 0.4)
    assert sums["other_to_sep"] == pytest.approx(3 * 0.4)


def as_defined(weights, kinds):
    """The definitions, one query at a time, in float64."""
    size = len(kinds)
    sums = dict.fromkeys(MEASURES, 0.0)
    for query in range(size):
        row = weights[query].astype(np.float64)
        entropy = -sum(weight * math.log(weight) for weight in row if weight > 0)
        sums["to_self"] += row[query]
        sums["to_previous"] += row[query - 1] if query > 0 else 0
        sums["to_next"] += row[query + 1] if query + 1 < size else 0
        for name, kind in (("to_cls", CLS), ("to_sep", SEP), ("to_punctuation", DOT)):
            sums[name] += row[kinds == kind].sum()
        sums["sep_to_sep" if kinds[query] == SEP else "other_to_sep"] += row[kinds == SEP].sum()
        sums["entropy"] += entropy
        sums["entropy_from_cls"] += entropy if kinds[query] == CLS else 0
        sums["to_first"] += row[0]
    return [sums[name] for name in MEASURES]


def random_maps(layers, heads, size, seed):
    generator = np.random.default_rng(seed)
    scores = 4 * generator.standard_normal((layers, heads, size, size))
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    kinds = generator.choice([TEXT, TEXT, DOT, Kind.SPECIAL], size)
    kinds[0], kinds[[size // 2, -1]] = CLS, SEP
    return weights, kinds.astype(np.uint8)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("block", [1, 1000, 2**21])
def test_sums_are_those_of_the_definition(monkeypatch, dtype, block):
    monkeypatch.setattr(surface_counts, "BLOCK_WEIGHTS", block)
    scratch = Scratch()
    for size, seed in ((40, 1), (5, 2), (23, 3)):
        weights, kinds = random_maps(2, 3, size, seed)
        weights = weights.astype(dtype)
        found = surface_sums(weights, kinds, scratch)
        expected = [[as_defined(weights[layer, head], kinds) for head in range(3)] for layer in range(2)]
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def run(examples, shards=1, neighbours="existing", layers=2, heads=3, views=None):
    """Both tables from {example: (weights, kinds)}, cut into shards."""
    encoded = encoded_from({example: kinds for example, (_, kinds) in examples.items()})
    tables = []
    for part in np.array_split(list(examples), shards):
        maps = [Maps(np.array([example]), examples[example][0].astype(np.float32)[None]) for example in part[::-1]]
        tables.append(count_surface(maps, encoded))
    return merge_surface(lambda: iter(tables), encoded, describe(layers, heads, views), neighbours)


@pytest.fixture(scope="module")
def examples():
    return {number: random_maps(2, 3, 10 + 3 * number, number) for number in range(1, 9)}


def test_any_number_of_shards_gives_the_same_bits(examples):
    heads, uniform = run(examples)
    for shards in (2, 3, 8, 20):
        other_heads, other_uniform = run(examples, shards)
        assert heads.equals(other_heads)
        assert uniform.equals(other_uniform)


def test_means_are_over_queries_then_examples_and_errors_over_examples(examples):
    heads, _ = run(examples)
    means = []
    for weights, kinds in examples.values():
        sums = dict(zip(MEASURES, as_defined(weights[1, 2], kinds), strict=True))
        size, seps = len(kinds), (kinds == SEP).sum()
        queries = {"to_previous": size - 1, "to_next": size - 1, "sep_to_sep": seps, "other_to_sep": size - seps}
        means.append([sums[name] / queries.get(name, 1 if name == "entropy_from_cls" else size) for name in MEASURES])
    row = heads.filter(layer=2, head=3)
    assert row.height == 1
    np.testing.assert_allclose(row.select(MEASURES).row(0), np.mean(means, 0), rtol=1e-5)
    errors = np.std(means, 0, ddof=1) / np.sqrt(len(means))
    np.testing.assert_allclose(row.select([f"{name}_se" for name in MEASURES]).row(0), errors, rtol=1e-4)


def test_the_papers_neighbour_mean_divides_by_all_tokens(examples):
    one = {1: examples[1]}
    size = len(examples[1][1])
    existing, paper = (run(one, neighbours=option)[0] for option in ("existing", "paper"))
    for name in ("to_previous", "to_next"):
        np.testing.assert_allclose(paper[name], existing[name] * (size - 1) / size)
    assert existing.drop("to_previous", "to_next").equals(paper.drop("to_previous", "to_next"))


def test_permuting_heads_permutes_the_table(examples):
    heads, _ = run(examples)
    order = [2, 0, 1]
    permuted, _ = run({number: (weights[:, order], kinds) for number, (weights, kinds) in examples.items()})
    for position, head in enumerate(order, start=1):
        found, expected = permuted.filter(head=position).drop("head"), heads.filter(head=head + 1).drop("head")
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_what_a_model_does_not_have_is_null_not_zero():
    weights, kinds = random_maps(2, 3, 12, 5)
    plain = np.where(np.isin(kinds, (CLS, SEP)), TEXT, kinds).astype(np.uint8)
    heads, uniform = run({1: (weights, plain), 2: (weights, plain)})
    for name in ("to_cls", "to_sep", "sep_to_sep", "other_to_sep", "entropy_from_cls"):
        assert heads[name].null_count() == heads.height
        assert heads[f"{name}_se"].null_count() == heads.height
    assert heads["to_self"].null_count() == 0
    assert uniform["entropy_from_cls"].null_count() == 2


def test_no_token_of_a_causal_layer_sees_the_next_and_all_may_see_the_first():
    """A layer of previous-token heads whose first token can only look at itself, and one that sees all."""
    size = 5
    looks_back = np.eye(size, k=-1)
    looks_back[0, 0] = 1
    weights = np.stack([np.stack([looks_back] * 3), np.full((3, size, size), 1 / size)])
    views = [LayerView(causal=True, reach=None), LayerView(causal=False, reach=None)]
    heads, _ = run({number: (weights, np.array([TEXT] * size, np.uint8)) for number in (1, 2)}, views=views)
    causal, full = heads.filter(layer=1), heads.filter(layer=2)
    for column in ("to_next", "to_next_se"):
        assert causal[column].null_count() == 3
        assert full[column].null_count() == 0
    assert causal["to_previous"].to_list() == [1] * 3
    assert causal["to_first"].to_list() == [2 / size] * 3, "from the first and the second token"
    assert full["to_first"].to_list() == pytest.approx([1 / size] * 3)


def test_one_example_has_no_standard_error(examples):
    heads, _ = run({1: examples[1]})
    assert heads["to_self"].null_count() == 0
    assert heads["to_self_se"].null_count() == heads.height


def test_layers_and_heads_count_from_one(examples):
    heads, uniform = run(examples)
    assert heads.select("layer", "head").rows() == [(layer, head) for layer in (1, 2) for head in (1, 2, 3)]
    assert uniform["layer"].to_list() == [1, 2]


def test_uniform_attention_is_over_the_keys_a_layer_can_see():
    weights, _ = random_maps(2, 3, 4, 1)
    views = [LayerView(causal=False, reach=None), LayerView(causal=True, reach=1)]
    _, uniform = run({1: (weights, np.array([CLS, TEXT, TEXT, SEP], np.uint8))}, views=views)
    assert uniform["entropy"].to_list() == pytest.approx([math.log(4), 3 * math.log(2) / 4])
    assert uniform["entropy_from_cls"].to_list() == pytest.approx([math.log(4), 0])
    assert uniform.select("examples", "tokens").row(0) == (1, 4)


def test_attention_spread_evenly_reaches_the_uniform_line():
    heads, uniform = run({1: (np.full((2, 3, 16, 16), 1 / 16), random_maps(2, 3, 16, 1)[1])})
    np.testing.assert_allclose(heads["entropy"], uniform["entropy"][0], rtol=1e-6)


def test_an_example_of_one_token_has_no_neighbours():
    sums = count_surface([Maps(np.array([1]), np.ones((1, 1, 1, 1, 1), np.float32))], encoded_from({1: [TEXT]}))
    means = dict(zip(MEASURES, example_means(sums, "existing")[0, 0], strict=True))
    assert means["to_self"] == 1
    assert math.isnan(means["to_previous"])


def test_missing_or_doubled_examples_are_refused(examples):
    encoded = encoded_from({number: kinds for number, (_, kinds) in examples.items()})
    maps = {
        number: Maps(np.array([number]), weights.astype(np.float32)[None]) for number, (weights, _) in examples.items()
    }
    missing = [count_surface([maps[number] for number in (1, 2, 3)], encoded)]
    doubled = [count_surface(maps.values(), encoded), count_surface([maps[8]], encoded)]
    for tables, found in ((missing, "found 3 with 5 missing"), (doubled, "found 9 with 0 missing"), ([], "found 0")):
        with pytest.raises(InputError, match=f"expected each of 8 examples once and in order, {found}"):
            merge_surface(lambda tables=tables: iter(tables), encoded, describe(2, 3))


def test_a_map_of_another_size_than_its_example_is_refused():
    encoded = encoded_from({1: [CLS, TEXT, SEP]})
    with pytest.raises(InputError, match="example 1: expected maps of 3 tokens, found 4"):
        count_surface([Maps(np.array([1]), np.full((1, 1, 1, 4, 4), 0.25, np.float32))], encoded)
