"""
The tokens of single words, as they are in running text, for every kind of tokenizer.

A word is read behind a neighbour and the tokens of the neighbour are taken off again: a tokenizer that puts a blank
before every text puts it before the neighbour, and the word has the blank that the text has, or none. No table of
offsets or of words is asked for, which slow tokenizers lack and fast ones get wrong where a normaliser moves text.
"""

from collections.abc import Iterable
from enum import IntEnum

NEIGHBOURS = (".", "a", "1", "-", "一", "\n")  # the first of them that the word does not melt into


class Place(IntEnum):
    """Where a word stands: at the start of the text, behind a blank, or right behind another word."""

    FIRST = 0
    SPACED = 1
    GLUED = 2


BETWEEN = {Place.SPACED: " ", Place.GLUED: ""}
Word = tuple[str, Place]


def places(space_after: list[bool]) -> list[Place]:
    """Return the place of each word, given whether a blank stands after it."""
    behind = (Place.SPACED if blank else Place.GLUED for blank in space_after)
    return [Place.FIRST, *behind][: len(space_after)]


def special_ids(tokenizer) -> frozenset[int]:
    """Return the ids that no text may have: those of the special tokens but that for unknown words."""
    added = tokenizer.added_tokens_decoder.items()
    special = {*tokenizer.all_special_ids, *(number for number, token in added if token.special)}
    roles = (tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id)
    unknown = tokenizer.unk_token_id
    return frozenset(special - ({unknown} - {*roles, tokenizer.pad_token_id, tokenizer.mask_token_id}))


class WordTokens:
    """
    The token ids of words.

    A word that spells a special token, which some tokenizers (Unigram, those in Python) read as that token, is cut
    behind the first character of the special token, and its parts are read one by one.
    """

    def __init__(self, tokenizer):
        self._tokenizer = tokenizer
        self._special = special_ids(tokenizer)
        unusable = {*self._special, tokenizer.unk_token_id}
        alone = zip(NEIGHBOURS, self._ids(NEIGHBOURS), strict=True)
        self._neighbours = [(text, ids) for text, ids in alone if ids and unusable.isdisjoint(ids)]
        self._nothing = [[], *self._ids([" "])]
        self._nothing += [self._ids([f"{text} "])[0][len(ids) :] for text, ids in self._neighbours[:1]]
        self._ids_of: dict[Word, list[int] | None] = {}

    def of(self, words: Iterable[Word]) -> list[list[int] | None]:
        """
        Return the ids of each word.

        Empty for a word that the tokenizer deletes, or of which it keeps no more than the blank before it; None for one
        that yields a special token however it is cut.
        """
        words = list(words)
        new = [word for word in dict.fromkeys(words) if word not in self._ids_of]
        for word, ids in zip(new, self._read(new), strict=True):
            self._ids_of[word] = ids if self._special.isdisjoint(ids) else self._spelled(*word)
        return [self._ids_of[word] for word in words]

    def _spelled(self, text: str, place: Place) -> list[int] | None:
        """The ids of a word that has special ones: cut from the end, each part as long as one without can be."""
        spelled = []
        while not self._special.isdisjoint(ids := self._read([(text, place)])[0]):
            ends = self._read([(text[start:], Place.GLUED) for start in range(1, len(text))])
            start = next((start for start, end in enumerate(ends, 1) if self._special.isdisjoint(end)), None)
            if start is None:
                return None
            text, spelled = text[:start], ends[start - 1] + spelled
        return ids + spelled

    def _read(self, words: list[Word]) -> list[list[int]]:
        """The ids of different words, special ones perhaps among them."""
        found: dict[Word, list[int]] = {}
        left = [word for word in words if word[1] is not Place.FIRST]
        for neighbour, ids in self._neighbours:
            together = self._ids([neighbour + BETWEEN[place] + text for text, place in left])
            found |= {
                word: both[len(ids) :] for word, both in zip(left, together, strict=True) if both[: len(ids)] == ids
            }
            left = [word for word in left if word not in found]
        alone = [word for word in words if word not in found]
        found |= zip(alone, self._ids([BETWEEN.get(place, "") + text for text, place in alone]), strict=True)
        return [[] if found[word] in self._nothing else found[word] for word in words]

    def _ids(self, texts: Iterable[str]) -> list[list[int]]:
        texts = list(texts)
        if not texts:
            return []
        return self._tokenizer(
            texts,
            add_special_tokens=False,
            split_special_tokens=True,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
        )["input_ids"]
