"""
How often the strongest attention of a head joins a mention to an antecedent.

Per anaphor, candidate set and head-direction one bit, packed: one table a shard. After Clark et al. 2019, section 4.3,
whose code and candidates were never published; what is scored here is defined below.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from headscope.coreference.baselines import Entries, entries_of, predict
from headscope.coreference.cut import cut_mentions
from headscope.coreference.names import BASELINES, CANDIDATES, DIRECTIONS
from headscope.encoding import Encoded, word_rows
from headscope.errors import InputError
from headscope.store import Maps

if TYPE_CHECKING:
    import torch

HITS = pl.Schema(
    {
        "candidates": pl.String,
        "example": pl.UInt32,
        "mention": pl.UInt32,
        "mention_type": pl.String,
        "distance": pl.UInt32,
        **dict.fromkeys(BASELINES, pl.Boolean),
        "hits": pl.Binary,
    }
)
"""
`distance`: words from the nearest antecedent's head; `hits`: a bit per (direction, layer, head), in that order. A
document without an anaphor has a row without a mention, so that none can be missing unseen.
"""
NOT_A_CANDIDATE = -1
BLOCK_WEIGHTS = 2**20  # weights gathered at once: some 10 MiB of work areas
_SIGNED = {2: np.int16, 4: np.int32}


class Task(NamedTuple):
    """
    The anaphors of one document and what each may choose from; words count from 0.

    An anaphor is a mention whose entity has a mention with an earlier head word. `heads` are the words that head a
    mention, in order; `queries` the head words of the anaphors (anaphor,); `rows` the anaphors among the document's
    mentions; `allowed[candidates]` the candidates (anaphor, word); `right[candidates]` those that count as right.
    """

    heads: np.ndarray
    rows: np.ndarray
    queries: np.ndarray
    distances: np.ndarray
    allowed: dict[str, np.ndarray]
    right: dict[str, np.ndarray]

    @classmethod
    def of(cls, mentions: pl.DataFrame, words: int) -> "Task":
        """
        Find the anaphors among the mentions of one document of so many words.

        Candidates are `mentions`: the head words of mentions before the anaphor's own head word; `all_mentions`: those
        after it as well; `words`: every other word. Right is the head word of another mention of the entity, which for
        `mentions` stands before it.
        """
        heads = mentions["head"].to_numpy().astype(np.int64) - 1
        entities = mentions["entity"].to_numpy()
        is_head = np.zeros(words, dtype=bool)
        is_head[heads] = True
        coreferent = np.zeros((len(heads), words), dtype=bool)
        same_entity = entities[:, None] == entities
        first, second = np.nonzero(same_entity)
        coreferent[first, heads[second]] = True
        position = np.arange(words)
        is_earlier = position < heads[:, None]
        rows = np.flatnonzero((coreferent & is_earlier).any(1))
        queries, coreferent, is_earlier = heads[rows], coreferent[rows], is_earlier[rows]
        is_other = position != queries[:, None]
        distances = queries - np.where(coreferent & is_earlier, position, -1).max(1, initial=-1)
        allowed = {
            "mentions": is_head & is_earlier,
            "words": is_other,
            "all_mentions": is_head & is_other,
        }
        right = {
            "mentions": coreferent & is_earlier,
            "words": coreferent & is_other,
            "all_mentions": coreferent & is_other,
        }
        return cls(np.flatnonzero(is_head), rows, queries, distances, allowed, right)


def predicted_words(
    weights: "np.ndarray | torch.Tensor", task: Task, words: slice = slice(None)
) -> dict[str, np.ndarray]:
    """
    Return the candidate that each head-direction picks for each anaphor: that with most attention, ties to the first.

    Where no candidate has any (a causal head: no earlier word attends to the anaphor), none is picked, and what is
    returned is the anaphor's own head word, which is never right.

    Parameters
    ----------
    weights
        Attention within a document, float16 or float32 (layer, head, query, key); not negative. Of a tensor only the
        words picked leave its device.
    words
        Where its words stand among queries and keys; the other ones are special tokens.

    Returns
    -------
    Of each candidate set int64 (direction, layer · head, anaphor): the number of the word, from 0.
    """
    queries, row_of = np.unique(task.queries, return_inverse=True)
    # Places among the rows of whole maps: of a part of an array, NumPy takes from a copy only.
    place = np.arange(weights.shape[-1])
    query_places, head_places = place[words][queries], place[words][task.heads]
    is_special = np.ones(len(place), dtype=bool)
    is_special[words] = False
    if not isinstance(weights, np.ndarray):
        picked = _predicted_with_torch(weights, task.heads, queries, query_places, head_places, is_special)
        return {name: words_of[..., row_of] for name, words_of in picked.items()}
    # The bits of floats that are not negative are in their order, and -1 is below them all.
    signed = _SIGNED[weights.itemsize]
    is_later = np.where(task.heads < queries[:, None], 0, NOT_A_CANDIDATE).astype(signed)
    maps = weights.view(signed).reshape(-1, *weights.shape[-2:])
    picked = {name: np.empty((len(DIRECTIONS), len(maps), len(queries)), np.int64) for name in CANDIDATES}
    step = max(1, BLOCK_WEIGHTS // (len(queries) * weights.shape[-1]))
    for start in range(0, len(maps), step):
        block = slice(start, start + step)
        by_query = np.take(maps[block], query_places, axis=1)
        by_key = np.ascontiguousarray(np.take(maps[block], query_places, axis=2).swapaxes(1, 2))
        for direction, values in enumerate((by_query, by_key)):
            values[:, np.arange(len(queries)), query_places] = NOT_A_CANDIDATE
            values[:, :, is_special] = NOT_A_CANDIDATE
            picked["words"][direction, block] = _picked(values, values.argmax(2), place - place[words][0], queries)
            between = np.take(values, head_places, axis=2)
            best = between.argmax(2)
            picked["all_mentions"][direction, block] = _picked(between, best, task.heads, queries)
            # The best of all mentions is the best of the earlier ones too, where it is one of them.
            unsettled, query = np.nonzero(task.heads[best] > queries)
            best[unsettled, query] = (between[unsettled, query] | is_later[query]).argmax(1)
            picked["mentions"][direction, block] = _picked(between, best, task.heads, queries)
    return {name: words[..., row_of] for name, words in picked.items()}


def _predicted_with_torch(
    weights: "torch.Tensor", heads, queries, query_places, head_places, is_special
) -> dict[str, np.ndarray]:
    """Return what `predicted_words` does, of each query once; torch's maxima, too, are the first of equal ones."""
    import torch

    def there(array):
        return torch.from_numpy(array).to(weights.device)

    maps = weights.reshape(-1, *weights.shape[-2:])
    words, is_later = np.arange(len(is_special)) - np.flatnonzero(~is_special)[0], heads >= queries[:, None]
    picked = {name: [] for name in CANDIDATES}
    for chosen in (maps[:, there(query_places)], maps[:, :, there(query_places)].mT):
        values = chosen.masked_fill(there(is_special), NOT_A_CANDIDATE)
        values[:, torch.arange(len(queries)), there(query_places)] = NOT_A_CANDIDATE
        between = values[:, :, there(head_places)]
        earlier = between.masked_fill(there(is_later), NOT_A_CANDIDATE)
        parts = {"words": (values, words), "all_mentions": (between, heads), "mentions": (earlier, heads)}
        for name, (part, named) in parts.items():
            strongest, best = part.max(2)
            best = best.masked_fill(strongest <= 0, -1).cpu().numpy()
            picked[name].append(np.where(best < 0, queries, named[best]))
    return {name: np.stack(of_directions) for name, of_directions in picked.items()}


def _picked(values: np.ndarray, best: np.ndarray, words: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Return the word of the best of the values (map, query, candidate), the query's own where none is above zero."""
    strongest = np.take_along_axis(values, best[..., None], 2)[..., 0]
    return np.where(strongest > 0, words[best], queries)


def count_coreference(
    maps: Iterable[Maps], encoded: Encoded, documents: pl.DataFrame, mentions: pl.DataFrame
) -> pl.DataFrame:
    """
    Score the documents of one shard.

    Parameters
    ----------
    maps
        Word-level maps of examples of `encoded`.
    documents, mentions
        As `headscope.corpora.documents.read_documents` returns them.

    Returns
    -------
    Columns as `HITS`, one row per (candidate set, anaphor), whether each baseline is right among them.

    Raises
    ------
    InputError
        If maps and documents do not belong together.
    """
    kept, _ = cut_mentions(mentions, encoded)
    mentions_of = {key[0]: part for key, part in kept.partition_by("example", as_dict=True).items()}
    kinds_of = dict(encoded.table.select("example", "kinds").iter_rows())
    document_of = {row["example"]: row for row in documents.iter_rows(named=True)}
    rows, nothing = [], mentions.clear()
    for batch in maps:
        for example, weights in zip(batch.examples.tolist(), batch.weights, strict=True):
            if example not in kinds_of or example not in document_of:
                raise InputError(f"example {example}: expected a document of this corpus, found none; extract it again")
            words = word_rows(kinds_of[example])
            if len(kinds_of[example]) != weights.shape[-1]:
                raise InputError(
                    f"example {example}: expected maps of {len(kinds_of[example])} rows, found {weights.shape[-1]}; "
                    "the shard was made from other documents: delete it and run again"
                )
            of_example = mentions_of.get(example, nothing)
            rows += _hits_of(weights, words, document_of[example], of_example)
    return pl.DataFrame(rows, HITS, orient="row").sort(
        pl.col("candidates").cast(pl.Enum(CANDIDATES)), "example", "mention"
    )


def _hits_of(weights: np.ndarray, words: slice, document: dict, mentions: pl.DataFrame) -> Iterator[tuple]:
    """Yield the rows of `HITS` of one document."""
    size = words.stop - words.start
    task = Task.of(mentions, size)
    if not len(task.rows):
        for candidates in CANDIDATES:
            yield candidates, document["example"], *[None] * (len(HITS) - 2)
        return
    picked = predicted_words(weights, task, words)
    by_mention, by_word = entries_of(mentions, document, size)
    anaphors = by_mention.take(task.rows)
    either = Entries(*(np.concatenate(pair) for pair in zip(by_mention, by_word, strict=True)))
    number = np.arange(len(task.rows))
    named = list(zip(*(mentions[name].to_list() for name in ("example", "mention", "mention_type")), strict=True))
    for candidates in CANDIDATES:
        right = task.right[candidates]
        entries = either if candidates == "words" else by_mention
        baselines = predict(anaphors, entries, task.allowed[candidates])
        columns = [right[number, baselines[name]].tolist() for name in BASELINES]
        hits = np.packbits(right[number, picked[candidates]].reshape(-1, len(number)).T, axis=1)
        for row, distance, *baseline, bits in zip(task.rows, task.distances.tolist(), *columns, hits, strict=True):
            yield candidates, *named[row], distance, *baseline, bits.tobytes()
