"""
Vectors out of a text file: GloVe, word2vec's text format, fastText's .vec.

One word and its numbers a line, parted by single blanks. A word may hold blanks itself, as `. . .` in GloVe 840B: its
numbers are the last ones. word2vec and fastText begin with a line of two numbers, how many vectors and how wide.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from itertools import chain, takewhile
from typing import NamedTuple

import numpy as np

from headscope.errors import InputError
from headscope.files import is_binary, numbered_lines

UNKNOWN = "<unk>"
HEADER = re.compile(r"(\d+) (\d+)")
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|[-+]?(nan|inf)", re.ASCII | re.IGNORECASE)
LARGEST = float(np.finfo(np.float32).max)
SHOWN_CHARACTERS = 40


class Found(NamedTuple):
    """
    What a file has for some words.

    `matrix`: float32 (word, number); `known`: which words it has, bool (word,); `repeated`: how many further lines of
    these words were passed over.
    """

    matrix: np.ndarray
    known: np.ndarray
    repeated: int


def look_up(path, words: Iterable[str], shown_as=None) -> Found:
    """
    Read the vectors of some words, and nothing but the width of all others.

    Of a word on several lines the first counts. A word that the file lacks gets the vector `<unk>`, which GloVe's own
    training writes as the mean of rare words, or zeros where there is none; `unk`, as in GloVe 6B, is an ordinary word.

    Parameters
    ----------
    path
        UTF-8 text, plain or gzip.
    words
        As they are spelled in the file.
    shown_as
        The name of the file in messages; the path itself if not given.

    Raises
    ------
    InputError
        With file and line, if a line has another number of numbers than the first, or says something else than finite
        numbers of one of these words; if the file is no text, empty, of another length than its first line says, or
        has none of these words.
    """
    shown_as, words = shown_as or str(path), list(words)
    if is_binary(path):
        raise InputError(
            f"{shown_as}: expected word vectors as text, found a binary file; unpack an archive, and write word2vec's "
            ".bin as text (in gensim: load_word2vec_format with binary=True, then save_word2vec_format)"
        )
    lines = _filled_lines(path, shown_as)
    layout = _layout(*next(lines, (0, "")), shown_as)
    wanted, found, repeated, vectors = {*words, UNKNOWN}, {}, 0, 0
    for number, line in chain(layout.read_already, lines):
        vectors += 1
        is_plain = line.count(" ") == layout.width
        word = line[: line.index(" ")] if is_plain else _long_word(number, line, layout, shown_as)
        if word in found:
            repeated += 1
        elif word in wanted:
            found[word] = _finite_numbers(line, layout.width, word, f"{shown_as}:{number}")
    if layout.vectors not in (None, vectors):
        raise InputError(
            f"{shown_as}:{layout.line}: expected {layout.vectors} vectors, as this line says, found {vectors}; the "
            "file is cut short, or the line is wrong: copy or download it again"
        )
    known = np.array([word in found for word in words])
    if not known.any():
        shown = ", ".join(map(repr, words[:5]))
        raise InputError(
            f"{shown_as}: expected vectors of some of the {len(words)} words of the corpus ({shown}, ...), found none; "
            "is the file of its language, and in lower case?"
        )
    unknown = found.get(UNKNOWN, np.zeros(layout.width, np.float32))
    return Found(np.stack([found.get(word, unknown) for word in words]), known, repeated)


class _Layout(NamedTuple):
    """What the first line says: its number, how many numbers a vector has, how many vectors; itself if it is one."""

    line: int
    width: int
    vectors: int | None
    read_already: list[tuple[int, str]]


def _layout(number, line, shown_as) -> _Layout:
    header = HEADER.fullmatch(line)
    vectors, width = map(int, header.groups()) if header else (None, _numbers_at_end(line))
    if not width:
        found = f"{line[:SHOWN_CHARACTERS]!r} on line {number}" if line else "an empty file"
        raise InputError(
            f"{shown_as}: expected a word and its numbers, parted by single blanks, found {found}; is this a file of "
            "word vectors?"
        )
    return _Layout(number, width, vectors, [] if header else [(number, line)])


def _filled_lines(path, shown_as):
    """Number and text of the lines that hold something, without the blank that word2vec puts at their end."""
    for number, line in numbered_lines(path, shown_as):
        stripped = line.rstrip(" ")
        if stripped:
            yield number, stripped


def _numbers_at_end(line) -> int:
    """How many numbers end a line; its first field is never one of them."""
    return sum(1 for _ in takewhile(NUMBER.fullmatch, reversed(line.split(" ")[1:])))


def _long_word(number, line, layout, shown_as) -> str:
    """The word of a line that has not one blank for each number: a word with blanks, or a line to refuse."""
    numbers, word = _numbers_at_end(line), line.rsplit(" ", layout.width)[0]
    if numbers != layout.width or word.endswith(" "):
        raise InputError(
            f"{shown_as}:{number}: expected a word and {layout.width} numbers, parted by single blanks, as on line "
            f"{layout.line}, found {numbers} numbers at the end of {line[:SHOWN_CHARACTERS]!r} ...; the file is cut "
            "short or damaged: copy or download it again, or take out the line"
        )
    return word


def _finite_numbers(line, width, word, where) -> np.ndarray:
    texts = line.rsplit(" ", width)[1:]
    with np.errstate(over="ignore"), suppress(ValueError):
        vector = np.array(list(map(float, texts)), np.float32)
        if np.isfinite(vector).all():
            return vector
    wrong = next(text for text in texts if not _is_finite(text))
    raise InputError(f"{where}: expected finite numbers for {word!r}, found {wrong!r}; mend or take out the line")


def _is_finite(text) -> bool:
    try:
        return abs(float(text)) <= LARGEST
    except ValueError:
        return False
