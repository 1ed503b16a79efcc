import itertools
import math

import numpy as np
import polars as pl
import pytest
import torch
from planted import HEADS, KNOWING, LAYERS, VOCABULARY, as_shards, planted, word_numbers

from headscope.errors import InputError
from headscope.probes.decoding import best_tree, edges_joined, fixed_offset, is_tree
from headscope.probes.files import LearnedProbe, Run, read_learned, write_learned
from headscope.probes.laying import write_sentences
from headscope.probes.names import ATTENTION, ATTENTION_WORDS, CONTROL, DISTANCES_WORDS, LEARNED
from headscope.probes.networks import AttentionProbe, DistanceProbe, Standard, distance_features, make_probe
from headscope.probes.networks import negative_log_likelihood as loss_of
from headscope.probes.scoring import best_fixed_offset, count_baselines
from headscope.probes.sentences import NO_HEAD, Sentences, plan_by_length
from headscope.probes.training import Settings, learn, split_sentences
from headscope.probes.trees import Trees, permuted_trees

SIZES = [7, 3, 5, 7, 1, 4, 9, 5, 3, 7, 6, 2] * 5
SETTINGS = Settings(epochs=40, patience=3, batch_words=40, learning_rate=0.02)
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def corpus():
    return planted(SIZES)


@pytest.fixture(scope="module")
def vectors():
    return torch.from_numpy(np.random.default_rng(1).normal(size=(VOCABULARY, 4)).astype(np.float32))


def laid_out(corpus, folder, shards=1, control=False):
    trees, encoded, maps = corpus
    gold = Trees.read(trees, "ud")
    path = folder / f"{shards}.arrow"
    index = write_sentences(as_shards(maps, shards), encoded, gold, permuted_trees(gold), word_numbers(trees), path)
    return Sentences(path, index, LAYERS * HEADS, control)


@pytest.fixture(scope="module")
def sentences(corpus, tmp_path_factory):
    return laid_out(corpus, tmp_path_factory.mktemp("sentences"))


def one_batch(sentences, rows):
    return next(iter(sentences.batches([np.array(rows)])))


def randomised(probe, seed=0):
    generator = np.random.default_rng(seed)
    with torch.no_grad():
        for weights in probe.parameters():
            weights.copy_(torch.from_numpy(generator.normal(size=tuple(weights.shape))))
    return probe


def test_a_sentence_is_read_as_it_was_written(corpus, sentences):
    trees, _, maps = corpus
    batch = one_batch(sentences, [2, 3])
    size, longer = SIZES[2], SIZES[3]
    inside = slice(1, -1)
    expected = maps[2][:, :, inside, inside].reshape(LAYERS * HEADS, size, size)
    np.testing.assert_array_equal(batch.weights[0, :size, :, :size].numpy().transpose(1, 0, 2), expected)
    assert not batch.weights[0, size:].any() and not batch.weights[0, :, :, size:].any()
    specials = maps[2][:, :, inside][..., [0, -1]].astype(np.float64).mean((0, 1))
    np.testing.assert_allclose(batch.specials[0, :size], specials, rtol=1e-3)
    assert batch.heads[0].tolist() == trees["ud_heads"][2].to_list() + [NO_HEAD] * (longer - size)
    assert batch.heads[1].tolist() == trees["ud_heads"][3].to_list()
    assert batch.numbers[1].tolist() == [int(word[1:]) for word in trees["words"][3]]
    assert batch.counted[1].tolist() == [relation != "punct" for relation in trees["ud_relations"][3]]


@pytest.mark.parametrize("shards", [1, 3, 7])
def test_shards_make_no_difference(corpus, sentences, tmp_path, shards):
    other = laid_out(corpus, tmp_path, shards)
    plan = plan_by_length(sentences.sizes, 40)
    for one, same in zip(sentences.batches(plan), other.batches(plan), strict=True):
        for part, same_part in zip(one, same, strict=True):
            assert (part is same_part is None) or torch.equal(part, same_part)


def test_a_missing_sentence_or_another_tree_is_refused(corpus, tmp_path):
    trees, encoded, maps = corpus
    gold, numbers = Trees.read(trees, "ud"), word_numbers(trees)
    with pytest.raises(InputError, match="expected each of 60 sentences once and in order, found 59"):
        write_sentences(as_shards(maps[:-1], 1), encoded, gold, gold, numbers, tmp_path / "s.arrow")
    with pytest.raises(InputError, match="example 1: expected maps of 7 words, found those of 3"):
        write_sentences(as_shards([maps[1], *maps[1:]], 1), encoded, gold, gold, numbers, tmp_path / "s.arrow")
    assert not list(tmp_path.iterdir())


def test_a_plan_holds_each_sentence_once_in_batches_of_about_one_length():
    sizes = np.random.default_rng(0).integers(1, 60, 500)
    for generator in (None, np.random.default_rng(3)):
        plan = plan_by_length(sizes, 200, generator)
        assert sorted(np.concatenate(plan)) == list(range(500))
        assert all(len(rows) == 1 or len(rows) * sizes[rows].max() <= 200 for rows in plan)
        spread = sum(sizes[rows].max() * len(rows) for rows in plan) / sizes.sum()
        assert spread < 1.05, "hardly any filling"
    again = plan_by_length(sizes, 200, np.random.default_rng(3))
    assert all(np.array_equal(one, same) for one, same in zip(plan, again, strict=True))
    other = plan_by_length(sizes, 200, np.random.default_rng(4))
    assert not all(np.array_equal(one, same) for one, same in zip(plan, other, strict=False))


def test_scores_are_the_formula(sentences, vectors):
    """Against the formula written out, with a vector for each pair and a weight for each head and pair."""
    batch = one_batch(sentences, [0])
    size, heads = SIZES[0], LAYERS * HEADS
    probe = randomised(AttentionProbe(heads, 4))
    scores = probe(batch, vectors)[0]
    maps = batch.weights[0].float().permute(1, 0, 2)  # head, query, key
    for j, i in itertools.product(range(size), repeat=2):
        expected = -math.inf
        if i != j:
            of_dependent, of_head = vectors[batch.numbers[0, j]], vectors[batch.numbers[0, i]]
            w = probe.weights[0] + probe.by_word[0, 0] @ of_dependent + probe.by_word[1, 0] @ of_head
            u = probe.weights[1] + probe.by_word[0, 1] @ of_head + probe.by_word[1, 1] @ of_dependent
            expected = (w @ maps[:, j, i] + u @ maps[:, i, j]).item()
        assert scores[j, i + 1].item() == pytest.approx(expected, rel=1e-4, abs=1e-4)
    np.testing.assert_allclose(scores[:, 0].detach(), (batch.specials[0] @ probe.root).detach(), rtol=1e-5)


@pytest.mark.parametrize("name", [ATTENTION, ATTENTION_WORDS, DISTANCES_WORDS])
def test_a_sentence_scores_the_same_alone_and_among_others(sentences, vectors, name):
    probe = randomised(make_probe(LEARNED[name], LAYERS * HEADS, 4, np.random.default_rng(0)))
    together = one_batch(sentences, [1, 6, 4, 3])
    scores = probe(together, vectors)
    for place, row in enumerate([1, 6, 4, 3]):
        size = SIZES[row]
        alone = probe(one_batch(sentences, [row]), vectors)[0]
        torch.testing.assert_close(scores[place, :size, : size + 1], alone, rtol=1e-4, atol=1e-4)
        assert (scores[place, :, size + 1 :] == -math.inf).all(), "no head beyond the sentence"
    probabilities = scores.softmax(-1)
    torch.testing.assert_close(probabilities.sum(-1), torch.ones(4, 9))
    own = probabilities[:, range(9), range(1, 10)]
    assert not own.any(), "no word is its own head"
    summed = sum(loss_of(probe(part, vectors), part) for part in together.parts(30))
    torch.testing.assert_close(summed, loss_of(scores, together), rtol=1e-5, atol=1e-4)


def test_the_loss_counts_no_punctuation_and_nothing_beyond_a_sentence(sentences):
    batch = one_batch(sentences, [0, 1, 2, 3])
    scores = AttentionProbe(LAYERS * HEADS)(batch, None)
    expected = sum(
        -math.log(1 / size)  # ROOT and the other words, all alike
        for size, counted in zip(batch.sizes.tolist(), batch.counted.sum(1).tolist(), strict=True)
        for _ in range(counted)
    )
    assert loss_of(scores, batch).item() == pytest.approx(expected, rel=1e-5)


def test_distance_features_by_hand():
    features = distance_features(torch.tensor([4, 2]), 4)
    assert features.shape == (2, 4, 5, 8)
    assert features[0, 1, 0].tolist() == [0, 0, 0, 0, 0, 0, 0, 1], "ROOT"
    assert features[0, 1, 2].tolist() == [0, 0, 0, 0, 1, 0, 0, 0], "itself"
    assert features[0, 0, 2].tolist() == [0.25, 0, 0, 0, 0, 1, 0, 0], "the next word, of four"
    assert features[1, 0, 2].tolist() == [0.5, 0, 0, 0, 0, 1, 0, 0], "the next word, of two"
    assert features[0, 3, 1].tolist() == [0, 0.75, 0, 0, 0, 0, 0, 0], "three back"
    assert features[0, 2, 1].tolist() == [0, 0.5, 1, 0, 0, 0, 0, 0], "two back"


def test_standardised_vectors_by_hand():
    matrix = np.array([[1, 5], [3, 5], [0, 0]], np.float32)
    standard = Standard.of(matrix, np.array([1, 3, 7]))
    assert standard.middle.tolist() == [2.5, 5] and standard.spread.tolist() == pytest.approx([math.sqrt(0.75), 1])
    vectors = standard.standardised(matrix)
    np.testing.assert_allclose(vectors, [[-1.5 / 0.75**0.5, 0], [0.5 / 0.75**0.5, 0], [0, 0]], rtol=1e-6)


def test_permuted_trees_keep_what_positions_know_and_nothing_else(corpus):
    trees = Trees.read(corpus[0], "ud")
    permuted = permuted_trees(trees)
    assert np.array_equal(permuted.examples, trees.examples) and np.array_equal(permuted.starts, trees.starts)
    for (_, heads, counted), (_, other, other_counted) in zip(trees.by_size(), permuted.by_size(), strict=True):
        one, same = (sorted(np.concatenate(part, 1).tolist()) for part in ((heads, counted), (other, other_counted)))
        assert one == same, "the same trees of each length, with what counts in them"
    numbered = trees._replace(heads=np.repeat(trees.examples, np.diff(trees.starts)))
    assert (permuted_trees(numbered).heads != numbered.heads).all(), "no sentence keeps its own"
    lonely = trees.only(np.array([1, 2, 4]))
    alone = dict(zip([1, 2, 4], (permuted_trees(lonely).of(example)[1].any() for example in (1, 2, 4)), strict=True))
    assert alone == {1: True, 2: False, 4: True}, "the only one of its length does not count"
    assert np.array_equal(permuted_trees(trees, 0).heads, permuted.heads)
    assert not np.array_equal(permuted_trees(trees, 1).heads, permuted.heads)


def test_is_tree_by_hand():
    assert is_tree(np.array([0])) and is_tree(np.array([2, 0, 2, 3]))
    assert not is_tree(np.array([0, 0])), "two under ROOT"
    assert not is_tree(np.array([2, 1, 0])), "a circle"
    assert not is_tree(np.array([2, 3, 1])), "none under ROOT"


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_the_best_tree_is_the_best_of_all_trees(size):
    generator = np.random.default_rng(size)
    for _ in range(30):
        scores = torch.from_numpy(generator.normal(size=(size, size + 1)) * 2)
        scores[range(size), range(1, size + 1)] = -math.inf
        scores = scores.log_softmax(-1).numpy()
        candidates = (np.array(heads) for heads in itertools.product(range(size + 1), repeat=size))
        trees = [heads for heads in candidates if is_tree(heads)]
        best = max(trees, key=lambda heads: scores[range(size), heads].sum())
        assert best_tree(scores).tolist() == best.tolist()


def test_joins_by_hand():
    heads = np.array([[2, 0, 2, 3, 3]])
    counted = np.array([[True, True, True, True, False]])
    edges, found = edges_joined(np.array([[0, 1, 4, 1, 3]]), heads, counted)
    assert (edges.tolist(), found.tolist()) == ([3], [2]), "1-2 and 3-4 the other way round; 2-3 not; 5 does not count"


def test_joins_are_those_of_sets_of_pairs(corpus):
    generator = np.random.default_rng(0)
    for _, heads, counted in Trees.read(corpus[0], "ud").by_size():
        predicted = generator.integers(0, heads.shape[1] + 1, heads.shape)
        edges, found = edges_joined(predicted, heads, counted)
        for row, (tree, guess, counts) in enumerate(zip(heads, predicted, counted, strict=True)):
            plain = {word for word, counts_too in enumerate(counts, start=1) if counts_too}
            gold, joined = ({frozenset(pair) for pair in enumerate(one, start=1)} for one in (tree, guess))
            gold = {pair for pair in gold if pair <= plain}
            assert (edges[row], found[row]) == (len(gold), len(gold & joined))


def test_fixed_offsets_by_hand():
    assert fixed_offset(4, 1).tolist() == [2, 3, 4, 0]
    assert fixed_offset(3, -2).tolist() == [0, 0, 1]
    trees = Trees(np.array([1, 2]), np.array([0, 3, 5]), np.array([2, 0, 2, 0, 1]), np.ones(5, bool))
    # Offset -1 is right for: word 3 of the first; words 1 (ROOT) and 2 of the second. Offset 1: word 1 of the first.
    assert best_fixed_offset(trees, (-2, 2)) == -1
    counts = count_baselines(trees, trees, (-2, 2))
    assert counts["probe"].to_list() == ["right-branching"] * 2 + ["best offset"] * 2
    assert counts["features"].to_list() == ["the next word"] * 2 + ["offset −1"] * 2
    assert counts["correct"].to_list() == [1, 0, 1, 2] and counts["words"].to_list() == [3, 2, 3, 2]
    assert counts["edges"].to_list() == [2, 1, 2, 1] and counts["edges_correct"].to_list() == [2, 1, 2, 1]


def test_held_out_sentences_are_a_tenth():
    split = split_sentences(100, None, np.random.default_rng(0))
    assert len(split.training) == 90 and sorted([*split.training, *split.held_out]) == list(range(100))
    split = split_sentences(100, 25, np.random.default_rng(0))
    assert len(split.training) == 23 and len(split.held_out) == 2
    assert not set(split.training) & set(split.held_out)
    assert [len(part) for part in split_sentences(2, None, np.random.default_rng(0))] == [1, 1]
    with pytest.raises(InputError, match="training treebank: expected two sentences or more"):
        split_sentences(1, None, np.random.default_rng(0))


def accuracy(probe, sentences, vectors):
    right = counted = 0
    for batch in sentences.batches(plan_by_length(sentences.sizes, 100)):
        right += int(((probe(batch, vectors).argmax(-1) == batch.heads) & batch.counted & batch.inside).sum())
        counted += int((batch.counted & batch.inside).sum())
    return right / counted


@pytest.mark.parametrize("name", [ATTENTION, ATTENTION_WORDS])
def test_a_probe_finds_the_head_that_knows(sentences, vectors, name):
    def make(generator):
        return make_probe(LEARNED[name], LAYERS * HEADS, 4, generator)

    probe, epochs = learn(make, sentences, None, 0, vectors, SETTINGS, CPU)
    assert accuracy(probe, sentences, vectors) > 0.98
    knowing = KNOWING[0] * HEADS + KNOWING[1]
    assert probe.weights.flatten().argmax().item() == knowing, "in the direction from dependent to head"
    assert [row[2] for row in epochs] == list(range(1, len(epochs) + 1)) and {row[:2] for row in epochs} == {(60, 0)}
    again, _ = learn(make, sentences, None, 0, vectors, SETTINGS, CPU)
    other, _ = learn(make, sentences, None, 1, vectors, SETTINGS, CPU)
    for name, weights in probe.state_dict().items():
        assert torch.equal(weights, again.state_dict()[name]), "the same seed, the same bits"
    assert not torch.equal(probe.weights, other.weights)


def test_the_control_cannot_be_learned(corpus, tmp_path, vectors):
    control = laid_out(corpus, tmp_path, control=True)
    probe, _ = learn(
        lambda generator: make_probe(LEARNED[ATTENTION + CONTROL], LAYERS * HEADS, 4, generator),
        control, None, 0, vectors, SETTINGS, CPU,
    )  # fmt: skip
    assert accuracy(probe, control, vectors) < 0.5


def test_early_stopping_keeps_the_best_and_halves_the_rate(sentences, vectors):
    settings = SETTINGS._replace(learning_rate=0.5)
    _, epochs = learn(lambda _: AttentionProbe(LAYERS * HEADS), sentences, None, 0, None, settings, CPU)
    rates, losses = [row[3] for row in epochs], [row[5] for row in epochs]
    assert len(epochs) < settings.epochs
    best = np.inf
    for rate, following, loss in zip(rates, rates[1:], losses, strict=False):
        assert following == (rate if loss < best * 0.999 else rate / 2)
        best = min(best, loss)
    assert len(set(rates)) > 2


def test_what_was_learned_is_read_as_it_was_written(tmp_path):
    probe = DistanceProbe(4, np.random.default_rng(0))
    other = DistanceProbe(4, np.random.default_rng(1))
    runs = [Run(100, 1, other.state_dict()), Run(60, 0, probe.state_dict())]
    standard = Standard(torch.ones(4), torch.full((4,), 2.0))
    written = LearnedProbe(DISTANCES_WORDS, runs, standard, "model", "corpus", "vectors (4 numbers)")
    write_learned(written, tmp_path / "p.safetensors")
    found = read_learned(tmp_path / "p.safetensors", "model")
    assert [(run.trained, run.seed) for run in found.runs] == [(60, 0), (100, 1)]
    assert found.of_all_sentences()[0].seed == 1
    for name, weights in probe.state_dict().items():
        assert torch.equal(found.runs[0].weights[name], weights)
    assert torch.equal(found.standard.spread, standard.spread)
    assert found[3:] == written[3:]
    with pytest.raises(InputError, match="expected a probe over model other, found one over model"):
        read_learned(tmp_path / "p.safetensors", "other")
    (tmp_path / "q.safetensors").write_bytes((tmp_path / "p.safetensors").read_bytes()[:200])
    with pytest.raises(InputError, match="expected a learned probe"):
        read_learned(tmp_path / "q.safetensors")


def test_trees_of_these_examples_only():
    trees = Trees(
        np.array([2, 5, 9]), np.array([0, 1, 3, 4]), np.array([0, 2, 0, 0]), np.array([True, False, True, True])
    )
    kept = trees.only(np.array([5, 9]))
    assert kept.sizes() == {5: 2, 9: 1}
    assert [part.tolist() for part in kept.of(5)] == [[2, 0], [False, True]]
    assert pl.Series(kept.heads).to_list() == [2, 0, 0]
