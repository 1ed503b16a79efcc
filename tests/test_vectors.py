"""Word vectors of treebanks, from the model and from files."""

import gzip
import struct
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
import torch
import transformers
from checkpoints import REPOSITORY, SIZES, save_checkpoint, wordpiece, wrapped

import embed_words
import look_up_words
from headscope.encoding import read_encoded, word_rows, write_encoded
from headscope.errors import InputError
from headscope.models.describing import describe
from headscope.models.loading import load
from headscope.probes.embeddings import mean_embeddings
from headscope.probes.vector_files import look_up
from headscope.probes.vectors import FILE, MODEL, Vectors, read_vectors, vocabulary, word_numbers, write_vectors
from headscope.tokenizing import encode_words

TEXT = "the 0.5 -1 2\nsea 1e-1 .25 +3\n. . . 0 1 0\n"
FOUND = {"the": [0.5, -1, 2], "sea": [0.1, 0.25, 3], ". . .": [0, 1, 0]}


def treebank(*sentences):
    """Each text one sentence, its words parted by blanks; heads and relations are of no matter here."""
    words = [text.split(" ") for text in sentences]
    columns = {
        "example": range(1, len(words) + 1),
        "where": ["file:1"] * len(words),
        "words": words,
        "space_after": [[True] * len(sentence) for sentence in words],
    }
    return pl.DataFrame(columns, schema_overrides={"example": pl.UInt32})


def encode(trees, model, described, folder):
    encoded, _ = encode_words(trees, model.tokenizer, described.limit)
    write_encoded(encoded, folder / "examples.parquet", described.tokenizer)
    return read_encoded(folder / "examples.parquet")


@pytest.fixture(scope="module")
def trees():
    return treebank("The sea the Sea .", "the lighthouse", " ".join(["sea"] * 70), "SEA the")


@pytest.fixture(scope="module")
def sentences(trees, bert, bert_described, tmp_path_factory):
    """All but the third, which is longer than the model takes."""
    encoded = encode(trees, bert, bert_described, tmp_path_factory.mktemp("sentences"))
    assert encoded.table["example"].to_list() == [1, 2, 4]
    return encoded


def written(folder, content):
    path = folder / "vectors.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("content", wrapped(TEXT).values(), ids=wrapped(TEXT))
def test_vectors_are_read_in_any_wrapping(content, tmp_path):
    matrix, known, repeated = look_up(written(tmp_path, content), FOUND)
    np.testing.assert_array_equal(matrix, np.array(list(FOUND.values()), np.float32))
    assert (matrix.dtype, known.all(), repeated) == (np.float32, True, 0)


def test_word2vec_begins_with_a_header_and_ends_lines_with_a_blank(tmp_path):
    content = "3 3\n" + TEXT.replace("\n", " \n")
    np.testing.assert_array_equal(look_up(written(tmp_path, content), FOUND).matrix, look_up_plain(tmp_path))


def look_up_plain(folder):
    return look_up(written(folder, TEXT), FOUND).matrix


def test_rows_are_those_of_the_words_that_were_asked_for(tmp_path):
    matrix, known, _ = look_up(written(tmp_path, TEXT), ["sea", "foam", "the"])
    np.testing.assert_array_equal(matrix, np.array([FOUND["sea"], [0, 0, 0], FOUND["the"]], np.float32))
    assert known.tolist() == [True, False, True]


def test_words_that_hold_blanks_numbers_or_unicode_blanks_are_read(tmp_path):
    words = ["at name@domain.com", "3.5", "\u00a0", "\u2028", "10\u00a0000", "1 x"]
    lines = "".join(f"{word} {number} 0.5\n" for number, word in enumerate(words))
    matrix, known, _ = look_up(written(tmp_path, "7 9E0 -.9e-1\n" + lines), words)
    assert known.all()
    assert matrix[:, 0].tolist() == [0, 1, 2, 3, 4, 5]


def test_of_a_repeated_word_the_first_line_counts(tmp_path):
    matrix, _, repeated = look_up(written(tmp_path, TEXT + "sea 7 7 7\nsea 8 8 8\nfoam 1 1 1\nfoam 1 1 1\n"), ["sea"])
    assert (matrix.tolist(), repeated) == ([[np.float32(0.1), 0.25, 3]], 2), "repeated words that are not needed aside"


def test_a_word_without_vector_gets_that_of_unknown_words_where_there_is_one(tmp_path):
    matrix, known, _ = look_up(written(tmp_path, TEXT + "<unk> 4 5 6\n"), ["foam", "sea"])
    assert (matrix[0].tolist(), known.tolist()) == ([4, 5, 6], [False, True])
    matrix, _, _ = look_up(written(tmp_path, TEXT + "unk 4 5 6\n"), ["foam", "sea"])
    assert matrix[0].tolist() == [0, 0, 0], "unk without brackets is a word like any other"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"mine\.txt: expected a word and its numbers, .* found an empty file"),
        ("\n \n", "found an empty file"),
        ("The sea is grey.\n", r"mine\.txt: .* found 'The sea is grey\.' on line 1; is this a file of word vectors"),
        ("the\t1\t2\n", "on line 1; is this a file"),
        ("the 1,5 2,5\n", "on line 1; is this a file"),
        ("2 0\nthe\n", "on line 1; is this a file"),
        ("the 1 2\nsea 1\n", r"mine\.txt:2: expected a word and 2 numbers, .* on line 1, found 1 numbers"),
        ("the 1 2\nfoam 1 2 3\n", r"mine\.txt:2: expected a word and 2 numbers, .* found 3 numbers"),
        ("the 1 2\nfoam\n", r"mine\.txt:2: .* found 0 numbers at the end of 'foam'"),
        ("the 1 2\nfoam  1 2\n", r"mine\.txt:2: .* parted by single blanks"),
        ("the 1 2\nfoam 1  2\n", r"mine\.txt:2: .* parted by single blanks"),
        ("the  1 2\nfoam  1 2\n", r"mine\.txt:1: .* parted by single blanks"),
        ("2 3\nthe 1 2\nsea 1 2\n", r"mine\.txt:2: expected a word and 3 numbers, .* on line 1, found 2 numbers"),
        ("3 2\nthe 1 2\nsea 1 2\n", r"mine\.txt:1: expected 3 vectors, as this line says, found 2; the file is cut"),
        ("1 2\nthe 1 2\nsea 1 2\n", r"mine\.txt:1: expected 1 vectors, as this line says, found 2"),
        ("9 99999999999999\nthe 1 2\n", r"mine\.txt:2: expected a word and 99999999999999 numbers"),
        ("the 1 2\n\nsea 1 two\n", r"mine\.txt:3: expected finite numbers for 'sea', found 'two'"),
        ("the nan 2\n", r"mine\.txt:1: expected finite numbers for 'the', found 'nan'"),
        ("the 1 2\nsea 1 -inf\n", r"mine\.txt:2: .* found '-inf'"),
        ("the 1 2\nsea 1 1e39\n", r"mine\.txt:2: .* found '1e39'"),
        (
            "The 1 2\nSEA 1 2\n",
            r"mine\.txt: expected vectors of some of the 2 words .* \('the', 'sea', \.\.\.\), found none",
        ),
        ("the 1 2\nsea 1 2\n".encode("utf-16"), "found UTF-16"),
        (b"the 1 2\n\xe9t\xe9 1 2\n", r"mine\.txt:2: expected UTF-8, found byte 0xe9"),
        (gzip.compress(TEXT.encode(), mtime=0)[:-12], r"mine\.txt: expected a whole gzip file, found it damaged"),
        (b"2 2\nthe " + struct.pack("<2f", 1, 2) + b"\nsea " + struct.pack("<2f", 3, 4), "found a binary file; unpack"),
        (
            gzip.compress(b"1 2\nthe " + struct.pack("<2f", 1, 2), mtime=0),
            r"mine\.txt: .* found a binary file; .* \.bin as text",
        ),
    ],
)
def test_what_is_no_file_of_vectors_is_refused(content, message, tmp_path):
    with pytest.raises(InputError, match=message):
        look_up(written(tmp_path, content), ["the", "sea"], "mine.txt")


def test_numbers_of_words_that_are_not_needed_are_not_read(tmp_path):
    assert look_up(written(tmp_path, "foam 1 2 x\nthe 1 2 3\n".replace("x", "1e999")), ["the"]).known.all()


def test_the_vocabulary_of_a_file_is_lower_cased_and_begins_with_what_is_frequent(sentences, trees):
    found = vocabulary(FILE, sentences, trees)
    assert found.rows() == [("the", 4), ("sea", 3), (".", 1), ("lighthouse", 1)], "the skipped sentence is not counted"


def test_the_vocabulary_of_a_model_is_of_token_ids(sentences, trees, bert):
    found = dict(vocabulary(MODEL, sentences, trees).iter_rows())
    ids = bert.tokenizer(["the", "sea", ".", "lighthouse"], add_special_tokens=False)["input_ids"]
    assert found == dict(zip([" ".join(map(str, word)) for word in ids], [4, 3, 1, 1], strict=True))
    assert len(ids[-1]) > 1, "a word of several tokens is among them"


def test_words_of_equal_tokens_share_a_vector_of_the_model_but_not_of_a_file(bert, bert_described, tmp_path):
    trees = treebank("火 水 the")
    encoded = encode(trees, bert, bert_described, tmp_path)
    assert encoded.table["ids"][0][1] == encoded.table["ids"][0][2] == bert.tokenizer.unk_token_id
    assert sorted(vocabulary(MODEL, encoded, trees)["tokens"]) == [1, 2]
    assert vocabulary(FILE, encoded, trees)["tokens"].to_list() == [1, 1, 1]


def made(kind, encoded, trees, matrix=None):
    words = vocabulary(kind, encoded, trees).with_columns(known=pl.lit(True))
    matrix = np.eye(words.height, dtype=np.float32) if matrix is None else matrix
    return Vectors(words, matrix, kind, "somewhere", encoded.corpus)


def test_numbers_of_words_are_in_the_order_of_sentences_and_words(sentences, trees):
    numbers = word_numbers(made(FILE, sentences, trees), sentences, trees)
    assert numbers.to_list() == [[0, 1, 0, 1, 2], [0, 3], [1, 0]]
    assert numbers.dtype == pl.List(pl.UInt32)


@pytest.mark.parametrize("kind", [FILE, MODEL])
def test_numbers_do_not_hang_on_the_order_or_the_shard(kind, sentences, trees):
    vectors = made(kind, sentences, trees)
    numbers = word_numbers(vectors, sentences, trees).to_list()
    assert word_numbers(vectors, sentences, trees.reverse()).to_list() == numbers
    shards = [word_numbers(vectors, sentences.shard(number, 3), trees).to_list() for number in (1, 2, 3)]
    assert sum(shards, []) == numbers  # noqa: RUF017
    backwards = sentences._replace(table=sentences.table.reverse())
    assert word_numbers(vectors, backwards, trees).to_list() == numbers[::-1]


def test_the_vector_of_a_word_is_the_mean_over_its_tokens(sentences, trees, bert):
    table = bert.network.get_input_embeddings().weight.detach().numpy()
    words = vocabulary(MODEL, sentences, trees)
    vectors = made(MODEL, sentences, trees, mean_embeddings(bert, "bert", words["word"]))
    for row, numbers in zip(
        sentences.table.iter_rows(named=True), word_numbers(vectors, sentences, trees), strict=True
    ):
        ids, of = np.array(row["ids"]), np.array(row["words"])
        inside = word_rows(row["kinds"])
        expected = [table[ids[of == word]].mean(0) for word in range(inside.start, inside.stop)]
        np.testing.assert_allclose(vectors.matrix[numbers.to_numpy()], expected, rtol=1e-5, atol=1e-7)


def test_embeddings_have_the_width_of_their_table(tmp_path):
    tokenizer = wordpiece()
    config = transformers.AlbertConfig(vocab_size=len(tokenizer), embedding_size=8, **SIZES)
    model = load(save_checkpoint(tmp_path, config, tokenizer), "albert", dtype="bfloat16")
    matrix = mean_embeddings(model, "albert", pl.Series(["5", "5 6"]))
    assert (matrix.shape, matrix.dtype) == ((2, 8), np.float32)
    table = model.network.get_input_embeddings().weight.detach().float()
    np.testing.assert_array_equal(matrix[0], table[5].numpy())
    np.testing.assert_allclose(matrix[1], table[5:7].mean(0).numpy(), rtol=1e-6)


class Embedder(torch.nn.Module):
    """A network that is nothing but its input embeddings."""

    def __init__(self, table):
        super().__init__()
        self.table = table

    def get_input_embeddings(self):
        if self.table is None:
            raise NotImplementedError
        return self.table


class Scaled(torch.nn.Embedding):
    def forward(self, ids):
        return 3 * super().forward(ids)


def test_embeddings_are_scaled_where_the_model_scales_them(bert):
    table = Scaled.from_pretrained(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    model = type(bert)(Embedder(table), None, torch.device("cpu"))
    assert mean_embeddings(model, "scaled", pl.Series(["0", "1 1", "0 1"])).tolist() == [[3, 6], [9, 12], [6, 9]]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (None, "model m: expected a table of input embeddings with token 7 in it, found none; name a file"),
        (torch.nn.Linear(9, 2), r"found Linear\(\)"),
        (torch.nn.Embedding(7, 2), r"found Embedding\(7\)"),
        (torch.nn.Embedding.from_pretrained(torch.full((9, 2), torch.nan)), "expected finite input embeddings"),
    ],
)
def test_a_model_without_a_table_of_input_embeddings_is_refused(table, message, bert):
    model = type(bert)(Embedder(table), None, torch.device("cpu"))
    with pytest.raises(InputError, match=message):
        mean_embeddings(model, "m", pl.Series(["7 1"]))


def test_vectors_come_back_as_they_were_written(sentences, trees, tmp_path):
    words = vocabulary(FILE, sentences, trees).with_columns(known=pl.Series([True, False, True, True]))
    matrix = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)
    write_vectors(Vectors(words, matrix, FILE, "glove.txt", "digest"), tmp_path / "vectors.parquet")
    back = read_vectors(tmp_path / "vectors.parquet")
    np.testing.assert_array_equal(back.matrix, matrix)
    assert back.matrix.flags.c_contiguous
    assert back.matrix.flags.writeable
    assert back.table.equals(words)
    assert back[2:] == (FILE, "glove.txt", "digest")
    assert back.label == "glove.txt (5 numbers)"
    assert back._replace(kind=MODEL, source="minilm").label == "input embeddings of minilm (5 numbers)"
    assert pl.read_parquet(tmp_path / "vectors.parquet")["vector"].dtype == pl.Array(pl.Float32, 5)


def test_a_table_that_is_not_of_vectors_is_refused(tmp_path):
    pl.DataFrame({"word": ["a"]}).write_parquet(tmp_path / "table.parquet")
    with pytest.raises(InputError, match="expected word vectors, found a Parquet file without their kind"):
        read_vectors(tmp_path / "table.parquet")


def test_vectors_of_another_corpus_or_other_trees_are_refused(sentences, trees):
    vectors = made(FILE, sentences, trees)
    with pytest.raises(InputError, match=f"expected those of corpus {sentences.corpus}, found those of other or"):
        word_numbers(vectors._replace(corpus="other"), sentences, trees)
    renamed = trees.with_columns(pl.col("words").list.eval(pl.element().str.replace("^SEA$", "foam")))
    with pytest.raises(InputError, match="or of other trees; delete"):
        word_numbers(vectors, sentences, renamed)


@pytest.mark.parametrize("kind", [FILE, MODEL])
def test_trees_of_other_sentences_are_refused(kind, sentences, trees):
    shorter = trees.with_columns(pl.col("words").list.head(4))
    with pytest.raises(InputError, match="example 1: expected a tree of 5 words, as they were encoded, found 4"):
        vocabulary(kind, sentences, shorter)
    with pytest.raises(InputError, match="example 4: expected a tree of 2 words, as they were encoded, found none"):
        vocabulary(kind, sentences, trees.head(3))


@pytest.fixture
def outputs(tmp_path):
    names = {"vectors": "vectors.parquet", "coverage": "coverage.parquet", "coverage_csv": "coverage.csv"}
    return {name: tmp_path / "out" / file for name, file in names.items()}


@pytest.fixture
def inputs(sentences, trees, tmp_path):
    trees.write_parquet(tmp_path / "trees.parquet")
    write_encoded(sentences.table, tmp_path / "examples.parquet", sentences.tokenizer)
    return {"encoded": tmp_path / "examples.parquet", "trees": tmp_path / "trees.parquet"}


def test_words_are_looked_up_in_lower_case_and_counted(inputs, outputs, tmp_path):
    file = written(tmp_path, "sea 1 2\nThe 3 4\n. 5 6\nlighthouse 7 8\n")
    look_up_words.main(**inputs, **outputs, file=file, name="folder/glove.txt.gz")
    vectors = read_vectors(outputs["vectors"])
    assert vectors.table.rows() == [("the", 4, False), ("sea", 3, True), (".", 1, True), ("lighthouse", 1, True)]
    assert vectors.matrix.tolist() == [[0, 0], [1, 2], [5, 6], [7, 8]]
    expected = [("glove.txt.gz (2 numbers)", 4, 3, 9, 5)]
    assert pl.read_parquet(outputs["coverage"]).rows() == expected == pl.read_csv(outputs["coverage_csv"]).rows()


def test_a_file_is_looked_up_without_the_model():
    code = "import sys, look_up_words; sys.exit(sorted({'torch', 'headscope.models'} & sys.modules.keys()) or 0)"
    scripts = str(REPOSITORY / "scripts")
    assert subprocess.run([sys.executable, "-c", code], cwd=scripts, check=False).returncode == 0


def test_the_models_own_vectors_cover_every_word(inputs, outputs, sentences, trees, bert, bert_folder, tmp_path):
    described = describe(bert, "bert", "tiny", None)
    described.write(tmp_path / "description.json")
    embed_words.main(
        tmp_path / "description.json", **inputs, **outputs, checkpoint=str(bert_folder), loading={"dtype": "float32"}
    )
    vectors = read_vectors(outputs["vectors"])
    assert word_numbers(vectors, sentences, trees).list.len().to_list() == [5, 2, 2]
    assert pl.read_csv(outputs["coverage_csv"]).rows() == [("input embeddings of bert (32 numbers)", 4, 4, 9, 9)]
    first = bert.network.get_input_embeddings().weight[int(vectors.table["word"][0])]
    np.testing.assert_array_equal(vectors.matrix[0], first.detach().numpy())


def test_vectors_of_another_tokenizer_are_not_taken(inputs, outputs, bert, bert_folder, tmp_path):
    write_encoded(read_encoded(inputs["encoded"]).table, inputs["encoded"], "another")
    describe(bert, "bert", "tiny", None).write(tmp_path / "description.json")
    with pytest.raises(InputError, match="expected examples in its own tokens"):
        embed_words.main(tmp_path / "description.json", **inputs, **outputs, checkpoint=str(bert_folder), loading={})
