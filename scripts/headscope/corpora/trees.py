"""Dependency trees: CoNLL-U, CoNLL-X and `word head-label` lines to sentences, heads and relations."""

import polars as pl

from headscope.corpora import SKIPPED
from headscope.corpora.conllu import BadSentence, Block, Sentence, blocks, read_sentence, refuse_no_tree
from headscope.corpora.schemes import to_stanford
from headscope.errors import InputError
from headscope.files import numbered_lines
from headscope.languages import has_stanford

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
"""The Stanford columns are null where the language is not English."""
SENTENCES_AT_ONCE = 2000


def read_trees(
    path, format="conllu", shown_as=None, most_bad: float = 0.05, language: str = "en"
) -> tuple[pl.DataFrame, pl.DataFrame]:
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
    language
        The code of the language; only English has the paper's labels.

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
    for example, block in enumerate(blocks(numbered_lines(path, shown_as), format == "conllu"), start=1):
        document += block.opens_document or document == 0
        try:
            sentence = _READ[format](block)
            refuse_no_tree(sentence)
        except BadSentence as bad:
            skipped.append((example, f"{shown_as}:{bad.line}", f"not a tree: {bad}"))
            continue
        rows.append(_row(example, document, shown_as, block, sentence, has_stanford(language)))
        if len(rows) == SENTENCES_AT_ONCE:
            parts.append(pl.DataFrame(rows, TREES, orient="row"))
            rows = []
    parts.append(pl.DataFrame(rows, TREES, orient="row"))
    _refuse_too_many_bad(shown_as, example, skipped, most_bad)
    return pl.concat(parts), pl.DataFrame(skipped, SKIPPED, orient="row")


def has_scheme(trees: pl.DataFrame, scheme: str) -> bool:
    """Return whether the trees, as `read_trees` returns them, are there in a scheme."""
    return not trees[f"{scheme}_heads"].null_count()


def _read_word_head_label(block: Block) -> Sentence:
    sentence = Sentence(block.lines[0][0])
    for number, line in block.lines:
        word, blank, tree = line.strip().rpartition(" ")
        head, hyphen, relation = tree.partition("-")
        if not (blank and word.strip() and hyphen and relation and head.isdecimal()):
            raise BadSentence(number, f"expected `word head-label`, found {line.strip()!r}")
        sentence.add(word.strip(), int(head), relation)
    return sentence


_READ = {"conllu": read_sentence, "conllx": read_sentence, "word-head-label": _read_word_head_label}


def _row(example, document, shown_as, block: Block, sentence: Sentence, in_english: bool) -> tuple:
    tree = (sentence.heads, sentence.relations, sentence.upos, sentence.xpos)
    stanford_heads, stanford_relations = to_stanford(*tree) if in_english else (None, None)
    return (
        example,
        f"{shown_as}:{sentence.line}",
        block.comment("sent_id") or "",
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
