"""
The lines of CoNLL-U and CoNLL-X: sentences with their words, trees and what else stands beside a word.

Our own reader: the well-kept ones (conllu, pyconll) take a cycle or two roots without a word and do not say on which
line a tree goes wrong; this one does both in half their time.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

RANGE = re.compile(r"(\d+)-(\d+)")
EMPTY_NODE = re.compile(r"\d+\.\d+")
NO_HEAD = -1


class BadSentence(Exception):
    """What is wrong with a sentence, and the line that shows it."""

    def __init__(self, line: int, reason: str):
        super().__init__(reason)
        self.line = line


class Block(NamedTuple):
    """The lines of one sentence, (number, text); comments apart."""

    comments: list[tuple[int, str]]
    lines: list[tuple[int, str]]

    def comment(self, key: str) -> str | None:
        """Return the value of the last comment `# key = value`, None where there is none."""
        for _, comment in reversed(self.comments):
            name, _, value = comment.removeprefix("#").partition("=")
            if name.strip() == key:
                return value.strip()
        return None

    @property
    def opens_document(self) -> bool:
        """Whether `# newdoc` stands above the sentence."""
        return any(comment.removeprefix("#").strip().startswith("newdoc") for _, comment in self.comments)


class Node(NamedTuple):
    """A line of a sentence: its number in the file, its id (3; 3-4: a multiword token; 3.1: empty), FEATS and MISC."""

    line: int
    index: str
    feats: str
    misc: str

    @property
    def is_empty(self) -> bool:
        """Whether this is a node without a word, such as a dropped pronoun."""
        return "." in self.index

    @property
    def is_range(self) -> bool:
        """Whether this is a multiword token, which the words after it spell out."""
        return "-" in self.index


@dataclass
class Sentence:
    """One sentence as it is read: a list entry for each word; heads count words from 1, 0 is the root."""

    line: int
    words: list[str] = field(default_factory=list)
    space_after: list[bool] = field(default_factory=list)
    upos: list[str] = field(default_factory=list)
    xpos: list[str] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)

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


def blocks(lines: Iterable[tuple[int, str]], has_comments: bool = True) -> Iterator[Block]:
    """Group numbered lines into sentences: a blank line ends one, lines with # before its first word are comments."""
    comments, words = [], []
    for number, line in lines:
        if not line.strip():
            if words:
                yield Block(comments, words)
                comments, words = [], []
        elif has_comments and line.startswith("#") and not words:
            comments.append((number, line))
        else:
            words.append((number, line))
    if words:
        yield Block(comments, words)


def read_sentence(block: Block) -> Sentence:
    """
    Read one sentence of ten columns; a head that is `_` becomes `NO_HEAD`.

    Raises
    ------
    BadSentence
        If a line does not have ten columns, words are not numbered 1, 2, 3 ..., or a head is no number.
    """
    sentence = Sentence(block.lines[0][0])
    spacing = _Spacing()
    for number, line in block.lines:
        columns = line.split("\t")
        if len(columns) != 10:
            raise BadSentence(number, f"expected 10 columns parted by tabs, found {len(columns)}")
        index, form, _, upos, xpos, feats, head, relation, _, misc = columns
        sentence.nodes.append(Node(number, index, feats, misc))
        if EMPTY_NODE.fullmatch(index):
            continue
        spaced = "SpaceAfter=No" not in misc.split("|")
        multiword = RANGE.fullmatch(index)
        if multiword:
            spacing.open(form, int(multiword[1]), int(multiword[2]), spaced)
            continue
        word = len(sentence.words) + 1
        if index != str(word):
            raise BadSentence(number, f"expected word {word}, found {index!r}")
        if not (head.isdecimal() or head == "_"):
            raise BadSentence(number, f"expected the number of a head, found {head!r}")
        head = NO_HEAD if head == "_" else int(head)
        sentence.add(form, head, relation, upos, xpos, spacing.after(word, spaced))
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


def refuse_no_tree(sentence: Sentence):
    """
    Refuse a sentence whose heads do not form a tree.

    Raises
    ------
    BadSentence
        If a head is missing or too large, there is not exactly one root, or words form a cycle.
    """
    heads, line, count = sentence.heads, sentence.line, len(sentence.heads)
    if not count:
        raise BadSentence(line, "no words")
    if NO_HEAD in heads:
        missing = str(heads.index(NO_HEAD) + 1)
        at = next((node.line for node in sentence.nodes if node.index == missing), line)
        raise BadSentence(at, "expected the number of a head, found '_'")
    if max(heads) > count:
        raise BadSentence(line, f"expected heads up to {count}, found {max(heads)}")
    roots = heads.count(0)
    if roots != 1:
        raise BadSentence(line, f"expected one root, found {roots}")
    seen = [False] * (count + 1)
    seen[0] = True
    for word in range(1, count + 1):
        path = []
        while not seen[word]:
            seen[word] = True
            path.append(word)
            word = heads[word - 1]
        if word in path:
            cycle = ", ".join(map(str, sorted(path[path.index(word) :])))
            raise BadSentence(line, f"words {cycle} form a cycle")
