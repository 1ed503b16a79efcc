"""
Dependency trees: CoNLL-U, CoNLL-X and `word head-label` lines to sentences, heads and relations.

Our own reader: the well-kept ones (conllu, pyconll) take a cycle or two roots without a word and do not say on which
line a tree goes wrong; this one does both in half their time.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import polars as pl

from headscope.corpora import SKIPPED
from headscope.corpora.schemes import to_stanford
from headscope.errors import InputError
from headscope.files import numbered_lines

TREES = pl.Schema(
    {
        "example": pl.UInt32,
        "where": pl.String,
        "sentence": pl.String,
        "document": pl.UInt32,
        "words": pl.List(pl.String),
        "space_after": pl.List(pl.Boolean),
        "xpos": pl.List(pl.String),
        "ud_heads": pl.List(pl.UInt16),
        "ud_relations": pl.List(pl.String),
        "stanford_heads": pl.List(pl.UInt16),
        "stanford_relations": pl.List(pl.String),
    }
)
SENTENCES_AT_ONCE = 2000
RANGE = re.compile(r"(\d+)-(\d+)")
EMPTY_NODE = re.compile(r"\d+\.\d+")


class BadTree(Exception):
    """Why a sentence is no tree, and the line that shows it."""

    def __init__(self, line: int, reason: str):
        super().__init__(reason)
        self.line = line


@dataclass
class Sentence:
    """One sentence as it is read: a list entry for each word; heads count words from 1, 0 is the root."""

    line: int
    name: str = ""
    opens_document: bool = False
    words: list[str] = field(default_factory=list)
    space_after: list[bool] = field(default_factory=list)
    upos: list[str] = field(default_factory=list)
    xpos: list[str] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)

    def add(self, word, head, relation, upos="_", xpos="_", space_after=True):
        """Add the next word."""
        for values, value in (
            (self.words, word),
            (self.heads, head),
            (self.relations, relation),
            (self.upos, upos),
            (self.xpos, xpos),
            (self.space_after, space_after),
        ):
            values.append(value)


def read_trees(path, format="conllu", shown_as=None, most_bad: float = 0.05) -> tuple[pl.DataFrame, pl.DataFrame]:
    """
    Read a treebank.

    Parameters
    ----------
    path
        UTF-8 text, plain or gzip.
    format
        `conllu`; `conllx`; or `word-head-label`: lines like `sat 0-root`, split at the last blank and the first
        hyphen after the head.
    shown_as
        The name of the file in `where` and in messages; the path itself if not given.
    most_bad
        The largest share of sentences that may be no trees.

    Returns
    -------
    trees
        One row a sentence, columns as `TREES`; example numbers count all sentences of the file, also bad ones.
    skipped
        The sentences that are no trees, with file:line and reason.

    Raises
    ------
    InputError
        If there are no sentences, or too many are bad.
    """
    shown_as = shown_as or str(path)
    parts, rows, skipped, document, example = [], [], [], 0, 0
    for example, block in enumerate(_blocks(numbered_lines(path, shown_as), format), start=1):
        document += block.opens_document or document == 0
        try:
            sentence = _READ[format](block)
            _refuse_no_tree(sentence)
        except BadTree as bad:
            skipped.append((example, f"{shown_as}:{bad.line}", f"not a tree: {bad}"))
            continue
        rows.append(_row(example, document, shown_as, sentence))
        if len(rows) == SENTENCES_AT_ONCE:
            parts.append(pl.DataFrame(rows, TREES, orient="row"))
            rows = []
    parts.append(pl.DataFrame(rows, TREES, orient="row"))
    _refuse_too_many_bad(shown_as, example, skipped, most_bad)
    return pl.concat(parts), pl.DataFrame(skipped, SKIPPED, orient="row")


@dataclass
class _Block:
    """The lines of one sentence: (number, text); comments apart."""

    comments: list[str]
    lines: list[tuple[int, str]]
    opens_document: bool


def _blocks(lines: Iterable[tuple[int, str]], format) -> Iterator[_Block]:
    has_comments = format == "conllu"
    comments, words, opens = [], [], False
    for number, line in lines:
        if not line.strip():
            if words:
                yield _Block(comments, words, opens)
                comments, words, opens = [], [], False
        elif has_comments and line.startswith("#") and not words:
            comments.append(line)
            opens |= line.removeprefix("#").strip().startswith("newdoc")
        else:
            words.append((number, line))
    if words:
        yield _Block(comments, words, opens)


def _read_conll(block: _Block) -> Sentence:
    sentence = Sentence(block.lines[0][0], _sentence_id(block.comments), block.opens_document)
    spacing = _Spacing()
    for number, line in block.lines:
        columns = line.split("\t")
        if len(columns) != 10:
            raise BadTree(number, f"expected 10 columns parted by tabs, found {len(columns)}")
        index, form, _, upos, xpos, _, head, relation, _, misc = columns
        if EMPTY_NODE.fullmatch(index):
            continue
        spaced = "SpaceAfter=No" not in misc.split("|")
        multiword = RANGE.fullmatch(index)
        if multiword:
            spacing.open(form, int(multiword[1]), int(multiword[2]), spaced)
            continue
        if index != str(len(sentence.words) + 1):
            raise BadTree(number, f"expected word {len(sentence.words) + 1}, found {index!r}")
        if not head.isdecimal():
            raise BadTree(number, f"expected the number of a head, found {head!r}")
        sentence.add(form, int(head), relation, upos, xpos, spacing.after(len(sentence.words) + 1, spaced))
    spacing.close_gaps(sentence)
    return sentence


class _Spacing:
    """
    Where a blank stands in the surface text.

    Words of a multiword token are written together where they spell it (do + n't), apart where they do not (de + le).
    """

    def __init__(self):
        self._ranges: list[tuple[str, int, int, bool]] = []

    def open(self, form, first, last, spaced):
        self._ranges.append((form, first, last, spaced))

    def after(self, word, spaced):
        inside = [last_spaced for _, first, last, last_spaced in self._ranges if first <= word <= last and word == last]
        return inside[0] if inside else spaced

    def close_gaps(self, sentence):
        for form, first, last, _ in self._ranges:
            if "".join(sentence.words[first - 1 : last]) == form:
                sentence.space_after[first - 1 : last - 1] = [False] * (last - first)


def _sentence_id(comments) -> str:
    for comment in comments:
        key, _, value = comment.removeprefix("#").partition("=")
        if key.strip() == "sent_id":
            return value.strip()
    return ""


def _read_word_head_label(block: _Block) -> Sentence:
    sentence = Sentence(block.lines[0][0])
    for number, line in block.lines:
        word, blank, tree = line.strip().rpartition(" ")
        head, hyphen, relation = tree.partition("-")
        if not (blank and word.strip() and hyphen and relation and head.isdecimal()):
            raise BadTree(number, f"expected `word head-label`, found {line.strip()!r}")
        sentence.add(word.strip(), int(head), relation)
    return sentence


_READ = {"conllu": _read_conll, "conllx": _read_conll, "word-head-label": _read_word_head_label}


def _refuse_no_tree(sentence: Sentence):
    heads, line, count = sentence.heads, sentence.line, len(sentence.heads)
    if not count:
        raise BadTree(line, "no words")
    if max(heads) > count:
        raise BadTree(line, f"expected heads up to {count}, found {max(heads)}")
    roots = heads.count(0)
    if roots != 1:
        raise BadTree(line, f"expected one root, found {roots}")
    seen = [False] * (count + 1)
    seen[0] = True
    for word in range(1, count + 1):
        path = []
        while not seen[word]:
            seen[word] = True
            path.append(word)
            word = heads[word - 1]
        if word in path:
            raise BadTree(line, f"words {', '.join(map(str, sorted(path[path.index(word) :])))} form a cycle")


def _row(example, document, shown_as, sentence: Sentence) -> tuple:
    stanford_heads, stanford_relations = to_stanford(sentence.heads, sentence.relations, sentence.upos, sentence.xpos)
    return (
        example,
        f"{shown_as}:{sentence.line}",
        sentence.name,
        document,
        sentence.words,
        sentence.space_after,
        sentence.xpos,
        sentence.heads,
        sentence.relations,
        stanford_heads,
        stanford_relations,
    )


def _refuse_too_many_bad(shown_as, sentences, skipped, most_bad):
    if not sentences:
        raise InputError(f"{shown_as}: expected a treebank, found no sentence")
    if len(skipped) > most_bad * sentences:
        shown = "\n".join(f"{where}: {reason}" for _, where, reason in skipped[:5])
        raise InputError(
            f"{shown_as}: expected at most {most_bad:.0%} of sentences that are no trees, found {len(skipped)} of "
            f"{sentences}; mend the file, name its format, or raise max_bad_trees. The first:\n{shown}"
        )
