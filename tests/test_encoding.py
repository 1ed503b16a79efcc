import numpy as np
import polars as pl
import pytest
from checkpoints import byte_level

from headscope.corpora.text import PAIRS
from headscope.encoding import Kind, read_encoded, shard_bounds, write_encoded
from headscope.errors import InputError
from headscope.tokenizing import encode_pairs, within_limit


def pair(*sides):
    return pl.DataFrame(
        [(number, f"file:{number}", *texts) for number, texts in enumerate(sides, 1)], PAIRS, orient="row"
    )


def encode(tokenizer, *sides, max_tokens=64, **options):
    return encode_pairs(pair(*sides), tokenizer, max_tokens, **options)


def test_a_pair_is_framed_by_special_tokens_told_by_position(bert):
    encoded, skipped = encode(bert.tokenizer, ("the sea, the sea.", "a [SEP] b"))
    row = encoded.row(0, named=True)
    assert row["tokens"][:6] == ["[CLS]", "the", "sea", ",", "the", "sea"]
    kinds = [Kind(kind).name for kind in row["kinds"]]
    assert kinds[:8] == ["CLS", "TEXT", "TEXT", "PUNCTUATION", "TEXT", "TEXT", "PUNCTUATION", "SEP"]
    assert kinds.count("SEP") == 2, "the text that spells [SEP] is ordinary text"
    assert row["tokens"].count("[SEP]") == 2
    assert kinds[-1] == "SEP"
    assert row["segments"] == [0] * 8 + [1] * (len(kinds) - 8)
    assert not row["truncated"]
    assert skipped.is_empty()


def test_the_longer_side_is_cut_until_the_pair_fits(bert):
    words = "the sea the sea the sea the sea"
    encoded, _ = encode(bert.tokenizer, (words, "a a a"), ("a a a", words), (words, words), max_tokens=10)
    sides = [(list(segments).index(1) - 2, list(segments).count(1) - 1) for segments in encoded["segments"]]
    assert sides == [(4, 3), (3, 4), (3, 4)], "seven places beside the special tokens"
    assert encoded["truncated"].to_list() == [True, True, True]


def test_an_example_of_exactly_the_limit_is_not_cut(bert):
    encoded, _ = encode(bert.tokenizer, ("the sea the sea", "a a a"), max_tokens=10)
    assert encoded["ids"].list.len().to_list() == [10]
    assert encoded["truncated"].to_list() == [False]


def test_single_segments_are_zero_throughout(bert):
    encoded, _ = encode(bert.tokenizer, ("the sea", "a sea"), segments="single")
    assert set(encoded["segments"][0]) == {0}


def test_a_paragraph_without_tokens_is_skipped_with_its_place(bert):
    encoded, skipped = encode(bert.tokenizer, ("the", "sea"), ("\u200b\u200d", "sea"), ("a", "b"))
    assert encoded["example"].to_list() == [1, 3]
    assert skipped.rows() == [(2, "file:2", "a paragraph of the pair yields no token")]


def test_a_corpus_of_which_nothing_is_left_is_refused(bert):
    with pytest.raises(InputError, match=r"file:1: expected pairs of paragraphs with a token each, found none among 2"):
        encode(bert.tokenizer, ("\u200b", "sea"), ("sea", "\u200b"))


def test_more_pairs_than_one_slice_keep_their_numbers(bert):
    encoded, _ = encode(bert.tokenizer, *[("the sea", "a sea")] * 2100)
    assert encoded["example"].to_list() == list(range(1, 2101))


def test_a_tokenizer_without_special_tokens_has_none():
    encoded, _ = encode(byte_level(), ("The sea, the sea.", "And more. "))
    kinds = [Kind(kind) for kind in encoded["kinds"][0]]
    assert set(kinds) == {Kind.TEXT, Kind.PUNCTUATION}
    assert kinds.count(Kind.PUNCTUATION) == 3


def test_begin_and_end_tokens_stand_in_for_cls_and_sep():
    from tokenizers import processors

    tokenizer = byte_level(bos_token="<|endoftext|>")
    begin = tokenizer.bos_token_id
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<|endoftext|> $A", pair="<|endoftext|> $A $B", special_tokens=[("<|endoftext|>", begin)]
    )
    encoded, _ = encode(tokenizer, ("<|endoftext|> is text", "b"))
    kinds = encoded["kinds"][0].to_list()
    assert kinds[0] == Kind.CLS
    assert Kind.CLS not in kinds[1:]
    assert Kind.SEP not in kinds


def test_too_few_tokens_for_a_pair_are_refused(bert):
    with pytest.raises(InputError, match=r"room for two tokens.*found 4"):
        encode(bert.tokenizer, ("a", "b"), max_tokens=4)


def test_more_tokens_than_the_model_takes_are_refused(bert_described):
    within_limit(64, bert_described)
    with pytest.raises(InputError, match=r"at most 64 tokens, the limit of model bert, found 65"):
        within_limit(65, bert_described)


def test_encoded_examples_come_back_with_their_fingerprint(bert, tmp_path):
    encoded, _ = encode(bert.tokenizer, ("the sea", "a sea"), ("b", "c"))
    other, _ = encode(bert.tokenizer, ("the sea", "a sea"), ("b", "d"))
    digests = set()
    for table in (encoded, encoded, other):
        write_encoded(table, tmp_path / "e.parquet", "tokenizer")
        read = read_encoded(tmp_path / "e.parquet")
        assert read.table.equals(table)
        assert read.tokenizer == "tokenizer"
        digests.add(read.corpus)
    assert len(digests) == 2


def test_a_foreign_parquet_file_is_no_encoded_corpus(tmp_path):
    pl.DataFrame({"ids": [1]}).write_parquet(tmp_path / "other.parquet")
    with pytest.raises(InputError, match=r"expected encoded examples"):
        read_encoded(tmp_path / "other.parquet")


def test_an_example_that_is_not_there_is_named(encoded):
    with pytest.raises(InputError, match=r"example 99: .*of 12 encoded examples.*the last is 12"):
        encoded.example(99)


def test_the_first_example_is_the_one_to_show(encoded):
    assert encoded._replace(table=encoded.table[3:]).example(None)["example"] == 4


@pytest.mark.parametrize("shards", [1, 2, 3, 5, 12, 40])
def test_shards_hold_every_example_once_and_in_order(shards):
    lengths = np.array([5, 64, 64, 3, 20, 64, 64, 9, 9, 9])
    bounds = shard_bounds(lengths, shards)
    assert len(bounds) == shards
    rows = [row for start, stop in bounds for row in range(start, stop)]
    assert rows == list(range(len(lengths)))


@pytest.mark.parametrize("rows_at_once", [2, 5000])
@pytest.mark.parametrize("count", [1, 3, 20])
def test_a_job_reads_the_examples_of_its_shard_alone(bert, tmp_path, monkeypatch, rows_at_once, count):
    monkeypatch.setattr("headscope.encoding.EXAMPLES_AT_ONCE", rows_at_once)
    table, _ = encode(bert.tokenizer, *[(f"{'the sea ' * number}", "a b") for number in range(1, 12)])
    write_encoded(table, tmp_path / "e.parquet", "a tokenizer")
    whole = read_encoded(tmp_path / "e.parquet")
    shards = [read_encoded(tmp_path / "e.parquet", f"{number}-of-{count}") for number in range(1, count + 1)]
    assert pl.concat([shard.table for shard in shards]).equals(whole.table)
    for shard, part in zip(shards, whole.parts(count), strict=True):
        assert shard.table.equals(part.table)
        assert (shard.corpus, shard.tokenizer) == (whole.corpus, whole.tokenizer)


def test_shards_share_the_work_not_the_number():
    lengths = np.array([100, 10, 10, 10, 10, 10, 10, 10])
    assert shard_bounds(lengths, 2) == [(0, 1), (1, 8)]


def test_shards_of_nothing_are_empty():
    assert shard_bounds(np.array([], dtype=np.int64), 3) == [(0, 0)] * 3
