"""The structural probe: distances, spanning trees, what is learned from states that hold the tree, and its scores."""

import json
from contextlib import contextmanager

import numpy as np
import polars as pl
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from scipy.sparse.csgraph import floyd_warshall

from headscope.encoding import Encoded
from headscope.errors import InputError
from headscope.probes.structural.decoding import count_edges, spanning_heads
from headscope.probes.structural.distances import distance_loss, squared_distances, tree_distances
from headscope.probes.structural.files import StructuralProbe, read_probe, write_probe
from headscope.probes.structural.scoring import count_structural
from headscope.probes.structural.sentences import Sentences
from headscope.probes.structural.training import Settings, choose_layer, learn_layers, learn_structural
from headscope.probes.tables import COUNTS
from headscope.probes.trees import Trees
from headscope.seals import KEY
from headscope.states.laying import laid_states
from headscope.states.store import States, StatesInfo, StatesShard, writing_states

CPU = torch.device("cpu")
WIDTH = 12
SETTINGS = Settings(rank=WIDTH, seeds=2, epochs=30, patience=3, batch_words=80)
#         1 the  2 cat  3 sat  4 ,  5 purring  6 .
HEADS = np.array([2, 3, 0, 5, 3, 3])
COUNTED = np.array([True, True, True, False, True, False])


def test_distances_in_a_tree_count_the_edges_between():
    assert tree_distances(HEADS[None])[0].tolist() == [
        [0, 1, 2, 4, 3, 3],
        [1, 0, 1, 3, 2, 2],
        [2, 1, 0, 2, 1, 1],
        [4, 3, 2, 0, 1, 3],
        [3, 2, 1, 1, 0, 2],
        [3, 2, 1, 3, 2, 0],
    ]


def random_heads(size, generator):
    """A random tree: each word hangs on one that was hung up before it."""
    order, heads = generator.permutation(size), np.zeros(size, np.int64)
    for place in range(1, size):
        heads[order[place]] = order[generator.integers(place)] + 1
    return heads


def test_distances_are_the_shortest_paths_whatever_stands_beside():
    generator = np.random.default_rng(0)
    trees = [random_heads(size, generator) for size in (1, 2, 7, 12, 12)]
    together = tree_distances(np.stack([np.pad(heads, (0, 12 - len(heads))) for heads in trees]))
    for heads, distances in zip(trees, together, strict=True):
        joined = np.zeros((len(heads), len(heads)))
        joined[np.flatnonzero(heads), heads[heads > 0] - 1] = 1
        shortest = floyd_warshall(joined, directed=False)
        np.testing.assert_array_equal(distances[: len(heads), : len(heads)], shortest)


def test_heads_that_go_round_are_refused():
    with pytest.raises(ValueError, match="circle"):
        tree_distances(np.array([[2, 1, 0]]))


def test_projected_distances_are_squared_and_euclidean():
    states = torch.tensor([[1.0, 0, 5], [0, 1, 9], [3, 4, 7]])
    projection = torch.tensor([[1.0, 0, 0], [0, 2, 0]])
    assert squared_distances(states, projection).tolist() == [[0, 5, 68], [5, 0, 45], [68, 45, 0]]


def test_the_loss_is_the_mean_over_pairs_summed_over_sentences():
    gold = torch.tensor([[[0.0, 1, 2], [1, 0, 1], [2, 1, 0]], [[0.0, 1, 0], [1, 0, 0], [0, 0, 0]]])
    predicted = gold + torch.tensor([[[0.0, 1, 0], [1, 0, -2], [0, -2, 0]], [[0.0, 3, 50], [3, 0, 50], [50, 50, 50]]])
    shares = torch.tensor([[1 / 3, 1 / 3, 1 / 3], [1 / 2, 1 / 2, 0]])
    assert distance_loss(predicted, gold, shares).item() == pytest.approx(6 / 9 + 6 / 4)


def test_the_spanning_tree_leaves_punctuation_out():
    distances = tree_distances(HEADS[None])[0].astype(np.float64)
    assert spanning_heads(distances, COUNTED).tolist() == [0, 1, 2, 0, 3, 0]
    assert spanning_heads(distances, np.ones(6, bool)).tolist() == [0, 1, 2, 5, 3, 3]


def test_words_at_no_distance_are_joined_all_the_same():
    assert spanning_heads(np.zeros((3, 3)), np.ones(3, bool)).astype(bool).tolist() == [False, True, True]
    rounded = np.array([[0, -1e-9, 4], [-1e-9, 0, 4], [4, 4, 0]])
    assert spanning_heads(rounded, np.ones(3, bool))[1] == 1


@pytest.mark.parametrize("counted", [[], [False], [True], [False, True, False]])
def test_fewer_than_two_words_have_no_tree(counted):
    size = len(counted)
    assert spanning_heads(np.zeros((size, size)), np.array(counted, bool)).tolist() == [0] * size


def path_embedding(heads, width=WIDTH):
    """
    States in which the squared distance of two words is that in the tree: each edge is a direction of its own, and a
    word is the sum of those between it and the root.
    """
    states = np.zeros((len(heads), width), np.float32)
    for word in range(len(heads)):
        above = word
        while heads[above]:
            states[word, above] = 1
            above = heads[above] - 1
    return states


def test_edges_are_counted_for_each_projection():
    other = np.array([3, 1, 0, 5, 2, 3])  # joins 1-3, 1-2, 4-5, 2-5, 3-6: of the edges that count only 1-2
    states = torch.from_numpy(np.stack([path_embedding(HEADS), path_embedding(other)]))
    both = torch.eye(WIDTH).expand(2, -1, -1)
    edges, found = count_edges(states, both, HEADS, COUNTED)
    assert (edges, found.tolist()) == (3, [3, 1])
    edges, found = count_edges(states, both, HEADS, np.zeros(6, bool))
    assert (edges, found.tolist()) == (0, [0, 0])


def treebank(sentences, seed=0, least=2):
    """Random trees with a comma now and then, of examples 3, 5, 7, ..."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(least, WIDTH + 1, sentences)
    heads = [random_heads(size, generator) for size in sizes]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    examples = 3 + 2 * np.arange(sentences)
    return Trees(examples, starts, np.concatenate(heads), generator.random(starts[-1]) > 0.1)


def encoded_of(trees):
    return Encoded(pl.DataFrame({"example": trees.examples}, {"example": pl.UInt32}), "corpus", "tokenizer")


def write_shards(folder, trees, shards=1, seed=0):
    """Layer 0 is noise, layer 1 the tree, turned, and in tenths; layer 2 the tree in noise."""
    generator = np.random.default_rng(seed)
    turn = np.linalg.qr(generator.normal(size=(WIDTH, WIDTH)))[0].astype(np.float32)
    info, paths = StatesInfo("float32", 2, WIDTH, "model", "corpus"), []
    states = {}
    for example in trees.examples.tolist():
        exact = path_embedding(trees.of(example)[0]) @ turn
        noise = generator.normal(size=exact.shape).astype(np.float32)
        states[example] = [noise, exact / 10 + 4, exact + noise]
    for number in range(shards):
        paths.append(folder / f"{number + 1}-of-{shards}.parquet")
        with writing_states(paths[-1], info) as shard:
            for example in trees.examples[number::shards][::-1].tolist():
                shard.write(States(np.array([example], np.uint32), [layer[None] for layer in states[example]]))
    return paths


@contextmanager
def sentences_of(folder, trees, shards=1):
    folder.mkdir(exist_ok=True)
    with laid_states(write_shards(folder, trees, shards), encoded_of(trees), "model", folder) as laid:
        yield Sentences(laid, trees)


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    with sentences_of(tmp_path_factory.mktemp("learned"), treebank(120)) as sentences:
        return learn_structural(sentences, SETTINGS, CPU)


def test_the_layer_that_holds_the_tree_is_chosen_and_its_trees_are_found(learned, tmp_path):
    layer, projections, layers = learned
    assert layer == 1
    assert layers["layer"].to_list() == [0, 1, 2]
    assert layers["chosen"].to_list() == [False, True, False]
    assert projections.shape == (2, WIDTH, WIDTH)
    others = treebank(60, seed=1)
    (path,) = write_shards(tmp_path, others)
    probe = StructuralProbe(projections, layer, "ud", 120, 0, "model", "corpus")
    counts = count_structural([StatesShard(path)], encoded_of(others), others, probe)
    assert counts.schema == COUNTS
    assert counts.select("seed", "example").rows() == [
        (seed, example) for seed in (0, 1) for example in others.examples
    ]
    totals = counts.group_by("seed").agg(pl.col("edges", "edges_correct").cast(pl.Int64).sum())
    assert (totals["edges_correct"] / totals["edges"]).min() > 0.97
    assert counts["features"].unique().to_list() == ["states of layer 1, rank 12"]
    assert counts["trained"].unique().to_list() == [120]
    assert counts.select(pl.col("words", "correct", "tree_correct").is_null().all()).row(0) == (True, True, True)
    gold = {example: others.of(example) for example in others.examples.tolist()}
    for example, edges in counts.filter(seed=0).select("example", "edges").rows():
        heads, counted = gold[example]
        assert edges == sum(counted[word] and counted[heads[word] - 1] for word in np.flatnonzero(heads))


def test_the_identity_finds_every_edge_where_the_states_are_the_tree(tmp_path):
    trees = treebank(40)
    (path,) = write_shards(tmp_path, trees)
    everything = trees._replace(counted=np.ones_like(trees.counted))
    for layer, all_found in ((1, True), (0, False)):
        probe = StructuralProbe(torch.eye(WIDTH)[None], layer, "ud", 40, 0, "model", "corpus")
        counts = count_structural([StatesShard(path)], encoded_of(trees), everything, probe)
        assert counts["edges"].to_list() == (np.diff(trees.starts) - 1).tolist()
        assert (counts["edges"] == counts["edges_correct"]).all() == all_found


def test_no_number_hangs_on_the_shards(learned, tmp_path):
    with sentences_of(tmp_path / "s", treebank(120), shards=3) as sentences:
        layer, projections, layers = learn_structural(sentences, SETTINGS, CPU)
    assert layer == learned[0]
    assert torch.equal(projections, learned[1])
    assert layers.equals(learned[2])
    others = treebank(30, seed=1)
    probe = StructuralProbe(projections, layer, "ud", 120, 0, "model", "corpus")
    tables = []
    for count in (1, 4):
        (tmp_path / str(count)).mkdir()
        shards = [StatesShard(path) for path in write_shards(tmp_path / str(count), others, count)]
        tables.append(count_structural(shards, encoded_of(others), others, probe))
    assert tables[0].equals(tables[1])


def test_a_layer_learns_beside_others_what_it_learns_alone(tmp_path):
    with sentences_of(tmp_path, treebank(40)) as sentences:
        spreads = sentences.spreads()
        together, _ = learn_layers(sentences, range(3), spreads, 0, SETTINGS, CPU)
        alone, _ = learn_layers(sentences, range(1, 2), spreads, 0, SETTINGS, CPU)
    assert torch.equal(together[1].projection, alone[0].projection)
    assert together[1][1:] == alone[0][1:]
    assert len({layer.epochs for layer in together}) > 1, "some stopped before others, and these went on alone"


def test_another_seed_is_another_run(learned):
    assert not torch.allclose(learned[1][0], learned[1][1], atol=1e-3)


def test_training_stops_when_it_no_longer_helps_and_keeps_the_best(tmp_path):
    with sentences_of(tmp_path, treebank(40)) as sentences:
        spreads = sentences.spreads()
        runs = [
            learn_layers(sentences, range(3), spreads, 0, SETTINGS._replace(epochs=epochs), CPU)[0]
            for epochs in (1, 5, 200)
        ]
    assert [layer.epochs for layer in runs[0]] == [1, 1, 1]
    assert max(layer.epochs for layer in runs[2]) < 200
    for fewer, more in zip(*runs[:2], strict=True):
        assert more.loss <= fewer.loss


def test_the_scale_of_the_states_does_not_matter(tmp_path):
    trees, projections = treebank(40), []
    for factor in (1.0, 2.0**12):
        folder = tmp_path / str(factor)
        folder.mkdir()
        (path,) = write_shards(folder, trees)
        scaled = [
            States(one.examples, [layer * np.float32(factor) for layer in one.layers]) for one in StatesShard(path)
        ]
        with writing_states(path, StatesInfo("float32", 2, WIDTH, "model", "corpus")) as shard:
            for states in scaled:
                shard.write(states)
        with laid_states([path], encoded_of(trees), "model", folder) as laid:
            sentences = Sentences(laid, trees)
            projections.append(
                learn_layers(sentences, range(1, 2), sentences.spreads(), 0, SETTINGS, CPU)[0][0].projection
            )
    torch.testing.assert_close(projections[0], projections[1] * 2**12)


def test_states_that_are_all_the_same_do_no_harm(tmp_path):
    trees = treebank(20)
    constant = [np.full((1, size, WIDTH), 3, np.float32) for size in np.diff(trees.starts)]
    with writing_states(tmp_path / "s.parquet", StatesInfo("float32", 0, WIDTH, "model", "corpus")) as shard:
        for example, layer in zip(trees.examples, constant, strict=True):
            shard.write(States(np.array([example], np.uint32), [layer]))
    with laid_states([tmp_path / "s.parquet"], encoded_of(trees), "model", tmp_path) as laid:
        _, projections, layers = learn_structural(Sentences(laid, trees), SETTINGS, CPU)
    assert torch.isfinite(projections).all()
    assert layers["loss"].is_finite().all()


def test_of_equally_good_layers_the_lowest_is_chosen(tmp_path, learned):
    with sentences_of(tmp_path, treebank(10)) as sentences:
        runs, split = learn_layers(sentences, range(3), sentences.spreads(), 0, SETTINGS, CPU)
        sentences.states = lambda position, layers: torch.zeros(3, int(sentences.sizes[position]), WIDTH)
        table = choose_layer(sentences, runs, split.held_out)
    assert table["uuas"].n_unique() == 1
    assert table["chosen"].to_list() == [True, False, False]


def test_short_sentences_are_left_out_and_counted(tmp_path):
    trees = treebank(30, least=1)
    ones = int((np.diff(trees.starts) == 1).sum())
    assert ones
    with sentences_of(tmp_path, trees) as sentences:
        assert sentences.left_out == ones
        assert len(sentences.sizes) == 30 - ones
        assert [sentences.tree(position)[0].tolist() for position in range(3)] == [
            trees.of(example)[0].tolist() for example in trees.examples if len(trees.of(example)[0]) > 1
        ][:3]


@pytest.mark.parametrize(
    ("sentences", "rank", "message"),
    [
        (10, WIDTH + 1, "probes.structural_rank: expected at most 12, the width of .*, found 13; set a lower one"),
        (1, WIDTH, "probes.train: expected sentences of two words or more .*, found 1; name a larger treebank"),
    ],
)
def test_what_cannot_be_learned_is_refused(tmp_path, sentences, rank, message):
    with (
        sentences_of(tmp_path, treebank(sentences)) as few,
        pytest.raises(InputError, match=message),
    ):
        learn_structural(few, SETTINGS._replace(rank=rank), CPU)


def test_two_sentences_are_enough(tmp_path):
    with sentences_of(tmp_path, treebank(2)) as sentences:
        assert learn_structural(sentences, SETTINGS, CPU)[2]["chosen"].sum() == 1


def test_states_of_another_treebank_are_refused(tmp_path, learned):
    trees, others = treebank(10), treebank(10, seed=9)
    with (
        laid_states(write_shards(tmp_path, trees), encoded_of(trees), "model", tmp_path) as laid,
        pytest.raises(InputError, match=r"example \d+: expected hidden states of \d+ words, found those of \d+"),
    ):
        Sentences(laid, others)
    probe = StructuralProbe(learned[1], 1, "ud", 120, 0, "model", "corpus")
    with pytest.raises(InputError, match=r"example \d+: expected hidden states of \d+ words, found those of \d+"):
        count_structural([StatesShard(tmp_path / "1-of-1.parquet")], encoded_of(others), others, probe)


def test_a_shard_that_is_not_there_is_missed_in_scoring(tmp_path, learned):
    trees = treebank(10)
    shards = [StatesShard(path) for path in write_shards(tmp_path, trees, 2)]
    probe = StructuralProbe(learned[1], 1, "ud", 120, 0, "model", "corpus")
    with pytest.raises(InputError, match="expected each of 10 sentences once and in order, found 5 with 5 missing"):
        count_structural(shards[:1], encoded_of(trees), trees, probe)


def test_a_probe_comes_back_with_what_it_says_of_itself_and_the_same_bytes(tmp_path, learned):
    probe = StructuralProbe(learned[1], 1, "stanford", 120, 7, "model", "corpus")
    write_probe(probe, tmp_path / "probe")
    write_probe(probe, tmp_path / "again")
    assert (tmp_path / "probe").read_bytes() == (tmp_path / "again").read_bytes()
    found = read_probe(tmp_path / "probe", "model")
    assert torch.equal(found.projections, probe.projections)
    assert found[1:] == probe[1:]
    with safe_open(tmp_path / "probe", "pt") as file:
        said = json.loads(file.metadata()["headscope.structural_probe"])
    assert said == {
        **{"format": 1, "rank": WIDTH, "seeds": 2, "layer": 1, "scheme": "stanford"},
        **{"trained": 120, "left_out": 7, "model": "model", "corpus": "corpus", KEY: said[KEY]},
    }


def test_a_file_that_is_no_structural_probe_of_this_model_is_refused(tmp_path, learned):
    write_probe(StructuralProbe(learned[1], 1, "ud", 120, 0, "model", "corpus"), tmp_path / "probe")
    save_file({"other": torch.zeros(2)}, tmp_path / "other")
    (tmp_path / "text").write_text("no tensors")
    with pytest.raises(InputError, match="expected a structural probe over model new, found one over model; the model"):
        read_probe(tmp_path / "probe", "new")
    with pytest.raises(InputError, match="expected a structural probe of format 1, found a file that is none; delete"):
        read_probe(tmp_path / "other", "model")
    with pytest.raises(InputError, match="text: expected a structural probe, found: "):
        read_probe(tmp_path / "text", "model")
