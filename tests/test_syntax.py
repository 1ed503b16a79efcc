import math

import numpy as np
import polars as pl
import pytest

from headscope.corpora.trees import TREES
from headscope.description import Description, LayerView
from headscope.encoding import ENCODED, Encoded, Kind
from headscope.errors import InputError
from headscope.hits import Hits
from headscope.statistics import bootstrap_intervals
from headscope.store import Maps
from headscope.syntax.accuracy import Options, Scored, merge_syntax, read_scored
from headscope.syntax.examples import sentences_to_show, shown_words
from headscope.syntax.names import DIRECTIONS, relations_to_show
from headscope.syntax.scoring import Gold, count_syntax, predicted_heads, tree_hits


def describe(layers=2, heads=3):
    views = [LayerView(causal=False, reach=None)] * layers
    return Description(
        "m", "s", None, None, "M", layers, heads, 8, 1, None, True, {}, views, weights="w", tokenizer="t"
    )


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_the_strongest_other_word_is_picked_in_both_directions(dtype):
    weights = np.array(
        [
            # the  cat  sat
            [0.9, 0.1, 0.0],  # the: itself is left out
            [0.3, 0.3, 0.4],  # cat
            [0.4, 0.4, 0.2],  # sat: a tie goes to the first
        ],
        dtype,
    )[None, None, None]
    row, column = predicted_heads(weights)[0, :, 0, 0]
    assert row.tolist() == [1, 2, 0]
    assert column.tolist() == [2, 2, 1], "who attends most to the, cat, sat"


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_word_without_weights_picks_itself_which_is_never_right(dtype):
    for weights in (np.zeros((3, 3)), np.eye(3), np.ones((1, 1))):
        picked = predicted_heads(weights.astype(dtype)[None, None, None])[0, :, 0, 0]
        assert picked.tolist() == [list(range(len(weights)))] * 2


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("reach", [None, 2])
def test_a_causal_head_finds_heads_on_the_left_and_dependents_on_the_left_only(dtype, reach):
    size = 9
    weights = np.random.default_rng(0).random((2, 2, 3, size, size)) * LayerView(True, reach).mask(size)
    row, column = np.moveaxis(predicted_heads(weights.astype(dtype)), 1, 0)
    word = np.arange(size)
    assert (row[..., 1:] < word[1:]).all(), "a word's head is before it"
    assert (column[..., :-1] > word[:-1]).all(), "and the word that attends to it after it"
    assert (row[..., 0] == 0).all(), "the first word sees no other"
    assert (column[..., -1] == size - 1).all(), "and none sees the last"
    gold = np.tile([2, 0, *range(2, size)], (2, 1))  # the first word's head is the second: to the right of it
    hits = tree_hits(predicted_heads(weights.astype(dtype)), gold, np.zeros_like(gold, dtype=bool))
    assert not hits[:, 0, 0].any()


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_picks_are_those_of_argmax(dtype):
    weights = np.random.default_rng(0).random((3, 2, 4, 17, 17)).astype(dtype).round(1)
    others = weights.astype(float)
    others[..., range(17), range(17)] = -1
    picked = predicted_heads(weights)
    np.testing.assert_array_equal(picked[:, 0], others.argmax(-1))
    np.testing.assert_array_equal(picked[:, 1], others.swapaxes(-1, -2).argmax(-1))


def hits_of(picks, heads, possessors=(False, False, False)):
    picked = np.array(picks)[None, None, None, None]
    return tree_hits(picked, np.array([heads]), np.array([possessors]))[0, :, 0, 0, 0].tolist()


def test_a_hit_is_the_gold_head_and_the_root_is_none():
    assert hits_of([1, 2, 0], [2, 0, 2]) == [True, False, False]


def test_a_clitic_that_picks_the_head_counts_for_its_possessor():
    # Marie 's discovery: Marie picks 's, 's picks discovery
    assert hits_of([1, 2, 0], [3, 1, 0], [True, False, False]) == [True, False, False]
    assert hits_of([1, 2, 0], [3, 1, 0]) == [False, False, False]
    assert hits_of([1, 0, 0], [3, 1, 0], [True, False, False]) == [False, True, False]


def test_possessors_are_followed_by_their_clitic_and_stanford_only():
    trees = pl.DataFrame(
        {
            "words": [["Marie", "'S", "pen"], ["her", "'", "pens"], ["the", "boys", "’"], ["their", "pen"]],
            "ud_heads": [[3, 1, 0], [3, 1, 0], [2, 0, 2], [2, 0]],
            "ud_relations": [["nmod:poss", "case", "root"]] * 2 + [["det", "root", "case"], ["nmod:poss", "root"]],
            "stanford_heads": [[3, 1, 0], [3, 1, 0], [2, 0, 2], [2, 0]],
            "stanford_relations": [["poss", "possessive", "root"]] * 2 + [["det", "root", "case"], ["poss", "root"]],
        }
    )
    stanford = Gold.of(trees, "stanford")
    assert np.flatnonzero(stanford.possessors).tolist() == [0, 3]
    assert stanford.heads.tolist() == [3, 1, 0, 3, 1, 0, 2, 0, 2, 2, 0]
    assert not Gold.of(trees, "ud").possessors.any()


RELATIONS = ("det", "nsubj", "obj", "punct")


def random_corpus(sentences=40, layers=2, heads=3, seed=0):
    """Trees that are chains in random order, random maps with [CLS] and [SEP], and their encoding."""
    generator = np.random.default_rng(seed)
    trees, encoded, maps = [], [], {}
    for example in range(1, sentences + 1):
        size = int(generator.integers(2, 9))
        order = generator.permutation(size)
        gold = np.zeros(size, int)
        gold[order[1:]] = order[:-1] + 1
        relations = [("root" if head == 0 else RELATIONS[generator.integers(4)]) for head in gold]
        words = [f"w{number}" for number in range(size)]
        trees.append(
            (example, f"f:{example}", "", 1, words, [True] * size, ["NN"] * size, gold, relations, gold, relations)
        )
        kinds = [Kind.CLS, *[Kind.TEXT] * size, Kind.SEP]
        encoded.append((example, "", False, [0] * len(kinds), [0] * len(kinds), range(len(kinds)), ["x"], kinds))
        maps[example] = generator.random((layers, heads, size + 2, size + 2)).astype(np.float16)
    trees = [(*row[:7], row[7].tolist(), row[8], row[9].tolist(), row[10]) for row in trees]
    encoded = [(*row[:5], list(row[5]), row[6], list(map(int, row[7]))) for row in encoded]
    return (
        pl.DataFrame(trees, TREES, orient="row"),
        Encoded(pl.DataFrame(encoded, ENCODED, orient="row"), "corpus", "t"),
        maps,
    )


def plainly(trees, maps, layers, heads):
    """Correct and total by (relation, direction, layer, head), one word at a time: the definition."""
    counts = {}
    for row in trees.iter_rows(named=True):
        weights = maps[row["example"]][:, :, 1:-1, 1:-1].astype(float)
        for word, (head, relation) in enumerate(zip(row["ud_heads"], row["ud_relations"], strict=True)):
            if head == 0:
                continue
            for layer in range(layers):
                for number in range(heads):
                    for direction in DIRECTIONS:
                        table = weights[layer, number] if direction == DIRECTIONS[0] else weights[layer, number].T
                        others = [other for other in range(len(table)) if other != word]
                        pick = max(others, key=lambda other: (table[word, other], -other))
                        for name in {relation, "all"} - ({"all"} if relation == "punct" else set()):
                            key = name, direction, layer + 1, number + 1
                            correct, total = counts.get(key, (0, 0))
                            counts[key] = correct + (pick == head - 1), total + 1
    return counts


def score(trees, encoded, maps, tmp_path, shards=1, options=None):
    paths = []
    for number, part in enumerate(np.array_split(list(maps), shards)):
        batches = [Maps(np.array([example]), maps[example][None]) for example in part[::-1].tolist()]
        paths.append(tmp_path / f"{shards}-{number}.parquet")
        count_syntax(batches, encoded, trees).write_parquet(paths[-1])
    described = describe()
    scored = {scheme: read_scored(paths, scheme, described, encoded) for scheme in ("ud", "stanford")}
    return merge_syntax(scored, options or Options(resamples=200))


def test_counts_are_those_of_the_definition(tmp_path):
    trees, encoded, maps = random_corpus()
    heads, _ = score(trees, encoded, maps, tmp_path)
    expected = plainly(trees, maps, 2, 3)
    found = {
        (row["relation"], row["direction"], row["layer"], row["head"]): (row["correct"], row["total"])
        for row in heads.filter(scheme="ud").iter_rows(named=True)
    }
    assert found == expected
    assert (heads["accuracy"] == heads["correct"] / heads["total"]).all()


def test_any_number_of_shards_gives_the_same_tables(tmp_path):
    corpus = random_corpus()
    whole = score(*corpus, tmp_path)
    for shards in (2, 7, 50):
        for one, other in zip(whole, score(*corpus, tmp_path, shards), strict=True):
            assert one.equals(other)


def test_table1_has_the_best_head_of_each_relation_most_frequent_first(tmp_path):
    heads, table1 = score(*random_corpus(), tmp_path)
    ud = table1.filter(scheme="ud")
    assert ud["relation"][0] == "all"
    assert ud["total"].to_list()[1:] == sorted(ud["total"].to_list()[1:], reverse=True)
    for row in ud.iter_rows(named=True):
        of_relation = heads.filter(scheme="ud", relation=row["relation"])
        assert row["accuracy"] == of_relation["accuracy"].max()
        assert (
            of_relation.filter(layer=row["layer"], head=row["head"], direction=row["direction"])["accuracy"].item()
            == (row["accuracy"])
        )
        assert row["ci_low"] < row["accuracy"] < row["ci_high"]


def one_relation(hits, offsets, layers=1, heads=1):
    """Dependents of `obj`, one a sentence, hit by the only head (dependent to head) or not."""
    bits = np.packbits(np.array([[hit, False] for hit in hits]), axis=1)
    found = Hits(np.arange(1, len(hits) + 1), bits, (2, 1, 1))
    return Scored(found, np.array(["obj"] * len(hits)), np.array(offsets, float))


def only_row(scored, **options):
    _, table1 = merge_syntax({"ud": scored}, Options(**options))
    return table1.filter(relation="obj").row(0, named=True)


def test_the_baseline_is_the_best_fixed_offset_within_bounds():
    scored = one_relation([True] * 6, [-2, -2, 1, -7, -7, -7])
    row = only_row(scored)
    assert (row["baseline_offset"], row["baseline_accuracy"]) == (-2, 2 / 6)
    row = only_row(scored, offsets=(-1, 2))
    assert (row["baseline_offset"], row["baseline_accuracy"]) == (1, 1 / 6)


def test_the_held_out_head_is_chosen_on_the_other_half():
    """One direction right on even sentences, one on odd: each half chooses the one that fails the other."""
    bits = np.packbits([[number % 2 == 0, number % 2 == 1] for number in range(1, 11)], axis=1)
    scored = Scored(Hits(np.arange(1, 11), bits, (2, 1, 1)), np.array(["obj"] * 10), np.ones(10))
    row = only_row(scored)
    assert row["accuracy"] == 0.5
    assert row["held_out_accuracy"] == 0


def test_one_sentence_cannot_be_halved():
    assert only_row(one_relation([True], [1]))["held_out_accuracy"] is None


def test_the_papers_all_counts_punctuation_and_root(tmp_path):
    trees, encoded, maps = random_corpus()
    words = int(trees["words"].list.len().sum())
    punctuation = int(trees["ud_relations"].explode().eq("punct").sum())
    totals = {
        every: score(trees, encoded, maps, tmp_path, options=Options(every, resamples=100))[1]["total"][0]
        for every in ("words", "paper")
    }
    assert totals == {"words": words - trees.height - punctuation, "paper": words}


def test_an_interval_is_that_of_the_binomial_where_units_are_single():
    correct = np.zeros((400, 1))
    correct[:100] = 1
    low, high = bootstrap_intervals(correct, np.ones((400, 1)), 4000, seed=1)
    error = 1.96 * math.sqrt(0.25 * 0.75 / 400)
    assert low[0] == pytest.approx(0.25 - error, abs=0.008)
    assert high[0] == pytest.approx(0.25 + error, abs=0.008)


def test_intervals_are_seeded_and_wider_where_units_are_clusters():
    generator = np.random.default_rng(0)
    clustered = np.repeat(generator.integers(0, 2, (40, 1)), 1, axis=1) * 10.0
    ten = np.full((40, 1), 10.0)
    once, again = (bootstrap_intervals(clustered, ten, 500, seed=3) for _ in range(2))
    assert once == again
    single = bootstrap_intervals(clustered.repeat(10, 0) / 10, np.ones((400, 1)), 500, seed=3)
    assert once[1] - once[0] > 2 * (single[1] - single[0])


def test_an_accuracy_of_nothing_has_no_interval():
    low, high = bootstrap_intervals(np.zeros((3, 1)), np.zeros((3, 1)), 100, seed=0)
    assert np.isnan(low[0])
    assert np.isnan(high[0])


def test_shards_that_miss_a_sentence_are_refused(tmp_path):
    trees, encoded, maps = random_corpus()
    del maps[7]
    with pytest.raises(InputError, match="expected each of 40 sentences once and in order, found 39"):
        score(trees, encoded, maps, tmp_path)


def test_a_map_of_another_treebank_is_refused():
    trees, encoded, maps = random_corpus()
    with pytest.raises(InputError, match="example 1: expected maps of"):
        count_syntax([Maps(np.array([1]), np.zeros((1, 2, 3, 30, 30)))], encoded, trees)
    assert maps


def test_relations_to_show_are_those_that_gain_most_or_are_named():
    columns = {"scheme": "ud", "layer": 1, "head": 1, "direction": DIRECTIONS[0], "accuracy": 0.9, "ci_high": 1}
    rows = [("all", 99, 0.9, 0.0), ("det", 50, 0.9, 0.8), ("obj", 40, 0.7, 0.3), ("rare", 3, 1.0, 0.0)]
    table1 = pl.DataFrame(
        [columns | dict(zip(("relation", "total", "ci_low", "baseline_accuracy"), row, strict=True)) for row in rows]
    )
    assert relations_to_show(table1, "ud", [], 20)["relation"].to_list() == ["obj", "det"]
    assert relations_to_show(table1, "ud", ["rare"], 20)["relation"].to_list() == ["rare"]
    with pytest.raises(InputError, match=r"figure_5.relations: .* that occur, found dobj; there are det, obj, rare"):
        relations_to_show(table1, "ud", ["dobj"], 20)


def test_sentences_to_show_have_most_dependents_and_a_fitting_length():
    trees = pl.DataFrame(
        {
            "example": [1, 2, 3, 4],
            "words": [["w"] * length for length in (5, 8, 10, 30)],
            "ud_relations": [["obj"] * count + ["det"] for count in (4, 1, 2, 9)],
        }
    )
    assert sentences_to_show(trees, "ud", "obj") == [3, 2]


def sentence_of(words, heads, relations):
    columns = {"example": [4], "words": [words]}
    for scheme in ("ud", "stanford"):
        columns |= {f"{scheme}_heads": [heads], f"{scheme}_relations": [relations]}
    return pl.DataFrame(columns)


@pytest.mark.parametrize(("direction", "scored"), [(DIRECTIONS[0], "query"), (DIRECTIONS[1], "key")])
def test_cells_shown_know_their_dependents_and_gold_heads(direction, scored):
    sentence = sentence_of(["a", "b", "c"], [2, 0, 2], ["det", "root", "obj"])
    row = {"scheme": "ud", "relation": "obj", "layer": 1, "head": 1, "direction": direction, "accuracy": 0.5}
    weights = np.arange(25, dtype=np.float16).reshape(1, 1, 5, 5)
    kinds = [Kind.CLS, Kind.TEXT, Kind.TEXT, Kind.TEXT, Kind.SEP]
    cells = shown_words(row, 1, sentence, kinds, weights)
    assert cells["weight"].to_list() == [7, 8, 11, 13, 16, 17], "of other words only"
    assert cells.filter("of_relation")[scored].unique().to_list() == [3]
    gold = cells.filter("gold").row(0, named=True)
    other = "key" if scored == "query" else "query"
    assert (gold[scored], gold[other]) == (3, 2)
    assert cells.filter("gold").height == 1
    assert cells.filter("picked").equals(cells.filter("gold")), "18 is stronger, but a word's own"
    assert cells.filter("hit").equals(cells.filter("of_relation"))


def test_a_hit_by_the_clitic_is_shown_as_one():
    # Marie 's pen: Marie picks 's, 's picks pen
    sentence = sentence_of(["Marie", "'s", "pen"], [3, 1, 0], ["poss", "possessive", "root"])
    row = {"scheme": "stanford", "relation": "poss", "layer": 1, "head": 1, "direction": DIRECTIONS[0], "accuracy": 0.5}
    weights = np.array([[[[0, 0.9, 0.1], [0.1, 0, 0.9], [0.9, 0.1, 0]]]], np.float16)
    cells = shown_words(row, 1, sentence, [Kind.TEXT] * 3, weights)
    assert cells.filter("picked").select("query", "key").rows() == [(1, 2)]
    assert cells.filter("gold").select("query", "key").rows() == [(1, 3)]
    assert cells.filter("hit")["query"].to_list() == [1, 1]
