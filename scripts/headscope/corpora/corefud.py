"""CorefUD and GUM: CoNLL-U with the mentions of entities as brackets in MISC (`Entity=`)."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from headscope.corpora.conllu import NO_HEAD, BadSentence, Block, Sentence, blocks, read_sentence, refuse_no_tree
from headscope.corpora.mentions import BadDocument, Brackets, Document, Mention, Span
from headscope.errors import InputError

BRACKET = re.compile(r"\(([^()]+)(\)?)|([^()]+)\)")
CHAIN_FIELDS, HEAD_FIELDS = ("eid", "grp"), ("head", "minspan", "min")


class Layout(NamedTuple):
    """Where in an opening bracket the chain stands, and the words of the head (None: nowhere)."""

    chain: int
    head: int | None


def read_corefud(lines: Iterator[tuple[int, str]], shown_as: str) -> Iterator[Document | BadDocument]:
    """
    Yield the documents of a file, or what is wrong with one.

    `# newdoc` opens a document; a file without it is one. `# global.Entity` names the fields of an opening bracket;
    `eid` or `GRP` is the chain, `head` or `minspan` the numbers of the words of the head within the mention.

    Raises
    ------
    InputError
        If the brackets name no chains: the file annotates entities, not which mentions are of the same.
    """
    layout, group = None, []
    for block in blocks(lines):
        if block.opens_document and group:
            yield _read(group, layout, shown_as)
            group = []
        declared = block.comment("global.Entity")
        layout = _layout(declared, block, shown_as) if declared is not None else layout
        _refuse_undeclared(block, layout, shown_as)
        group.append(block)
    if group:
        yield _read(group, layout, shown_as)


def _layout(declared: str, block: Block, shown_as: str) -> Layout:
    fields = declared.lower().split("-")
    chain = next((fields.index(name) for name in CHAIN_FIELDS if name in fields), None)
    if chain is None:
        raise InputError(
            f"{shown_as}:{block.lines[0][0]}: expected the chain of a mention (eid or GRP) among the fields of "
            f"# global.Entity, found {declared}; this file names entities but not which mentions are of the same one"
        )
    return Layout(chain, next((fields.index(name) for name in HEAD_FIELDS if name in fields), None))


def _refuse_undeclared(block: Block, layout: Layout | None, shown_as: str):
    for number, line in block.lines:
        if layout is None and re.search(r"(?:^|[\t|])Entity=", line):
            raise InputError(
                f"{shown_as}:{number}: expected `# global.Entity = eid-...` before the first Entity=, found none; "
                "without it the brackets name no chains"
            )


def _read(group: list[Block], layout: Layout | None, shown_as: str) -> Document | BadDocument:
    try:
        name = group[0].comment("newdoc id") or shown_as
        document = Document(name, group[0].lines[0][0], "dependency")
        brackets, nodes = Brackets(), []
        for number, block in enumerate(group, start=1):
            sentence = read_sentence(block)
            before = len(document.words)
            _append(document, sentence, number)
            for node in sentence.nodes:
                entity = _entity(node.misc)
                if node.is_range:
                    if entity:
                        raise BadDocument(node.line, "expected Entity= on words, found it on a multiword token")
                    continue
                nodes.append(None if node.is_empty else before + int(node.index))
                if entity:
                    _take(brackets, entity, layout, len(nodes) - 1, node.line)
        brackets.finish()
        for chain, spans in brackets.closed:
            _add_mention(document, chain, spans, layout, nodes)
    except BadDocument as bad:
        return bad
    except BadSentence as bad:
        return BadDocument(bad.line, str(bad))
    return document


def _entity(misc: str) -> str | None:
    return next((field.removeprefix("Entity=") for field in misc.split("|") if field.startswith("Entity=")), None)


def _append(document: Document, sentence: Sentence, number: int):
    before = len(document.words)
    try:
        refuse_no_tree(sentence)
        heads = [head and head + before for head in sentence.heads]
    except BadSentence:
        heads = [NO_HEAD] * len(sentence.words)
    document.words += sentence.words
    document.space_after += sentence.space_after
    document.sentences += [number] * len(sentence.words)
    document.upos += sentence.upos
    document.xpos += sentence.xpos
    document.feats += [node.feats for node in sentence.nodes if not (node.is_empty or node.is_range)]
    document.heads += heads
    document.relations += sentence.relations


def _take(brackets: Brackets, entity: str, layout: Layout, position: int, line: int):
    if BRACKET.sub("", entity):
        raise BadDocument(line, f"expected brackets like (e1-person-1, e1) or (e1), found Entity={entity}")
    for opened, closed_at_once, closed in BRACKET.findall(entity):
        fields = tuple((opened or closed).split("-"))
        at = layout.chain if opened or len(fields) > layout.chain else len(fields) - 1
        if at >= len(fields) or not fields[at]:
            raise BadDocument(line, f"expected the chain of the mention, found Entity={entity}")
        chain = fields[at]
        if opened:
            brackets.opening(chain, position, line, fields)
        if closed or closed_at_once:
            brackets.closing(chain, position, line)


def _add_mention(document, chain: str, spans: tuple[Span, ...], layout: Layout, nodes: list[int | None]):
    covered = [nodes[position] for span in spans for position in range(span.first, span.last + 1)]
    words = [word for word in covered if word is not None]
    gold = [covered[number - 1] for number in _head_numbers(spans[0], layout, len(covered))]
    if not words or None in gold:
        document.left_out.append((spans[0].line, "on an empty node"))
        return
    document.mentions.append(Mention(chain, spans[0].line, _runs(spans, nodes), tuple(gold)))


def _head_numbers(span: Span, layout: Layout, size: int) -> list[int]:
    field = span.fields[layout.head] if layout.head is not None and len(span.fields) > layout.head else ""
    numbers = [int(number) for number in field.split(",") if number.isdecimal()]
    if any(not 1 <= number <= size for number in numbers):
        raise BadDocument(span.line, f"expected a head among the {size} words of the mention, found {field}")
    return numbers


def _runs(spans: tuple[Span, ...], nodes: list[int | None]) -> tuple[tuple[int, int], ...]:
    runs = []
    for span in spans:
        inside = [nodes[position] for position in range(span.first, span.last + 1) if nodes[position] is not None]
        runs += [(inside[0], inside[-1])] if inside else []
    return tuple(runs)
