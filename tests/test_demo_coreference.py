"""The demo's coreference corpus is gold: what can be checked of that by a program."""

import re
from collections import Counter
from dataclasses import dataclass

import pytest
from checkpoints import REPOSITORY
from test_demo_treebank import LEAVES, RELATIONS, UPOS, surface_texts

from headscope.corpora.documents import read_documents
from headscope.corpora.trees import read_trees

DEMO = REPOSITORY / "config" / "demo" / "coreference.conllu"
FIELDS = "# global.Entity = eid-etype-head-other"
TYPES = {
    *("abstract", "animal", "event", "object", "organization", "person", "place", "plant", "substance", "time"),
}
BRACKET = re.compile(r"\((?P<opened>e\d+_\d+)-(?P<type>[a-z]+)-(?P<head>\d+)(?P<alone>\))?|(?P<closed>e\d+_\d+)\)")


@dataclass
class Mention:
    document: str
    sentence: str
    entity: str
    type: str
    first: int  # words count from 0, the last one is inside
    last: int
    head: int
    words: list[list[str]]  # the sentence's rows

    @property
    def head_row(self):
        return self.words[self.head]


def sentences():
    """Document, comments, all rows and those of words (without the ranges of multiword tokens)."""
    document = ""
    for block in DEMO.read_text("utf-8").strip().split("\n\n"):
        comments = dict(line[2:].split(" = ", 1) for line in block.split("\n") if line.startswith("# "))
        document = comments.get("newdoc id", document)
        rows = [line.split("\t") for line in block.split("\n") if not line.startswith("#")]
        yield document, comments, rows, [row for row in rows if "-" not in row[0]]


def misc_of(row):
    return {} if row[9] == "_" else dict(item.split("=", 1) for item in row[9].split("|"))


def read_mentions():
    mentions = []
    for document, comments, _, words in sentences():
        still_open = []
        for place, row in enumerate(words):
            entity_column = misc_of(row).get("Entity", "")
            assert BRACKET.sub("", entity_column) == "", comments["sent_id"]
            for bracket in BRACKET.finditer(entity_column):
                if bracket["opened"]:
                    head = place + int(bracket["head"]) - 1
                    mention = Mention(
                        document, comments["sent_id"], bracket["opened"], bracket["type"], place, place, head, words
                    )
                    mentions.append(mention)
                    if not bracket["alone"]:
                        still_open.append(mention)
                else:
                    assert still_open, comments["sent_id"]
                    innermost = still_open.pop()
                    assert innermost.entity == bracket["closed"], f"{comments['sent_id']}: crossing or open brackets"
                    innermost.last = place
        assert not still_open, comments["sent_id"]
    return mentions


@pytest.fixture(scope="module")
def mentions():
    return read_mentions()


def kind(mention):
    upos = mention.head_row[3]
    return {"PRON": "pronoun", "DET": "pronoun", "PROPN": "proper"}.get(upos, "nominal")


def test_every_sentence_is_a_tree():
    trees, skipped = read_trees(DEMO)
    assert skipped.is_empty()
    assert trees.height == len(list(sentences()))


def test_the_library_reads_the_mentions_that_these_few_lines_read(mentions):
    documents, read, skipped = read_documents([DEMO])
    assert skipped.is_empty()
    name_of = dict(documents.select("example", "document").iter_rows())
    found = Counter(
        (
            name_of[row["example"]],
            row["chain"],
            row["last"] - row["first"],
            row["head"] - row["first"],
            row["head_word"],
        )
        for row in read.iter_rows(named=True)
    )
    assert found == Counter(
        (
            mention.document,
            mention.entity,
            mention.last - mention.first,
            mention.head - mention.first,
            mention.head_row[1],
        )
        for mention in mentions
    )
    assert Counter(read["mention_type"]) == Counter(map(kind, mentions))


def test_text_and_names_are_whole():
    trees, _ = read_trees(DEMO)
    texts = [comments["text"] for _, comments, _, _ in sentences()]
    assert surface_texts(trees) == texts
    assert trees["sentence"].n_unique() == trees.height


def test_documents_and_sentences_are_numbered_through():
    documents = list(dict.fromkeys(document for document, *_ in sentences()))
    assert documents == [f"demo-coref-{number:02}" for number in range(1, len(documents) + 1)]
    for document in documents:
        names = [comments["sent_id"] for of, comments, _, _ in sentences() if of == document]
        assert names == [f"{document}-{number}" for number in range(1, len(names) + 1)]


def test_documents_have_eighty_to_a_hundred_and_fifty_words_in_five_to_nine_sentences():
    words, sentence_counts = Counter(), Counter()
    for document, _, _, rows in sentences():
        words[document] += sum(row[3] != "PUNCT" for row in rows)
        sentence_counts[document] += 1
    assert {document: count for document, count in words.items() if not 80 <= count <= 150} == {}
    assert {document: count for document, count in sentence_counts.items() if not 5 <= count <= 9} == {}


def test_tags_and_relations_are_those_of_universal_dependencies():
    for _, comments, _, words in sentences():
        for word in words:
            assert word[3] in UPOS, comments["sent_id"]
            assert word[7].split(":")[0] in RELATIONS, comments["sent_id"]
            assert word[2] != "_", comments["sent_id"]
            assert (word[3] == "PUNCT") == (word[7] == "punct"), comments["sent_id"]
            assert (word[6] == "0") == (word[7] == "root"), comments["sent_id"]


def test_function_words_have_no_dependents_but_fixed_ones():
    for _, comments, _, words in sentences():
        for word in words:
            if word[6] != "0" and words[int(word[6]) - 1][7] in LEAVES:
                assert word[7] in ("fixed", "conj", "cc", "goeswith", "punct", "advmod"), comments["sent_id"]


def test_pronouns_of_the_third_person_singular_have_a_gender():
    for _, comments, _, words in sentences():
        for word in words:
            features = dict(item.split("=") for item in word[5].split("|") if item != "_")
            if word[3] == "PRON" and features.get("Person") == "3" and features.get("Number") == "Sing":
                assert features.get("Gender") in ("Fem", "Masc", "Neut"), comments["sent_id"]


def test_the_fields_of_a_mention_are_named_once():
    lines = DEMO.read_text("utf-8").split("\n")
    assert [number for number, line in enumerate(lines) if line.startswith("# global.Entity")] == [1]
    assert lines[1] == FIELDS


def test_keys_of_the_last_column_are_known_and_sorted():
    for _, comments, rows, _ in sentences():
        for row in rows:
            keys = list(misc_of(row))
            assert keys == sorted(keys), comments["sent_id"]
            assert set(keys) <= {"Entity", "SpaceAfter"}, comments["sent_id"]
            assert not ("-" in row[0] and "Entity" in keys), comments["sent_id"]


def test_brackets_balance_and_nest(mentions):
    assert mentions
    spans = Counter((mention.sentence, mention.first, mention.last) for mention in mentions)
    assert [span for span, count in spans.items() if count > 1] == []


def test_a_mention_opens_before_those_inside_it():
    for _, comments, _, words in sentences():
        for row in words:
            openers = [bracket for bracket in BRACKET.finditer(misc_of(row).get("Entity", "")) if bracket["opened"]]
            alone = [bracket["alone"] is not None for bracket in openers]
            assert alone == sorted(alone), comments["sent_id"]


def test_the_head_of_a_mention_is_its_only_word_with_a_head_outside(mentions):
    for mention in mentions:
        inside = range(mention.first, mention.last + 1)
        assert mention.head in inside, mention
        tops = [place for place in inside if int(mention.words[place][6]) - 1 not in inside]
        assert tops == [mention.head], f"{mention.sentence}: {mention.entity} at word {mention.first + 1}"


def test_mentions_neither_start_nor_end_with_punctuation_or_a_function_word_outside(mentions):
    for mention in mentions:
        where = f"{mention.sentence}: {mention.entity} at word {mention.first + 1}"
        start, end = mention.words[mention.first], mention.words[mention.last]
        assert start[3] != "PUNCT" and start[7] not in ("case", "cc", "mark"), where
        assert end[3] != "PUNCT", where


def test_entities_are_numbered_through_each_document(mentions):
    entities = {}
    for mention in mentions:
        entities.setdefault(mention.document.removeprefix("demo-coref-"), {})[mention.entity] = None
    for document, found in entities.items():
        assert list(found) == [f"e{document}_{number}" for number in range(1, len(found) + 1)], document


def test_an_entity_has_one_known_type(mentions):
    types = {}
    for mention in mentions:
        assert mention.type in TYPES, mention.entity
        assert types.setdefault(mention.entity, mention.type) == mention.type, mention.entity


def test_every_personal_and_demonstrative_pronoun_is_a_mention_and_no_relative_is(mentions):
    heads = {(mention.sentence, mention.head) for mention in mentions}
    for _, comments, _, words in sentences():
        for place, row in enumerate(words):
            features = row[5].split("|")
            if row[3] == "PRON" and ("PronType=Prs" in features or "PronType=Dem" in features):
                assert ((comments["sent_id"], place) in heads) == (row[7] != "expl"), f"{comments['sent_id']}: {row[1]}"
            if "PronType=Rel" in features or "PronType=Int" in features:
                assert (comments["sent_id"], place) not in heads, f"{comments['sent_id']}: {row[1]}"


def test_pronouns_of_one_entity_agree(mentions):
    genders = {}
    for mention in mentions:
        features = dict(item.split("=") for item in mention.head_row[5].split("|") if item != "_")
        stands_for_what_is_owned = "Poss" in features and mention.head_row[7] != "nmod:poss"  # hers: her sandwich
        if mention.head_row[3] == "PRON" and "Gender" in features and not stands_for_what_is_owned:
            genders.setdefault(mention.entity, set()).add(features["Gender"])
    assert {entity: found for entity, found in genders.items() if len(found) > 1} == {}


def test_it_is_rich_in_every_kind_of_mention(mentions):
    sizes = Counter(mention.entity for mention in mentions)
    counts = Counter(kind(mention) for mention in mentions)
    counts["entity"] = len(sizes)
    counts["singleton"] = sum(size == 1 for size in sizes.values())
    counts["nested"] = sum(
        any(
            outer.sentence == mention.sentence
            and outer.first <= mention.first
            and mention.last <= outer.last
            and outer is not mention
            for outer in mentions
        )
        for mention in mentions
    )
    counts["across sentences"] = sum(
        len({mention.sentence for mention in mentions if mention.entity == entity}) > 1 for entity in sizes
    )
    counts["document"] = len({mention.document for mention in mentions})
    wanted = {
        "document": 28,
        "entity": 550,
        "pronoun": 500,
        "proper": 130,
        "nominal": 580,
        "nested": 320,
        "singleton": 350,
        "across sentences": 130,
    }
    assert {name: counts[name] for name in wanted if counts[name] < wanted[name]} == {}
