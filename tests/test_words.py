"""Words to tokens and back: encoding, and folding maps of tokens into maps of words."""

import numpy as np
import polars as pl
import pytest
import torch
from checkpoints import byte_level

from headscope.attention import attention_maps, extract_shard
from headscope.encoding import Kind, read_encoded, write_encoded
from headscope.errors import InputError
from headscope.folding import LONG, fold_by_products, fold_into_words
from headscope.store import Shard
from headscope.tokenizing import encode_words, special_tokens_around


def sentences(*texts, spaces=None):
    """Each text one sentence, its words parted by blanks; `spaces` for all of them, or after every word."""
    words = [text.split(" ") for text in texts]
    return pl.DataFrame(
        {
            "example": range(1, len(texts) + 1),
            "where": [f"file:{number}" for number in range(1, len(texts) + 1)],
            "words": words,
            "space_after": [spaces or [True] * len(row) for row in words],
        },
        schema_overrides={"example": pl.UInt32},
    )


def test_special_tokens_are_words_of_their_own(bert):
    encoded, _ = encode_words(sentences("the [SEP] lighthouses ."), bert.tokenizer, 64)
    row = encoded.row(0, named=True)
    assert row["tokens"] == ["[CLS]", "the", "[SEP]", "lighthouses", ".", "[SEP]"]
    kinds = [Kind(kind) for kind in row["kinds"]]
    assert kinds == [Kind.CLS, Kind.TEXT, Kind.TEXT, Kind.TEXT, Kind.PUNCTUATION, Kind.SEP]
    assert len(row["ids"]) == len(row["words"]) > len(row["kinds"])
    assert row["words"][:2] == [0, 1]
    assert row["words"][-1] == 5
    assert sorted(set(row["words"])) == list(range(6)), "each word owns a token, in order"


def test_words_have_the_tokens_that_they_have_alone(bert):
    words = ["Lighthouses", "don't", "blink"]
    row = encode_words(sentences(" ".join(words)), bert.tokenizer, 64)[0].row(0, named=True)
    for number, word in enumerate(words, start=1):
        alone = bert.tokenizer(word, add_special_tokens=False)["input_ids"]
        assert [token for token, of in zip(row["ids"], row["words"], strict=True) if of == number] == alone


def test_a_blank_before_a_word_is_spelled_where_the_text_has_one():
    tokenizer = byte_level()
    spaced = encode_words(sentences("sea the sea"), tokenizer, 64)[0]["ids"][0].to_list()
    joined = encode_words(sentences("sea the sea", spaces=[False, True, True]), tokenizer, 64)[0]["ids"][0].to_list()
    assert spaced == tokenizer("sea the sea")["input_ids"]
    assert joined != spaced
    assert tokenizer.decode(joined) == "seathe sea"


def test_special_tokens_around_a_text_are_found(bert):
    tokenizer = bert.tokenizer
    assert special_tokens_around(tokenizer) == ([tokenizer.cls_token_id], [tokenizer.sep_token_id])
    assert special_tokens_around(byte_level()) == ([], [])


def test_a_word_without_tokens_and_a_long_sentence_are_skipped_by_name(bert):
    table = sentences("the sea", "the \u200b sea", " ".join(["a"] * 63), " ".join(["a"] * 62))
    encoded, skipped = encode_words(table, bert.tokenizer, 64)
    assert encoded["example"].to_list() == [1, 4]
    assert skipped.rows() == [
        (2, "file:2", f"the word {chr(0x200B)!r} yields no token"),
        (3, "file:3", "65 tokens, more than the limit of 64"),
    ]


def test_a_treebank_of_which_nothing_is_left_is_refused(bert):
    with pytest.raises(InputError, match=r"file:1: expected texts whose words have tokens, found none among 1 "):
        encode_words(sentences("\u200b"), bert.tokenizer, 64)


def test_split_word_is_summed_as_key_and_averaged_as_query():
    weights = torch.tensor(
        [
            # the  bank  ##er
            [0.2, 0.5, 0.3],  # the
            [0.1, 0.6, 0.3],  # bank
            [0.5, 0.1, 0.4],  # ##er
        ]
    )
    folded = {queries: fold(weights, [0, 1, 1], queries) for queries in ("mean", "first", "max")}
    np.testing.assert_allclose(folded["mean"], [[0.2, 0.8], [0.3, 0.7]], atol=1e-6)
    np.testing.assert_allclose(folded["first"], [[0.2, 0.8], [0.1, 0.9]], atol=1e-6)
    np.testing.assert_allclose(folded["max"], [[0.2, 0.8], [0.5 / 1.4, 0.9 / 1.4]], atol=1e-6)


def fold(weights, words, queries):
    return fold_into_words(weights[None, None, None], torch.tensor([words]), queries)[0, 0, 0]


@pytest.mark.parametrize("queries", ["mean", "first", "max"])
def test_folding_keeps_rows_that_sum_to_one(queries):
    weights = torch.rand(2, 3, 4, 7, 7)
    weights /= weights.sum(-1, keepdim=True)
    words = torch.tensor([[0, 1, 1, 1, 2, 3, 4], [0, 0, 1, 2, 3, 4, 4]])
    folded = fold_into_words(weights, words, queries)
    assert folded.shape == (2, 3, 4, 5, 5)
    np.testing.assert_allclose(folded.sum(-1), 1, atol=1e-6)
    alone = fold_into_words(weights[1:], words[1:], queries)
    np.testing.assert_allclose(folded[1:], alone, atol=1e-6)


@pytest.mark.parametrize("queries", ["mean", "first", "max"])
@pytest.mark.parametrize("words", [1, 20, LONG, LONG + 17])
def test_picking_tokens_folds_as_products_do(queries, words):
    tokens = LONG + 17
    generator = np.random.default_rng(words)
    starts = np.zeros((3, tokens), int)
    for row in starts:
        row[generator.choice(np.arange(1, tokens), words - 1, replace=False)] = 1
    words = torch.from_numpy(starts.cumsum(1))
    weights = torch.from_numpy(generator.random((3, 2, 4, tokens, tokens), np.float32))
    weights /= weights.sum(-1, keepdim=True)
    np.testing.assert_allclose(
        fold_into_words(weights, words, queries), fold_by_products(weights, words, queries), atol=1e-6
    )


@pytest.mark.parametrize("queries", ["mean", "first", "max"])
def test_words_of_one_token_each_are_left_alone(queries):
    weights = torch.rand(1, 2, 2, 5, 5)
    weights /= weights.sum(-1, keepdim=True)
    np.testing.assert_allclose(fold_into_words(weights, torch.arange(5)[None], queries), weights, atol=1e-6)


@pytest.mark.parametrize("words", [[[1, 1, 2]], [[0, 2, 2]], [[0, 1, 0]], [[0, 1, 2], [0, 1, 1]]])
def test_words_that_do_not_count_up_are_refused(words):
    with pytest.raises(ValueError, match="without gaps"):
        fold_into_words(torch.eye(3).expand(len(words), 1, 1, 3, 3), torch.tensor(words))


@pytest.fixture(scope="module")
def treebank(bert, bert_described, tmp_path_factory):
    texts = ["the sea", "a lighthouse blinks", "honeybees dance slowly", "the sea the sea", "a b", "printing presses"]
    encoded, _ = encode_words(sentences(*texts * 3), bert.tokenizer, 64)
    path = tmp_path_factory.mktemp("words") / "examples.parquet"
    write_encoded(encoded, path, bert_described.tokenizer)
    return read_encoded(path)


@pytest.mark.parametrize("budget_mb", [1e-9, 1000])
def test_batches_of_words_hold_the_folded_maps_of_every_sentence(bert, bert_described, treebank, tmp_path, budget_mb):
    extract_shard(bert, bert_described, treebank, tmp_path / "s.parquet", "float32", budget_mb)
    found = {}
    for maps in Shard(tmp_path / "s.parquet", bert_described.weights, treebank.corpus):
        found |= dict(zip(maps.examples.tolist(), maps.weights, strict=True))
    assert sorted(found) == treebank.table["example"].to_list()
    for row in treebank.table.iter_rows(named=True):
        maps, _ = bert.forward(torch.tensor([row["ids"]]))
        expected = fold_into_words(torch.stack(maps, 1), torch.tensor([row["words"]]))[0]
        np.testing.assert_allclose(found[row["example"]], expected, atol=1e-6)


def test_how_words_attend_is_an_option(bert, treebank):
    mean, first = (next(iter(attention_maps(bert, treebank, 12, 1, fold=fold))).weights for fold in ("mean", "first"))
    assert np.abs(mean - first).max() > 1e-3
