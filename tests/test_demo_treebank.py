"""The demo's treebank is gold: what can be checked of that by a program."""

import polars as pl
from checkpoints import REPOSITORY

from headscope.corpora.trees import read_trees

DEMO = REPOSITORY / "config" / "demo" / "treebank.conllu"
UPOS = {
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM"),
    *("PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X"),
}
RELATIONS = {
    *("acl", "advcl", "advmod", "amod", "appos", "aux", "case", "cc", "ccomp", "clf", "compound", "conj", "cop"),
    *("csubj", "dep", "det", "discourse", "dislocated", "expl", "fixed", "flat", "goeswith", "iobj", "list", "mark"),
    *("nmod", "nsubj", "nummod", "obj", "obl", "orphan", "parataxis", "punct", "reparandum", "root", "vocative"),
    "xcomp",
}
LEAVES = {"case", "mark", "det", "aux", "aux:pass", "cop", "punct", "cc", "compound:prt"}


def rows():
    for block in DEMO.read_text("utf-8").strip().split("\n\n"):
        comments = dict(line[2:].split(" = ", 1) for line in block.split("\n") if line.startswith("# "))
        yield comments, [line.split("\t") for line in block.split("\n") if not line.startswith("#")]


def surface_texts(trees):
    return [
        "".join(word + " " * space for word, space in zip(words, spaces, strict=True)).strip()
        for words, spaces in trees.select("words", "space_after").iter_rows()
    ]


def test_every_sentence_is_a_tree_of_ten_to_twenty_five_words():
    trees, skipped = read_trees(DEMO)
    assert skipped.is_empty()
    assert trees.height >= 150
    relations = trees["ud_relations"]
    words = relations.list.len() - relations.list.count_matches("punct")
    assert words.min() >= 10
    assert words.max() <= 25


def test_text_and_names_are_whole():
    trees, _ = read_trees(DEMO)
    texts = [comments["text"] for comments, _ in rows()]
    assert surface_texts(trees) == texts
    assert trees["sentence"].n_unique() == trees.height


def test_tags_and_relations_are_those_of_universal_dependencies():
    for comments, words in rows():
        for word in words:
            if "-" not in word[0]:
                assert word[3] in UPOS, comments["sent_id"]
                assert word[7].split(":")[0] in RELATIONS, comments["sent_id"]
                assert word[2] != "_", comments["sent_id"]
                assert (word[3] == "PUNCT") == (word[7] == "punct"), comments["sent_id"]
                assert (word[6] == "0") == (word[7] == "root"), comments["sent_id"]


def test_function_words_have_no_dependents_but_fixed_ones():
    for comments, words in rows():
        plain = [word for word in words if "-" not in word[0]]
        for word in plain:
            if word[6] != "0" and plain[int(word[6]) - 1][7] in LEAVES:
                assert word[7] in ("fixed", "conj", "cc", "goeswith", "punct", "advmod"), comments["sent_id"]


def test_it_is_rich_in_what_the_paper_scores():
    trees, _ = read_trees(DEMO)
    counts = dict(trees["stanford_relations"].explode().value_counts().iter_rows())
    wanted = {"nsubjpass": 25, "rcmod": 25, "prt": 20, "poss": 40, "dobj": 80, "prep": 100, "pobj": 100, "auxpass": 25}
    assert {relation: counts[relation] for relation in wanted if counts[relation] < wanted[relation]} == {}
    assert pl.Series(list(counts.values())).sum() > 2000
