"""
Text to coreference: a raw file in, CorefUD out, parsed and resolved by Stanza.

A line is a paragraph, a blank line separates documents, and a document is resolved as a whole. Nothing here reaches
the network: the transformer below a coreference model, which Stanza would ask the Hugging Face hub for, is taken from
the folder of models or from the hub's cache.
"""

import contextlib
import pickle
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import polars as pl
import torch
import transformers
from stanza.models.common.doc import Sentence, Word
from stanza.models.coref.coref_chain import CorefChain, CorefMention

from headscope.corpora import SKIPPED
from headscope.corpora.parsing import (
    UNSEEN,
    Line,
    Parser,
    in_batches,
    load_pipeline,
    nothing_left,
    read_lines,
    reason_to_skip,
    to_conllu,
)
from headscope.errors import InputError
from headscope.files import replacing
from headscope.stanza_models import COREFERENCE, find_models, find_transformer

MOST_WORDS = 10_000  # of a document: Stanza scores each of its words with each, in some 5 GB for so many
GLOBAL_ENTITY = "# global.Entity = eid-etype-head-other\n"

transformers.utils.logging.disable_progress_bar()


class Paragraph(NamedTuple):
    """A line and its sentences."""

    line: Line
    sentences: list[Sentence]


class Mention(NamedTuple):
    """A span of a sentence's words and empty nodes: its first and its last, from 0, and its head, from 1 within it."""

    first: int
    last: int
    entity: str
    head: int


@dataclass(frozen=True)
class Resolver:
    """A parser of paragraphs whose pipeline resolves coreference too."""

    parser: Parser

    def resolve(self, sentences: list[Sentence]) -> list[CorefChain]:
        """Find the entities of a document of parsed sentences, which get the empty nodes that are mentions."""
        with torch.no_grad():  # Stanza's processor does not, and keeps a large transformer's every activation
            return self.parser.process(sentences, COREFERENCE).coref

    def reason_to_skip(self, sentence: Sentence) -> str | None:
        """Why Stanza would fail on a document with this sentence, or never come to its end; or nothing."""
        model = self.parser.pipeline.processors[COREFERENCE]._model
        read = model.build_doc({"cased_words": [word.text for word in sentence.words]})
        tokenizer, most = model.tokenizer, 2 * (model.config.bert_window_size - 2)
        special = {tokenizer.cls_token, tokenizer.sep_token, tokenizer.pad_token, tokenizer.eos_token}
        for word, (start, end) in zip(sentence.words, read["word2subword"], strict=True):
            if start == end or special & set(read["subwords"][start:end]):
                return f"a word that its transformer does not see as text: {word.text!r}"
        if len(read["subwords"]) > most:
            # Cut where the window ends, and cut again, it would send Stanza back to its begin for ever.
            return f"{len(read['subwords'])} subwords, more than twice the window of its transformer ({most})"
        return None


def load_resolver(
    models, language: str, package: str = "default", coref_package: str = "default", device: str = "auto"
) -> Resolver:
    """
    Load a Stanza pipeline with coreference from a folder, without the network.

    Parameters
    ----------
    models
        The folder that the rule fetch_stanza or `stanza.download` filled. The transformer below the coreference
        model is expected in it, as `transformers/NAME`, or in the cache of the Hugging Face hub.
    language, package
        As Stanza calls them, for example `en` and `default`.
    coref_package
        The coreference model: its name, such as `ontonotes-singletons_roberta-large-lora`, or `default`, which for
        English is `udcoref_xlm-roberta-lora`.
    device
        `auto`, `cpu` or `cuda`.

    Raises
    ------
    InputError
        If the device is not here, if a model or its transformer is missing, or if Stanza cannot load it.
    """
    models = Path(models).resolve()
    found = find_models(models, language, package, {COREFERENCE: coref_package})
    model = models / found.language / COREFERENCE / f"{found.processors[COREFERENCE]}.pt"
    name = transformer_of(model)
    with _in_reach(find_transformer(models, name), name):
        try:
            pipeline = load_pipeline(models, found, f"{package}, {COREFERENCE} {model.stem}", device)
        except ImportError as error:
            raise InputError(
                f"{model}: expected the Python packages that it needs, found: {error}; install stanza[transformers]"
            ) from error
    return Resolver(Parser(pipeline, "paragraphs"))


def transformer_of(model) -> str:
    """
    Read which transformer a coreference model of Stanza was trained on top of.

    Raises
    ------
    InputError
        If the file is no such model.
    """
    try:
        return torch.load(model, map_location="cpu", weights_only=True, mmap=True)["config"]["bert_model"]
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
        raise InputError(
            f"{model}: expected a coreference model of Stanza, found: {' '.join(str(error).split())[:400]}; "
            "fetch it again"
        ) from error


def resolve_file(
    path, corefud, resolver: Resolver, max_words: int, shown_as=None, done=None
) -> tuple[int, pl.DataFrame]:
    """
    Resolve a text file into CorefUD, a batch of documents at a time.

    A document is whole or not there: without one of its sentences, what its pronouns stand for would be another
    question. So a sentence that cannot be parsed takes its document with it. No document depends on the others.

    Parameters
    ----------
    path
        UTF-8 text, plain or gzip: one paragraph a line, which Stanza splits into sentences, a blank line between
        documents.
    corefud
        Where the documents go, as CoNLL-U like that of `headscope.corpora.parsing.parse_file`. Above a document stands
        `# newdoc id = LINE`, the line it begins at; its entities are eLINE_1, eLINE_2, ... and its mentions Entity
        in column ten, with the head in the dependency tree: the word whose own head is outside, the first of several.
        A mention without a word, which Stanza finds where a language drops pronouns, is one of an empty node. A
        document without mentions is there too.
    resolver
        From `load_resolver`.
    max_words
        A document with a sentence of more (syntactic) words is left out.
    shown_as
        The name of the file in `where` and in messages; the path itself if not given.
    done
        Called with the number of documents after each batch.

    Returns
    -------
    count, skipped
        Documents written; and a row for what is missing: a document with its reason, a paragraph without a word, and
        the mentions of a document that cross another of the same entity, which the format cannot tell apart.

    Raises
    ------
    InputError
        If no document is left.
    """
    shown_as = shown_as or str(path)
    count, skipped = 0, []
    with replacing(corefud) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as written:
        for batch in in_batches(_documents(read_lines(path, shown_as)), _characters):
            documents, reasons = _split(batch, resolver, max_words)
            resolver.parser.parse([sentence for document in documents for sentence in _sentences(document)])
            skipped += [(None, f"{shown_as}:{number}", reason) for number, reason in reasons]
            for document in documents:
                where = f"{shown_as}:{document[0].line.number}"
                chains = resolver.resolve(_sentences(document))
                text, crossing = to_corefud(document, chains, opens_file=not count)
                if crossing:
                    reason = f"mentions of the document that cross another of their entity: {crossing}"
                    skipped.append((None, where, reason))
                written.write(text)
                count += 1
            if done:
                done(len(batch))
        if not count:
            raise nothing_left(shown_as, f"documents whose sentences have at most {max_words} words", skipped)
    return count, pl.DataFrame(skipped, SKIPPED, orient="row")


def to_corefud(document: list[Paragraph], chains: Iterable[CorefChain], opens_file: bool = True) -> tuple[str, int]:
    """
    Write one resolved document as CorefUD.

    Spans that two entities share or in which they cross are written as they are; CorefUD's validator warns of them,
    its readers read them.

    Parameters
    ----------
    document
        Its paragraphs, parsed.
    chains
        Its entities, as Stanza gives them.
    opens_file
        Whether this is the first document of a file, which says what the fields of Entity are.

    Returns
    -------
    text, crossing
        The lines, and how many mentions were left out as they cross an earlier one of their entity.
    """
    number = document[0].line.number
    sentences = _sentences(document)
    mentions, crossing = [[] for _ in sentences], 0
    for n, entity in enumerate(chains, start=1):
        kept, left_out = _not_crossing(_spans(entity.mentions, sentences))
        crossing += left_out
        for place, first, last in kept:
            head = _head(sentences[place].all_words[first : last + 1])
            mentions[place].append(Mention(first, last, f"e{number}_{n}", head))
    text, waiting = [f"# newdoc id = {number}\n", GLOBAL_ENTITY if opens_file else ""], iter(mentions)
    for line, of_line in document:
        for n, sentence in enumerate(of_line, start=1):
            nodes = [word.id for word in sentence.all_words]
            entities = dict(zip(nodes, to_brackets(next(waiting), len(nodes)), strict=True))
            text.append(to_conllu(sentence, f"{line.number}-{n}", n == len(of_line), entities))
    return "".join(text), crossing


def to_brackets(mentions: Iterable[Mention], nodes: int) -> list[str]:
    """
    Write the mentions of a sentence as the Entity of each of its nodes, empty where none begins or ends.

    In CorefUD's order: what closes stands before what opens, the longer opens first and closes last, and a mention of
    one node stands innermost. So a closing bracket, which names only the entity, is that of the last mention opened.
    """
    opened, single, closed = [""] * nodes, [""] * nodes, [""] * nodes
    for first, last, entity, head in sorted(mentions, key=lambda m: (m.first, -m.last, m.entity)):
        if first == last:
            single[first] += f"({entity}--{head})"
        else:
            opened[first] += f"({entity}--{head}"
            closed[last] = f"{entity}){closed[last]}"
    return [c + o + s if o else s + c for o, s, c in zip(opened, single, closed, strict=True)]


def _spans(mentions: Iterable[CorefMention], sentences: list[Sentence]) -> list[tuple[int, int, int]]:
    """The place of the sentence, the first and the last node of each mention in the order of the text, each once."""
    spans = set()
    for mention in mentions:
        places = {word.id: place for place, word in enumerate(sentences[mention.sentence].all_words)}
        if isinstance(mention.start_word, tuple):
            first = last = mention.start_word
        else:
            first, last = mention.start_word + 1, mention.end_word  # ids count from 1, and the last one is in it
        spans.add((mention.sentence, places[first], places[last]))
    return sorted(spans, key=lambda span: (span[0], span[1], -span[2]))


def _not_crossing(spans: list[tuple[int, int, int]]) -> tuple[list[tuple[int, int, int]], int]:
    """Those that do not cross an earlier one, and the number of the others."""
    kept = []
    for place, first, last in spans:
        if not any(place == there and begin < first < end < last for there, begin, end in kept):
            kept.append((place, first, last))
    return kept, len(spans) - len(kept)


def _head(span: list[Word]) -> int:
    inside = {word.id for word in span}
    heads = (n for n, word in enumerate(span, start=1) if word.head is not None and word.head not in inside)
    return next(heads, 1)  # an empty node on its own has no head


def _documents(lines: Iterable[Line]) -> Iterator[list[Line]]:
    document = []
    for line in lines:
        if line.opens_document and document:
            yield document
            document = []
        document.append(line)
    if document:
        yield document


def _characters(document: list[Line]) -> int:
    return sum(len(line.text) for line in document)


def _sentences(document: list[Paragraph]) -> list[Sentence]:
    return [sentence for _, sentences in document for sentence in sentences]


def _split(
    batch: list[list[Line]], resolver: Resolver, max_words: int
) -> tuple[list[list[Paragraph]], list[tuple[int, str]]]:
    """Split documents into sentences; give those that can be parsed, and line and reason for what cannot."""
    split = iter(resolver.parser.split([*chain(*batch)]))
    documents, reasons = [], []
    for lines in batch:
        document = [Paragraph(line, next(split)) for line in lines]
        reasons += [(line.number, UNSEEN) for line, sentences in document if not sentences]
        reason = _reason_to_skip_document(document, resolver, max_words)
        if reason:
            reasons.append((lines[0].number, f"the document, for {reason}"))
        elif _sentences(document):
            documents.append(document)
    return documents, reasons


def _reason_to_skip_document(document: list[Paragraph], resolver: Resolver, max_words: int) -> str | None:
    for line, sentences in document:
        for n, sentence in enumerate(sentences, start=1):
            if reason := reason_to_skip(sentence, max_words) or resolver.reason_to_skip(sentence):
                return f"sentence {n} of line {line.number}: {reason}"
    words = sum(len(sentence.words) for sentence in _sentences(document))
    return f"its length: {words} words, more than {MOST_WORDS}" if words > MOST_WORDS else None


@contextlib.contextmanager
def _in_reach(folder: Path, name: str):
    """
    Let a checkpoint of this name be found, as long as this is open, without asking the hub.

    Stanza hands the name as it stands in the model to transformers, which first looks for a folder of that name in the
    working folder. The name itself must stay: what Stanza knows of a tokenizer, it knows by name.
    """
    with tempfile.TemporaryDirectory() as here:
        link = Path(here) / name
        if not link.exists():  # an absolute path is the folder itself
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(folder.resolve())
        with contextlib.chdir(here):
            yield
