"""Which passage figure 5 shows, and what the best head does in it."""

import numpy as np
import polars as pl

from headscope.coreference.names import DIRECTIONS
from headscope.coreference.scoring import Task, predicted_words
from headscope.encoding import Encoded, word_rows
from headscope.errors import InputError
from headscope.store import on_host

CANDIDATES = "mentions"
LINKS = pl.Schema(
    {
        "layer": pl.UInt16,
        "head": pl.UInt16,
        "direction": pl.String,
        "accuracy": pl.Float64,
        "example": pl.UInt32,
        "document": pl.String,
        "anaphor": pl.UInt32,
        "query": pl.UInt16,
        "key": pl.UInt16,
        "query_word": pl.String,
        "key_word": pl.String,
        "weight": pl.Float32,
        "antecedent": pl.Boolean,
        "picked": pl.Boolean,
    }
)
"""A row per anaphor of the passage and candidate; `anaphor` is the number of its mention, words count from 1."""
PASSAGE = pl.Schema(
    {
        "word": pl.UInt16,
        "text": pl.String,
        "space_after": pl.Boolean,
        "mention_head": pl.Boolean,
        "anaphor": pl.Boolean,
        "entity": pl.UInt32,
    }
)
MOST_WORDS, MOST_ANAPHORS = 60, 12


def passage_to_show(
    documents: pl.DataFrame, mentions: pl.DataFrame, encoded: Encoded, example: int | None
) -> tuple[int, int]:
    """
    Choose a passage: the first sentences of a document, up to 60 words.

    Parameters
    ----------
    mentions
        Those left of the documents as encoded.
    example
        The document; None: the one with most anaphors in its passage, but no more than twelve if that can be (ties: the
        first).

    Returns
    -------
    The document's number, and how many words the passage has.

    Raises
    ------
    InputError
        If the document that is named is not there or has no anaphor in its passage, or none has.
    """
    found = []
    wanted = encoded.table["example"].to_list() if example is None else [encoded.example(example)["example"]]
    kinds_of = dict(encoded.table.select("example", "kinds").iter_rows())
    for row in documents.filter(pl.col("example").is_in(wanted)).iter_rows(named=True):
        rows = word_rows(kinds_of[row["example"]])
        words = _whole_sentences(row["sentences"][: rows.stop - rows.start])
        inside = mentions.filter((pl.col("example") == row["example"]) & (pl.col("last") <= words))
        found.append((len(Task.of(inside, words).rows), -row["example"], words))
    few = [one for one in found if one[0] <= MOST_ANAPHORS]
    anaphors, number, words = max(few) if any(one[0] for one in few) else min(one for one in found)
    if not anaphors:
        where = "any document" if example is None else f"document {example}"
        raise InputError(
            f"coreference.document: expected a mention with an antecedent in the first {MOST_WORDS} words of {where}, "
            "found none; name another document"
        )
    return -number, words


def _whole_sentences(sentences: list[int]) -> int:
    """How many words the sentences have that fit; the first one is cut if it is too long itself."""
    if len(sentences) <= MOST_WORDS:
        return len(sentences)
    ends = [word for word in range(1, MOST_WORDS + 1) if sentences[word] != sentences[word - 1]]
    return ends[-1] if ends else MOST_WORDS


def shown_passage(
    best: dict, document: dict, mentions: pl.DataFrame, weights: np.ndarray, words: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """
    Return the attention of one head between the anaphors of a passage and their candidates, and the passage.

    Parameters
    ----------
    best
        The row of `table2`: layer, head, direction, all_accuracy.
    document
        Its row of the documents.
    mentions
        Of the document, as encoded.
    weights
        Its maps between words (layer, head, query, key), without special tokens.
    words
        How many words the passage has; all candidates of its anaphors stand in it.

    Returns
    -------
    links, passage
        Columns as `LINKS` and `PASSAGE`.
    """
    inside = mentions.filter(pl.col("last") <= words)
    task = Task.of(inside, words)
    layer, head, direction = best["layer"], best["head"], DIRECTIONS.index(best["direction"])
    cells = np.ascontiguousarray(on_host(weights[layer - 1, head - 1])[:words, :words])
    picked = predicted_words(cells[None, None], task)[CANDIDATES][direction, 0]
    anaphor, key = np.nonzero(task.allowed[CANDIDATES])
    query = task.queries[anaphor]
    texts = np.array(document["words"])
    links = {
        **{name: [best[name]] * len(key) for name in ("layer", "head", "direction")},
        "accuracy": [best["all_accuracy"]] * len(key),
        "example": [document["example"]] * len(key),
        "document": [document["document"]] * len(key),
        "anaphor": inside["mention"].to_numpy()[task.rows][anaphor],
        "query": query + 1,
        "key": key + 1,
        "query_word": texts[query],
        "key_word": texts[key],
        "weight": (cells if direction == 0 else cells.T)[query, key].astype(np.float32),
        "antecedent": task.right[CANDIDATES][anaphor, key],
        "picked": picked[anaphor] == key,
    }
    # A word may head mentions of several entities; shown is the one that has most mentions in the passage.
    by_size = inside.with_columns(size=pl.len().over("entity")).sort("size", "mention", descending=[False, True])
    entity_of = dict(by_size.select("head", "entity").iter_rows())
    numbers = range(1, words + 1)
    passage = {
        "word": numbers,
        "text": document["words"][:words],
        "space_after": document["space_after"][:words],
        "mention_head": [word in entity_of for word in numbers],
        "anaphor": [word - 1 in set(task.queries.tolist()) for word in numbers],
        "entity": [entity_of.get(word) for word in numbers],
    }
    return pl.DataFrame(links, LINKS), pl.DataFrame(passage, PASSAGE)
