import gzip

import polars as pl
import pytest
from checkpoints import DEMO_TEXT, SHARED, needs_shared_corpora, wrapped

from headscope.corpora.text import read_pairs
from headscope.errors import InputError

TWO_DOCUMENTS = "a one\na two\na three\n\nb one\nb two\nb three\nb four\n"
PAIRS = [("a one", "a two"), ("b one", "b two"), ("b three", "b four")]


def pairs_of(tmp_path, content, **options):
    path = tmp_path / "corpus.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_pairs(path, shown_as="corpus.txt", **options)


def test_pairs_are_consecutive_and_stay_in_their_document(tmp_path):
    pairs, skipped = pairs_of(tmp_path, TWO_DOCUMENTS)
    assert pairs.select("first", "second").rows() == PAIRS
    assert pairs["example"].to_list() == [1, 2, 3]
    assert pairs["where"].to_list() == ["corpus.txt:1", "corpus.txt:5", "corpus.txt:7"]
    assert skipped.rows() == [(None, "corpus.txt:3", "last paragraph of its document, no paragraph to pair it with")]


@pytest.mark.parametrize("content", wrapped(TWO_DOCUMENTS).values(), ids=wrapped(TWO_DOCUMENTS))
def test_the_wrapping_of_the_text_does_not_matter(tmp_path, content):
    pairs, skipped = pairs_of(tmp_path, content)
    assert pairs.select("first", "second").rows() == PAIRS
    assert skipped.height == 1


def test_a_line_of_blanks_is_blank(tmp_path):
    assert pairs_of(tmp_path, TWO_DOCUMENTS.replace("\n\n", "\n \t\n\n"))[0].select("first", "second").rows() == PAIRS


def test_only_a_line_feed_ends_a_paragraph(tmp_path):
    pairs, _ = pairs_of(tmp_path, "one\u2028still one\x0band on\ntwo\x85still two\n")
    assert pairs.select("first", "second").rows() == [("one\u2028still one\x0band on", "two\x85still two")]


def test_wikitext_headings_open_documents_and_are_dropped(tmp_path):
    raw = (
        " \n = First article = \n \n A well @-@ known paragraph of 1 @,@ 000 words . \n = = Section = = \n \n"
        " Second paragraph . \n Third . \n = Second article = \n Alone . \n"
    )
    pairs, skipped = pairs_of(tmp_path, raw, format="wikitext")
    assert pairs.select("first", "second").rows() == [
        ("A well-known paragraph of 1,000 words .", "Second paragraph ."),
    ]
    assert skipped["where"].to_list() == ["corpus.txt:8", "corpus.txt:10"]


def test_a_corpus_without_pairs_is_refused_with_what_to_do(tmp_path):
    with pytest.raises(
        InputError, match=r"corpus.txt: expected documents of two paragraphs.*found 2 paragraphs.*remove"
    ):
        pairs_of(tmp_path, "one\n\ntwo\n")


def test_an_empty_corpus_is_refused(tmp_path):
    with pytest.raises(InputError, match="found 0 paragraphs"):
        pairs_of(tmp_path, "")


def test_bytes_that_are_not_utf8_are_named_with_their_line(tmp_path):
    with pytest.raises(InputError, match=r"corpus.txt:2: expected UTF-8, found byte 0xe9 at byte 4"):
        pairs_of(tmp_path, "one\ncaf\xe9\n".encode("latin-1"))


def test_utf16_is_named(tmp_path):
    with pytest.raises(InputError, match="found UTF-16"):
        pairs_of(tmp_path, TWO_DOCUMENTS.encode("utf-16"))


def test_a_cut_gzip_file_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"corpus.txt: expected a whole gzip file, found it damaged"):
        pairs_of(tmp_path, gzip.compress(TWO_DOCUMENTS.encode() * 1000)[:-20])


def test_the_demo_text_is_what_it_says():
    pairs, skipped = read_pairs(DEMO_TEXT)
    documents = [document.split("\n") for document in DEMO_TEXT.read_text("utf-8").strip().split("\n\n")]
    assert pairs.height >= 60
    assert skipped.height == sum(len(document) % 2 for document in documents)
    assert all(4 <= len(document) <= 8 for document in documents)
    words = pl.concat([pairs["first"], pairs["second"]]).str.split(" ").list.len()
    assert words.min() >= 60
    assert words.max() <= 90


@needs_shared_corpora
def test_wikitext_2_is_read_whole():
    path = SHARED / "data" / "unlabeled" / "wikitext2_valid.txt"
    documents = [document.split("\n") for document in path.read_text("utf-8").rstrip("\n").split("\n\n")]
    pairs, skipped = read_pairs(path)
    assert len(documents) == 60
    assert 2 * pairs.height + skipped.height == sum(map(len, documents)) == 1841
    assert skipped.height == sum(len(document) % 2 for document in documents)
