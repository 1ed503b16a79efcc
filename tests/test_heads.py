"""Head words: of spans by trees, of phrases by Collins' rules."""

import pytest

from headscope.corpora.conllu import NO_HEAD
from headscope.corpora.heads import collins_heads, head_of_span


def heads_of(sentence):
    """Words like `dog/NN/(NP*)` to the head of each."""
    cells = [word.split("/") for word in sentence.split()]
    return collins_heads([bit for _, _, bit in cells], [tag for _, tag, _ in cells])


@pytest.mark.parametrize(
    ("sentence", "heads"),
    [
        # the old dog of the house barks: the noun before its prepositional phrase
        (
            "the/DT/(TOP(S(NP(NP* old/JJ/* dog/NN/*) of/IN/(PP* the/DT/(NP* house/NN/*))) barks/VBZ/(VP*)))",
            [3, 3, 7, 3, 6, 4, 0],
        ),
        # a coordination is headed by the conjunct before the conjunction, and an enumeration by its first
        ("John/NNP/(TOP(NP* and/CC/* Mary/NNP/*))", [0, 1, 1]),
        ("A/NN/(TOP(NP(NP*) ,/,/* B/NN/(NP*) and/CC/* C/NN/(NP*)))", [0, 1, 1, 1, 1]),
        # a possessive is headed by its noun, not by the clitic as in Collins' own rule
        ("the/DT/(TOP(NP(NP* cat/NN/* 's/POS/*) tail/NN/*))", [2, 4, 2, 0]),
        ("(/-LRB-/(TOP(NP* more/JJR/(QP* than/IN/* two/CD/*) )/-RRB-/*))", [3, 3, 0, 3, 3]),
        ("the/DT/(TOP(NP* Tampa/NNP/(NML* Bay/NNP/*) Rays/NNPS/*))", [4, 3, 4, 0]),
        ("has/VBZ/(TOP(S(VP* gone/VBN/(VP* to/TO/(PP* him/PRP/(NP*))))))", [0, 1, 2, 3]),
        ("Mr./NNP/(TOP(NP-SBJ=1* Lee/NNP/*))", [2, 0]),
    ],
)
def test_phrases_have_the_heads_of_collins(sentence, heads):
    assert heads_of(sentence) == heads


@pytest.mark.parametrize(
    "sentence",
    [
        "a/DT/- b/NN/-",
        "a/DT/(TOP(NP* b/NN/*)",
        "a/DT/(TOP* b/NN/*))",
        "a/DT/(TOP*) b/NN/*",
        "a/DT/(TOP** b/NN/*)",
        "a/DT/(TOP) b/NN/*",
        "a/DT/(TOP* b/NN/junk*)",
    ],
)
def test_no_parse_or_a_broken_one_gives_no_heads(sentence):
    assert heads_of(sentence) is None


def test_the_head_of_a_span_hangs_outside_of_it():
    heads = [3, 3, 5, 3, 0]  # the old dog there barks
    assert head_of_span([1, 2, 3, 4], heads, [False] * 5) == 3
    assert head_of_span([4], heads, [False] * 5) == 4
    assert head_of_span([1, 2], heads, [False] * 5) == 1  # both hang outside: the left one
    assert head_of_span([1, 2], heads, [True, False, False, False, False]) == 2
    assert head_of_span([1, 2], [NO_HEAD, 1], [False] * 2) is None


def test_a_part_of_a_flat_noun_phrase_is_headed_by_its_last_noun():
    heads = heads_of("Tampa/NNP/(TOP(NP* Bay/NNP/* ,/,/* Rays/NNPS/*))")
    assert heads == [4, 4, 4, 0]
    tags = ["NNP", "NNP", ",", "NNPS"]
    assert head_of_span([1, 2], heads, [False] * 4, tags) == 2
    assert head_of_span([1, 2, 3], heads, [False] * 4, tags) == 2
    pair = heads_of("Jenna/NNP/(TOP(NP* and/CC/* Julien/NNP/* Podcast/NNP/*))")
    assert head_of_span([1, 2, 3], pair, [False] * 4, ["NNP", "CC", "NNP", "NNP"]) == 1
