"""
Text to dependency trees: a raw or pretokenized file in, CoNLL-U out, parsed by Stanza.

A line is a paragraph (`paragraphs`) or a sentence of words (`words`); a blank line separates documents. Nothing here
reaches the network.
"""

import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, TypeVar

import polars as pl
import stanza
from stanza.models.common.doc import ID, TEXT, Document, Sentence, Token, Word

from headscope.corpora import SKIPPED
from headscope.devices import pick_device
from headscope.errors import InputError
from headscope.files import numbered_lines, replacing
from headscope.stanza_models import Models, find_models

CHARACTERS_AT_ONCE = 30_000  # some 5,000 words, which is what Stanza's tagger and parser take as a batch
SPLITTING, PARSING = "tokenize,mwt", "pos,lemma,depparse"
UNSEEN = "no word in it that Stanza can see"

_BLANK_TO_STANZA = re.compile(r"[\s\u0080-\u009f]+")
_BREAK = re.compile(r"[^\S\u00a0\u2007\u202f]+")  # whitespace but for the no-break spaces
_TOO_LONG = "<UNK>"  # what Stanza writes instead of a token longer than its tokenizer takes
_Item = TypeVar("_Item")


class Line(NamedTuple):
    """One line that is not blank, its number from 1, and whether it is the first of its document."""

    number: int
    text: str
    opens_document: bool


@dataclass(frozen=True)
class Parser:
    """A Stanza pipeline and the format that it reads."""

    pipeline: stanza.Pipeline
    format: str

    def split(self, lines: list[Line]) -> list[list[Sentence]]:
        """Split each line into sentences of words, in order; a line of nothing that Stanza reads has none."""
        if self.format == "words":
            return [Document([_numbered(_words(line.text))]).sentences for line in lines]
        texts = [_BLANK_TO_STANZA.sub(" ", line.text).strip() for line in lines]
        documents = iter(self.pipeline.bulk_process([text for text in texts if text], processors=SPLITTING))
        return [next(documents).sentences if text else [] for text in texts]

    def parse(self, sentences: list[Sentence]):
        """Give the words of these sentences their tags, lemmas, heads and relations."""
        if sentences:
            self.process(sentences, PARSING)

    def process(self, sentences: list[Sentence], processors: str) -> Document:
        """Run processors over these sentences as one document."""
        document = Document([])
        document.sentences = sentences
        document.num_tokens = sum(len(sentence.tokens) for sentence in sentences)
        document.num_words = sum(len(sentence.words) for sentence in sentences)
        return self.pipeline.process(document, processors=processors)


def load_parser(
    models, language: str, package: str = "default", format: str = "paragraphs", device: str = "auto"
) -> Parser:
    """
    Load a Stanza pipeline from a folder, without the network.

    Parameters
    ----------
    models
        The folder that `stanza.download` or the rule fetch_stanza filled.
    language, package
        As Stanza calls them, for example `en` and `default`.
    format
        `paragraphs` or `words`; see `parse_file`.
    device
        `auto`, `cpu` or `cuda`.

    Raises
    ------
    InputError
        If the device is not here, if a model is missing, or if Stanza cannot load it.
    """
    found = find_models(models, language, package)
    pretokenized = format == "words"
    processors = {name: model for name, model in found.processors.items() if not (pretokenized and name == "mwt")}
    found = found._replace(processors=processors)
    return Parser(load_pipeline(models, found, package, device, tokenize_pretokenized=pretokenized), format)


def load_pipeline(models, found: Models, package: str, device: str, **options) -> stanza.Pipeline:
    """
    Load these processors, without the network.

    Parameters
    ----------
    models
        The folder they lie in.
    found
        What `find_models` found there.
    package
        What to call them in a message.
    device
        `auto`, `cpu` or `cuda`.
    options
        Further ones of `stanza.Pipeline`.

    Raises
    ------
    InputError
        If the device is not here or Stanza cannot load a file.
    """
    place = pick_device(device)
    try:
        return stanza.Pipeline(
            lang=found.language,
            dir=str(models),
            package=None,
            processors=found.processors,
            download_method=None,
            device=str(place),
            logging_level="WARN",
            **options,
        )
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
        raise InputError(
            f"Stanza models in {models}, language {found.language}, package {package}: expected files that Stanza "
            f"{stanza.__version__} can load, found: {' '.join(str(error).split())[:400]}; fetch them again"
        ) from error


def read_lines(path, shown_as=None) -> Iterator[Line]:
    """
    Yield the lines of a file that are not blank.

    Raises
    ------
    InputError
        As `headscope.files.numbered_lines`.
    """
    opens_document = True
    for number, text in numbered_lines(path, shown_as):
        if text.strip():
            yield Line(number, text, opens_document)
        opens_document = not text.strip()


def in_batches(items: Iterable[_Item], characters: Callable[[_Item], int]) -> Iterator[list[_Item]]:
    """Gather items, in order, until they have as many characters as Stanza takes at once."""
    batch, size = [], 0
    for item in items:
        batch.append(item)
        size += characters(item)
        if size >= CHARACTERS_AT_ONCE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def parse_file(path, conllu, parser: Parser, max_words: int, shown_as=None, done=None) -> tuple[int, pl.DataFrame]:
    """
    Parse a text file into CoNLL-U, a batch of lines at a time.

    Parameters
    ----------
    path
        UTF-8 text, plain or gzip, in the parser's format. `paragraphs`: one paragraph a line, which Stanza splits into
        sentences. `words`: one sentence a line, its words separated by blanks and kept as they are; a no-break
        space does not separate. In both a blank line separates documents.
    conllu
        Where the trees go: UTF-8. `# newdoc` stands before the first sentence of a document, `# sent_id` is
        LINE-N, the Nth sentence of that line, from 1. Column ten says SpaceAfter=No where no blank follows.
    parser
        From `load_parser`.
    max_words
        Sentences of more (syntactic) words are left out.
    shown_as
        The name of the file in `where` and in messages; the path itself if not given.
    done
        Called with the number of lines parsed, after each batch.

    Returns
    -------
    count
        The number of sentences written.
    skipped
        example (null: it never became one), where (file:line), reason: sentences too long, or with a token that
        Stanza cannot take, and lines without a word.

    Raises
    ------
    InputError
        If no sentence is left.
    """
    shown_as = shown_as or str(path)
    count, skipped, document_is_open = 0, [], False
    with replacing(conllu) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as written:
        for lines in in_batches(read_lines(path, shown_as), lambda line: len(line.text)):
            split = parser.split(lines)
            reasons = [[reason_to_skip(sentence, max_words) for sentence in sentences] for sentences in split]
            parser.parse([s for s, reason in zip(chain(*split), chain(*reasons), strict=True) if not reason])
            for line, sentences, why in zip(lines, split, reasons, strict=True):
                document_is_open = document_is_open and not line.opens_document
                where = f"{shown_as}:{line.number}"
                if not sentences:
                    skipped.append((None, where, UNSEEN))
                for n, (sentence, reason) in enumerate(zip(sentences, why, strict=True), start=1):
                    if reason:
                        skipped.append((None, where, f"sentence {n} of the line: {reason}"))
                        continue
                    written.write("" if document_is_open else "# newdoc\n")
                    written.write(to_conllu(sentence, f"{line.number}-{n}", ends_line=n == len(sentences)))
                    document_is_open = True
                    count += 1
            if done:
                done(len(lines))
        if not count:
            raise nothing_left(shown_as, f"sentences of at most {max_words} words", skipped)
    return count, pl.DataFrame(skipped, SKIPPED, orient="row")


def reason_to_skip(sentence: Sentence, max_words: int) -> str | None:
    """Why this sentence cannot be parsed, or nothing."""
    if len(sentence.words) > max_words:
        return f"{len(sentence.words)} words, more than max_words ({max_words})"
    if any(_is_cut(token) for token in sentence.tokens):
        return "a token longer than Stanza's tokenizer takes"
    if not all(token.words for token in sentence.tokens):
        return "a token that Stanza expands to no word"
    return None


def nothing_left(shown_as, expected: str, skipped: list[tuple]) -> InputError:
    """What to raise for a file of which everything had to be skipped."""
    first = f" (first: {skipped[0][1]}, {skipped[0][2]})" if skipped else ""
    return InputError(
        f"{shown_as}: expected {expected}, found none and {len(skipped)} that had to be skipped{first}; check the "
        "file, its format and max_words"
    )


def to_conllu(
    sentence: Sentence, sent_id: str, ends_line: bool = True, entities: Mapping[int | tuple, str] | None = None
) -> str:
    """
    Write one parsed sentence as CoNLL-U: sent_id, text, ten columns a word, a blank line.

    Whatever the words hold, a line stays a line and a column a column: white space inside them becomes a space. An
    empty node gets no more than its place and, as CoNLL-U wants one, an enhanced relation: `dep` of the word after it.

    Parameters
    ----------
    sentence
        Of Stanza, with heads.
    sent_id
        Its identifier.
    ends_line
        Whether a line end follows in the file, so that nothing can stand glued to the last token.
    entities
        What stands as Entity in column ten, by id of the word or, a pair, of the empty node.
    """
    entities = entities or {}
    rows, text = _empty_rows(sentence, 0, entities), ""
    for token in sentence.tokens:
        is_last = token is sentence.tokens[-1]
        glued = not token.spaces_after and not (is_last and ends_line)
        spacing = "SpaceAfter=No" if glued else ""
        text += _column(token.text) + ("" if glued or is_last else " ")
        if len(token.words) > 1:
            span = f"{token.words[0].id}-{token.words[-1].id}"
            rows.append([span, _column(token.text), *["_"] * 7, spacing or "_"])
            spacing = ""
        for word in token.words:
            rows.append(_row(word, _misc(entities.get(word.id), spacing)))
            rows += _empty_rows(sentence, word.id, entities)
    lines = [f"# sent_id = {sent_id}", f"# text = {text}", *("\t".join(row) for row in rows)]
    return "\n".join(lines) + "\n\n"


def _row(word: Word, misc: str) -> list[str]:
    columns = (word.text, word.lemma, word.upos, word.xpos, word.feats)
    return [str(word.id), *map(_column, columns), str(word.head), _relation(word), "_", misc]


def _empty_rows(sentence: Sentence, after: int, entities: Mapping[int | tuple, str]) -> list[list[str]]:
    """The empty nodes after this word (0: before the first), numbered in the order of their ids."""
    empty = sorted(word.id for word in sentence.empty_words if word.id[0] == after)
    return [
        [f"{after}.{number}", *["_"] * 7, f"{after + 1}:dep", _misc(entities.get(node))]
        for number, node in enumerate(empty, start=1)
    ]


def _misc(entity: str | None, spacing: str = "") -> str:
    return "|".join(filter(None, [f"Entity={entity}" if entity else "", spacing])) or "_"


def _relation(word: Word) -> str:
    """Its relation; `root` for the root and no other word, which Stanza's labels follow but do not promise."""
    if word.head == 0:
        return "root"
    return "dep" if word.deprel == "root" else _column(word.deprel)


def _column(value: str | None) -> str:
    return _BREAK.sub(" ", value or "").strip(" ") or "_"


def _words(text: str) -> list[str]:
    return [word for word in _BREAK.split(text) if word.strip()]


def _numbered(words: list[str]) -> list[dict]:
    return [{ID: (number,), TEXT: word} for number, word in enumerate(words, start=1)]


def _is_cut(token: Token) -> bool:
    width = (token.end_char or 0) - (token.start_char or 0)
    return token.text == _TOO_LONG and width > len(_TOO_LONG)
