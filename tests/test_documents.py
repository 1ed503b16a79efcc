"""Documents with coreference: brackets to mentions, in both formats, and what is refused or skipped."""

import polars as pl
import pytest
from checkpoints import REPOSITORY, SHARED, needs_shared_corpora

from headscope.corpora.documents import read_documents
from headscope.errors import InputError

GUM = SHARED / "data" / "gum" / "en_gum-ud-test.conllu"
HEADER = "# newdoc id = first\n# global.Entity = eid-etype-head-other\n"


def write(tmp_path, text, name="file"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def conllu(*words):
    """A sentence of words like `dog/2/Entity=(e1)`: form, head, MISC."""
    rows = []
    for number, word in enumerate(words, start=1):
        form, head, misc = [*word.split("/", 2), "_", "_"][:3]
        rows.append(f"{number}\t{form}\t_\t_\t_\t_\t{head}\t{'root' if head == '0' else 'dep'}\t_\t{misc}")
    return "\n".join(rows) + "\n\n"


def read(tmp_path, text, format="corefud", **options):
    return read_documents([write(tmp_path, text)], format, ["file"], **options)


def spans(mentions):
    return mentions.select("chain", "first", "last", "head", "head_by").rows()


def test_brackets_nest_cross_and_open_and_close_on_one_word(tmp_path):
    sentence = conllu(
        "the/2/Entity=(e1-person-2(e2-x-1",
        "man/0/Entity=e2)(e3-x-1)(e1-person-1",
        "saw/2/Entity=e1)",
        "him/3/Entity=e1)",
    )
    _, mentions, skipped = read(tmp_path, HEADER + sentence)
    assert skipped.is_empty()
    # e2 crosses nothing, but closes inside e1; the inner e1 closes first, as what its entity opened last.
    assert spans(mentions) == [
        ("e1", 1, 4, 2, "gold"),
        ("e2", 1, 2, 1, "gold"),
        ("e1", 2, 3, 2, "gold"),
        ("e3", 2, 2, 2, "gold"),
    ]
    assert mentions["entity"].to_list() == [1, 2, 1, 3]


def test_mentions_of_different_entities_may_cross(tmp_path):
    sentence = conllu("a/2/Entity=(e1-x-1", "b/0/Entity=(e2-x-1", "c/2/Entity=e1)", "d/2/Entity=e2)")
    _, mentions, _ = read(tmp_path, HEADER + sentence)
    assert spans(mentions) == [("e1", 1, 3, 1, "gold"), ("e2", 2, 4, 2, "gold")]


def test_an_entity_lives_across_sentences_and_ends_with_its_document(tmp_path):
    first = conllu("Ann/2/Entity=(1)", "ran/0") + conllu("She/2/Entity=(1)", "won/0")
    second = "# newdoc id = second\n" + conllu("Bob/2/Entity=(1)", "ate/0")
    documents, mentions, _ = read(tmp_path, "# newdoc id = first\n# global.Entity = GRP-etype\n" + first + second)
    assert documents["document"].to_list() == ["first", "second"]
    assert documents["sentences"].to_list() == [[1, 1, 2, 2], [1, 1]]
    assert mentions.select("example", "entity", "chain", "first", "text").rows() == [
        (1, 1, "1", 1, "Ann"),
        (1, 1, "1", 3, "She"),
        (2, 1, "1", 1, "Bob"),
    ]


def test_the_head_is_gold_or_the_word_that_hangs_outside(tmp_path):
    words = ["the/3/Entity=(e1-x-2(e2-x", "old/3", "dog/5/Entity=e2)", "there/3/Entity=e1)", "barks/0"]
    _, mentions, _ = read(tmp_path, HEADER + conllu(*words))
    assert spans(mentions) == [("e1", 1, 4, 2, "gold"), ("e2", 1, 3, 3, "dependency")]


def test_of_several_gold_words_the_head_of_these_is_taken(tmp_path):
    header = "# global.Entity = GRP-etype-infstat-salience-centering-minspan-link-identity\n"
    words = ["Miss/3/Entity=(7-person-new-s-cf1-1,3-coref-Ann", "dear/3", "Ann/4/Entity=7)", "ran/0"]
    _, mentions, _ = read(tmp_path, header + conllu(*words))
    assert spans(mentions) == [("7", 1, 3, 3, "gold")]


def test_without_a_tree_the_last_word_is_the_head(tmp_path):
    _, mentions, _ = read(tmp_path, HEADER + conllu("old/2/Entity=(e1", "dogs/1/Entity=e1)", "bark/0"))
    assert spans(mentions) == [("e1", 1, 2, 2, "last")]


def test_punctuation_is_no_head_while_a_word_can_be(tmp_path):
    rows = HEADER + (
        '1\t"\t_\tPUNCT\t_\t_\t4\tpunct\t_\tEntity=(e1\n2\tOld\t_\tADJ\t_\t_\t3\tamod\t_\t_\n'
        "3\tdogs\t_\tNOUN\t_\t_\t4\tnsubj\t_\tEntity=e1)\n4\tbark\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    )
    assert read(tmp_path, rows)[1]["head"].to_list() == [3]


def test_parts_are_joined_or_dropped_and_counted(tmp_path):
    words = ["turn/0/Entity=(e1[1/2]-x-1)", "it/1/Entity=(e2-x-1)", "off/1/Entity=(e1[2/2])"]
    _, joined, skipped = read(tmp_path, HEADER + conllu(*words))
    assert joined.select("chain", "first", "last", "discontinuous", "text").rows() == [
        ("e1", 1, 3, True, "turn off"),
        ("e2", 2, 2, False, "it"),
    ]
    assert skipped.is_empty()
    _, whole, skipped = read(tmp_path, HEADER + conllu(*words), discontinuous="drop")
    assert whole["chain"].to_list() == ["e2"]
    assert skipped.rows() == [(1, "file:3", "mention skipped: discontinuous")]


def test_mentions_on_empty_nodes_are_counted_and_others_span_them(tmp_path):
    text = HEADER + (
        "1\tSaw\t_\t_\t_\t_\t0\troot\t_\tEntity=(e3-x-1\n1.1\t_\t_\t_\t_\t_\t_\t_\t_\tEntity=(e1-x-1)\n"
        "1.2\t_\t_\t_\t_\t_\t_\t_\t_\tEntity=(e1-x-1)\n2\tAnn\t_\t_\t_\t_\t1\tobj\t_\tEntity=(e2-x-1)e3)\n\n"
    )
    _, mentions, skipped = read(tmp_path, text)
    assert spans(mentions) == [("e3", 1, 2, 1, "gold"), ("e2", 2, 2, 2, "gold")]
    assert skipped.rows() == [(1, "file:4", "mention skipped: on an empty node (2 in this document)")]


def test_a_mention_annotated_twice_counts_once(tmp_path):
    _, mentions, skipped = read(tmp_path, HEADER + conllu("Ann/0/Entity=(e1-x-1)(e1-x-1)"))
    assert mentions.height == 1
    assert skipped.rows() == [(1, "file:3", "mention skipped: annotated twice for one entity")]


@pytest.mark.parametrize(
    ("words", "line", "reason"),
    [
        (["a/0/Entity=(e1", "b/1"], 3, "the mention that (e1 opens is never closed"),
        (["a/0", "b/1/Entity=e1)"], 4, "the mention that e1) closes was never opened"),
        (["a/0/Entity=(e1[2/2])"], 3, "part 2 of 2 of a mention of e1 comes without part 1"),
        (["a/0/Entity=(e1[1/2])"], 3, "of a mention of e1 in 2 parts, only 1 are there"),
        (["a/0/Entity=(e1[x])"], 3, "expected a part like e1[1/2], found e1[x]"),
        (["a/0/Entity=e1"], 3, "expected brackets like (e1-person-1, e1) or (e1), found Entity=e1"),
        (["a/0/Entity=(-person)"], 3, "expected the chain of the mention, found Entity=(-person)"),
        (["a/0/Entity=(e1-person-2)"], 3, "expected a head among the 1 words of the mention, found 2"),
        (["a/x"], 3, "expected the number of a head, found 'x'"),
    ],
)
def test_a_bad_document_is_skipped_with_file_and_line_and_the_others_stay(tmp_path, words, line, reason):
    good = "# newdoc id = good\n" + conllu("Ann/2/Entity=(e1-x-1)", "ran/0")
    documents, mentions, skipped = read(tmp_path, HEADER + conllu(*words) + good)
    assert documents.select("example", "document").rows() == [(2, "good")]
    assert mentions["example"].to_list() == [2]
    assert skipped.rows() == [(1, f"file:{line}", f"document skipped: {reason}")]


def test_entity_on_a_multiword_token_is_refused(tmp_path):
    range_line = "1-2\tdel\t_\t_\t_\t_\t_\t_\t_\tEntity=(e1)\n"
    good = "# newdoc id = good\n" + conllu("Ann/0/Entity=(e1-x-1)")
    _, _, skipped = read(tmp_path, HEADER + range_line + conllu("de/0", "el/1") + good)
    assert skipped["reason"].to_list() == ["document skipped: expected Entity= on words, found it on a multiword token"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "# global.Entity = etype-head\n" + conllu("Ann/0/Entity=(person-1)"),
            r"file:2: expected the chain .* found etype-head",
        ),
        (
            conllu("Ann/0/Entity=(e1)"),
            r"file:1: expected `# global.Entity = eid-...` before the first Entity=, found none",
        ),
        (conllu("Ann/0"), r"file: expected mentions of entities, found none in 1 documents"),
        (HEADER + conllu("Ann/0/Entity=(e1"), r"file: expected documents, found 1 and none that can be read"),
        ("", r"file: expected documents, found 0 and none"),
    ],
)
def test_a_file_without_chains_is_refused_by_name(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, text)


def conll(*rows, name="doc", part="0", separator=" "):
    """A document of CoNLL-2012: words like `dog NN (NP*) (1)`, blank ones end a sentence."""
    lines = [f"#begin document ({name}); part {part}"]
    for row in rows:
        word, tag, bit, chains = (row.split() + ["-"] * 4)[:4] if row else [""] * 4
        lines.append(separator.join([name, part, "0", word, tag, bit, *"-----", "*", chains]) if row else "")
    return "\n".join([*lines, "", "#end document", ""])


@pytest.mark.parametrize("separator", [" ", "    ", "\t"])
def test_conll2012_is_read_with_tabs_or_blanks(tmp_path, separator):
    rows = ["The DT (TOP(S(NP* (1|(2", "dogs NNS *) 2)|1)", "bark VBP (VP*))) (3)", "", "They PRP (TOP(NP*)) (1)"]
    documents, mentions, _ = read(tmp_path, conll(*rows, separator=separator), "conll2012")
    assert documents["words"].to_list() == [["The", "dogs", "bark", "They"]]
    assert spans(mentions) == [
        ("1", 1, 2, 2, "collins"),
        ("2", 1, 2, 2, "collins"),
        ("3", 3, 3, 3, "collins"),
        ("1", 4, 4, 4, "collins"),
    ]
    assert mentions["mention_type"].to_list() == ["nominal", "nominal", "nominal", "pronoun"]


def test_documents_and_parts_count_by_themselves(tmp_path):
    text = conll("Ann NNP * (1)") + conll("Bob NNP * (1)", part="1") + conll("It PRP * (1)", name="other", part="000")
    documents, mentions, _ = read(tmp_path, text, "conll2012")
    assert documents["document"].to_list() == ["doc", "doc part 1", "other"]
    assert mentions.select("example", "entity").rows() == [(1, 1), (2, 1), (3, 1)]


def test_columns_that_hold_nothing_may_be_dashes_underscores_or_empty(tmp_path):
    row = "d\t0\t{}\t{}\t_\t_\t_\t_\t_\t_\t_\t_\t{}"
    lines = [
        "#begin document (d); part 0",
        row.format(0, "The", "(0"),
        row.format(1, "end", "0)"),
        row.format(2, ".", ""),
    ]
    _, mentions, _ = read(tmp_path, "\n".join([*lines, "", "#end document"]), "conll2012")
    assert spans(mentions) == [("0", 1, 2, 2, "last")]


def test_the_escapes_of_the_treebank_are_undone(tmp_path):
    documents, _, _ = read(tmp_path, conll("-LRB- -LRB- * -", "`` `` * -", "/. . * -", "A DT * (1)"), "conll2012")
    assert documents["words"].to_list() == [["(", '"', ".", "A"]]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (conll("a NN * (1"), 2, "the mention that (1 opens is never closed"),
        (conll("a NN * 1)"), 2, "the mention that 1) closes was never opened"),
        (conll("a NN * (1)x"), 2, "expected brackets like (1, 1) or (1)|(2, found (1)x"),
        (
            conll("a NN * (1)").replace("#end document\n", ""),
            1,
            "expected `#end document` before the next document, found none",
        ),
    ],
)
def test_a_bad_document_of_conll2012_is_skipped(tmp_path, text, line, reason):
    documents, _, skipped = read(tmp_path, text + conll("Ann NNP * (1)", name="good"), "conll2012")
    assert documents["document"].to_list() == ["good"]
    assert skipped.rows() == [(1, f"file:{line}", f"document skipped: {reason}")]


def test_a_file_that_was_cut_short_loses_its_last_document_only(tmp_path):
    text = conll("Ann NNP * (1)") + conll("Bob NNP * (1)", name="cut").replace("#end document\n", "")
    _, _, skipped = read(tmp_path, text, "conll2012")
    assert skipped["reason"].to_list() == ["document skipped: expected `#end document`, found the end of the file"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (conll("[WORD] NN * (1)"), r"file:2: expected words, found \[WORD\]: a skeleton"),
        ("#begin document (d);\nd (1)\n#end document\n", r"file:2: expected the columns of CoNLL-2012 .*, found 2"),
        ("d 0 0 a NN * (1)\n", r"file:1: expected `#begin document"),
    ],
)
def test_a_file_without_words_is_refused_by_name(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, text, "conll2012")


def test_files_are_read_one_after_the_other(tmp_path):
    paths = [write(tmp_path, conll(f"{name} NNP * (1)"), name) for name in ("Ann", "Bob")]
    documents, mentions, _ = read_documents(paths, "conll2012", ["a", "b"])
    assert documents.select("example", "where").rows() == [(1, "a:1"), (2, "b:1")]
    assert mentions["where"].to_list() == ["a:2", "b:2"]


def test_the_order_of_documents_changes_no_mention(tmp_path):
    blocks = [conll("Ann NNP * (1)", "", "she PRP * (1)", name="x"), conll("Bob NNP * (7)", name="y")]
    (_, one, _), (_, other, _) = (read(tmp_path, "".join(order), "conll2012") for order in (blocks, blocks[::-1]))
    columns = ["entity", "chain", "first", "last", "text", "mention_type", "number", "gender", "person"]
    assert one.filter(example=1).select(columns).equals(other.filter(example=2).select(columns))


def to_conll2012(documents, mentions):
    """The same documents in the other format, brackets only."""
    for row in documents.iter_rows(named=True):
        cells = [[] for _ in row["words"]]
        for first, last, entity in (
            mentions.filter(example=row["example"]).select("first", "last", "entity").iter_rows()
        ):
            if first == last:
                cells[first - 1].append(f"({entity})")
            else:
                cells[first - 1].append(f"({entity}")
                cells[last - 1].insert(0, f"{entity})")
        rows = [f"{word} - - {'|'.join(cell) or '-'}" for word, cell in zip(row["words"], cells, strict=True)]
        yield conll(*rows, name=row["document"])


def first_seen(mentions):
    """Entities numbered by the order of their first mention in (first, last), whatever the reader called them."""
    order = mentions.sort("example", "first", "last", "entity")
    firsts = order.group_by("example", "entity", maintain_order=True).agg(pl.first("first", "last"))
    named = dict(zip(firsts.select("example", "entity").iter_rows(), range(firsts.height), strict=True))
    return pl.Series([named[row] for row in mentions.select("example", "entity").iter_rows()])


@pytest.mark.parametrize("path", [REPOSITORY / "config/demo/coreference.conllu", GUM], ids=["demo", "gum"])
def test_the_same_documents_in_both_formats_have_the_same_mentions(tmp_path, path):
    if not path.is_file():
        pytest.skip(f"no corpus at {path}")
    documents, mentions, _ = read_documents([path])
    other_documents, others, skipped = read(tmp_path, "".join(to_conll2012(documents, mentions)), "conll2012")
    assert skipped.is_empty()
    assert other_documents["words"].list.len().to_list() == documents["words"].list.len().to_list()
    columns = ["example", "first", "last", "entity"]
    in_order, others_in_order = (
        table.with_columns(entity=first_seen(table)).select(columns).sort(columns) for table in (mentions, others)
    )
    assert others_in_order.equals(in_order)


@needs_shared_corpora
def test_gum_has_the_mentions_that_its_readme_counts():
    documents, mentions, skipped = read_documents([GUM])
    assert documents.height == 30
    assert mentions.height + skipped.height == 7927
    assert mentions.select(pl.struct("example", "entity").n_unique()).item() == 4318  # one stands on an empty node only
    assert set(mentions["head_by"]) == {"gold"}


@needs_shared_corpora
def test_litbank_has_the_mentions_and_chains_that_its_readme_counts():
    paths = sorted((SHARED / "data" / "coref" / "litbank").iterdir())
    documents, mentions, skipped = read_documents(paths, "conll2012")
    assert (documents.height, mentions.height, skipped.height) == (60, 17702, 0)
    assert mentions.select(pl.struct("example", "entity").n_unique()).item() == 4776
    assert documents["words"].list.len().sum() == 126269


@needs_shared_corpora
def test_the_parse_bits_of_gum_give_every_head():
    paths = sorted((SHARED / "data" / "coref" / "gum-conll2012").glob("*conll"))
    documents, mentions, _ = read_documents(paths, "conll2012")
    assert (documents.height, mentions.height) == (12, 1932)
    assert set(mentions["head_by"]) == {"collins"}


@needs_shared_corpora
def test_gum_in_both_layouts_has_the_same_words_and_nearly_the_same_mentions(tmp_path):
    """OntoNotes has no singletons and has events in chains; what both schemes have, both readers give alike."""
    paths = sorted((SHARED / "data" / "coref" / "gum-conll2012").glob("*conll"))
    names = {path.name.removesuffix(".v4_gold_conll") for path in paths}
    train = (SHARED / "data" / "gum" / "en_gum-ud-train.conllu").read_text("utf-8").split("# newdoc id = ")[1:]
    chosen = [text for text in train if text.split("\n", 1)[0] in names]
    documents, mentions, _ = read(tmp_path, "".join(f"# newdoc id = {text}" for text in chosen))
    other_documents, others, _ = read_documents(paths, "conll2012")
    assert documents["words"].to_list() == other_documents["words"].to_list()
    shared = mentions.join(others, on=["example", "first", "last"], suffix="_other")
    assert shared.height == 1855
    assert (shared["head"] == shared["head_other"]).mean() > 0.94  # given names in UD, surnames by Collins
    assert (shared["mention_type"] == shared["mention_type_other"]).mean() > 0.98
