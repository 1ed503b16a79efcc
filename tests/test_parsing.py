import gzip
import json
import re
import socket

import polars as pl
import pytest
from checkpoints import STANZA_MODELS, needs_stanza_models
from stanza.models.common.doc import Document

from headscope.corpora import parsing
from headscope.corpora.parsing import load_parser, parse_file, to_conllu
from headscope.errors import InputError
from parse_dependencies import main

EXAMPLE = "The quick brown fox didn't jump over the lazy dogs."
HEADS = [4, 4, 4, 7, 7, 7, 0, 11, 11, 11, 7, 7]
TWO_DOCUMENTS = "Dogs bark. Cats sleep.\nBirds fly.\n\nIt rains.\n"


@pytest.fixture(scope="session")
def text_parser():
    return load_parser(STANZA_MODELS, "en", "ewt", "paragraphs", "cpu")


@pytest.fixture(scope="session")
def words_parser():
    return load_parser(STANZA_MODELS, "en", "ewt", "words", "cpu")


@pytest.fixture
def parsed(tmp_path):
    """Parse this content; give the sentences as they are read back, and the rows skipped."""

    def parse(parser, content, max_words=100):
        path, conllu = tmp_path / "corpus.txt", tmp_path / "corpus.conllu"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        count, skipped = parse_file(path, conllu, parser, max_words, shown_as="corpus.txt")
        sentences = read_back(conllu.read_bytes().decode())
        assert len(sentences) == count
        return sentences, skipped.rows()

    return parse


def read_back(conllu):
    """The sentences of a CoNLL-U text as (comments, rows of ten columns), refused where the format is broken."""
    assert conllu.endswith("\n\n")
    sentences = []
    for block in conllu.removesuffix("\n\n").split("\n\n"):
        lines = block.split("\n")
        comments = [line for line in lines if line.startswith("#")]
        rows = [line.split("\t") for line in lines[len(comments) :]]
        assert lines == block.splitlines()
        assert all(len(row) == 10 and all(column.strip(" \t") for column in row) for row in rows)
        assert [key_of(comment) for comment in comments if comment != "# newdoc"] == ["sent_id", "text"]
        words = words_of(rows)
        assert [row[0] for row in words] == [str(number) for number in range(1, len(words) + 1)]
        assert [row[7] == "root" for row in words] == [row[6] == "0" for row in words]
        assert sum(row[6] == "0" for row in words) == 1
        assert all(0 <= int(row[6]) <= len(words) for row in words)
        sentences.append((comments, rows))
    ids = [comments[-2] for comments, _ in sentences]
    assert len(set(ids)) == len(ids)
    return sentences


def key_of(comment):
    return re.fullmatch(r"# (\w+) = .+", comment)[1]


def words_of(rows):
    return [row for row in rows if "-" not in row[0]]


def forms(sentence):
    return [row[1] for row in words_of(sentence[1])]


@needs_stanza_models
def test_a_sentence_gets_the_heads_that_stanza_gives(text_parser, parsed):
    [(comments, rows)], skipped = parsed(text_parser, EXAMPLE)
    assert comments == ["# newdoc", "# sent_id = 1-1", f"# text = {EXAMPLE}"]
    assert [int(row[6]) for row in words_of(rows)] == HEADS
    assert [row for row in rows if row[0] == "5-6"] == [["5-6", "didn't", *["_"] * 8]]
    assert rows[-2] == ["11", "dogs", "dog", "NOUN", "NNS", "Number=Plur", "7", "obl", "_", "SpaceAfter=No"]
    assert rows[-1] == ["12", ".", ".", "PUNCT", ".", "_", "7", "punct", "_", "_"]
    assert skipped == []


@needs_stanza_models
def test_documents_are_marked_and_sentences_are_named_by_line_and_place(text_parser, parsed):
    sentences, _ = parsed(text_parser, TWO_DOCUMENTS)
    assert [comments[:-1] for comments, _ in sentences] == [
        ["# newdoc", "# sent_id = 1-1"],
        ["# sent_id = 1-2"],
        ["# sent_id = 2-1"],
        ["# newdoc", "# sent_id = 4-1"],
    ]
    assert [comments[-1] for comments, _ in sentences] == [
        "# text = Dogs bark.",
        "# text = Cats sleep.",
        "# text = Birds fly.",
        "# text = It rains.",
    ]


@needs_stanza_models
@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(b"\xef\xbb\xbf" + TWO_DOCUMENTS.replace("\n", "\r\n").encode()),
        TWO_DOCUMENTS.replace("\n\n", "\n \t\n").encode(),
        TWO_DOCUMENTS.replace(" ", " \u00a0\t").encode(),
    ],
    ids=["gzip, mark, CRLF", "blank lines of blanks", "runs of blanks"],
)
def test_the_wrapping_of_the_text_does_not_matter(text_parser, parsed, content):
    assert parsed(text_parser, content) == parsed(text_parser, TWO_DOCUMENTS)


@needs_stanza_models
def test_pretokenized_words_are_kept_exactly(words_parser, parsed):
    lines = ["She did n't pay 10\u00a0000 euros . Never !", "can't  gonna\t_ # 1-2 <UNK>"]
    sentences, skipped = parsed(words_parser, "\n".join(lines))
    assert [forms(sentence) for sentence in sentences] == [
        ["She", "did", "n't", "pay", "10\u00a0000", "euros", ".", "Never", "!"],
        ["can't", "gonna", "_", "#", "1-2", "<UNK>"],
    ]
    assert [comments for comments, _ in sentences] == [
        ["# newdoc", "# sent_id = 1-1", f"# text = {lines[0]}"],
        ["# sent_id = 2-1", "# text = can't gonna _ # 1-2 <UNK>"],
    ]
    assert {row[9] for _, rows in sentences for row in rows} == {"_"}
    assert skipped == []


@needs_stanza_models
@pytest.mark.parametrize("format", ["paragraphs", "words"])
def test_a_sentence_too_long_is_a_row_and_not_a_tree(format, text_parser, words_parser, parsed):
    parser = {"paragraphs": text_parser, "words": words_parser}[format]
    content = "It rains and rains and rains .\nIt rains .\n"
    sentences, skipped = parsed(parser, content, max_words=3)
    assert [forms(sentence) for sentence in sentences] == [["It", "rains", "."]]
    assert sentences[0][0][:2] == ["# newdoc", "# sent_id = 2-1"]
    reason = "sentence 1 of the line: 7 words, more than max_words (3)"
    assert skipped == [(None, "corpus.txt:1", reason)]


@needs_stanza_models
def test_what_stanza_cannot_read_is_a_row(text_parser, parsed):
    sentences, skipped = parsed(text_parser, f"It rains.\n\u0097\n{'a' * 300} is long.\n")
    assert len(sentences) == 1
    assert skipped == [
        (None, "corpus.txt:2", "no word in it that Stanza can see"),
        (None, "corpus.txt:3", "sentence 1 of the line: a token longer than Stanza's tokenizer takes"),
    ]


HOSTILE = [
    "1\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\t_",
    "# text = no comment",
    "# newdoc id = x",
    "# sent_id = 1-1",
    "two\u2028lines\u2029and\x85more\x0bor\x0cless\x1d.",
    "a carriage\rreturn",
    "zero\u200bwidth \u200b joined\u2060words \ufeff",
    "\u200b",
    "_ _ _",
    "nothing\x00at all \x00",
    "\u202eright to left \U0001f468\u200d\U0001f469\u200d\U0001f467 e\u0301\u0301\u0301",
    "Text=x|SpaceAfter=No|MWT=Yes",
    "1-2 3.1 don't",
]


@needs_stanza_models
@pytest.mark.parametrize("format", ["paragraphs", "words"])
def test_hostile_lines_stay_ten_columns_with_valid_ids(format, text_parser, words_parser, parsed):
    parser = {"paragraphs": text_parser, "words": words_parser}[format]
    sentences, skipped = parsed(parser, "\n".join(HOSTILE))
    lines = {int(re.match(r"# sent_id = (\d+)-", comments[-2])[1]) for comments, _ in sentences}
    assert lines == set(range(1, len(HOSTILE) + 1))
    assert skipped == []
    assert sum("# newdoc" in comments for comments, _ in sentences) == 1
    if format == "words":
        assert [forms(sentence) for sentence in sentences[6:8]] == [
            ["zero\u200bwidth", "\u200b", "joined\u2060words", "\ufeff"],
            ["\u200b"],
        ]


@needs_stanza_models
def test_no_character_is_lost_over_many_batches(text_parser, parsed, monkeypatch):
    monkeypatch.setattr(parsing, "CHARACTERS_AT_ONCE", 200)
    paragraph = "{0} dogs, (as I said) bark at no. {0}!  They don't?"
    lines = [" ".join([paragraph.format(number)] * (1 + number % 7)) for number in range(30)]
    sentences, skipped = parsed(text_parser, "\n".join(lines))
    said = dict.fromkeys(range(1, 31), "")
    for comments, _ in sentences:
        line = int(re.match(r"# sent_id = (\d+)-", comments[-2])[1])
        said[line] += comments[-1].removeprefix("# text = ").replace(" ", "")
    assert list(said.values()) == [line.replace(" ", "") for line in lines]
    assert skipped == []


@needs_stanza_models
def test_two_runs_give_the_same_bytes_without_the_network(tmp_path, monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    (tmp_path / "text").write_text(TWO_DOCUMENTS + EXAMPLE + "\n" + "\u0097\n", "utf-8")
    for run in ("one", "two"):
        main(
            text=tmp_path / "text",
            conllu=tmp_path / f"{run}.conllu",
            skipped=tmp_path / f"{run}.parquet",
            models=STANZA_MODELS,
            language="english",
            package="default",
            format="paragraphs",
            max_words=100,
            name="my text",
            device="auto",
        )
    assert (tmp_path / "one.conllu").read_bytes() == (tmp_path / "two.conllu").read_bytes()
    assert len(read_back((tmp_path / "one.conllu").read_text("utf-8"))) == 5
    assert pl.read_parquet(tmp_path / "two.parquet")["where"].to_list() == ["my text:6"]


@needs_stanza_models
@pytest.mark.parametrize("content", ["", "\n \n", "It rains and rains.\n"])
def test_a_file_that_gives_no_tree_is_refused_and_leaves_no_output(text_parser, parsed, tmp_path, content):
    with pytest.raises(InputError, match=r"corpus.txt: expected sentences of at most 3 words, found none and \d that"):
        parsed(text_parser, content, max_words=3)
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.txt"]


@needs_stanza_models
def test_a_language_or_package_that_is_not_there_is_named_with_what_is():
    with pytest.raises(InputError, match=r"expected the language 'fr', found en; run the rule fetch_stanza"):
        load_parser(STANZA_MODELS, "fr")
    with pytest.raises(
        InputError, match=r"language en: expected a package 'gum' with tokenize, .*there: default, ewt\)"
    ):
        load_parser(STANZA_MODELS, "en", "gum")


def test_a_folder_without_models_is_named_with_what_to_do(tmp_path):
    todo = r"run the rule fetch_stanza, or point `stanza: models:` in the config at a folder"
    with pytest.raises(InputError, match=rf"expected a folder {tmp_path}/none, found none there; {todo}"):
        load_parser(tmp_path / "none", "en", device="cpu")
    with pytest.raises(InputError, match=rf"{tmp_path}: expected a resources.json, found none there; {todo}"):
        load_parser(tmp_path, "en", device="cpu")
    (tmp_path / "resources.json").write_text("<html>", "utf-8")
    with pytest.raises(InputError, match=rf"expected the JSON of Stanza, found: .*; {todo}"):
        load_parser(tmp_path, "en", device="cpu")


def fill(folder, content=b"no model"):
    """Models of `xx` as `stanza.download` lays them out, with word vectors for pos; none of them loads."""
    processors = {name: {"tiny": {}} for name in ("tokenize", "pos", "depparse")}
    processors["pos"]["tiny"]["dependencies"] = [{"model": "pretrain", "package": "vectors"}]
    package = {"tokenize": "tiny", "pos": "tiny", "lemma": "identity", "depparse": "tiny"}
    resources = {"xx": {**processors, "packages": {"default": package}}}
    (folder / "resources.json").write_text(json.dumps(resources), "utf-8")
    files = [folder / "xx" / name / "tiny.pt" for name in processors] + [folder / "xx" / "pretrain" / "vectors.pt"]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return files


def test_a_missing_file_is_named_word_vectors_included(tmp_path):
    for file in fill(tmp_path):
        file.unlink()
        with pytest.raises(InputError, match=rf"expected a file {file}, found none there; run the rule fetch_stanza"):
            load_parser(tmp_path, "xx", device="cpu")
        fill(tmp_path)


def test_a_language_that_stanza_has_but_the_folder_does_not_is_named(tmp_path):
    fill(tmp_path)
    (tmp_path / "xx").rename(tmp_path / "yy")
    with pytest.raises(InputError, match=r"expected the language 'xx', found none; run the rule fetch_stanza"):
        load_parser(tmp_path, "xx", device="cpu")


def test_files_that_are_no_models_are_refused(tmp_path):
    fill(tmp_path)
    with pytest.raises(InputError, match=r"language xx, package default: expected files that Stanza \S+ can load"):
        load_parser(tmp_path, "xx", device="cpu")


def test_only_the_root_is_called_root_and_no_column_breaks():
    word = {"lemma": "a\tb\n", "upos": "X", "head": 0, "deprel": "dep"}
    words = [{**word, "id": (1,), "text": "x y"}, {**word, "id": (2,), "text": "\u2028", "head": 1, "deprel": "root"}]
    assert to_conllu(Document([words]).sentences[0], "1-1") == (
        "# sent_id = 1-1\n# text = x y _\n1\tx y\ta b\tX\t_\t_\t0\troot\t_\t_\n2\t_\ta b\tX\t_\t_\t1\tdep\t_\t_\n\n"
    )
