import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from checkpoints import REPOSITORY

from headscope.charts import theme
from headscope.charts.figure_1 import figure_1
from headscope.charts.figure_2 import figure_2
from headscope.charts.figure_3 import figure_3
from headscope.charts.figure_4 import figure_4
from headscope.charts.javascript import bundle
from headscope.description import Description, LayerView
from headscope.maps import named_heads, shown_cells

MEASURES = (
    *("to_self", "to_previous", "to_next", "to_cls", "to_sep", "to_punctuation"),
    *("sep_to_sep", "other_to_sep", "entropy", "entropy_from_cls", "to_first"),
)


def describe(special_tokens):
    views = [LayerView(False, None)] * 2
    return Description(
        "my-model", "s", None, None, "Model", 2, 3, 8, 1, None, True, special_tokens, views, weights="w", tokenizer="t"
    )


BERT = describe({"cls": ["[CLS]", 1], "sep": ["[SEP]", 2]})


@pytest.fixture
def heads():
    generator = np.random.default_rng(0)
    layer, head = np.indices((2, 3)).reshape(2, -1) + 1
    columns = {"layer": layer, "head": head}
    for measure in MEASURES:
        columns[measure] = generator.random(6)
        columns[f"{measure}_se"] = generator.random(6) / 100
    return pl.DataFrame(columns).with_columns(to_first="to_cls", to_first_se="to_cls_se")


@pytest.fixture
def uniform():
    columns = {"layer": [1, 2], "entropy": [4.5, 4.5], "entropy_from_cls": [4.5, 4.5]}
    return pl.DataFrame(columns | {"examples": [1200, 1200], "tokens": [150_000, 150_000]})


def drawn(chart):
    """The rows that a chart draws, all its data sets together."""
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def test_figure_2_draws_every_head_once_a_measure(heads, uniform):
    rows = [row for row in drawn(figure_2(heads, uniform, BERT, "my-corpus")) if "mean" in row]
    labels = {row["measure"] for row in rows}
    assert labels == {
        *("itself", "previous token", "next token", "[CLS]", "[SEP]", ". or ,"),
        *("from [SEP] to [SEP]", "from other tokens to [SEP]"),
    }
    assert len(rows) == 8 * 6
    found = {(row["head"], row["measure"]): row["mean"] for row in rows}
    assert found["2-3", "[CLS]"] == heads.filter(layer=2, head=3)["to_cls"].item()
    assert found["1-2", "previous token"] == heads.filter(layer=1, head=2)["to_previous"].item()


def test_figure_2_names_the_models_own_special_tokens(heads, uniform):
    roberta = describe({"cls": ["<s>", 0], "sep": ["</s>", 2]})
    labels = {row["measure"] for row in drawn(figure_2(heads, uniform, roberta, "c")) if "measure" in row}
    assert {"<s>", "</s>", "from </s> to </s>"} <= labels


def test_a_figure_leaves_out_what_the_model_does_not_have(heads, uniform):
    none = pl.lit(None, pl.Float64)
    without = heads.with_columns(to_cls=none, to_sep=none, sep_to_sep=none, other_to_sep=none, entropy_from_cls=none)
    assert len(figure_2(without, uniform, describe({}), "c").hconcat) == 2
    assert len(figure_4(without, uniform.with_columns(entropy_from_cls=none), describe({}), "c").hconcat) == 1


def test_the_first_token_is_drawn_where_it_is_not_the_cls(heads, uniform):
    without = heads.with_columns(to_cls=pl.lit(None, pl.Float64))
    cls_at_the_end = heads.with_columns(to_first=pl.col("to_first") / 2)
    for table, expected in ((heads, {"[CLS]"}), (without, {"first token"}), (cls_at_the_end, {"first token", "[CLS]"})):
        labels = {row["measure"] for row in drawn(figure_2(table, uniform, BERT, "c")) if "measure" in row}
        assert labels & {"first token", "[CLS]"} == expected


def test_figure_2_of_causal_layers_says_that_none_sees_the_next(heads, uniform):
    causal = heads.with_columns(to_next=pl.lit(None, pl.Float64))
    chart = figure_2(causal, uniform, BERT, "c")
    assert chart.title.subtitle[-1].endswith("In causal layers no token sees the next.")
    assert "next token" not in {row["measure"] for row in drawn(chart) if "measure" in row}
    assert "causal" not in figure_2(heads, uniform, BERT, "c").title.subtitle[-1]


def test_figure_4_has_the_uniform_line_and_room_for_it(heads, uniform):
    chart = figure_4(heads, uniform, BERT, "my-corpus")
    lines = [row for row in drawn(chart) if row.get("name") == "uniform attention"]
    assert {row["value"] for row in lines} == {4.5}
    assert '"domain": [0, 4.86]' in json.dumps(chart.to_dict())


@pytest.mark.parametrize("figure", [figure_2, figure_4])
def test_a_figure_says_what_it_rests_on(heads, uniform, figure):
    title = figure(heads, uniform, BERT, "my-corpus").title
    assert title.text.startswith("Figure ")
    assert title.subtitle[0] == "my-model on my-corpus: 1,200 examples, 150,000 tokens"


def maps_of(tokens):
    size = len(tokens)
    weights = np.random.default_rng(0).dirichlet(np.ones(size), (2, 3, size)).astype(np.float16)
    return shown_cells(weights, 7, named_heads(["1-1", "2-3"], 2, 3), tokens, np.array([0, 1, 2, size - 1]))


def test_figure_1_leaves_a_gap_where_tokens_are_left_out():
    chart = figure_1(maps_of(list("abcdefg")), "my-model", "my-corpus")
    rows = {row["query_token"]: row["query_row"] for row in drawn(chart)}
    assert rows == {"a": 0, "b": 1, "c": 2, "g": 4}
    assert "example 7, 4 of its tokens" in chart.title.subtitle[0]


def test_figure_1_draws_a_line_for_every_weight_that_can_be_seen():
    maps = maps_of(list("abcdefg"))
    cells = [row for row in drawn(figure_1(maps, "m", "c")) if row["panel"] == "1-1"]
    assert max(row["darkness"] for row in cells) == 1
    assert all(row["left"] == 0 and row["right"] == 1 for row in cells)


def test_corpus_text_stays_text_in_the_page(tmp_path):
    hostile = [
        '</script><script>alert("x")</script>',
        "<img src=x onerror=alert(1)>",
        "a'b\"c\\",
        "line\nbreak\u2028",
        "e",
    ]
    paths = [tmp_path / f"figure.{ending}" for ending in ("html", "svg", "png")]
    theme.save(figure_1(maps_of(hostile), "m", "c"), *paths)
    page, drawing, picture = (path.read_bytes() for path in paths)
    start = page.index(b'id="specification">') + len(b'id="specification">')
    specification = page[start : page.index(b"</script>", start)].decode()
    assert "<" not in specification
    tokens = {row["query_token"] for rows in json.loads(specification)["datasets"].values() for row in rows}
    assert tokens == {hostile[0], hostile[1], hostile[2], hostile[4]}
    assert b"<script" not in drawing
    assert b"<img" not in drawing
    assert picture.startswith(b"\x89PNG")


def test_a_page_asks_nothing_of_the_network(heads, uniform):
    page = theme.page("t", json.dumps(figure_2(heads, uniform, BERT, "c").to_dict()), bundle())
    assert page.count("<script") == page.count("</script>") == 2
    for outside in (' src="http', ' href="http', "import('http", '@import "http', 'from"http', 'from "http'):
        assert outside not in page


def test_a_page_is_the_same_with_the_library_from_a_file(tmp_path, heads, uniform):
    import bundle_library

    bundle_library.main(tmp_path / "vega.js")
    for name, library in (("alone", None), ("given", tmp_path / "vega.js")):
        paths = [tmp_path / f"{name}.{ending}" for ending in ("html", "svg", "png")]
        theme.save(figure_2(heads, uniform, BERT, "c"), *paths, library)
    for ending in ("html", "svg", "png"):
        assert (tmp_path / f"alone.{ending}").read_bytes() == (tmp_path / f"given.{ending}").read_bytes()
    (tmp_path / "vega.js").write_text("draw();", encoding="utf-8")
    theme.save(figure_2(heads, uniform, BERT, "c"), *paths, tmp_path / "vega.js")
    assert '<script type="module">draw();</script>' in paths[0].read_text("utf-8"), "the file is what is taken"


def test_many_layers_keep_their_axis_readable(uniform):
    axis = theme.layer_axis(pl.DataFrame({"layer": range(1, 81)}), "layer").to_dict()["axis"]
    assert axis["values"][0] == 1
    assert len(axis["values"]) <= theme.MOST_LAYER_LABELS


def test_charts_are_drawn_without_torch_and_maps_made_without_altair():
    for module, absent in (
        ("headscope.charts.figure_1", "torch"),
        ("headscope.charts.figure_2", "torch"),
        ("headscope.attention", "altair"),
        ("headscope.config", "polars"),
    ):
        code = f"import sys, {module}; sys.exit({absent!r} in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY / "scripts", check=False).returncode == 0


def test_colours_are_for_every_eye():
    """Okabe and Ito's palette: no two series of one panel share a colour."""
    from headscope.charts.figure_2 import COLOURS

    for panel in (
        ("to_self", "to_previous", "to_next"),
        ("to_cls", "to_first", "to_sep", "to_punctuation"),
        ("sep_to_sep", "other_to_sep"),
    ):
        assert len({COLOURS[measure] for measure in panel}) == len(panel)


@pytest.fixture
def gradients():
    """Two layers of two heads, cls and other; no punctuation, and one head that nothing hangs on."""
    layers = [(1, "cls", 1e-3, 1e-4), (1, "other", 1e-5, None), (2, "cls", 2e-4, 3e-4), (2, "other", 1e-6, 1e-7)]
    layers += [(layer, key, None, None) for layer in (1, 2) for key in ("sep", "punctuation")]
    heads = [(layer, head, key, *rest) for layer, key, *rest in layers for head in (1, 2)]
    heads[0] = (1, 1, "cls", 0.0, 0.0)
    columns = {"layer": pl.UInt16, "key": pl.String, "magnitude": pl.Float64, "magnitude_se": pl.Float64}
    return (
        pl.DataFrame(layers, columns, orient="row"),
        pl.DataFrame(heads, {"layer": pl.UInt16, "head": pl.UInt16} | columns, orient="row"),
        pl.DataFrame({"examples": [1200], "masked": [19_000], "loss": [2.5], "loss_se": [0.1], "refused": [None]}),
    )


def test_figure_3_draws_heads_as_points_and_layers_with_errors_on_a_log_axis(gradients):
    chart = figure_3(*gradients, BERT, "my-corpus")
    rows = drawn(chart)
    assert {row["kind"] for row in rows} == {"[CLS]", "other tokens"}, "what the model lacks is left out"
    assert len([row for row in rows if "name" in row]) == 7, "a magnitude of zero has no place on the axis"
    errors = {(row["layer"], row["kind"]): (row["low"], row["high"]) for row in rows if "low" in row}
    assert errors[1, "[CLS]"] == pytest.approx((9e-4, 1.1e-3))
    assert errors[2, "[CLS]"] == pytest.approx((2e-5, 5e-4)), "an error as large as the mean stays on the axis"
    assert errors[1, "other tokens"] == (None, None), "one example has no error"
    specification = json.dumps(chart.to_dict())
    assert '"type": "log"' in specification
    assert "1,200 examples, 19,000 masked tokens, mean loss 2.50 nats" in specification


def test_figure_3_of_a_model_without_a_head_says_why(gradients):
    layers, heads, loss = gradients
    said = loss.with_columns(refused=pl.lit("model m: it has no head"))
    chart = figure_3(layers.clear(), heads.clear(), said, BERT, "my-corpus")
    assert [row["sentence"] for row in drawn(chart)] == ["model m: it has no head"]
