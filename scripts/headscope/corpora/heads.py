"""The head word of a span: by its dependency tree, or by Collins' rules where there are phrase structures."""

import re
from typing import NamedTuple

from headscope.corpora.conllu import NO_HEAD

BIT = re.compile(r"\(([^()*\s]+)|(\*)|(\))")
NO_PARSE = {"-", "_", "*", ""}
LEFT, RIGHT = 1, -1
NOUNS = {"NN", "NNP", "NNPS", "NNS", "NX", "JJR"}
# Collins 1999, appendix A: where the search starts, and the labels it looks for, the first one first.
RULES = {
    "ADJP": (LEFT, "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB"),
    "ADVP": (RIGHT, "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),
    "CONJP": (RIGHT, "CC RB IN"),
    "FRAG": (RIGHT, ""),
    "INTJ": (LEFT, ""),
    "LST": (RIGHT, "LS :"),
    "NAC": (LEFT, "NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW"),
    "PP": (RIGHT, "IN TO VBG VBN RP FW"),
    "PRN": (LEFT, ""),
    "PRT": (RIGHT, "RP"),
    "QP": (LEFT, "$ IN NNS NN JJ RB DT CD NCD QP JJR JJS"),
    "RRC": (RIGHT, "VP NP ADVP ADJP PP"),
    "S": (LEFT, "TO IN VP S SBAR ADJP UCP NP"),
    "SBAR": (LEFT, "WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG"),
    "SBARQ": (LEFT, "SQ S SINV SBARQ FRAG"),
    "SINV": (LEFT, "VBZ VBD VBP VB MD VP S SINV ADJP NP"),
    "SQ": (LEFT, "VBZ VBD VBP VB MD VP SQ"),
    "UCP": (RIGHT, ""),
    "VP": (LEFT, "TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP"),
    "WHADJP": (LEFT, "CC WRB JJ ADJP"),
    "WHADVP": (RIGHT, "CC WRB"),
    "WHNP": (LEFT, "WDT WP WP$ WHADJP WHPP WHNP"),
    "WHPP": (RIGHT, "IN TO FW"),
}
# For noun phrases: sets of labels, each searched from its side. Collins has a possessive clitic (POS) head its phrase;
# here the noun before it does, for that is what a mention like "the club 's" is about.
NOUN_PHRASE = (
    (RIGHT, NOUNS),
    (LEFT, {"NP", "NML"}),
    (RIGHT, {"$", "ADJP", "PRN"}),
    (RIGHT, {"CD"}),
    (RIGHT, {"JJ", "JJS", "RB", "QP"}),
)
NOUN_PHRASES = {"NP", "NX", "NML"}  # NML: a part of a flat noun phrase in later Penn treebanks
NEVER_HEADS = {",", ":", ".", "``", "''", "-LRB-", "-RRB-", "HYPH", "POS"}


class _Phrase(NamedTuple):
    """A label without its function tags, and the head word of what it covers (from 1)."""

    label: str
    head: int


def head_of_span(words: list[int], heads: list[int], is_punctuation: list[bool], tags=None) -> int | None:
    """
    Return the head word of a mention.

    Parameters
    ----------
    words
        The numbers of the words of the mention, from 1, in order.
    heads
        The head of each word of the document, from 1; 0 for a root, `NO_HEAD` where there is no tree.
    is_punctuation
        Of each word of the document.
    tags
        The Penn tag of each word where the heads are Collins': several words of a flat noun phrase may then hang
        outside of a mention that is only a part of it.

    Returns
    -------
    The word whose head lies outside the mention. Of several the leftmost that is not punctuation; with `tags`, the one
    that would head a noun phrase of them. None without a tree.
    """
    inside = set(words)
    tops = [word for word in words if heads[word - 1] not in inside]
    if not tops or any(heads[word - 1] == NO_HEAD for word in words):
        return None
    if tags is not None:
        tops = [word for word in tops if tags[word - 1] not in NEVER_HEADS] or tops
        return tops[_head_child("NP", [tags[word - 1] for word in tops])]
    return next((word for word in tops if not is_punctuation[word - 1]), tops[0])


def collins_heads(bits: list[str], tags: list[str]) -> list[int] | None:
    """
    Turn the parse bits of a sentence of CoNLL-2012 into the head of each word, by Collins' rules.

    Parameters
    ----------
    bits
        A bit a word, such as `(TOP(S(NP*` and `*))`; the star is the word.
    tags
        Its Penn tag.

    Returns
    -------
    heads
        From 1, 0 for the root; None where there is no parse or its brackets do not balance.

    Source: Collins 1999, Head-Driven Statistical Models for Natural Language Parsing, appendix A.
    """
    if NO_PARSE.issuperset(bits):
        return None
    heads, stack, word = [0] * len(bits), [("", [])], 0
    for number, bit in enumerate(bits, start=1):
        if BIT.sub("", bit).strip():
            return None
        for label, star, closing in BIT.findall(bit):
            if label:
                stack.append((label, []))
            elif star:
                word += 1
                if word > number:
                    return None
                stack[-1][1].append(_Phrase(tags[number - 1], number))
            elif closing:
                label, children = stack.pop()
                if not stack or not children:
                    return None
                stack[-1][1].append(_joined(label, children, heads))
        if word != number:
            return None
    return heads if len(stack) == 1 and len(stack[0][1]) == 1 else None


def _joined(label: str, children: list[_Phrase], heads: list[int]) -> _Phrase:
    """Make the heads of its children depend on the phrase's head."""
    label = re.split(r"[-=|]", label)[0] or label
    worded = [child for child in children if child.label not in NEVER_HEADS] or children
    head = worded[_head_child(label, [child.label for child in worded])].head
    for child in children:
        if child.head != head:
            heads[child.head - 1] = head
    return _Phrase(label, head)


def _head_child(label: str, children: list[str]) -> int:
    """Say which child of a phrase is its head; in a coordination the conjunct before the conjunction."""
    chosen = _noun_phrase_head(children) if label in NOUN_PHRASES else _first_by_rule(label, children)
    return chosen - 2 if chosen >= 2 and children[chosen - 1] == "CC" else chosen


def _first_by_rule(label: str, children: list[str]) -> int:
    side, wanted = RULES.get(label, (RIGHT, ""))
    order = range(len(children))[::side]
    for name in wanted.split():
        for child in order:
            if children[child] == name:
                return child
    return order[0]


def _noun_phrase_head(children: list[str]) -> int:
    for side, wanted in NOUN_PHRASE:
        for child in range(len(children))[::side]:
            if children[child] in wanted:
                return child
    return len(children) - 1
