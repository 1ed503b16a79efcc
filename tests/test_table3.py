import html
import re

import polars as pl
import pytest

from headscope.description import Description, LayerView
from headscope.probes.names import PAPER_UAS, PAPER_UUAS, PRINTED
from headscope.probes.table3 import render_table3
from headscope.probes.tables import TABLE3

BERT = "google-bert/bert-base-uncased"
NAN = float("nan")
SCORED = {"sentences": 77, "words": 1024, "edges": 947}


def probe_row(probe, uas=None, uas_sd=None, uuas=None, tree_uas=None, **others):
    """One row of `probes/table3`: every interval is the score ± 0.02, every sd but that of UAS is 0.001."""
    row = dict.fromkeys(TABLE3) | {"probe": probe, "features": f"features of {probe}", "uas": uas, "uas_sd": uas_sd}
    row |= {"uuas": uuas, "tree_uas": tree_uas, "seeds": 5, "trained": 1200} | SCORED
    row |= {"uuas_sd": None if uuas is None else 0.001, "tree_uas_sd": None if tree_uas is None else 0.001}
    for name, score in (("uas", uas), ("uuas", uuas)):
        row |= {f"{name}_low": score and score - 0.02, f"{name}_high": score and score + 0.02}
    return row | others


BASELINE = {"seeds": 1, "trained": None, "uuas_sd": None}
ROWS = [
    probe_row("attention", 0.6, 0.004, 0.66, 0.61, selectivity=0.2),
    probe_row("attention+words", 0.751, 0.012, 0.79, 0.76, selectivity=-0.015),
    probe_row("right-branching", 0.263, uuas=0.4, **BASELINE),
    probe_row("structural", uuas=0.812, words=None),
    probe_row("attention.control", 0.4, 0.003, 0.5, sentences=70, words=900, edges=800),
    probe_row("attention+words.random", 0.31, 0.02, 0.4),
]


@pytest.fixture
def table3():
    return pl.DataFrame(ROWS, TABLE3)


def render(table3, model="m", corpus="c", source="x", train="t", as_html=False):
    return html.unescape(render_table3(table3, model, corpus, source, train, as_html))


def cells(text):
    """The cells of the Markdown table by the name of the row, the header under its own first cell."""
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line[:1] == "|"]
    return {first: others for first, *others in rows}


def test_every_number_stands_in_its_cell(table3):
    found = cells(render(table3))
    assert found["Probe"] == [
        *("Features", "UAS [95 % interval]", "UUAS [95 % interval]", "UAS, tree", "Selectivity", "Runs", "UAS (paper)"),
    ]
    assert found["Attention + words"] == [
        *("features of attention+words", r"75.1 ± 1.2 \[73.1, 77.1\]", r"79.0 ± 0.1 \[77.0, 81.0\]"),
        *("76.0 ± 0.1", "−1.5", "5", "77"),
    ]
    assert found["Attention"][1:] == [
        *(r"60.0 ± 0.4 \[58.0, 62.0\]", r"66.0 ± 0.1 \[64.0, 68.0\]", "61.0 ± 0.1", "20.0", "5", "61"),
    ]


def test_what_a_probe_does_not_have_is_a_dash(table3):
    found = cells(render(table3))
    assert found["Right-branching"][1:] == [r"26.3 \[24.3, 28.3\]", r"40.0 \[38.0, 42.0\]", "–", "–", "–", "26"]
    assert found["Structural probe"][1:] == ["–", r"81.2 ± 0.1 \[79.2, 83.2\]", "–", "–", "5", "80 (UUAS)"]
    assert found["Attention, permuted trees"][-1] == "–", "the paper has no such probe"


@pytest.mark.parametrize("missing", [None, NAN])
def test_a_single_run_has_no_deviation_and_a_single_sentence_no_interval(missing):
    row = probe_row("attention", 0.6, missing, seeds=1) | {"uas_low": missing, "uas_high": missing, "uuas": missing}
    found = cells(render(pl.DataFrame([row], TABLE3)))
    assert found["Attention"][1:3] == ["60.0", "–"]
    assert found["Attention"][5] == "1"


def test_rows_come_in_the_order_of_the_paper_whatever_that_of_the_table(table3):
    text = render(table3)
    names = list(cells(text))[2:]
    assert names == [name for name in PRINTED.values() if name in names]
    assert len(names) == len(ROWS)
    assert names[0] == "Right-branching"
    assert render(table3.reverse()) == text


def test_every_probe_has_a_row():
    table = pl.DataFrame([probe_row(probe, 0.5) for probe in reversed(PRINTED)], TABLE3)
    assert list(cells(render(table)))[2:] == list(PRINTED.values())


def test_the_papers_numbers_are_whole():
    assert (PAPER_UAS["attention+words"], PAPER_UAS["attention"], PAPER_UUAS["structural"]) == (77, 61, 80)
    assert PAPER_UAS.keys() | PAPER_UUAS.keys() <= PRINTED.keys()


@pytest.mark.parametrize("as_html", [True, False])
def test_notes_say_what_was_learned_from_and_scored_on(table3, as_html):
    text = render(table3, "m", "my-test", train="my-train", as_html=as_html)
    assert "Trained on 1,200 sentences of my-train, a tenth of them held out" in text
    assert "Scored on 77 sentences of my-test: 1,024 words, 947 edges." in text
    assert "each sentence is given the tree of another sentence of the same length" in text
    assert text.count("95 % interval of the mean by bootstrap over sentences") == 1
    assert "Punctuation does not count, the root of a sentence does." in text


def test_probes_that_learned_from_different_numbers_are_not_given_one():
    rows = [probe_row("attention", 0.6), probe_row("structural", uuas=0.8, trained=1100)]
    assert "Trained on 1,100 to 1,200 sentences of t," in render(pl.DataFrame(rows, TABLE3))


def test_baselines_alone_were_not_trained_and_an_empty_table_was_not_scored(table3):
    baselines = render(table3.filter(probe="right-branching"))
    assert "Trained on" not in baselines
    assert "Scored on 77 sentences" in baselines
    for as_html in (True, False):
        empty = render(table3.clear(), as_html=as_html)
        assert "Scored on" not in empty
        assert "Selectivity" in empty


@pytest.mark.parametrize(("source", "expected"), [(BERT, True), ("google-bert/bert-base-cased", False)])
@pytest.mark.parametrize("as_html", [True, False])
def test_a_note_says_whether_the_model_is_the_papers(table3, source, expected, as_html):
    text = render(table3, source=source, as_html=as_html)
    assert ("This model is the paper's." in text) == expected
    assert ("This model is not the paper's" in text) != expected
    assert "Clark et al. 2019, table 3: bert-base-uncased on the Penn Treebank" in text


def test_table_3_as_a_page(table3):
    page = render_table3(table3, "m", "c", BERT, "t", as_html=True)
    assert page.count("<table") == page.count('<div class="wide"') == 1
    assert re.findall(r'<th scope="row"[^>]*>([^<]*)', page)[-1] == "Structural probe"
    assert "75.1 ± 1.2 <small>[73.1, 77.1]</small>" in page
    assert "80 <small>(UUAS)</small>" in page
    assert page.count("paper-first") == 1 + 1 + len(ROWS)  # style, header, rows
    for outside in ("<script", "<link", "http:", "https:", "url(", "@import"):
        assert outside not in page


def test_hostile_names_stay_text_in_table_3(table3):
    hostile = table3.with_columns(features=pl.lit("</td><script>x|y"))
    page = render_table3(hostile, "<i>m</i>", "<b>c</b>", "x", "<u>t</u>", as_html=True)
    for tag in ("<script", "<i>", "<b>", "<u>"):
        assert tag not in page
    assert "of &lt;u&gt;t&lt;/u&gt;," in page
    text = render_table3(hostile, "<i>m</i>", "a|b & c", "x", "<u>t_1</u>", as_html=False)
    assert r"\<i\>m\</i\> on a\|b \& c" in text
    assert r"sentences of \<u\>t\_1\</u\>," in text
    assert r"77 sentences of a\|b \& c: 1,024 words" in text
    assert len({line.replace(r"\|", "").count("|") for line in text.splitlines() if line[:1] == "|"}) == 1


def test_the_script_writes_what_it_names(tmp_path, table3):
    import render_table3 as script

    view = LayerView(False, None)
    described = Description(
        "my-model", BERT, None, None, "Model", 2, 3, 8, 1, None, True, {}, [view] * 2, weights="w", tokenizer="t"
    )
    described.write(tmp_path / "description.json")
    table3.write_parquet(tmp_path / "table3.parquet")
    page, markdown = tmp_path / "table3.html", tmp_path / "table3.md"
    script.main(tmp_path / "description.json", tmp_path / "table3.parquet", page, markdown, "c", "my-train")
    assert "my-model on c" in page.read_text("utf-8")
    assert "This model is the paper's." in html.unescape(page.read_text("utf-8"))
    assert markdown.read_text("utf-8").startswith("# Table 3")
    assert "sentences of my-train" in markdown.read_text("utf-8")
