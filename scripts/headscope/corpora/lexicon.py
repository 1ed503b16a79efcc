"""
What kind of mention a head word makes, and its number, gender and person.

From part of speech and morphological features where they are annotated; what they do not say comes from the small
English lexicon here, and what neither says stays unknown (None), which agrees with everything. A number is `singular`,
`plural` or `dual`, a gender `masculine`, `feminine` or `neuter`, a person `1`, `2` or `3`.
"""

from typing import NamedTuple

PRONOUN, PROPER, NOMINAL = "pronoun", "proper", "nominal"
UNKNOWN = {"", "_", "-"}
UPOS_TYPES = {"PRON": PRONOUN, "DET": PRONOUN, "PROPN": PROPER}
XPOS_TYPES = dict.fromkeys(("PRP", "PRP$", "WP", "WP$", "WDT", "DT", "PDT", "EX"), PRONOUN) | {
    "NNP": PROPER,
    "NNPS": PROPER,
}
XPOS_NUMBERS = {"NN": "singular", "NNP": "singular", "NNS": "plural", "NNPS": "plural"}
WITH_FEATURES = {"NOUN", "PROPN", "PRON", "DET", "NUM"}
NUMBERS = {"Sing": "singular", "Coll": "singular", "Plur": "plural", "Ptan": "plural", "Dual": "dual"}
GENDERS = {"Masc": "masculine", "Fem": "feminine", "Neut": "neuter"}


class Features(NamedTuple):
    """Number, gender and person; None where unknown."""

    number: str | None = None
    gender: str | None = None
    person: str | None = None

    def or_else(self, other: "Features") -> "Features":
        """Fill what is unknown from another."""
        return Features(*(mine if mine is not None else theirs for mine, theirs in zip(self, other, strict=True)))


def _words(text: str, *features) -> dict[str, Features]:
    return dict.fromkeys(text.split(), Features(*features))


PRONOUNS = {
    **_words("i me my mine myself", "singular", None, "1"),
    **_words("we us our ours ourselves", "plural", None, "1"),
    **_words("you your yours thou thee thy thine", None, None, "2"),
    **_words("yourself thyself", "singular", None, "2"),
    **_words("yourselves", "plural", None, "2"),
    **_words("he him his himself", "singular", "masculine", "3"),
    **_words("she her hers herself", "singular", "feminine", "3"),
    **_words("it its itself", "singular", "neuter", "3"),
    **_words("they them their theirs themselves", "plural", None, "3"),
    **_words("this that one oneself", "singular", None, "3"),
    **_words("these those both few many several", "plural", None, "3"),
    **_words("someone somebody anyone anybody everyone everybody nobody", "singular", None, "3"),
    **_words("something anything everything nothing", "singular", "neuter", "3"),
    **_words("who whom whose which what all some any each another", None, None, "3"),
}
MEN = (
    "man boy father dad papa son brother uncle nephew husband grandfather grandson king prince duke lord sir gentleman "
    "mr mr. master actor waiter monk widower"
)
WOMEN = (
    "woman girl mother mum mom mamma daughter sister aunt niece wife grandmother granddaughter queen princess duchess "
    "lady madam mrs mrs. ms ms. miss mistress actress waitress nun widow"
)
NOUNS = {
    **_words(MEN, "singular", "masculine"),
    **_words(
        "men boys fathers sons brothers uncles husbands kings princes lords gentlemen actors", "plural", "masculine"
    ),
    **_words(WOMEN, "singular", "feminine"),
    **_words(
        "women girls mothers daughters sisters aunts wives queens princesses ladies actresses", "plural", "feminine"
    ),
    **_words("people children parents police cattle", "plural"),
}
DETERMINERS = _words("a an this that each every another", "singular") | _words(
    "these those both few many several two three four five six seven eight nine ten", "plural"
)


def type_of(word: str, upos: str = "_", xpos: str = "_", opens_sentence: bool = False) -> str:
    """
    Return what a mention with this head word is: `pronoun`, `proper` or `nominal`.

    By the universal tag, else the Penn tag (in which `someone` is a noun and `this` a determiner: both are pronouns
    here, as in UD), else the lexicon: a word of `PRONOUNS`, a word with a capital that does not open its sentence.
    """
    if upos not in UNKNOWN:
        return UPOS_TYPES.get(upos, NOMINAL)
    if xpos not in UNKNOWN:
        return PRONOUN if xpos == "NN" and _is_indefinite(word) else XPOS_TYPES.get(xpos, NOMINAL)
    if word.lower() in PRONOUNS:
        return PRONOUN
    return PROPER if word[:1].isupper() and not opens_sentence else NOMINAL


def _is_indefinite(word: str) -> bool:
    return word.lower().endswith(("one", "body", "thing")) and word.lower() in PRONOUNS


def features_of_word(word: str, upos: str = "_", xpos: str = "_", feats: str = "_") -> Features:
    """
    Return number, gender and person of one word.

    Of words that no mention can be headed by (verbs agree with another word) all is unknown.

    Parameters
    ----------
    word
        As written.
    upos, xpos, feats
        Universal tag, Penn tag and FEATS of CoNLL-U; `_` or `-` where not annotated. Of a possessive the features of
        the possessor count (`Number[psor]`).
    """
    if upos not in UNKNOWN and upos not in WITH_FEATURES:
        return Features()
    kind = type_of(word, upos, xpos)
    listed = PRONOUNS if kind == PRONOUN else NOUNS
    from_tag = Features(XPOS_NUMBERS.get(xpos)) if kind != PRONOUN else Features()
    person = Features(person="3") if kind != PRONOUN and (upos, xpos) != ("_", "_") else Features()
    return _annotated(feats).or_else(from_tag).or_else(listed.get(word.lower(), Features())).or_else(person)


def features_of_mention(words: list[str], head: Features, kind: str, is_coordination: bool) -> Features:
    """
    Return number, gender and person of a mention from those of its head and its first word.

    Parameters
    ----------
    words
        Of the mention, in order.
    head
        The features of its head word.
    kind
        As `type_of` returns it.
    is_coordination
        Whether its head is joined to another by "and", which makes a plural without a gender.
    """
    if is_coordination:
        return Features("plural", None, head.person)
    if kind == PRONOUN:
        return head
    first = words[0].lower()
    of_first = DETERMINERS.get(first, Features())
    title = NOUNS.get(first, Features()) if kind == PROPER else Features()
    return head.or_else(of_first).or_else(Features(gender=title.gender)).or_else(Features(person="3"))


def _annotated(feats: str) -> Features:
    values = dict(pair.split("=", 1) for pair in feats.split("|") if "=" in pair)

    def value(name, names):
        found = values.get(f"{name}[psor]", values.get(name))
        return names.get(found) if names else found if found in ("1", "2", "3") else None

    return Features(value("Number", NUMBERS), value("Gender", GENDERS), value("Person", None))
