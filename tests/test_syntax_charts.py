import json
import re
import subprocess
import sys

import polars as pl
import pytest
from checkpoints import REPOSITORY

from headscope.charts import theme
from headscope.charts.figure_5 import FOUND, MISSED, OTHER, WIDTH_OF_STRONGEST, figure_5
from headscope.charts.syntax_baseline import syntax_baseline
from headscope.charts.syntax_heads import syntax_heads
from headscope.syntax.names import common_relations, signed
from headscope.syntax.table1 import PAPER, render_table1

TO_HEAD, TO_DEPENDENT = "dependent_to_head", "head_to_dependent"
HOSTILE = '</script><script>alert("x")</script>'
BERT = "google-bert/bert-base-uncased"


def sentence(words, weights, pairs, direction, relation="obj", rank=1):
    """One sentence of `syntax/examples`; `pairs` are (dependent, head) from 1, weights are rows by query."""
    heads = dict(pairs)
    rows = []
    for query, row in enumerate(weights, start=1):
        for key, weight in enumerate(row, start=1):
            dependent, head = (query, key) if direction == TO_HEAD else (key, query)
            if query != key:
                of_relation = dependent in heads
                others = [word for word in range(1, len(words) + 1) if word != dependent]
                of_others = [
                    weights[query - 1][word - 1] if direction == TO_HEAD else weights[word - 1][key - 1]
                    for word in others
                ]
                pick = others[of_others.index(max(of_others))]
                rows.append((query, key, words[query - 1], words[key - 1], weight, of_relation))
                rows[-1] += (of_relation and heads[dependent] == head, of_relation and pick == head)
                rows[-1] += (of_relation and heads[dependent] == pick,)
    names = ["query", "key", "query_word", "key_word", "weight", "of_relation", "gold", "picked", "hit"]
    block = {"scheme": "ud", "relation": relation, "layer": 3, "head": 1, "direction": direction, "accuracy": 0.72}
    table = pl.DataFrame(rows, schema=names, orient="row")
    return table.with_columns(**{name: pl.lit(value) for name, value in block.items()}, rank=rank, example=rank + 6)


WORDS = ["she", "reads", "books", "quickly"]
WEIGHTS = [
    # she reads books quickly
    [0.0, 0.9, 0.1, 0.0],
    [0.2, 0.0, 0.5, 0.3],
    [0.1, 0.8, 0.0, 0.1],
    [0.4, 0.4, 0.2, 0.0],
]


def row(scheme, relation, total, accuracy=0.5, layer=1, head=1, direction=TO_HEAD, held_out=0.4, offset=1):
    low, high = max(0, accuracy - 0.1), min(1, accuracy + 0.1)
    return (scheme, relation, total, layer, head, direction, accuracy, low, high, held_out, offset, 0.25)


TABLE1_COLUMNS = [
    *("scheme", "relation", "total", "layer", "head", "direction", "accuracy", "ci_low", "ci_high"),
    *("held_out_accuracy", "baseline_offset", "baseline_accuracy"),
]


@pytest.fixture
def table1():
    rows = [
        row("ud", "det", 300, 0.943, 2, 3),
        row("ud", "obj", 400, 0.861, 1, 2, TO_DEPENDENT, offset=-2),
        row("ud", "all", 1200, 0.3),
        row("ud", "iobj", 4, 1.0, held_out=None),
        row("stanford", "all", 1200, 0.3),
        row("stanford", "auxpass", 90, 0.9),
        row("stanford", "odd", 80, 0.9),
    ]
    return pl.DataFrame(rows, schema=TABLE1_COLUMNS, orient="row")


@pytest.fixture
def heads(table1):
    """Two layers of three heads, both directions; only the best head of table1 is above 0.2."""
    rows = []
    for best in table1.to_dicts():
        for layer in (1, 2):
            for head in (1, 2, 3):
                for direction in (TO_HEAD, TO_DEPENDENT):
                    is_best = (layer, head, direction) == (best["layer"], best["head"], best["direction"])
                    accuracy = best["accuracy"] if is_best else 0.1 * (1 + (direction == TO_DEPENDENT))
                    correct = round(accuracy * best["total"])
                    rows.append((best["scheme"], best["relation"], layer, head, direction, correct, best["total"]))
    names = ["scheme", "relation", "layer", "head", "direction", "correct", "total"]
    return pl.DataFrame(rows, schema=names, orient="row").with_columns(accuracy=pl.col("correct") / pl.col("total"))


def drawn(chart):
    """The rows that a chart draws, all its data sets together."""
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def drawn_lines(examples):
    return {(r["query_token"], r["key_token"]): r for r in drawn(figure_5(examples, "m", "c")) if "kind" in r}


def titles(node):
    """Every title in a chart's specification."""
    if isinstance(node, list):
        return [title for part in node for title in titles(part)]
    if not isinstance(node, dict):
        return []
    own = node.get("title")
    texts = [own["text"]] if isinstance(own, dict) and "text" in own else []
    return texts + [title for key, part in node.items() if key != "title" for title in titles(part)]


def word_looks(examples):
    """The words that stand in bold: (word, align, colour)."""
    chart = figure_5(examples, "m", "c").to_dict()
    panel = chart["vconcat"][0]["hconcat"][0]["hconcat"][0]
    bold = [layer for layer in panel["layer"] if layer["mark"].get("fontWeight") == "bold"]
    return {
        (r["query_token"], layer["mark"]["align"], layer["mark"]["color"])
        for layer in bold
        for r in chart["datasets"][layer["data"]["name"]]
    }


def test_a_dependent_whose_strongest_line_is_its_head_is_found():
    lines = drawn_lines(sentence(WORDS, WEIGHTS, [(3, 2)], TO_HEAD))
    assert {key for key, line in lines.items() if line["kind"] == FOUND} == {
        ("books", "she"),
        ("books", "reads"),
        ("books", "quickly"),
    }
    assert lines["books", "reads"]["width"] == WIDTH_OF_STRONGEST
    assert [key for key, line in lines.items() if line["width"] == WIDTH_OF_STRONGEST] == [("books", "reads")]
    assert lines["she", "reads"]["kind"] == OTHER


def test_a_dependent_whose_strongest_line_goes_elsewhere_is_missed_and_its_head_still_bold():
    examples = sentence(WORDS, WEIGHTS, [(2, 1), (3, 2)], TO_HEAD)
    lines = drawn_lines(examples)
    assert lines["reads", "books"]["kind"] == MISSED
    assert lines["reads", "books"]["width"] == WIDTH_OF_STRONGEST
    assert lines["reads", "she"]["kind"] == MISSED
    assert word_looks(examples) == {
        ("books", "right", theme.VERMILLION),
        ("reads", "right", theme.BLUE),
        ("she", "left", "#000000"),
        ("reads", "left", "#000000"),
    }


def test_head_to_dependent_is_decided_among_the_words_that_attend_to_the_dependent():
    examples = sentence(WORDS, WEIGHTS, [(3, 2)], TO_DEPENDENT)
    lines = drawn_lines(examples)
    assert {key for key, line in lines.items() if line["kind"] == FOUND} == {
        ("she", "books"),
        ("reads", "books"),
        ("quickly", "books"),
    }
    assert lines["reads", "books"]["width"] == WIDTH_OF_STRONGEST
    assert ("books", "left", theme.VERMILLION) in word_looks(examples)


def test_of_equal_lines_the_first_word_decides():
    lines = drawn_lines(sentence(WORDS, WEIGHTS, [(4, 2)], TO_HEAD))
    assert lines["quickly", "she"]["width"] == WIDTH_OF_STRONGEST
    assert lines["quickly", "reads"]["width"] != WIDTH_OF_STRONGEST
    assert lines["quickly", "she"]["kind"] == MISSED


def test_figure_5_draws_every_line_that_can_be_seen_and_every_scored_one():
    faint = [[0.0, 0.995, 0.005], [0.5, 0.0, 0.5], [0.004, 0.003, 0.0]]
    lines = drawn_lines(sentence(["a", "b", "c"], faint, [(3, 2)], TO_HEAD))
    assert set(lines) == {("a", "b"), ("b", "a"), ("b", "c"), ("c", "a")}
    assert lines["a", "b"]["darkness"] == 1
    assert lines["c", "a"]["width"] == WIDTH_OF_STRONGEST


def test_a_word_that_occurs_twice_is_two_words():
    twice = sentence(["the", "cat", "the"], [[0, 1, 0], [0.5, 0, 0.5], [0, 1, 0]], [(1, 2), (3, 2)], TO_HEAD, "det")
    words = {(r["query_token"], r["query_row"]) for r in drawn(figure_5(twice, "m", "c")) if "kind" not in r}
    assert words == {("the", 0), ("cat", 1), ("the", 2)}


def test_figure_5_puts_each_relation_under_its_title_and_two_relations_in_a_row():
    examples = pl.concat(
        sentence(WORDS, WEIGHTS, [(3, 2)], TO_HEAD, relation, rank)
        for relation in ("obj", "det", "case")
        for rank in (1, 2)
    )
    chart = figure_5(examples, "my-model", "my-corpus")
    assert [len(row.hconcat) for row in chart.vconcat] == [2, 1]
    found = titles(chart.to_dict())
    assert "3-1 obj: dependent to head, 72 %" in found
    assert found.count("sentence 7") == found.count("sentence 8") == 3
    assert chart.title.subtitle[0] == "my-model on my-corpus, Universal Dependencies"


def test_kinds_of_lines_differ_in_colour_and_in_dash_or_paleness():
    from headscope.charts.figure_5 import LOOKS

    assert len({colour for colour, _ in LOOKS.values()}) == 3
    assert LOOKS[FOUND][1] != LOOKS[MISSED][1]


def test_heat_maps_show_every_head_in_its_better_direction(heads, table1):
    rows = drawn(syntax_heads(heads, table1, "m", "c", "ud"))
    assert len(rows) == 3 * 6  # det, obj, iobj; `all` is no relation
    by_head = {(r["relation"], r["name"]): r for r in rows}
    assert (
        by_head["det", "2-3"] | {"best": True, "way": "dependent to head", "correct": "283 of 300"}
        == by_head["det", "2-3"]
    )
    assert by_head["det", "1-1"]["way"] == "head to dependent"
    assert by_head["det", "1-1"]["accuracy"] == pytest.approx(0.2)
    assert sum(r["best"] for r in rows) == 3


def test_heat_maps_show_the_most_frequent_relations_first_on_one_scale(heads, table1):
    chart = syntax_heads(heads, table1, "m", "c", "ud", relations=2)
    assert [panel.title.text for panel in chart.concat] == ["obj", "det"]
    assert chart.concat[0].title.subtitle == "1-2, head to dependent: 86.1 % of 400"
    assert json.dumps(chart.to_dict()).count('"domain": [0, 1]') == 2


def test_a_model_with_very_many_heads_is_drawn(tmp_path, table1):
    big = pl.DataFrame({"layer": range(1, 81)}).join(pl.DataFrame({"head": range(1, 65)}), how="cross")
    big = big.with_columns(
        scheme=pl.lit("ud"), relation=pl.lit("det"), direction=pl.lit(TO_HEAD), correct=1, total=4, accuracy=0.25
    )
    paths = [tmp_path / f"heads.{ending}" for ending in ("html", "svg", "png")]
    theme.save(syntax_heads(big, table1.filter(relation="det"), "m", "c", "ud"), *paths)
    assert paths[1].read_text("utf-8").count("Relation: det") >= 80 * 64


def test_bars_are_ordered_by_total_and_leave_out_the_rare(table1):
    chart = syntax_baseline(table1, "m", "c", "ud", rare=50)
    rows = drawn(chart)
    assert [r["relation"] for r in rows] == ["all", "obj", "det"]
    assert chart.to_dict()["layer"][0]["encoding"]["y"]["sort"] == ["all", "obj", "det"]
    assert "Left out: 1 relation with fewer than 50 dependents." in chart.title.subtitle
    assert rows[1]["note"] == "1-2 head to dependent, n = 400"
    assert rows[1]["offset"] == "−2"
    assert "Left out" not in " ".join(syntax_baseline(table1, "m", "c", "ud", 4).title.subtitle)


def test_bars_come_with_interval_held_out_and_baseline(table1):
    specification = syntax_baseline(table1, "m", "c", "ud", rare=4).to_dict()
    fields = {layer["encoding"]["x"].get("field") for layer in specification["layer"]}
    assert {"accuracy", "ci_low", "ci_high", "held_out_accuracy", "baseline_accuracy"} <= fields
    tips = {tip["field"] for tip in specification["layer"][0]["encoding"]["tooltip"]}
    assert tips > fields - {None}
    assert {"relation", "total", "name", "way", "offset"} <= tips


@pytest.mark.parametrize("held_out", [0.4, None])
def test_charts_without_anything_to_show_still_become_files(tmp_path, table1, heads, held_out):
    paths = [tmp_path / f"chart.{ending}" for ending in ("html", "svg", "png")]
    empty = sentence(WORDS, WEIGHTS, [(3, 2)], TO_HEAD).clear()
    bare = table1.filter(relation="all").with_columns(held_out_accuracy=pl.lit(held_out, pl.Float64))
    for chart in (
        figure_5(empty, "m", "c"),
        syntax_heads(heads, bare, "m", "c", "ud"),
        syntax_baseline(bare, "m", "c", "ud", 5),
        syntax_baseline(bare.clear(), "m", "c", "ud", 5),
    ):
        theme.save(chart, *paths)
        assert paths[2].read_bytes().startswith(b"\x89PNG")


def markdown_rows(text):
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line[:1] == "|"]


def test_table_1_in_markdown(table1):
    text = render_table1(table1, "my_model", "c", "x", rare=50, as_html=False)
    rows = markdown_rows(text.split("## Stanford")[0])
    assert rows[0] == [
        *("Relation", "n", "Head", "Direction", "Accuracy [95 % interval]", "Held out", "Baseline (offset)"),
    ]
    assert rows[2:] == [
        ["all", "1,200", "1-1", "dependent to head", r"30.0 \[20.0, 40.0\]", "40.0", "25.0 (+1)"],
        ["obj", "400", "1-2", "head to dependent", r"86.1 \[76.1, 96.1\]", "40.0", "25.0 (−2)"],
        ["det", "300", "2-3", "dependent to head", r"94.3 \[84.3, 100.0\]", "40.0", "25.0 (+1)"],
    ]
    assert r"my\_model on c" in text
    assert text.count("## ") == 2
    assert text.count("Left out: 1 relation with fewer than 50 dependents.") == 1


def test_a_missing_number_is_a_dash(table1):
    rows = markdown_rows(render_table1(table1, "m", "c", "x", rare=1, as_html=False))
    assert [row[5] for row in rows if row[0] == "iobj"] == ["–"]


@pytest.mark.parametrize("as_html", [True, False])
def test_the_table_of_a_causal_model_says_what_its_heads_cannot_find(table1, as_html):
    said, unsaid = (render_table1(table1, "m", "c", "x", 50, as_html, causal=causal) for causal in (True, False))
    schemes = table1["scheme"].n_unique()
    assert said.count("This model is causal: a word attends only to words before it.") == schemes
    assert said.count("finds only heads before their dependent") == schemes
    assert "causal" not in unsaid


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (BERT, True),
        ("bert-base-uncased", True),
        ("checkpoints/bert-base-uncased/", True),
        ("package:weights/bert-base-uncased", True),
        ("google-bert/bert-base-cased", False),
        ("someone/my-bert-base-uncased", False),
    ],
)
@pytest.mark.parametrize("as_html", [True, False])
def test_the_papers_numbers_stand_only_beside_its_model_and_scheme(table1, source, expected, as_html):
    text = render_table1(table1, "m", "c", source, rare=50, as_html=as_html)
    assert ("Clark et al." in text) == expected
    ud = render_table1(table1.filter(scheme="ud"), "m", "c", source, rare=50, as_html=as_html)
    assert "Clark et al." not in ud


def test_the_papers_numbers_stand_in_their_rows(table1):
    text = render_table1(table1.filter(scheme="stanford"), "m", "c", BERT, rare=50, as_html=False)
    paper = {row[0]: row[7:] for row in markdown_rows(text)}
    assert paper["all"] == ["7-6", "34.5", "26.3 (+1)"]
    assert paper["auxpass"] == ["4-10", "94.1", "82.5 (+1)"]
    assert paper["odd"] == ["–", "–", "–"]
    assert "For auxpass the paper prints 82.5 and 40.5" in text


def test_the_papers_table_is_whole():
    assert len(PAPER) == 15
    assert PAPER["dobj"] == ("8-10", 86.8, 40.0, -2)


def test_table_1_as_a_page(table1):
    page = render_table1(table1, "m", "c", BERT, rare=50, as_html=True)
    assert page.count("<table") == page.count('<div class="wide"') == 2
    assert re.findall(r'<th scope="row"[^>]*>([^<]*)', page) == ["all", "obj", "det", "all", "auxpass", "odd"]
    assert page.count('<th scope="col"') == 7 + 10
    assert "prefers-color-scheme: dark" in page
    assert "width=device-width" in page
    for outside in ("<script", "<link", "http:", "https:", "url(", "@import"):
        assert outside not in page
    assert "94.3 <small>[84.3, 100.0]</small>" in page


def test_hostile_names_stay_text_in_table_1(table1):
    hostile = table1.filter(relation="det").with_columns(relation=pl.lit(HOSTILE), scheme=pl.lit("<b>x</b>"))
    page = render_table1(hostile, "<i>m</i>", "a|b & c", "x", rare=1, as_html=True)
    for tag in ("<script", "<b>", "<i>"):
        assert tag not in page
    assert "&lt;/script&gt;" in page
    assert "a|b &amp; c" in page
    text = render_table1(hostile, "<i>m</i>", "a|b & c", "x", rare=1, as_html=False)
    assert r"\<i\>m\</i\> on a\|b \& c" in text
    assert len({line.replace(r"\|", "").count("|") for line in text.splitlines() if line[:1] == "|"}) == 1


def test_hostile_words_stay_text_in_the_figures(tmp_path, table1, heads):
    words = [HOSTILE, "<img src=x onerror=alert(1)>", "a'b\"c\\"]
    examples = sentence(words, [[0, 1, 0], [0.5, 0, 0.5], [0, 1, 0]], [(1, 2)], TO_HEAD, relation="<b>")
    renamed = {"relation": pl.lit(HOSTILE)}
    one, few = (
        table1.filter(relation="det").with_columns(**renamed),
        heads.filter(relation="det").with_columns(**renamed),
    )
    for chart in (
        figure_5(examples, "<i>", "c"),
        syntax_heads(few, one, "<i>", "c", "ud"),
        syntax_baseline(one, "<i>", "c", "ud", 1),
    ):
        paths = [tmp_path / f"chart.{ending}" for ending in ("html", "svg", "png")]
        theme.save(chart, *paths)
        page, drawing = paths[0].read_text("utf-8"), paths[1].read_text("utf-8")
        start = page.index('id="specification">') + len('id="specification">')
        specification = page[start : page.index("</script>", start)]
        assert "<" not in specification
        assert HOSTILE in json.dumps(json.loads(specification)).replace('\\"', '"')
        for tag in ("<script", "<img", "<b>", "<i>"):
            assert tag not in drawing


def test_relations_come_by_total_with_all_first_and_ties_by_name():
    table = pl.DataFrame(
        [row("ud", "b", 5), row("ud", "a", 5), row("ud", "all", 3), row("ud", "c", 9), row("x", "d", 9)],
        schema=TABLE1_COLUMNS,
        orient="row",
    )
    shown, left_out = common_relations(table, "ud", 5)
    assert shown["relation"].to_list() == ["all", "c", "a", "b"]
    assert left_out == 0
    assert common_relations(table, "ud", 6)[1] == 2


def test_signs():
    assert [signed(offset) for offset in (2, 0, -3)] == ["+2", "+0", "−3"]


def test_syntax_is_drawn_without_torch():
    for module in ("charts.figure_5", "charts.syntax_heads", "charts.syntax_baseline", "syntax.table1"):
        code = f"import sys, headscope.{module}; sys.exit('torch' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY / "scripts", check=False).returncode == 0


def test_scripts_write_what_they_name(tmp_path, table1, heads):
    import draw_figure_5
    import draw_syntax_baseline
    import draw_syntax_heads
    import render_table1 as script
    from headscope.description import Description, LayerView

    view = LayerView(False, None)
    described = Description(
        "m", BERT, None, None, "Model", 2, 3, 8, 1, None, True, {}, [view] * 2, weights="w", tokenizer="t"
    )
    described.write(tmp_path / "description.json")
    sentence(WORDS, WEIGHTS, [(3, 2)], TO_HEAD).write_parquet(tmp_path / "examples.parquet")
    table1.write_parquet(tmp_path / "table1.parquet")
    heads.write_parquet(tmp_path / "heads.parquet")
    read = {name: tmp_path / f"{name}.parquet" for name in ("examples", "table1", "heads")}

    def written(name):
        return {ending: tmp_path / f"{name}.{ending}" for ending in ("html", "svg", "png")}

    draw_figure_5.main(read["examples"], None, **written("figure_5"), model="m", corpus="c")
    draw_syntax_heads.main(
        read["heads"], read["table1"], None, **written("heads"), model="m", corpus="c", scheme="ud", relations=6
    )
    draw_syntax_baseline.main(read["table1"], None, **written("baseline"), model="m", corpus="c", scheme="ud", rare=50)
    html, markdown = tmp_path / "table_1.html", tmp_path / "table_1.md"
    script.main(tmp_path / "description.json", read["table1"], html, markdown, corpus="c", rare=50)
    for path in (*written("figure_5").values(), *written("heads").values(), *written("baseline").values()):
        assert path.stat().st_size > 1000
    assert "Clark et al." in html.read_text("utf-8")
    assert markdown.read_text("utf-8").startswith("# Table 1")
