"""Hidden states of words: extraction, shards, laying out."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import torch

from headscope.attention import extract_shard
from headscope.corpora.trees import read_trees
from headscope.encoding import read_encoded, write_encoded
from headscope.errors import InputError
from headscope.states import store
from headscope.states.extraction import average_over_tokens, extract_states
from headscope.states.laying import laid_states
from headscope.states.store import States, StatesInfo, StatesShard, writing_states
from headscope.store import Shard
from headscope.tokenizing import encode_words

INFO = StatesInfo("float16", layers=2, width=4, model="model", corpus="corpus")
WORDS = {3: "no", 5: "the lighthouses don't blink", 8: "a keeper saw it , twice", 9: "they sleep all day", 12: "yes"}


@pytest.fixture(scope="module")
def sentences(bert, bert_described, tmp_path_factory):
    """Five sentences of one to six words."""
    words = [text.split(" ") for text in WORDS.values()]
    columns = {"example": list(WORDS), "where": ["here"] * len(words), "words": words}
    table = pl.DataFrame(columns | {"space_after": [[True] * len(row) for row in words]})
    table, _ = encode_words(table.cast({"example": pl.UInt32}), bert.tokenizer, 64)
    path = tmp_path_factory.mktemp("states") / "examples.parquet"
    write_encoded(table, path, bert_described.tokenizer)
    return read_encoded(path)


def by_example(shard):
    return {
        example: np.stack([layer[row] for layer in states.layers])
        for states in shard
        for row, example in enumerate(states.examples.tolist())
    }


def random_states(examples, size, seed=0):
    numbers = np.random.default_rng(seed).normal(size=(3, len(examples), size, 4)).astype("<f2")
    return States(np.array(examples, np.uint32), list(numbers))


def write(path, *batches, info=INFO):
    with writing_states(path, info) as shard:
        for states in batches:
            shard.write(states)
    return path


def test_a_word_has_the_mean_of_its_tokens():
    states = torch.tensor([[[1.0, 0], [2, 4], [4, 8], [9, 9]]])
    averaged = average_over_tokens(states, torch.tensor([[0, 1, 1, 2]]))
    assert averaged.tolist() == [[[1, 0], [3, 6], [9, 9]]]


def test_states_are_those_of_the_model_without_special_tokens(bert, bert_described, sentences, tmp_path):
    extract_states(bert, bert_described, sentences, tmp_path / "s.parquet", "float32")
    found = by_example(StatesShard(tmp_path / "s.parquet", bert_described.weights, sentences.corpus))
    assert {example: states.shape for example, states in found.items()} == {
        example: (4, len(text.split(" ")), 32) for example, text in WORDS.items()
    }
    row = sentences.example(5)
    with torch.inference_mode():
        output = bert.network(torch.tensor([row["ids"]]), output_hidden_states=True)
    tokens = torch.stack(output.hidden_states)[:, 0].numpy()
    for word in range(4):
        mine = [token for token, of in enumerate(row["words"]) if of == word + 1]
        np.testing.assert_allclose(found[5][:, word], tokens[:, mine].mean(1), atol=1e-5)


@pytest.mark.parametrize("budget_mb", [0.001, 24])
def test_batches_change_no_state(bert, bert_described, sentences, tmp_path, budget_mb):
    extract_states(bert, bert_described, sentences, tmp_path / "all.parquet", "float32", budget_mb)
    together = by_example(StatesShard(tmp_path / "all.parquet"))
    for example in WORDS:
        alone = sentences._replace(table=sentences.table.filter(example=example))
        extract_states(bert, bert_described, alone, tmp_path / "one.parquet", "float32")
        (states,) = by_example(StatesShard(tmp_path / "one.parquet")).values()
        np.testing.assert_allclose(together[example], states, atol=1e-5)


def test_a_causal_model_without_special_tokens_has_states_too(gpt2, tmp_path):
    from headscope.models.describing import describe

    described = describe(gpt2, "gpt2", "tiny", None)
    columns = {"example": [1], "where": ["here"], "words": [["the", "sea"]], "space_after": [[True, True]]}
    table, _ = encode_words(pl.DataFrame(columns).cast({"example": pl.UInt32}), gpt2.tokenizer, 64)
    write_encoded(table, tmp_path / "examples.parquet", described.tokenizer)
    extract_states(gpt2, described, read_encoded(tmp_path / "examples.parquet"), tmp_path / "s.parquet")
    (states,) = StatesShard(tmp_path / "s.parquet")
    assert [layer.shape for layer in states.layers] == [(1, 2, 32)] * 4


@pytest.fixture
def loud(bert):
    """The same model; the last layer norm scales its states by a number that a test sets."""
    weight = bert.network.encoder.layer[1].output.LayerNorm.weight
    before = weight.detach().clone()
    yield lambda factor: weight.data.mul_(factor)
    weight.data.copy_(before)


def test_states_beyond_float16_are_refused_and_fit_into_float32(bert, bert_described, sentences, tmp_path, loud):
    loud(1e6)
    path = tmp_path / "s.parquet"
    with pytest.raises(InputError, match=r"model bert: .* at most 65,504 for float16, found [\d,]+ in layer 2; set "):
        extract_states(bert, bert_described, sentences, path)
    assert not list(tmp_path.iterdir())
    extract_states(bert, bert_described, sentences, path, "float32")
    largest = [
        max(np.abs(states[layer]).max() for states in by_example(StatesShard(path)).values()) for layer in (1, 2)
    ]
    assert largest[0] < 65504 < largest[1] < np.inf


def test_states_that_are_no_numbers_are_refused(bert, bert_described, sentences, tmp_path, loud):
    loud(np.nan)
    with pytest.raises(InputError, match="model bert: expected finite hidden states, found others in layer 2"):
        extract_states(bert, bert_described, sentences, tmp_path / "s.parquet", "float32")


def test_a_model_of_other_layers_is_refused(bert, bert_described, sentences, tmp_path):
    with pytest.raises(InputError, match=r"expected hidden states of .*, 6 of width 32, found 4 of width 32"):
        extract_states(bert, replace(bert_described, layers=5), sentences, tmp_path / "s.parquet")


@pytest.mark.parametrize("row_group_bytes", [1, 200, 2**25])
def test_states_come_back_to_the_bit(tmp_path, monkeypatch, row_group_bytes):
    monkeypatch.setattr(store, "ROW_GROUP_BYTES", row_group_bytes)
    batches = [random_states([7, 2], 5), random_states([4], 3, 1), random_states([9, 1], 3, 2)]
    shard = StatesShard(write(tmp_path / "s.parquet", *batches), "model", "corpus")
    assert shard.info == INFO
    found = by_example(shard)
    assert list(found) == [7, 2, 4, 9, 1]
    for states in batches:
        for row, example in enumerate(states.examples.tolist()):
            np.testing.assert_array_equal(found[example], np.stack(states.layers)[:, row])
    for only in shard.of_layers([2]):
        assert len(only.layers) == 1
        np.testing.assert_array_equal(only.layers[0][0], found[int(only.examples[0])][2])


def test_reading_copies_nothing_out_of_arrow(tmp_path):
    (states,) = StatesShard(write(tmp_path / "s.parquet", random_states([1, 2], 5)))
    assert not any(layer.flags.owndata for layer in states.layers)


def test_polars_reads_a_layer_in_one_line(tmp_path):
    states = random_states([1, 2], 5)
    path = write(tmp_path / "s.parquet", states)
    cells = (
        pl.scan_parquet(path).select(pl.col("layer_1").bin.reinterpret(dtype=pl.Array(pl.Float16, (5 * 4)))).collect()
    )
    np.testing.assert_array_equal(cells.to_series().to_numpy().reshape(2, 5, 4), states.layers[1])


def test_states_that_do_not_fit_are_refused(tmp_path):
    states = random_states([1], 3)
    for wrong in (
        states.layers[:2],
        [layer[..., :3] for layer in states.layers],
        [np.float32(1) * states.layers[0]] * 3,
    ):
        with pytest.raises(ValueError, match="do not fit"):
            write(tmp_path / "s.parquet", states._replace(layers=wrong))
    assert not list(tmp_path.iterdir())


def test_another_file_is_refused(bert, bert_described, sentences, tmp_path):
    path = write(tmp_path / "s.parquet", random_states([1], 3))
    with pytest.raises(InputError, match="expected hidden states of model new, found those of model model"):
        StatesShard(path, "new")
    with pytest.raises(InputError, match="expected hidden states of corpus new, found those of corpus corpus"):
        StatesShard(path, "model", "new")
    with pytest.raises(
        InputError, match="expected the columns of a shard of attention maps, found example, size, layer_0"
    ):
        Shard(path)
    extract_shard(bert, bert_described, sentences, tmp_path / "maps.parquet")
    with pytest.raises(
        InputError, match="expected the columns of a shard of hidden states, found example, layer, head"
    ):
        StatesShard(tmp_path / "maps.parquet")


def test_a_damaged_file_is_refused(tmp_path):
    path = write(tmp_path / "s.parquet", random_states([1, 2], 40))
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 4] ^= 8
    path.write_bytes(damaged)
    with pytest.raises(InputError, match=r"s.parquet: row group 1 is damaged"):
        list(StatesShard(path))
    path.write_bytes(damaged[:-9])
    with pytest.raises(InputError, match=r"s.parquet: expected a whole shard of hidden states, found"):
        StatesShard(path)


def few(examples):
    from headscope.encoding import Encoded

    return Encoded(pl.DataFrame({"example": examples}, {"example": pl.UInt32}), "corpus", "tokenizer")


@pytest.mark.parametrize("shards", [1, 2, 3])
def test_any_example_is_read_alone_however_shards_were_cut(tmp_path, shards):
    batches = [random_states([7, 2], 5), random_states([4], 3, 1), random_states([9, 1], 1, 2)]
    paths = [write(tmp_path / f"{number}.parquet", *batches[number::shards]) for number in range(shards)]
    with laid_states(paths, few([1, 2, 4, 7, 9]), "model", tmp_path / "laid") as laid:
        assert laid.examples.tolist() == [1, 2, 4, 7, 9]
        assert laid.sizes.tolist() == [1, 5, 3, 5, 1]
        np.testing.assert_array_equal(laid.read(3, range(3)), np.stack(batches[0].layers)[:, 0])
        np.testing.assert_array_equal(laid.read(1, range(1, 2)), np.stack(batches[0].layers)[1:2, 1])
        np.testing.assert_array_equal(laid.read(2, range(1, 3)), np.stack(batches[1].layers)[1:, 0])
        assert not list((tmp_path / "laid").iterdir()), "nothing that a killed job could leave"


@pytest.mark.parametrize("examples", [[2, 7, 8], [2], [7]])
def test_shards_that_lack_an_example_or_have_another_are_refused(tmp_path, examples):
    path = write(tmp_path / "s.parquet", random_states([7, 2], 5))
    with (
        pytest.raises(InputError, match=r"sentences once and in order.* delete the folder states/"),
        laid_states([path], few(examples), "model", tmp_path),
    ):
        pass


def test_shards_of_unlike_dtypes_are_refused(tmp_path):
    wide = random_states([3], 5)
    wide = wide._replace(layers=[layer.astype("<f4") for layer in wide.layers])
    paths = [
        write(tmp_path / "1.parquet", random_states([7, 2], 5)),
        write(tmp_path / "2.parquet", wide, info=replace(INFO, dtype="float32")),
    ]
    with (
        pytest.raises(InputError, match="expected all shards alike"),
        laid_states(paths, few([2, 3, 7]), "model", tmp_path),
    ):
        pass


def test_empty_shards_lay_out_nothing(tmp_path):
    with laid_states([write(tmp_path / "s.parquet")], few([]), "model", tmp_path) as laid:
        assert len(laid.examples) == len(laid.sizes) == 0


def test_the_demo_treebank_has_a_state_for_each_word(bert, bert_described, tmp_path):
    from checkpoints import REPOSITORY

    trees, _ = read_trees(REPOSITORY / "config" / "demo" / "treebank.conllu")
    table, skipped = encode_words(trees.head(20), bert.tokenizer, 64)
    write_encoded(table, tmp_path / "examples.parquet", bert_described.tokenizer)
    extract_states(bert, bert_described, read_encoded(tmp_path / "examples.parquet"), tmp_path / "s.parquet")
    sizes = {example: states.shape[1] for example, states in by_example(StatesShard(tmp_path / "s.parquet")).items()}
    wanted = dict(zip(trees["example"].to_list(), trees["words"].list.len().to_list(), strict=True))
    assert sizes == {example: wanted[example] for example in table["example"].to_list()}
    assert len(sizes) + skipped.height == 20
