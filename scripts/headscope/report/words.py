"""How numbers, heads and relations read in a sentence."""

from collections.abc import Iterable

from headscope import pages

MOST_NAMED = 4
RELATIONS = {  # Stanford and Universal Dependencies: what a dependent is called
    "acl": "clause that describes a noun",
    "advcl": "adverbial clause",
    "advmod": "adverb",
    "amod": "adjective",
    "appos": "apposition",
    "aux": "auxiliary verb",
    "aux:pass": "passive auxiliary",
    "auxpass": "passive auxiliary",
    "case": "preposition or case marker",
    "cc": "coordinating conjunction",
    "ccomp": "clausal complement",
    "compound": "part of a compound",
    "compound:prt": "verb particle",
    "conj": "conjunct",
    "cop": "copula",
    "csubj": "clausal subject",
    "dep": "dependent of no known kind",
    "det": "determiner",
    "discourse": "discourse element",
    "dobj": "direct object",
    "expl": "expletive",
    "fixed": "part of a fixed expression",
    "flat": "part of a name",
    "iobj": "indirect object",
    "mark": "clause marker",
    "neg": "negation",
    "nmod": "noun that describes a noun",
    "nmod:poss": "possessor",
    "nn": "noun before a noun",
    "nsubj": "subject",
    "nsubj:pass": "passive subject",
    "nsubjpass": "passive subject",
    "num": "number",
    "nummod": "number",
    "obj": "direct object",
    "obl": "oblique noun",
    "parataxis": "loosely joined clause",
    "pobj": "object of a preposition",
    "poss": "possessor",
    "prep": "preposition",
    "prt": "verb particle",
    "punct": "punctuation mark",
    "rcmod": "relative clause",
    "root": "root",
    "tmod": "time expression",
    "vocative": "vocative",
    "xcomp": "open clausal complement",
}
COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def relation(name: str) -> str:
    """Return what a dependent of a relation is called, `dependent (label)` where the label is not a common one."""
    return f"{RELATIONS[name]} ({name})" if name in RELATIONS else f"dependent ({name})"


def with_article(noun: str) -> str:
    """Return a noun behind `a` or `an`."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def head(row: dict) -> str:
    """Return the name of a head: `3-1`."""
    return f"{row['layer']}-{row['head']}"


def percent(share: float, digits: int = 0) -> str:
    """Return a share in percent as a sentence has it: `72 %`."""
    return f"{pages.percent(share, digits)} %".replace("-", "−")


def interval(low: float | None, high: float | None) -> str:
    """Return an interval of shares in brackets behind a number, empty where there is none."""
    return pages.interval(low, high, digits=0)


def held_out(accuracy: float | None, chosen_on: str) -> str:
    """Return the accuracy of a head that was chosen on other cases, in brackets behind that of one that was not."""
    return "" if pages.is_missing(accuracy) else f" ({percent(accuracy)} when chosen on other {chosen_on})"


def count(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `one head`, `12 heads`, `1,254 tokens`."""
    shown = COUNTS[number] if number < len(COUNTS) else f"{number:,}"
    return f"{shown} {noun if number == 1 else plural or f'{noun}s'}"


def that(number: int, does: str, do: str) -> str:
    """Return a number with its verb: `1 holds`, `3 hold`."""
    return f"{number:,} {does if number == 1 else do}"


def listed(names: Iterable[str], most: int = MOST_NAMED) -> str:
    """Return names as a sentence lists them, the first ones where there are many."""
    names = list(names)
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def capitalised(sentence: str) -> str:
    """Return a sentence with a capital at its beginning."""
    return sentence[:1].upper() + sentence[1:]
