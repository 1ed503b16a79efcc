"""A document as its reader sees it: words, trees, and the mentions of its entities; brackets become mentions here."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple


class BadDocument(Exception):
    """What is wrong with a document, and the line that shows it."""

    def __init__(self, line: int, reason: str):
        super().__init__(reason)
        self.line = line


class Mention(NamedTuple):
    """
    A mention of an entity.

    `spans` holds the first and last word of each part, from 1 (one part unless it is discontinuous); `gold` the words
    annotated as its head, none where the format has no such annotation; `line` is that of its opening bracket.
    """

    chain: str
    line: int
    spans: tuple[tuple[int, int], ...]
    gold: tuple[int, ...] = ()

    @property
    def words(self) -> list[int]:
        """The numbers of its words, from 1, in order."""
        return [word for first, last in self.spans for word in range(first, last + 1)]


@dataclass
class Document:
    """
    One document: a list entry for each word; heads count the words of the document from 1.

    A head is 0 for a root and `conllu.NO_HEAD` in a sentence that has no tree; `head_rule` says what made the heads.
    `left_out`: lines and reasons of mentions that the format has and an analysis of words cannot use.
    """

    name: str
    line: int
    head_rule: str
    words: list[str] = field(default_factory=list)
    space_after: list[bool] = field(default_factory=list)
    sentences: list[int] = field(default_factory=list)
    upos: list[str] = field(default_factory=list)
    xpos: list[str] = field(default_factory=list)
    feats: list[str] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)
    mentions: list[Mention] = field(default_factory=list)
    left_out: list[tuple[int, str]] = field(default_factory=list)


class Span(NamedTuple):
    """What stands between an opening and a closing bracket: positions from 0, the line and the fields of the former."""

    first: int
    last: int
    line: int
    fields: tuple[str, ...]


class Brackets:
    """
    Opening and closing brackets of one document, matched entity by entity.

    A closing bracket closes what its entity opened last, so mentions nest and cross as they like. Parts of a
    discontinuous mention (`e1[1/2]`, `e1[2/2]`) come together when the last one closes.
    """

    def __init__(self):
        self._open = defaultdict(list)
        self._parts = defaultdict(list)
        self.closed: list[tuple[str, tuple[Span, ...]]] = []

    def opening(self, entity: str, position: int, line: int, fields: tuple[str, ...] = ()):
        """Take an opening bracket."""
        self._open[entity].append((position, line, fields))

    def closing(self, entity: str, position: int, line: int):
        """
        Take a closing bracket.

        Raises
        ------
        BadDocument
            If nothing of this entity is open, or its part has no part before it.
        """
        if not self._open[entity]:
            raise BadDocument(line, f"the mention that {entity}) closes was never opened")
        first, opened_at, fields = self._open[entity].pop()
        span = Span(first, position, opened_at, fields)
        chain, number, count = _part(entity, opened_at)
        parts = (span,)
        if number > 1:
            waiting = self._parts[chain, number - 1, count]
            if not waiting:
                raise BadDocument(
                    opened_at, f"part {number} of {count} of a mention of {chain} comes without part {number - 1}"
                )
            parts = (*waiting.pop(), span)
        if number < count:
            self._parts[chain, number, count].append(parts)
        else:
            self.closed.append((chain, parts))

    def finish(self):
        """
        Say that the document has ended.

        Raises
        ------
        BadDocument
            If a mention is still open, or parts of it are missing.
        """
        open_ones = [(line, entity) for entity, stack in self._open.items() for _, line, _ in stack]
        if open_ones:
            line, entity = min(open_ones)
            raise BadDocument(line, f"the mention that ({entity} opens is never closed")
        incomplete = [(parts[0].line, key) for key, waiting in self._parts.items() for parts in waiting]
        if incomplete:
            line, (chain, number, count) = min(incomplete)
            raise BadDocument(line, f"of a mention of {chain} in {count} parts, only {number} are there")


def _part(entity: str, line: int) -> tuple[str, int, int]:
    """Split `e1[2/3]` into chain, number and count; `e1` is part 1 of 1."""
    if not entity.endswith("]"):
        return entity, 1, 1
    chain, _, part = entity[:-1].rpartition("[")
    number, slash, count = part.partition("/")
    if not (chain and slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise BadDocument(line, f"expected a part like e1[1/2], found {entity}")
    return chain, int(number), int(count)
