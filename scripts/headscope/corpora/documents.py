"""Documents with the mentions of their entities, whatever the format: two tables, of documents and of mentions."""

from collections import Counter
from collections.abc import Iterator, Sequence

import polars as pl

from headscope.corpora import SKIPPED
from headscope.corpora.conll2012 import read_conll2012
from headscope.corpora.corefud import read_corefud
from headscope.corpora.heads import head_of_span
from headscope.corpora.lexicon import features_of_mention, features_of_word, type_of
from headscope.corpora.mentions import BadDocument, Document, Mention
from headscope.errors import InputError
from headscope.files import numbered_lines

DOCUMENTS = pl.Schema(
    {
        "example": pl.UInt32,
        "where": pl.String,
        "document": pl.String,
        "words": pl.List(pl.String),
        "space_after": pl.List(pl.Boolean),
        "sentences": pl.List(pl.UInt32),
        "number": pl.List(pl.String),
        "gender": pl.List(pl.String),
        "person": pl.List(pl.String),
    }
)
"""A row a document; the lists have an entry a word: the number of its sentence, and its features (null: unknown)."""
MENTIONS = pl.Schema(
    {
        "example": pl.UInt32,
        "mention": pl.UInt32,
        "where": pl.String,
        "entity": pl.UInt32,
        "chain": pl.String,
        "first": pl.UInt32,
        "last": pl.UInt32,
        "discontinuous": pl.Boolean,
        "text": pl.String,
        "head": pl.UInt32,
        "head_word": pl.String,
        "head_by": pl.String,
        "mention_type": pl.String,
        "number": pl.String,
        "gender": pl.String,
        "person": pl.String,
    }
)
"""
A row a mention, in the order of the text (of two that begin together the longer first). Words count from 1 within the
document; `chain` is the format's name of the entity, `head_by` what gave the head: gold, dependency, collins or last.
"""

_READERS = {"corefud": read_corefud, "conll2012": read_conll2012}


def read_documents(
    paths: Sequence, format: str = "corefud", shown_as: Sequence[str] | None = None, discontinuous: str = "join"
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """
    Read a corpus of documents with coreference.

    Parameters
    ----------
    paths
        Its files, UTF-8, plain or gzip, in the order in which documents are counted.
    format
        `corefud` (also GUM) or `conll2012`.
    shown_as
        The names of the files in `where` and in messages; the paths themselves if not given.
    discontinuous
        What becomes of mentions in several parts: `join` (one mention of all its words) or `drop`.

    Returns
    -------
    documents, mentions
        Columns as `DOCUMENTS` and `MENTIONS`; example numbers count all documents, also bad ones.
    skipped
        Documents that cannot be read, and mentions that cannot be used, counted for each document.

    Raises
    ------
    InputError
        If no document can be read, or none has a mention.
    """
    shown_as = [str(path) for path in paths] if shown_as is None else shown_as
    documents, mentions, skipped, example = [], [], [], 0
    for path, name in zip(paths, shown_as, strict=True):
        for read in _READERS[format](numbered_lines(path, name), name):
            example += 1
            if isinstance(read, BadDocument):
                skipped.append((example, f"{name}:{read.line}", f"document skipped: {read}"))
            else:
                rows, left_out = _mention_rows(example, name, read, discontinuous)
                documents.append(_document_row(example, name, read))
                mentions += rows
                skipped += left_out
    _refuse_nothing(shown_as, example, documents, mentions, skipped)
    return (
        pl.DataFrame(documents, DOCUMENTS, orient="row"),
        pl.DataFrame(mentions, MENTIONS, orient="row"),
        pl.DataFrame(skipped, SKIPPED, orient="row"),
    )


def _document_row(example: int, name: str, document: Document) -> tuple:
    tagged = zip(document.words, document.upos, document.xpos, document.feats, strict=True)
    features = [features_of_word(*word) for word in tagged]
    columns = [list(values) for values in zip(*features, strict=True)]
    where = f"{name}:{document.line}"
    return (example, where, document.name, document.words, document.space_after, document.sentences, *columns)


def _mention_rows(example: int, name: str, document: Document, discontinuous: str) -> tuple[list, list]:
    left_out, kept = list(document.left_out), []
    for mention in sorted(document.mentions, key=_in_the_text):
        if discontinuous == "drop" and len(mention.spans) > 1:
            left_out.append((mention.line, "discontinuous"))
        elif kept and kept[-1][:1] + kept[-1][2:] == mention[:1] + mention[2:]:
            left_out.append((mention.line, "annotated twice for one entity"))
        else:
            kept.append(mention)
    entities = {chain: number for number, chain in enumerate(dict.fromkeys(mention.chain for mention in kept), start=1)}
    rows = [
        _mention_row(example, number, entities[mention.chain], name, document, mention)
        for number, mention in enumerate(kept, start=1)
    ]
    return rows, list(_counted(example, name, left_out))


def _in_the_text(mention: Mention) -> tuple:
    return mention.spans[0][0], -mention.spans[-1][1], mention.spans, mention.chain, mention.line


def _counted(example: int, name: str, left_out: list[tuple[int, str]]) -> Iterator[tuple]:
    for reason, count in Counter(reason for _, reason in left_out).items():
        line = next(line for line, why in left_out if why == reason)
        times = "" if count == 1 else f" ({count} in this document)"
        yield example, f"{name}:{line}", f"mention skipped: {reason}{times}"


def _mention_row(example, number, entity, name, document: Document, mention: Mention) -> tuple:
    inside = mention.words
    head, head_by = _head(document, mention)
    word, at = document.words[head - 1], head - 1
    opens_sentence = at == 0 or document.sentences[at] != document.sentences[at - 1]
    kind = type_of(word, document.upos[at], document.xpos[at], opens_sentence)
    words = [document.words[position - 1] for position in inside]
    of_head = features_of_word(word, document.upos[at], document.xpos[at], document.feats[at])
    features = features_of_mention(words, of_head, kind, _is_coordination(document, inside, head))
    return (
        example,
        number,
        f"{name}:{mention.line}",
        entity,
        mention.chain,
        inside[0],
        inside[-1],
        len(mention.spans) > 1,
        " ".join(words),
        head,
        word,
        head_by,
        kind,
        *features,
    )


def _head(document: Document, mention: Mention) -> tuple[int, str]:
    """The head word of a mention, and what gave it; of several gold words the head of these."""
    is_punctuation = [tag == "PUNCT" for tag in document.upos]
    if mention.gold:
        among = sorted(mention.gold)
        return head_of_span(among, document.heads, is_punctuation) or among[-1], "gold"
    tags = document.xpos if document.head_rule == "collins" else None
    head = head_of_span(mention.words, document.heads, is_punctuation, tags)
    return (head, document.head_rule) if head else (mention.words[-1], "last")


def _is_coordination(document: Document, words: list[int], head: int) -> bool:
    """Whether another conjunct within the mention hangs on the head, joined by "and"."""
    conjuncts = {
        word
        for word in words
        if document.heads[word - 1] == head and document.relations[word - 1].split(":")[0] == "conj"
    }
    return any(
        document.heads[word - 1] in conjuncts and document.words[word - 1].lower() in ("and", "&") for word in words
    )


def _refuse_nothing(shown_as, examples, documents, mentions, skipped):
    where = ", ".join(shown_as[:3]) + (f" and {len(shown_as) - 3} more" if len(shown_as) > 3 else "")
    if not documents:
        shown = "\n".join(f"{place}: {reason}" for _, place, reason in skipped[:5])
        raise InputError(
            f"{where}: expected documents, found {examples} and none that can be read; check the format"
            + (f". The first:\n{shown}" if shown else "")
        )
    if not mentions:
        raise InputError(
            f"{where}: expected mentions of entities, found none in {len(documents)} documents; is this a corpus with "
            "coreference, and in this format?"
        )
