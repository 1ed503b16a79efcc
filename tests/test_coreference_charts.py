import html
import json
import re
import subprocess
import sys

import polars as pl
import pytest
from checkpoints import REPOSITORY

from headscope.charts import theme
from headscope.charts.coreference_distances import coreference_distances
from headscope.charts.coreference_heads import coreference_heads
from headscope.charts.figure_5_coreference import (
    DARKEST_NOT_PICKED,
    LOOKS,
    MOST_CHARACTERS,
    OTHER,
    RIGHT,
    WIDTH_OF_PICKED,
    WRONG,
    figure_5_coreference,
)
from headscope.coreference.names import TYPES, predictor_name
from headscope.coreference.table2 import PAPER, render_table2

TO_ANTECEDENT, TO_ANAPHOR = "anaphor_to_antecedent", "antecedent_to_anaphor"
HOSTILE = '</script><script>alert("x")</script>'
BERT = "google-bert/bert-base-uncased"
NAN = float("nan")
TABLE2 = {"candidates": pl.String, "predictor": pl.String, "layer": pl.UInt16, "head": pl.UInt16}
TABLE2 |= {"direction": pl.String}
for kind in TYPES:
    TABLE2 |= {f"{kind}_accuracy": pl.Float64, f"{kind}_ci_low": pl.Float64, f"{kind}_ci_high": pl.Float64}
    TABLE2 |= {f"{kind}_total": pl.UInt32}


def predictor_row(predictor, accuracies, totals=(1200, 700, 300, 200), candidates="mentions"):
    """One row of `coreference/table2`: every interval is the accuracy ± 0.1."""
    row = {"candidates": candidates, "predictor": predictor, "layer": None, "head": None, "direction": None}
    if predictor == "head":
        row |= {"layer": 2, "head": 3, "direction": TO_ANTECEDENT}
    for kind, accuracy, total in zip(TYPES, accuracies, totals, strict=True):
        ends = (None, None) if accuracy is None else (accuracy - 0.1, accuracy + 0.1)
        row |= {f"{kind}_accuracy": accuracy, f"{kind}_ci_low": ends[0], f"{kind}_ci_high": ends[1]}
        row |= {f"{kind}_total": total}
    return row


@pytest.fixture
def table2():
    rows = [
        predictor_row("nearest", (0.3, 0.2, 0.4, 0.5)),
        predictor_row("head_match", (0.4, 0.3, 0.5, 0.6)),
        predictor_row("rules", (0.5, 0.4, 0.6, 0.7)),
        predictor_row("head", (0.651, 0.5, 0.7, 0.8)),
        predictor_row("held_out", (0.6, 0.45, 0.65, 0.75)),
        predictor_row("head", (0.25, 0.5, 0.7, 0.8), candidates="words"),
    ]
    return pl.DataFrame(rows, TABLE2)


@pytest.fixture
def heads():
    """Two layers of three heads; 2-3 is the best but for proper nouns, where it is 1-2 in the other direction."""
    rows = []
    for candidates in ("mentions", "words"):
        for kind, total in zip(TYPES, (1200, 700, 300, 200), strict=True):
            for layer in (1, 2):
                for head in (1, 2, 3):
                    for direction in (TO_ANTECEDENT, TO_ANAPHOR):
                        share = 0.2 if direction == TO_ANAPHOR else 0.1
                        if (layer, head, direction) == (2, 3, TO_ANTECEDENT):
                            share = 0.65
                        if (kind, layer, head, direction) == ("proper", 1, 2, TO_ANAPHOR):
                            share = 0.75
                        rows.append((candidates, kind, layer, head, direction, round(share * total), total, share))
    names = ["candidates", "mention_type", "layer", "head", "direction", "correct", "total", "accuracy"]
    return pl.DataFrame(rows, names, orient="row")


def distance_rows(predictor, accuracies, totals=(40, 20, 10)):
    rows = []
    for (low, high), accuracy, total in zip([(1, 1), (2, 5), (6, None)], accuracies, totals, strict=True):
        ends = (None, None) if accuracy is None else (accuracy - 0.1, accuracy + 0.1)
        rows.append(("mentions", predictor, low, high, round((accuracy or 0) * total), total, accuracy, *ends))
    return rows


DISTANCES = {"candidates": pl.String, "predictor": pl.String, "distance_low": pl.UInt32, "distance_high": pl.UInt32}
DISTANCES |= {"correct": pl.UInt32, "total": pl.UInt32}
DISTANCES |= {"accuracy": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64}


@pytest.fixture
def distances():
    rows = [
        *distance_rows("nearest", (0.9, 0.5, 0.2)),
        *distance_rows("head_match", (0.8, 0.6, 0.3)),
        *distance_rows("rules", (0.7, 0.65, 0.4)),
        *distance_rows("head", (0.6, 0.55, 0.5)),
    ]
    return pl.DataFrame(rows, DISTANCES, orient="row")


LINKS = {"query": pl.UInt16, "key": pl.UInt16, "query_word": pl.String, "key_word": pl.String, "weight": pl.Float32}
LINKS |= {"anaphor": pl.UInt32, "antecedent": pl.Boolean, "picked": pl.Boolean}


def passage_of(words, weights, direction=TO_ANTECEDENT):
    """
    A passage and the links of its anaphors.

    `words` are (text, entity or None), with "_" at the end where no space follows; `weights` maps each anaphor's
    position to the weights of all mention heads before it.
    """
    seen, rows, links = set(), [], []
    for word, (text, entity) in enumerate(words, start=1):
        rows.append((word, text.rstrip("_"), not text.endswith("_"), entity is not None, word in weights, entity))
        if word in weights:
            for key, weight in zip(sorted(seen), weights[word], strict=True):
                key_text, key_entity = words[key - 1]
                links.append((word, key, text.rstrip("_"), key_text.rstrip("_"), weight))
                links[-1] += (len(links), key_entity == entity, weight == max(weights[word]))
        if entity is not None:
            seen.add(word)
    names = {"word": pl.UInt16, "text": pl.String, "space_after": pl.Boolean, "mention_head": pl.Boolean}
    names |= {"anaphor": pl.Boolean, "entity": pl.UInt32}
    same = {"layer": 2, "head": 3, "direction": direction, "accuracy": 0.651, "example": 7, "document": "doc"}
    table = pl.DataFrame(links, LINKS, orient="row").with_columns(
        anaphor=pl.col("query").cast(pl.UInt32), **{name: pl.lit(value) for name, value in same.items()}
    )
    return table, pl.DataFrame(rows, names, orient="row")


# 1 ( 2 Ann 3 , 4 who 5 sold 6 her 7 house 8 ) 9 missed 10 it
WORDS = [("(_", None), ("Ann_", 30), (",", None), ("who", None), ("sold", None), ("her", 30), ("house_", 8)]
WORDS += [(")", None), ("missed", None), ("it_", 8), ("._", None)]
WEIGHTS = {6: [0.4], 10: [0.6, 0.03, 0.3]}


def drawn(chart):
    """The rows that a chart draws, all its data sets together."""
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def drawn_lines(links, passage):
    chart = figure_5_coreference(links, passage, "m", "c")
    return {(r["query_token"], r["key_token"]): r for r in drawn(chart) if "kind" in r}


def texts(links, passage, align, colour):
    """The words of one side and colour, by row."""
    chart = figure_5_coreference(links, passage, "m", "c").to_dict()
    layers = [layer for layer in chart["layer"] if layer["mark"]["type"] == "text"]
    chosen = [layer for layer in layers if (layer["mark"]["align"], layer["mark"]["color"]) == (align, colour)]
    return {r["query_row"]: r["query_token"] for layer in chosen for r in chart["datasets"][layer["data"]["name"]]}


def files(folder, name="chart"):
    return {ending: folder / f"{name}.{ending}" for ending in ("html", "svg", "png")}


def specification(page):
    start = page.index('id="specification">') + len('id="specification">')
    return page[start : page.index("</script>", start)]


def markdown_rows(text):
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line[:1] == "|"]


def test_table_2_in_markdown(table2):
    text = render_table2(table2, "my_model", "c", "x", as_html=False)
    rows = markdown_rows(text.split("## Candidates: all other words")[0])
    assert rows[0] == [
        *("Predictor", "All (n = 1,200)", "Pronoun (n = 700)", "Proper noun (n = 300)", "Nominal (n = 200)"),
        *("All (paper)", "Pronoun (paper)", "Proper noun (paper)", "Nominal (paper)"),
    ]
    assert rows[2] == [
        *("nearest", r"30.0 \[20.0, 40.0\]", r"20.0 \[10.0, 30.0\]", r"40.0 \[30.0, 50.0\]", r"50.0 \[40.0, 60.0\]"),
        *("27", "29", "29", "19"),
    ]
    assert [row[0] for row in rows[2:]] == [
        *("nearest", "same head word, else nearest", "four-sieve rules"),
        *("best head 2-3 (anaphor to antecedent)", "best head, held out"),
    ]
    assert rows[5][1] == r"65.1 \[55.1, 75.1\]"
    assert [row[5] for row in rows[2:]] == ["27", "52", "69", "65", "–"]
    assert r"my\_model on c" in text


def test_rows_come_in_the_same_order_whatever_that_of_the_table(table2):
    text = render_table2(table2, "m", "c", "x", as_html=False)
    reordered = pl.concat([table2.filter(candidates="mentions").reverse(), table2.filter(candidates="words")])
    assert render_table2(reordered, "m", "c", "x", as_html=False) == text


def test_the_papers_numbers_stand_only_beside_earlier_mentions_and_say_whose_they_are(table2):
    text = render_table2(table2, "m", "c", "x", as_html=False)
    before, after = text.split("## Candidates: all other words")
    assert "bert-base-uncased on CoNLL-2012, documents cut to 128 tokens" in before
    assert "candidates were never published" in before
    assert "aper" not in after
    page = render_table2(table2, "m", "c", "x", as_html=True)
    assert page.count('colspan="4"') == page.count('colspan="5"') == 1
    assert ">Clark et al. 2019: bert-base-uncased on CoNLL-2012</th>" in page
    assert page.count("paper-first") == 1 + 1 + 1 + 5  # style, above, header, rows


@pytest.mark.parametrize(("source", "expected"), [(BERT, True), ("google-bert/bert-base-cased", False)])
def test_a_note_says_whether_the_model_is_the_papers(table2, source, expected):
    for as_html in (True, False):
        text = html.unescape(render_table2(table2, "m", "c", source, as_html))
        assert ("This model is the paper's." in text) == expected
        assert ("This model is not the paper's" in text) != expected


def test_the_papers_table_is_whole():
    assert PAPER["head"] == (65, 64, 73, 58)
    assert PAPER["rules"] == (69, 70, 77, 60)
    assert list(PAPER) == ["nearest", "head_match", "rules", "head"]


@pytest.mark.parametrize("missing", [None, NAN])
def test_an_interval_that_does_not_exist_is_left_out(missing):
    row = predictor_row("rules", (0.5, 0.4, 0.6, None), (10, 5, 5, 0))
    row |= {"all_ci_low": missing, "all_ci_high": missing, "nominal_accuracy": missing}
    rows = markdown_rows(render_table2(pl.DataFrame([row], TABLE2), "m", "c", "x", as_html=False))
    assert rows[2][1] == "50.0"
    assert rows[2][2] == r"40.0 \[30.0, 50.0\]"
    assert rows[2][4] == "–"
    assert rows[0][4] == "Nominal (n = 0)"


def test_table_2_as_a_page(table2):
    page = render_table2(table2, "m", "c", BERT, as_html=True)
    assert page.count("<table") == page.count('<div class="wide"') == 2
    assert re.findall(r'<th scope="row"[^>]*>([^<]*)', page)[3:] == [
        *("best head 2-3 (anaphor to antecedent)", "best head, held out", "best head 2-3 (anaphor to antecedent)"),
    ]
    assert re.findall(r'<h2 id="([^"]*)">([^<]*)', page) == [
        ("candidates-1", "Candidates: earlier mentions"),
        ("candidates-2", "Candidates: all other words"),
    ]
    assert page.count("bootstrap over documents") == 1
    assert "65.1 <small>[55.1, 75.1]</small>" in page
    assert "All <small>(n = 1,200)</small>" in page
    for outside in ("<script", "<link", "http:", "https:", "url(", "@import"):
        assert outside not in page


def test_table_2_says_what_it_counts(table2):
    for as_html in (True, False):
        text = render_table2(table2, "m", "c", "x", as_html)
        for said in ("95 % interval", "earlier mention of its entity", "one half of the documents", "(3) agreement in"):
            assert said in text


def test_the_table_of_a_causal_model_says_what_its_heads_cannot_find(table2):
    said, unsaid = (render_table2(table2, "m", "c", "x", as_html=False, causal=causal) for causal in (True, False))
    assert "an earlier mention never attends to the anaphor" in said
    assert "causal" not in unsaid


def test_hostile_names_stay_text_in_table_2(table2):
    page = render_table2(table2, "<i>m</i>", "a|b & c", "x", as_html=True)
    assert "<i>" not in page
    assert "a|b &amp; c" in page
    text = render_table2(table2, "<i>m</i>", "a|b & c", "x", as_html=False)
    assert r"\<i\>m\</i\> on a\|b \& c" in text


def test_the_best_head_is_named_with_its_direction(table2):
    rows = {row["predictor"]: row for row in table2.to_dicts()}
    assert predictor_name(rows["rules"]) == "four-sieve rules"
    assert predictor_name(rows["head"]) == "best head 2-3 (anaphor to antecedent)"
    assert predictor_name(rows["head"] | {"layer": None}) == "best head"


def test_heat_maps_have_a_panel_a_type_and_outline_the_best_of_each(heads, table2):
    chart = coreference_heads(heads, table2, "m", "c", "mentions")
    assert [panel.title.text for panel in chart.concat] == ["all", "pronoun", "proper noun", "nominal"]
    assert chart.concat[0].title.subtitle == "2-3, anaphor to antecedent: 65.0 % of 1,200"
    assert chart.concat[2].title.subtitle == "1-2, antecedent to anaphor: 75.0 % of 300"
    rows = drawn(chart)
    assert len(rows) == 4 * 6
    assert {(r["mentions"], r["name"]) for r in rows if r["best"]} == {
        *(("all", "2-3"), ("pronoun", "2-3"), ("proper noun", "1-2"), ("nominal", "2-3")),
    }


def test_heat_maps_show_every_head_in_its_better_direction(heads, table2):
    rows = {(r["mentions"], r["name"]): r for r in drawn(coreference_heads(heads, table2, "m", "c", "mentions"))}
    assert rows["pronoun", "1-1"]["way"] == "antecedent to anaphor"
    assert rows["pronoun", "1-1"]["accuracy"] == pytest.approx(0.2)
    assert rows["pronoun", "2-3"]["way"] == "anaphor to antecedent"
    assert rows["pronoun", "2-3"]["correct"] == "455 of 700"


def test_heat_maps_show_one_set_of_candidates_and_say_which(heads, table2):
    other = heads.with_columns(
        accuracy=pl.when(pl.col("candidates") == "words").then(0.0).otherwise("accuracy"),
    )
    chart = coreference_heads(other, table2, "my-model", "my-corpus", "words")
    assert {row["accuracy"] for row in drawn(chart)} == {0}
    assert chart.title.subtitle[0] == "my-model on my-corpus; candidates: all other words; 1,200 mentions scored"
    assert "best head 2-3 (anaphor to antecedent)" in chart.title.subtitle[2]
    assert chart.concat[0].title.subtitle.startswith("2-3, anaphor to antecedent")  # of equal heads that of Table 2


def test_the_best_head_of_table_2_has_a_dot_in_every_panel(heads, table2):
    text = json.dumps(coreference_heads(heads, table2, "m", "c", "mentions").to_dict())
    assert text.count("datum.layer == 2") == text.count("datum.head == 3") == 4


@pytest.mark.parametrize("nothing", [None, NAN])
def test_a_type_without_mentions_says_so(tmp_path, heads, table2, nothing):
    empty = pl.col("mention_type") == "nominal"
    none = heads.with_columns(
        total=pl.when(empty).then(0).otherwise("total"),
        accuracy=pl.when(empty).then(pl.lit(nothing, pl.Float64)).otherwise("accuracy"),
    )
    chart = coreference_heads(none, table2, "m", "c", "mentions")
    assert len(chart.concat) == 4
    assert {row["sentence"] for row in drawn(chart) if "sentence" in row} == {"No mention of this type is scored."}
    theme.save(chart, **files(tmp_path))


def test_a_model_of_one_head_and_one_of_very_many_are_drawn(tmp_path, heads, table2):
    one = heads.filter(layer=1, head=1)
    chosen = table2.with_columns(layer=pl.col("layer").clip(1, 1), head=pl.col("head").clip(1, 1))
    theme.save(coreference_heads(one, chosen, "m", "c", "mentions"), **files(tmp_path, "one"))
    grid = pl.DataFrame({"layer": range(1, 81)}).join(pl.DataFrame({"head": range(1, 65)}), how="cross")
    many = grid.join(one.filter(mention_type="all").drop("layer", "head"), how="cross")
    theme.save(coreference_heads(many, table2, "m", "c", "mentions"), **files(tmp_path, "many"))
    assert files(tmp_path, "many")["svg"].read_text("utf-8").count("Mentions: all") >= 80 * 64


def test_distances_have_a_line_a_predictor_and_bins_with_their_counts(distances, table2):
    chart = coreference_distances(distances, table2, "my-model", "my-corpus", "mentions")
    rows = drawn(chart)
    assert {r["name"] for r in rows} == {
        *("nearest", "same head word, else nearest", "four-sieve rules", "best head 2-3 (anaphor to antecedent)"),
    }
    assert len(rows) == 4 * 3
    labels = chart.to_dict()["layer"][0]["encoding"]["x"]["axis"]["labelExpr"]
    for label in ("1\\nn = 40", "2–5\\nn = 20", "6+\\nn = 10"):
        assert f"'{label}'" in labels
    assert chart.title.subtitle[0] == "my-model on my-corpus; candidates: earlier mentions"


def test_predictors_stand_beside_each_other_within_their_bin(distances, table2):
    rows = drawn(coreference_distances(distances, table2, "m", "c", "mentions"))
    bins = {}
    for row in rows:
        bins.setdefault(row["words"], []).append(row["bin"])
    assert [round(sum(places) / 4, 6) for places in bins.values()] == [0, 1, 2]
    assert all(len(set(places)) == 4 for places in bins.values())
    assert all(max(places) - min(places) < 0.5 for places in bins.values())


def test_points_come_with_intervals(distances, table2):
    layers = coreference_distances(distances, table2, "m", "c", "mentions").to_dict()["layer"]
    rules = [layer["encoding"] for layer in layers if layer["mark"]["type"] == "rule"]
    assert [(rule["y"]["field"], rule["y2"]["field"]) for rule in rules] == [("ci_low", "ci_high")]


def test_a_bin_without_mentions_is_a_gap_and_missing_intervals_are_no_numbers(tmp_path, table2):
    rows = [*distance_rows("rules", (0.5, None, 0.4), (5, 0, 2)), *distance_rows("head", (0.5, None, 0.4), (5, 0, 2))]
    table = pl.DataFrame(rows, DISTANCES, orient="row").with_columns(
        ci_low=pl.lit(NAN), ci_high=pl.lit(None, pl.Float64)
    )
    chart = coreference_distances(table, table2, "m", "c", "mentions")
    found = drawn(chart)
    assert [row["accuracy"] for row in found if row["words"] == "2–5"] == [None, None]
    assert {row["ci_low"] for row in found} == {None}
    theme.save(chart, **files(tmp_path))
    assert "NaN" not in specification(files(tmp_path)["html"].read_text("utf-8"))
    assert "n = 0" in files(tmp_path)["svg"].read_text("utf-8")


def test_lines_differ_in_colour_symbol_and_dash():
    from headscope.charts.coreference_distances import LOOKS as looks

    for number in range(3):
        assert len({str(look[number]) for look in looks.values()}) == len(looks)


def test_a_pick_is_right_where_it_is_an_antecedent():
    lines = drawn_lines(*passage_of(WORDS, WEIGHTS))
    assert lines["her", "Ann"]["kind"] == RIGHT
    assert lines["it", "Ann"]["kind"] == WRONG
    assert lines["it", "house"]["kind"] == OTHER
    assert lines["it", "house"]["candidate"] == "an antecedent"
    assert lines["it", "Ann"]["candidate"] == "no antecedent"
    assert {key for key, line in lines.items() if line["width"] == WIDTH_OF_PICKED} == {("her", "Ann"), ("it", "Ann")}


def test_candidates_that_are_not_picked_are_faint_by_their_share_and_left_out_where_too_faint():
    lines = drawn_lines(*passage_of(WORDS, WEIGHTS))
    assert lines["it", "Ann"]["darkness"] == lines["her", "Ann"]["darkness"] == 1
    assert lines["it", "house"]["darkness"] == pytest.approx(DARKEST_NOT_PICKED / 2)
    assert ("it", "her") not in lines


def test_an_anaphor_without_any_attention_is_drawn_all_the_same(tmp_path):
    links, passage = passage_of(WORDS, {6: [0.0], 10: [0.0, 0.0, 0.0]})
    links = links.with_columns(picked=pl.col("key") == 2)
    lines = drawn_lines(links, passage)
    assert set(lines) == {("her", "Ann"), ("it", "Ann")}
    theme.save(figure_5_coreference(links, passage, "m", "c"), **files(tmp_path))
    assert "NaN" not in specification(files(tmp_path)["html"].read_text("utf-8"))


def test_every_row_of_the_passage_begins_with_the_head_word_of_a_mention():
    links, passage = passage_of(WORDS, WEIGHTS)
    assert texts(links, passage, "right", LOOKS[RIGHT][0]) == {1: "her"}  # the anaphors, on the left
    assert texts(links, passage, "right", LOOKS[WRONG][0]) == {3: "it"}
    assert texts(links, passage, "left", "#7a7a7a") == {0: "(Ann, who sold ", 1: "her ", 2: "house) missed ", 3: "it."}
    assert texts(links, passage, "left", "#000000") == {0: "(Ann", 1: "her", 2: "house", 3: "it"}
    lines = drawn_lines(links, passage)
    assert (lines["it", "Ann"]["query_row"], lines["it", "Ann"]["key_row"]) == (3, 0)


def test_mentions_of_an_entity_bear_its_number_on_both_sides_and_single_mentions_none():
    links, passage = passage_of([*WORDS, ("Bob", 5)], WEIGHTS)
    assert texts(links, passage, "left", "#555555") == {0: 1, 1: 1, 2: 2, 3: 2}
    assert texts(links, passage, "right", "#555555") == {1: 1, 3: 2}


def test_a_long_stretch_without_mentions_is_broken():
    words = [("Long", None), ("ago", None), ("Ann", 1), *[("word", None)] * 30, ("she", 1)]
    links, passage = passage_of(words, {34: [0.5]})
    rows = texts(links, passage, "left", "#7a7a7a")
    assert "".join(rows[row] for row in sorted(rows)).split() == [word for word, _ in words]
    assert max(len(text.rstrip()) for text in rows.values()) <= MOST_CHARACTERS
    assert rows[0] == "Long ago "
    assert set(texts(links, passage, "left", "#000000").values()) == {"Ann", "she"}


def test_a_candidate_that_heads_no_mention_begins_a_row_too():
    links, passage = passage_of(WORDS, WEIGHTS)
    other = links.with_columns(key=pl.when(pl.col("key") == 7).then(pl.lit(9, pl.UInt16)).otherwise("key"))
    rows = texts(other, passage, "left", "#000000")
    assert rows == {0: "(Ann", 1: "her", 2: "house", 3: "missed", 4: "it"}


def test_the_passage_says_which_head_where_and_how_often_right():
    title = figure_5_coreference(*passage_of(WORDS, WEIGHTS, TO_ANAPHOR), "my-model", "my-corpus").title
    assert title.subtitle[0] == "my-model on my-corpus"
    assert title.subtitle[1] == "Head 2-3 (antecedent to anaphor), right on 65.1 % of all mentions,"
    assert title.subtitle[2] == "here on 1 of 2 (document doc, example 7)"


def test_right_and_wrong_differ_in_colour_and_dash():
    assert len({colour for colour, _ in LOOKS.values()}) == 3
    assert LOOKS[RIGHT][1] != LOOKS[WRONG][1]


def test_charts_without_anything_to_show_still_become_files(tmp_path, heads, distances, table2):
    links, passage = passage_of(WORDS, WEIGHTS)
    no_head = pl.DataFrame([predictor_row("head", (None,) * 4, (0,) * 4) | {"layer": None, "head": None}], TABLE2)
    for chart in (
        coreference_heads(heads.with_columns(total=0), no_head, "m", "c", "mentions"),
        coreference_distances(distances.with_columns(total=0), no_head, "m", "c", "mentions"),
        coreference_distances(distances.clear(), no_head, "m", "c", "mentions"),
        figure_5_coreference(links.clear(), passage, "m", "c"),
        figure_5_coreference(links.clear(), passage.clear(), "m", "c"),
    ):
        theme.save(chart, **files(tmp_path))
        assert files(tmp_path)["png"].read_bytes().startswith(b"\x89PNG")


def test_hostile_words_stay_text_in_the_figures(tmp_path, heads, distances, table2):
    words = [(HOSTILE, 1), ("<img src=x onerror=alert(1)>", 2), ("a'b\"c\\", 1)]
    for chart in (
        figure_5_coreference(*passage_of(words, {3: [0.2, 0.1]}), "<i>", "c"),
        coreference_heads(heads, table2, HOSTILE, "<i>", "mentions"),
        coreference_distances(distances, table2, HOSTILE, "<i>", "mentions"),
    ):
        theme.save(chart, **files(tmp_path))
        page, drawing = (files(tmp_path)[ending].read_text("utf-8") for ending in ("html", "svg"))
        assert "<" not in specification(page)
        assert HOSTILE in json.dumps(json.loads(specification(page))).replace('\\"', '"')
        for tag in ("<script", "<img", "<i>"):
            assert tag not in drawing


def test_coreference_is_drawn_without_torch():
    charts = ("figure_5_coreference", "coreference_heads", "coreference_distances")
    for module in (*(f"charts.{chart}" for chart in charts), "coreference.table2"):
        code = f"import sys, headscope.{module}; sys.exit('torch' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY / "scripts", check=False).returncode == 0


def test_scripts_write_what_they_name(tmp_path, table2, heads, distances):
    import draw_coreference_distances
    import draw_coreference_heads
    import draw_figure_5_coreference
    import render_table2 as script
    from headscope.description import Description, LayerView

    view = LayerView(False, None)
    described = Description(
        "m", BERT, None, None, "Model", 2, 3, 8, 1, None, True, {}, [view] * 2, weights="w", tokenizer="t"
    )
    described.write(tmp_path / "description.json")
    links, passage = passage_of(WORDS, WEIGHTS)
    tables = {"table2": table2, "heads": heads, "distances": distances, "links": links, "passage": passage}
    read = {name: tmp_path / f"{name}.parquet" for name in tables}
    for name, table in tables.items():
        table.write_parquet(read[name])
    run = {"model": "m", "corpus": "c"}
    draw_coreference_heads.main(
        read["heads"], read["table2"], None, **files(tmp_path, "h"), **run, candidates="mentions"
    )
    draw_coreference_distances.main(
        read["distances"], read["table2"], None, **files(tmp_path, "d"), **run, candidates="mentions"
    )
    draw_figure_5_coreference.main(read["links"], read["passage"], None, **files(tmp_path, "f"), **run)
    for name in ("h", "d", "f"):
        assert all(path.stat().st_size > 1000 for path in files(tmp_path, name).values())
    page, markdown = tmp_path / "table_2.html", tmp_path / "table_2.md"
    script.main(tmp_path / "description.json", read["table2"], page, markdown, corpus="c")
    assert "This model is the paper's." in html.unescape(page.read_text("utf-8"))
    assert markdown.read_text("utf-8").startswith("# Table 2")
