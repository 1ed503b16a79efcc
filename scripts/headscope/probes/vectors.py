"""
Word vectors of a treebank: one of every different word, and which of them each word of each sentence has.

A word is told by its lower-cased form where vectors are looked up in a file, and by the ids of its tokens where they
are the input embeddings of a model: words of equal tokens then share one.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from headscope.encoding import WORDS, Encoded
from headscope.errors import InputError
from headscope.files import replacing
from headscope.probes.tables import COVERAGE
from headscope.seals import seal

FILE, MODEL = "file", "model"
VECTORS = pl.Schema({"word": pl.String, "tokens": pl.UInt32, "known": pl.Boolean})
"""
Beside `vector`, an array of float32: one row a different word, the most frequent first, equally frequent ones by code
point. A row's place from 0 is the number of the word.

`word`: the lower-cased form, or the token ids parted by blanks; `tokens`: how many words of the encoded sentences have
it; `known`: whether the source has a vector of its own for it.
"""
METADATA = ("kind", "source", "corpus")


class Vectors(NamedTuple):
    """
    The vectors of one corpus.

    `table`: columns as `VECTORS`; `matrix`: float32 (word, number), contiguous and writable; `kind`: `FILE` or `MODEL`;
    `source`: the name of the file or model; `corpus`: the digest of the encoded examples.
    """

    table: pl.DataFrame
    matrix: np.ndarray
    kind: str
    source: str
    corpus: str

    @property
    def label(self) -> str:
        """What the vectors are called in tables."""
        named = f"input embeddings of {self.source}" if self.kind == MODEL else self.source
        return f"{named} ({self.matrix.shape[1]} numbers)"

    def coverage(self) -> pl.DataFrame:
        """Return how many words have a vector of their own, one row, columns as `COVERAGE`."""
        known = self.table.filter("known")
        counts = (self.table.height, known.height, self.table["tokens"].sum(), known["tokens"].sum())
        return pl.DataFrame([(self.label, *counts)], COVERAGE, orient="row")


def vocabulary(kind: str, encoded: Encoded, trees: pl.DataFrame) -> pl.DataFrame:
    """
    Return the different words of the encoded sentences in the order of `VECTORS`, its columns `word` and `tokens`.

    Raises
    ------
    InputError
        If a sentence has another number of words in the trees.
    """
    counted = _words(kind, encoded, trees).group_by("word").agg(tokens=pl.len().cast(VECTORS["tokens"]))
    return counted.sort("tokens", "word", descending=[True, False])


def word_numbers(vectors: Vectors, encoded: Encoded, trees: pl.DataFrame) -> pl.Series:
    """
    Return the row of the matrix that each word of each encoded sentence has.

    Parameters
    ----------
    encoded
        The examples that the vectors were made for, or a shard of them.
    trees
        As `headscope.corpora.trees.read_trees` returns them; of more sentences, perhaps.

    Returns
    -------
    List of UInt32: one an example of `encoded.table`, in its order, with one number a word, in the order of the tree.

    Raises
    ------
    InputError
        If the vectors are those of another corpus, or a sentence has another number of words in the trees.
    """
    words = _words(vectors.kind, encoded, trees)
    numbered = words.join(
        vectors.table.with_row_index("number").select("word", "number"), on="word", how="left", maintain_order="left"
    )
    if vectors.corpus != encoded.corpus or numbered["number"].null_count():
        raise InputError(
            f"word vectors, {vectors.label}: expected those of corpus {encoded.corpus}, found those of "
            f"{vectors.corpus} or of other trees; delete vectors.parquet of this model and corpus and run again"
        )
    return numbered.group_by("example", maintain_order=True).agg("number")["number"].rename("words")


def _words(kind, encoded, trees) -> pl.DataFrame:
    """Every word of the encoded sentences, in order: example, word."""
    _refuse_other_trees(encoded, trees)
    return _words_by_tokens(encoded) if kind == MODEL else _words_by_form(encoded, trees)


def _words_by_form(encoded, trees):
    forms = trees.select("example", word="words")
    sentences = encoded.table.select("example").join(forms, on="example", how="left", maintain_order="left")
    return sentences.explode("word", empty_as_null=False).with_columns(pl.col("word").str.to_lowercase())


def _words_by_tokens(encoded):
    tokens = encoded.table.select("example", "words", "ids").explode("words", "ids", empty_as_null=False)
    ids = pl.col("ids").cast(pl.String).str.join(" ")
    rows_of_maps = tokens.group_by("example", "words", maintain_order=True).agg(word=ids)
    is_word = encoded.table["kinds"].explode(empty_as_null=False).is_in(list(WORDS))
    return rows_of_maps.filter(is_word).select("example", "word")


def _refuse_other_trees(encoded, trees):
    is_word = pl.col("kinds").list.eval(pl.element().is_in(list(WORDS)))
    counted = encoded.table.select("example", encoded=is_word.list.sum()).join(
        trees.select("example", of_tree=pl.col("words").list.len()), on="example", how="left", maintain_order="left"
    )
    differing = counted.filter(pl.col("encoded").ne_missing(pl.col("of_tree")))
    if differing.height:
        example, expected, found = differing.row(0)
        raise InputError(
            f"example {example}: expected a tree of {expected} words, as they were encoded, found {found or 'none'}; "
            "the treebank has changed since: delete the folder encoded/ of this model and corpus and run again"
        )


def write_vectors(vectors: Vectors, path: str | Path):
    """Write vectors as Parquet, what they are and are for in its metadata."""
    numbers = pl.Series("vector", vectors.matrix, pl.Array(pl.Float32, vectors.matrix.shape[1]))
    with replacing(path) as temporary:
        table = vectors.table.select(*VECTORS).with_columns(numbers)
        table.write_parquet(temporary, metadata={key: getattr(vectors, key) for key in METADATA})
        seal(temporary)


def read_vectors(path: str | Path) -> Vectors:
    """
    Read what `write_vectors` wrote.

    Raises
    ------
    InputError
        If the file is not one of ours.
    """
    metadata = pl.read_parquet_metadata(path)
    if not metadata.keys() >= set(METADATA):
        raise InputError(f"{path}: expected word vectors, found a Parquet file without their kind and source")
    table = pl.read_parquet(path)
    matrix = np.array(table["vector"].to_numpy(), np.float32, order="C")
    return Vectors(table.select(*VECTORS), matrix, *(metadata[key] for key in METADATA))
