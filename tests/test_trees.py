import polars as pl
import pytest
from checkpoints import SHARED, needs_shared_corpora, wrapped

from headscope.corpora.schemes import to_stanford
from headscope.corpora.trees import read_trees
from headscope.errors import InputError

DOGS = """\
# newdoc id = one
# sent_id = one-1
# text = Don't walk New York dogs.
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVB\t_\t3\taux\t_\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_
3\twalk\twalk\tVERB\tVB\t_\t0\troot\t_\t_
3.1\tghost\t_\t_\t_\t_\t_\t_\t3:dep\t_
4\tNew York\tNew York\tPROPN\tNNP\t_\t5\tcompound\t_\t_
5\tdogs\tdog\tNOUN\tNNS\t_\t3\tobj\t_\tSpaceAfter=No
6\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\tSpaceAfter=No

"""
TWO = DOGS + DOGS.replace("# newdoc id = one\n", "").replace("one-1", "one-2")


def read(tmp_path, content, **options):
    path = tmp_path / "trees"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_trees(path, shown_as="trees", **options)


def test_words_are_read_and_ranges_and_empty_nodes_are_none(tmp_path):
    trees, skipped = read(tmp_path, DOGS)
    row = trees.row(0, named=True)
    assert row["words"] == ["Do", "n't", "walk", "New York", "dogs", "."]
    assert row["ud_heads"] == [3, 3, 0, 5, 3, 3]
    assert row["ud_relations"] == ["aux", "advmod", "root", "compound", "obj", "punct"]
    assert row["xpos"] == ["VB", "RB", "VB", "NNP", "NNS", "."]
    assert (row["example"], row["where"], row["sentence"], row["document"]) == (1, "trees:4", "one-1", 1)
    assert skipped.is_empty()


def test_the_surface_text_can_be_rebuilt(tmp_path):
    row = read(tmp_path, DOGS)[0].row(0, named=True)
    text = "".join(word + " " * space for word, space in zip(row["words"], row["space_after"], strict=True))
    assert text == "Don't walk New York dogs."


def test_words_that_do_not_spell_their_token_stand_apart(tmp_path):
    du = "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tde\t_\tADP\t_\t_\t2\tcase\t_\t_\n2\tle\t_\tDET\t_\t_\t0\troot\t_\t_\n"
    assert read(tmp_path, du)[0]["space_after"].to_list() == [[True, True]]


def test_documents_and_sentences_are_counted(tmp_path):
    trees, _ = read(tmp_path, TWO + DOGS)
    assert trees["example"].to_list() == [1, 2, 3]
    assert trees["document"].to_list() == [1, 1, 2]
    assert trees["sentence"].to_list() == ["one-1", "one-2", "one-1"]


@pytest.mark.parametrize("content", wrapped(TWO).values(), ids=wrapped(TWO))
def test_the_wrapping_does_not_matter(tmp_path, content):
    trees, _ = read(tmp_path, content)
    assert trees.drop("where").equals(read(tmp_path, TWO)[0].drop("where"))


def test_conll_x_has_no_comments(tmp_path):
    conllx = "1\t#1\t_\tN\tNN\t_\t2\tSBJ\t_\t_\n2\truns\t_\tV\tVB\t_\t0\tROOT\t_\t_\n"
    row = read(tmp_path, conllx, format="conllx")[0].row(0, named=True)
    assert row["words"] == ["#1", "runs"]
    assert row["ud_relations"] == ["SBJ", "ROOT"]


def test_word_head_label_lines_split_at_the_last_blank_and_the_first_hyphen(tmp_path):
    lines = "New York 2-nn-x\n1 3/4 3-num\nleft 0-root\n\nGo 0-root\n"
    trees, _ = read(tmp_path, lines, format="word-head-label")
    assert trees["words"].to_list() == [["New York", "1 3/4", "left"], ["Go"]]
    assert trees["ud_heads"].to_list() == [[2, 3, 0], [0]]
    assert trees["ud_relations"].to_list() == [["nn-x", "num", "root"], ["root"]]


@pytest.mark.parametrize(
    ("before", "after", "line", "reason"),
    [
        ("3\twalk\twalk\tVERB\tVB\t_\t0", "3\twalk\twalk\tVERB\tVB\t_\t5", 4, "expected one root, found 0"),
        ("\t5\tcompound", "\t0\tcompound", 4, "expected one root, found 2"),
        ("\t5\tcompound", "\t9\tcompound", 4, "expected heads up to 6, found 9"),
        ("\t5\tcompound", "\t-1\tcompound", 9, "expected the number of a head, found '-1'"),
        ("\t5\tcompound", "\t_\tcompound", 9, "expected the number of a head, found '_'"),
        ("\t3\tobj", "\t4\tobj", 4, "words 4, 5 form a cycle"),
        ("\t3\tobj", "\t5\tobj", 4, "words 5 form a cycle"),
        ("4\tNew York\t", "4\tNew York\tx\t", 9, "expected 10 columns parted by tabs, found 11"),
        ("4\tNew York\t", "7\tNew York\t", 9, "expected word 4, found '7'"),
    ],
)
def test_what_is_no_tree_is_skipped_with_its_line_and_reason(tmp_path, before, after, line, reason):
    assert before in DOGS
    trees, skipped = read(tmp_path, DOGS.replace(before, after, 1) + DOGS, most_bad=0.5)
    assert trees["example"].to_list() == [2], "numbers count bad sentences too"
    assert skipped.rows() == [(1, f"trees:{line}", f"not a tree: {reason}")]


def test_too_many_bad_trees_are_an_error_that_shows_the_first(tmp_path):
    bad = DOGS.replace("\t5\tcompound", "\t9\tcompound")
    with pytest.raises(
        InputError, match=r"at most 5% of sentences .* found 1 of 2; .*\ntrees:4: not a tree: expected heads"
    ):
        read(tmp_path, bad + DOGS)


def test_a_file_without_sentences_is_refused(tmp_path):
    with pytest.raises(InputError, match="trees: expected a treebank, found no sentence"):
        read(tmp_path, "\n\n")


def test_the_wrong_format_is_told(tmp_path):
    with pytest.raises(InputError, match="found 2 of 2; mend the file, name its format"):
        read(tmp_path, "a 0-root\n\nb 0-root\n")


def stanford(*rows):
    """Convert rows of (head, relation, upos, xpos); only those that matter need tags."""
    filled = [(*row, "X", "X")[:4] for row in rows]
    return list(zip(*to_stanford(*map(list, zip(*filled, strict=True))), strict=True))


@pytest.mark.parametrize(
    ("ud", "paper"),
    [
        ("obj", "dobj"),
        ("compound", "nn"),
        ("nmod:poss", "poss"),
        ("aux:pass", "auxpass"),
        ("nsubj:pass", "nsubjpass"),
        ("compound:prt", "prt"),
        ("nummod", "num"),
        ("acl:relcl", "rcmod"),
        ("amod", "amod"),
        ("obl:unmarked", "obl:unmarked"),
    ],
)
def test_labels_take_their_stanford_names(ud, paper):
    assert stanford((2, ud), (0, "root")) == [(2, paper), (0, "root")]


@pytest.mark.parametrize("oblique", ["obl", "nmod", "obl:agent"])
def test_a_preposition_and_its_noun_turn_round(oblique):
    # sat on the mat: on <- mat <- sat becomes mat <- on <- sat
    trees = stanford((0, "root"), (4, "case", "ADP", "IN"), (4, "det"), (1, oblique))
    assert trees == [(0, "root"), (1, "prep"), (4, "det"), (2, "pobj")]


def test_of_two_prepositions_the_first_turns_and_the_second_stays():
    # came out of it
    trees = stanford((0, "root"), (4, "case", "ADP", "IN"), (4, "case", "ADP", "IN"), (1, "obl"))
    assert trees == [(0, "root"), (1, "prep"), (4, "case"), (2, "pobj")]


def test_nested_prepositional_phrases_each_turn():
    # top of roof of house: both nouns
    trees = stanford((0, "root"), (3, "case", "ADP", "IN"), (1, "nmod"), (5, "case", "ADP", "IN"), (3, "nmod"))
    assert trees == [(0, "root"), (1, "prep"), (2, "pobj"), (3, "prep"), (4, "pobj")]


def test_the_clitic_is_possessive_and_no_head_moves():
    trees = stanford((3, "nmod:poss"), (1, "case", "PART", "POS"), (0, "root"))
    assert trees == [(3, "poss"), (1, "possessive"), (0, "root")]


def test_an_adposition_of_another_relation_does_not_move():
    trees = stanford((2, "case", "ADP", "IN"), (0, "root"))
    assert trees == [(2, "case"), (0, "root")]
    assert stanford((2, "case", "PART", "TO"), (3, "obl"), (0, "root")) == [(2, "case"), (3, "obl"), (0, "root")]


@needs_shared_corpora
@pytest.mark.parametrize(
    ("file", "sentences", "words", "documents"),
    [
        ("ewt/en_ewt-ud-dev", 2001, 25_147, 318),
        ("ewt/en_ewt-ud-train", 12_544, 204_577, 540),
        ("gum/en_gum-ud-test", 1464, 28_397, 30),
    ],
)
def test_real_treebanks_are_read_whole(file, sentences, words, documents):
    trees, skipped = read_trees(SHARED / "data" / f"{file}.conllu")
    assert (trees.height, skipped.height) == (sentences, 0)
    assert trees["words"].list.len().sum() == words
    assert trees["document"].max() == documents


@needs_shared_corpora
def test_the_surface_text_of_a_real_treebank_is_rebuilt():
    path = SHARED / "data" / "ewt" / "en_ewt-ud-dev.conllu"
    texts = [line[9:].strip() for line in path.read_text("utf-8").split("\n") if line.startswith("# text = ")]
    trees, _ = read_trees(path)
    rebuilt = [
        "".join(word + " " * space for word, space in zip(words, spaces, strict=True)).strip()
        for words, spaces in trees.select("words", "space_after").iter_rows()
    ]
    assert rebuilt == texts


@needs_shared_corpora
def test_dependents_of_a_real_treebank_are_those_of_an_independent_count():
    trees, _ = read_trees(SHARED / "data" / "ewt" / "en_ewt-ud-dev.conllu")
    heads = trees.head(300)["ud_heads"].explode()
    assert (heads > 0).sum() == 5408
    for scheme in ("ud", "stanford"):
        assert trees.select((pl.col(f"{scheme}_heads").list.count_matches(0) == 1).all()).item()
