"""
headscope in a notebook: a few functions from a model and a corpus to the tables of the workflow, number for number.

Each does in one process, and in memory, what rules do as jobs; for corpora that do not fit, run the workflow.
"""

import logging
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from headscope.attention import attention_maps
from headscope.batches import automatic_budget_mb
from headscope.corpora.text import Paragraph, pair_up, read_pairs
from headscope.corpora.trees import read_trees
from headscope.description import Description
from headscope.encoding import Encoded, encoded_of
from headscope.errors import InputError
from headscope.models.describing import describe
from headscope.models.loaded import LoadedModel
from headscope.models.loading import load
from headscope.sources import locate, package_of
from headscope.store import Maps
from headscope.surface import merge_surface
from headscope.surface_counts import count_surface
from headscope.syntax.accuracy import Options, merge_syntax, read_scored, schemes_in
from headscope.syntax.scoring import count_syntax
from headscope.tokenizing import encode_pairs, encode_words, within_limit

LOG = logging.getLogger("headscope")
TEXT_TOKENS = 128  # of an example, as in the paper


@dataclass(frozen=True)
class Model:
    """A loaded model and what it is: `description` has its layers, heads and special tokens."""

    loaded: LoadedModel
    description: Description

    def __repr__(self) -> str:
        """Return one line for a notebook's cell."""
        what = self.description
        return f"Model({what.title}: {what.architecture}, {what.layers} layers of {what.heads} heads)"


@dataclass(frozen=True)
class Corpus:
    """A corpus in the tokens of a model: its examples, what was passed over and why, and the trees of a treebank."""

    encoded: Encoded
    skipped: pl.DataFrame
    trees: pl.DataFrame | None = None

    def __repr__(self) -> str:
        """Return one line for a notebook's cell."""
        tokens = int(self.encoded.lengths().sum())
        return f"Corpus({self.encoded.table.height:,} examples, {tokens:,} tokens; {self.skipped.height:,} skipped)"


class Surface(NamedTuple):
    """The tables `surface/heads` and `surface/uniform`."""

    heads: pl.DataFrame
    uniform: pl.DataFrame


class Syntax(NamedTuple):
    """The tables `syntax/heads` and `syntax/table1`."""

    heads: pl.DataFrame
    table1: pl.DataFrame


def load_model(source, revision: str | None = None, name: str | None = None, device: str = "auto", **options) -> Model:
    """
    Load a model for the other functions.

    Parameters
    ----------
    source
        A folder that transformers can load, `package:NAME/path`, or, with `revision`, an id on the Hugging Face hub,
        whose files are kept in `downloads/models/`.
    name
        What it is called in titles; its folder's name if not given.
    options
        As for `headscope.models.loading.load`: dtype, attention, allow_pickle, allow_remote_code, random_init.

    Raises
    ------
    InputError
        As `headscope.models.loading.load` and `headscope.models.describing.describe`.
    """
    source = str(source)
    if not name:
        name = package_of(source) or Path(source).resolve().name
    folder = _fetched(source, revision, name, options) if revision else locate(source)
    loaded = load(folder, name, device, **options)
    return Model(loaded, describe(loaded, name, source, revision, options.get("random_init")))


def _fetched(source, revision, name, options) -> Path:
    from headscope.fetch import fetch_checkpoint

    folder = Path("downloads", "models", name)
    keys = ("allow_pickle", "allow_remote_code")
    drawn = options.get("random_init") is not None
    allowed = {key: options.get(key, False) for key in keys}
    fetch_checkpoint(source, revision, str(folder), f"{folder}.json", **allowed, random_init=drawn)
    return folder


def encode_text(model: Model, text: str | Path | Iterable[str], max_tokens: int | None = None) -> Corpus:
    """
    Turn a text into examples of two paragraphs each, in the tokens of a model.

    Parameters
    ----------
    text
        The path of a file, one paragraph a line, a blank line between documents; or the paragraphs of one document.
    max_tokens
        Longest example, special tokens included; None: 128, or the model's own limit if lower.

    Raises
    ------
    InputError
        If the file is not there or holds no two paragraphs of a document, or `max_tokens` is beyond the model's limit.
    """
    if isinstance(text, str | Path):
        pairs, left_over = read_pairs(_existing(text))
    else:
        paragraphs = [Paragraph(number, paragraph) for number, paragraph in enumerate(text, start=1)]
        pairs, left_over = pair_up([paragraphs], "text")
        if pairs.is_empty():
            raise InputError(f"text: expected two paragraphs or more, found {left_over.height}; or give a file's path")
    limit = model.description.limit
    if max_tokens is None:
        max_tokens = min(TEXT_TOKENS, limit or TEXT_TOKENS)
    within_limit(max_tokens, model.description)
    table, skipped = encode_pairs(pairs, model.loaded.tokenizer, max_tokens)
    return _corpus(model, table, pl.concat([left_over, skipped]))


def encode_treebank(model: Model, treebank, format: str = "conllu", language: str = "en") -> Corpus:
    """
    Turn the sentences of a treebank into words in the tokens of a model.

    Parameters
    ----------
    treebank
        The path of a file.
    format
        `conllu`, `conllx` or `word-head-label`.
    language
        Only English (`en`) has the paper's labels beside its own.

    Raises
    ------
    InputError
        If the file is not there, is no treebank, or no sentence of it fits into the model.
    """
    trees, bad = read_trees(_existing(treebank), format, language=language)
    table, skipped = encode_words(trees, model.loaded.tokenizer, model.description.limit)
    return _corpus(model, table, pl.concat([bad, skipped]), trees)


def _existing(path) -> str:
    try:
        is_here = Path(path).is_file()
    except OSError:  # a whole text where a path is meant
        is_here = False
    if not is_here:
        raise InputError(f"{str(path)[:100]!r}: expected the path of a file, found none there; check it")
    return str(path)


def _corpus(model, table, skipped, trees=None) -> Corpus:
    if skipped.height:
        LOG.warning("%d passed over; see .skipped, for example: %s", skipped.height, skipped["reason"][0])
    return Corpus(encoded_of(table, model.description.tokenizer), skipped, trees)


def attention_of_all(model: Model, corpus: Corpus, dtype: str = "float16") -> Iterator[Maps]:
    """
    Yield the attention maps of a corpus, a batch of one length at a time.

    Each has the `examples`' numbers and their `weights` (example, layer, head, query, key).

    Parameters
    ----------
    dtype
        `float16`, as shards hold them, or `float32`.

    Raises
    ------
    InputError
        If the corpus is in the tokens of another model, or what the model returns are no maps.
    """
    corpus.encoded.refuse_other_tokens(model.description)
    maps = model.description.layers * model.description.heads
    return attention_maps(model.loaded, corpus.encoded, maps, automatic_budget_mb(model.loaded.device), dtype)


def attention_of(model: Model, corpus: Corpus, example: int) -> tuple[list[str], np.ndarray]:
    """
    Return the tokens (or words) of one example and its maps, float32 (layer, head, query, key).

    Raises
    ------
    InputError
        If the corpus has no example of this number, and as `attention_of_all`.
    """
    row = corpus.encoded.example(example)
    table = corpus.encoded.table.filter(example=row["example"])
    [maps] = attention_of_all(model, Corpus(corpus.encoded._replace(table=table), corpus.skipped), "float32")
    return row["tokens"], maps.weights[0]


def surface_tables(model: Model, corpus: Corpus, neighbours: str = "existing") -> Surface:
    """
    Return what every head looks at and how broadly: the tables `surface/heads` and `surface/uniform`.

    Parameters
    ----------
    neighbours
        As for `headscope.surface.merge_surface`.

    Raises
    ------
    InputError
        If the corpus is a treebank, and as `attention_of_all`.
    """
    if corpus.trees is not None:
        raise InputError("surface_tables: expected a text (encode_text), found a treebank; syntax_tables takes that")
    sums = count_surface(attention_of_all(model, corpus), corpus.encoded)
    return Surface(*merge_surface(lambda: iter([sums]), corpus.encoded, model.description, neighbours))


def syntax_tables(model: Model, treebank: Corpus, **options) -> Syntax:
    """
    Return how well every head follows each dependency relation, and the best: `syntax/heads` and `syntax/table1`.

    Parameters
    ----------
    options
        As for `headscope.syntax.accuracy.Options`: every, offsets, resamples, seed.

    Raises
    ------
    InputError
        If the corpus is no treebank, and as `attention_of_all`.
    """
    if treebank.trees is None:
        raise InputError(
            "syntax_tables: expected a treebank (encode_treebank), found a text; surface_tables takes that"
        )
    hits = count_syntax(attention_of_all(model, treebank), treebank.encoded, treebank.trees)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, "hits.parquet")]
        hits.write_parquet(paths[0])
        scored = {
            scheme: read_scored(paths, scheme, model.description, treebank.encoded) for scheme in schemes_in(paths)
        }
    return Syntax(*merge_syntax(scored, Options(**options)))
