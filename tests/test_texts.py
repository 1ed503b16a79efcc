"""Words of any script in figures 1 and 5."""

import re
import xml.etree.ElementTree as ElementTree

import altair as alt
import polars as pl
import pytest

from headscope.charts.figure_1 import figure_1
from headscope.charts.figure_5 import figure_5
from headscope.charts.texts import drawable, in_its_direction
from headscope.charts.theme import save, titled
from headscope.syntax.examples import EXAMPLES

WORDS = ["(שָׁלוֹם", "وكتابه.", "東京", "👩🏽‍🚀", "Việt Nam", "a\x07b", "<i>&", "\ufffe"]
SHOWN = [
    "\u2067(שָׁלוֹם\u2069",
    "\u2067وكتابه.\u2069",
    "東京",
    "👩🏽‍🚀",
    "Việt Nam",
    "a\u2407b",
    "<i>&",
    "\ufffd",
]


def cells(words):
    pairs = [(query, key) for query in range(len(words)) for key in range(len(words)) if query != key]
    rows = []
    for query, key in pairs:
        gold = (query == 1, query == 1 and key == 0, query == 1 and key == 0, query == 1)
        cell = (query + 1, key + 1, words[query], words[key], 0.1)
        rows.append(("ud", "obj", 1, 1, "dependent_to_head", 0.5, 1, 3, *cell, *gold))
    return pl.DataFrame(rows, EXAMPLES, orient="row")


def maps(words):
    places = range(1, len(words) + 1)
    rows = [("1-1", 1, 1, 3, q, k, words[q - 1], words[k - 1], 0.125) for q in places for k in places]
    names = ["panel", "layer", "head", "example", "query", "key", "query_token", "key_token", "weight"]
    return pl.DataFrame(rows, names, orient="row")


def texts_of(chart, tmp_path):
    save(chart, *(tmp_path / f"f.{ending}" for ending in ("html", "svg", "png")))
    drawn = ElementTree.fromstring((tmp_path / "f.svg").read_text("utf-8"))
    assert (tmp_path / "f.png").stat().st_size > 1000
    return [text.text or "" for text in drawn.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize(("figure", "table"), [(figure_5, cells), (figure_1, maps)])
def test_words_of_every_script_stand_in_the_drawing_letter_by_letter(figure, table, tmp_path):
    texts = texts_of(figure(table(WORDS), "model", "corpus"), tmp_path)
    axes = 2 if figure is figure_1 else 0
    for word in SHOWN:
        assert texts.count(word) == 2 + axes, word


def test_the_end_of_a_long_right_to_left_word_is_cut(tmp_path):
    long = "דמוקרטיזציה" * 3
    texts = texts_of(figure_5(cells([long, "a"]), "model", "corpus"), tmp_path)
    cut = [text for text in texts if "…" in text]
    assert len(cut) == 2
    assert all(re.fullmatch("\u2067(ד.*)…", text) and long.startswith(text[1:-1]) for text in cut)


@pytest.mark.parametrize("text", ["a", "", ".", "،", "123", "東京", "a שלום", "Ġthe", "[SEP]"])
def test_what_runs_from_left_to_right_or_has_no_direction_is_left_alone(text):
    assert in_its_direction(text) == text


def test_control_characters_have_pictures_anywhere_in_a_drawing(tmp_path):
    assert drawable({"a": ["\x00x\x1f", 1, None], "b": "\t\n"}) == {"a": ["\u2400x\u241f", 1, None], "b": "\t\n"}
    chart = titled(alt.Chart(pl.DataFrame({"x": ["rel\x08"]})).mark_text().encode(text="x:N"), "Title\x0c")
    texts = texts_of(chart, tmp_path)
    assert {"rel\u2408", "Title\u240c"} <= set(texts)
