"""Type, number, gender and person of mentions: annotated, else from the lexicon, else unknown."""

import pytest

from headscope.corpora.lexicon import Features, features_of_mention, features_of_word, type_of


@pytest.mark.parametrize(
    ("word", "tags", "kind"),
    [
        ("she", ("PRON", "PRP"), "pronoun"),
        ("this", ("DET", "DT"), "pronoun"),
        ("Ann", ("PROPN", "NNP"), "proper"),
        ("two", ("NUM", "CD"), "nominal"),
        ("her", ("_", "PRP$"), "pronoun"),
        ("this", ("_", "DT"), "pronoun"),
        ("Someone", ("-", "NN"), "pronoun"),
        ("stone", ("-", "NN"), "nominal"),
        ("Alps", ("_", "NNPS"), "proper"),
        ("Himself", ("_", "_"), "pronoun"),
        ("Prospero", ("_", "_"), "proper"),
        ("country", ("_", "_"), "nominal"),
    ],
)
def test_the_type_comes_from_tags_else_from_the_lexicon(word, tags, kind):
    assert type_of(word, *tags) == kind


def test_a_capital_at_the_start_of_a_sentence_says_nothing():
    assert type_of("Dogs", opens_sentence=True) == "nominal"
    assert type_of("Dogs", opens_sentence=False) == "proper"


@pytest.mark.parametrize(
    ("word", "upos", "xpos", "feats", "features"),
    [
        ("him", "PRON", "PRP", "Case=Acc|Gender=Masc|Number=Sing|Person=3", ("singular", "masculine", "3")),
        ("they", "PRON", "PRP", "Number=Sing|Person=3", ("singular", None, "3")),  # annotated wins over the lexicon
        ("su", "DET", "_", "Number=Plur|Number[psor]=Sing|Person[psor]=3", ("singular", None, "3")),
        ("trousers", "NOUN", "NNS", "Number=Ptan", ("plural", None, "3")),
        ("queen", "NOUN", "NN", "Number=Sing", ("singular", "feminine", "3")),
        ("runs", "VERB", "VBZ", "Number=Sing|Person=3", (None, None, None)),
        ("dogs", "_", "NNS", "_", ("plural", None, "3")),
        ("him", "_", "_", "_", ("singular", "masculine", "3")),
        ("x", "PRON", "_", "Gender=Com|Person=0", (None, None, None)),
    ],
)
def test_features_are_annotated_else_from_tag_and_lexicon(word, upos, xpos, feats, features):
    assert features_of_word(word, upos, xpos, feats) == Features(*features)


@pytest.mark.parametrize(
    ("words", "head", "kind", "is_coordination", "features"),
    [
        ("Ann and Bob", ("singular", "feminine", "3"), "proper", True, ("plural", None, "3")),
        ("Mrs. Dalloway", (None, None, None), "proper", False, (None, "feminine", "3")),
        ("these friends", (None, None, None), "nominal", False, ("plural", None, "3")),
        ("a thousand friends", ("plural", None, "3"), "nominal", False, ("plural", None, "3")),
        ("her", ("singular", "feminine", "3"), "pronoun", False, ("singular", "feminine", "3")),
        ("her sister", (None, None, None), "nominal", False, (None, None, "3")),
    ],
)
def test_a_mention_has_the_features_of_its_head_unless_it_is_a_pair(words, head, kind, is_coordination, features):
    assert features_of_mention(words.split(), Features(*head), kind, is_coordination) == Features(*features)
