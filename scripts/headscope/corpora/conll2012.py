"""CoNLL-2012 and what is written in its style (LitBank): a word a line, brackets of chains in the last column."""

import re
from collections.abc import Iterator

from headscope.corpora.conllu import NO_HEAD
from headscope.corpora.heads import collins_heads
from headscope.corpora.mentions import BadDocument, Brackets, Document, Mention
from headscope.errors import InputError

BEGIN = re.compile(r"#begin document \(?(?P<name>.*?)\)?;?\s*(?:part\s+(?P<part>\d+))?\s*$")
END, SKELETON = "#end document", "[WORD]"
WORD, TAG, BIT, FEWEST_COLUMNS = 3, 4, 5, 5
NONE = {"-", "_", "*", ""}
BRACKET = re.compile(r"\(([^()|]+)(\)?)|([^()|]+)\)")
ESCAPED = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
    "``": '"',
    "''": '"',
    "/.": ".",
    "/?": "?",
    "/-": "-",
}


def read_conll2012(lines: Iterator[tuple[int, str]], shown_as: str) -> Iterator[Document | BadDocument]:
    """
    Yield the documents of a file (each part of one is a document), or what is wrong with one.

    Columns are parted by tabs or blanks; the fourth is the word (the Penn Treebank's escapes are undone), the fifth its
    tag, the sixth its parse bit, the last the brackets. Tag and parse may be missing (`-`, `_`, `*`).

    Raises
    ------
    InputError
        If a line stands outside of a document, or words are hidden (`[WORD]`) or missing.
    """
    begun, name, sentences = None, "", [[]]
    for number, line in lines:
        if line.startswith("#begin document"):
            if begun:
                yield BadDocument(begun, f"expected `{END}` before the next document, found none")
            begun, name, sentences = number, _name(line), [[]]
        elif line.startswith(END):
            if begun:
                yield _read(name, begun, sentences)
            begun = None
        elif line.startswith("#"):
            continue
        elif not line.strip():
            sentences.append([])
        elif begun is None:
            raise InputError(
                f"{shown_as}:{number}: expected `#begin document (...)` before the first word, found {line!r}"
            )
        else:
            sentences[-1].append((number, _columns(line, number, shown_as)))
    if begun:
        yield BadDocument(begun, f"expected `{END}`, found the end of the file")


def _name(line: str) -> str:
    found = BEGIN.match(line)
    name, part = (found["name"], found["part"]) if found else (line, None)
    return f"{name} part {int(part)}" if part and int(part) else name


def _columns(line: str, number: int, shown_as: str) -> list[str]:
    columns = line.split("\t") if "\t" in line else line.split()
    if len(columns) < FEWEST_COLUMNS:
        raise InputError(
            f"{shown_as}:{number}: expected the columns of CoNLL-2012 (document, part, number, word, ..., brackets), "
            f"found {len(columns)}; is this another format, or a file without words?"
        )
    if columns[WORD] == SKELETON:
        raise InputError(
            f"{shown_as}:{number}: expected words, found {SKELETON}: a skeleton without its text; fill it from the "
            "OntoNotes release (skeleton2conll) first"
        )
    return columns


def _read(name: str, line: int, sentences: list[list[tuple[int, list[str]]]]) -> Document | BadDocument:
    document, brackets = Document(name, line, "collins"), Brackets()
    try:
        for number, rows in enumerate(filter(None, sentences), start=1):
            before = len(document.words)
            _append(document, rows, number)
            for word, (at, columns) in enumerate(rows, start=before + 1):
                _take(brackets, columns[-1].strip(), word, at)
        brackets.finish()
    except BadDocument as bad:
        return bad
    document.mentions = [
        Mention(chain, spans[0].line, tuple((span.first, span.last) for span in spans))
        for chain, spans in brackets.closed
    ]
    return document


def _append(document: Document, rows: list[tuple[int, list[str]]], number: int):
    before, size = len(document.words), len(rows)
    words = [columns[WORD] for _, columns in rows]
    tags = [columns[TAG] if len(columns) > TAG + 1 else "_" for _, columns in rows]
    bits = [columns[BIT] if len(columns) > BIT + 1 else "_" for _, columns in rows]
    heads = collins_heads(bits, tags)
    document.words += [ESCAPED.get(word, word) for word in words]
    document.space_after += [True] * size
    document.sentences += [number] * size
    document.upos += ["_"] * size
    document.xpos += ["_" if tag in NONE else tag for tag in tags]
    document.feats += ["_"] * size
    document.heads += [NO_HEAD] * size if heads is None else [head and head + before for head in heads]
    document.relations += ["_"] * size


def _take(brackets: Brackets, cell: str, word: int, line: int):
    if cell in NONE:
        return
    if BRACKET.sub("", cell).strip("|"):
        raise BadDocument(line, f"expected brackets like (1, 1) or (1)|(2, found {cell}")
    for opened, closed_at_once, closed in BRACKET.findall(cell):
        if opened:
            brackets.opening(opened, word, line)
        if closed or closed_at_once:
            brackets.closing(opened or closed, word, line)
