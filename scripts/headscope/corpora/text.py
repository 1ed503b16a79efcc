"""
Paragraphs to pairs of paragraphs: the examples of a `text` corpus.

One paragraph a line, a blank line between documents; pairs are consecutive, do not overlap and never cross a
document. Source: Clark et al. 2019, section 3 (the unlabelled segments of its pre-processing).
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import polars as pl

from headscope.corpora import SKIPPED
from headscope.errors import InputError
from headscope.files import numbered_lines

PAIRS = pl.Schema({"example": pl.UInt32, "where": pl.String, "first": pl.String, "second": pl.String})

_HEADING = re.compile(r"^ ?(=(?: =)*) [^=](?:.*[^=])? \1 ?$")
_JOINED = re.compile(r" @([-,.])@ ")


class Paragraph(NamedTuple):
    """One paragraph and the line it stands on, from 1."""

    line: int
    text: str


def read_pairs(path, format="paragraphs", shown_as=None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """
    Read a text corpus into pairs of paragraphs.

    Parameters
    ----------
    path
        UTF-8 text, plain or gzip.
    format
        `paragraphs`: one a line, blank line between documents. `wikitext`: the raw files of WikiText, where a
        heading of level one (` = Title = `) opens a document, other headings and blank lines are dropped and
        ` @-@ ` stands for a hyphen inside a word.
    shown_as
        The name of the file in `where` and in messages; the path itself if not given.

    Returns
    -------
    pairs
        example (from 1), where (file:line of the first paragraph), first, second.
    skipped
        example (null: it never became one), where, reason: the last paragraph of a document with an odd number.

    Raises
    ------
    InputError
        If the file holds no pair at all.
    """
    shown_as = shown_as or str(path)
    documents = _documents(numbered_lines(path, shown_as), format)
    pairs, skipped = pair_up(documents, shown_as)
    if pairs.is_empty():
        raise InputError(
            f"{shown_as}: expected documents of two paragraphs or more, one paragraph a line and a blank line "
            f"between documents, found {skipped.height} paragraphs without a partner; "
            "remove the blank lines inside documents"
        )
    return pairs, skipped


def _documents(lines: Iterable[tuple[int, str]], format) -> Iterator[list[Paragraph]]:
    split = _wikitext_paragraph if format == "wikitext" else _plain_paragraph
    document = []
    for number, line in lines:
        text, opens_document = split(line)
        if opens_document and document:
            yield document
            document = []
        if text:
            document.append(Paragraph(number, text))
    if document:
        yield document


def _plain_paragraph(line) -> tuple[str, bool]:
    text = line.strip()
    return text, not text


def _wikitext_paragraph(line) -> tuple[str, bool]:
    heading = _HEADING.match(line)
    if heading:
        return "", heading[1] == "="
    return _JOINED.sub(r"\1", line).strip(), False


def pair_up(documents: Iterable[list[Paragraph]], shown_as) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return pairs and skipped as `read_pairs` does, of documents that are read already."""
    pairs, skipped = [], []
    for document in documents:
        for first, second in zip(document[::2], document[1::2], strict=False):
            pairs.append((len(pairs) + 1, f"{shown_as}:{first.line}", first.text, second.text))
        if len(document) % 2:
            where = f"{shown_as}:{document[-1].line}"
            skipped.append((None, where, "last paragraph of its document, no paragraph to pair it with"))
    return pl.DataFrame(pairs, PAIRS, orient="row"), pl.DataFrame(skipped, SKIPPED, orient="row")
