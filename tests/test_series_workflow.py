import polars as pl
import pytest
import yaml
from checkpoints import REPOSITORY, save_gpt2
from result_columns import check_columns
from trained import HEAD, LAYER, save_series, save_step
from workflow_runs import copy_workflow, planned, snakemake, tiny_config, write_inputs

TREEBANK = REPOSITORY / "config" / "demo" / "treebank.conllu"
SENTENCES = 60
SERIES = "results/series/tiny"
TARGETS = ("series", "compare_divergence")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run on two steps of a model in which a head learns to look at the previous token, and a pair with a GPT-2."""
    folder = tmp_path_factory.mktemp("run")
    save_series(folder / "runs", (0, 1000))
    config = tiny_config("runs", shards=1)
    config["models"][0]["source"] = "runs/step*"
    config["models"].append({"name": "gpt2", "source": str(save_gpt2(folder / "gpt2"))})
    config["corpora"].append({"name": "trees", "kind": "treebank", "path": "trees.conllu", "shards": 1})
    config["compare"] = {"divergence": [["tiny@step1000", "gpt2"]]}
    write_inputs(copy_workflow(folder), config)
    sentences = TREEBANK.read_text("utf-8").split("\n\n")[:SENTENCES]
    (folder / "trees.conllu").write_text("\n\n".join(sentences) + "\n\n", "utf-8")
    run = snakemake(folder, *TARGETS)
    assert run.returncode == 0, run.stdout
    return folder


def test_the_tables_of_a_series_show_what_a_head_learned(finished):
    heads = pl.read_csv(finished / SERIES / "few/surface/heads.csv")
    learned = heads.filter(layer=LAYER, head=HEAD)
    assert learned.select("step", "model").rows() == [(0, "tiny@step0"), (1000, "tiny@step1000")]
    before, after = learned["to_previous"]
    assert before < 0.2
    assert after > 0.9
    best = pl.read_csv(finished / SERIES / "trees/syntax/best.csv").filter(scheme="stanford", relation="pobj")
    traced = pl.read_csv(finished / SERIES / "trees/syntax/traced.csv").filter(scheme="stanford", relation="pobj")
    assert best["step"].to_list() == traced["step"].to_list() == [0, 1000]
    assert traced["accuracy"][1] == best["accuracy"][1]
    assert traced["accuracy"][0] <= best["accuracy"][0]
    for figure in ("trees/figures/series_syntax", "few/figures/series_surface"):
        for ending in ("html", "svg", "png"):
            assert (finished / SERIES / f"{figure}.{ending}").stat().st_size


def test_the_tables_have_the_columns_of_the_manual(finished):
    check_columns(finished, __file__)


def test_the_tables_of_a_pair_are_of_words_or_say_why_not(finished):
    results = finished / "results" / "compare"
    (pair,) = pl.read_parquet(results / "trees/pairs.parquet").to_dicts()
    words = pl.read_parquet(finished / "examples/trees/trees.parquet").filter(
        pl.col("example").is_in(pl.read_parquet(results / "trees/left_out.parquet")["example"].implode()).not_()
    )
    assert (pair["model"], pair["other_model"], pair["level"], pair["refused"]) == (
        "tiny@step1000",
        "gpt2",
        "word",
        None,
    )
    assert (pair["examples"], pair["queries"]) == (words.height, words["words"].list.len().sum())
    assert pl.read_parquet(results / "trees/divergence.parquet").height == 12 * 12
    assert pl.read_csv(results / "trees/nearest.csv").height == 12 + 12
    (pair,) = pl.read_csv(results / "few/pairs.csv").to_dicts()
    assert pair["refused"].startswith("tiny@step1000 and gpt2 cut 6 of 6 examples of this text into other tokens")
    assert pl.read_csv(results / "few/divergence.csv").height == 0
    for corpus in ("few", "trees"):
        for ending in ("html", "svg", "png"):
            assert (results / corpus / f"tiny@step1000/gpt2/figures/compare_divergence.{ending}").stat().st_size


def test_a_second_run_does_nothing(finished):
    assert "Nothing to be done" in snakemake(finished, *TARGETS).stdout


def test_another_step_is_all_that_is_computed_for_it(finished):
    save_step(finished / "runs" / "step500", 0.5)
    jobs = planned(finished, *TARGETS)
    assert {name: jobs[name] for name in jobs if name not in TARGETS} == {
        **{"describe_model": 1, "encode_text": 1, "encode_words": 1, "extract_attention": 2},
        **{"count_surface": 1, "merge_surface": 1, "count_syntax": 1, "merge_syntax": 1},
        **{"merge_series_surface": 1, "draw_series_surface": 1, "merge_series_syntax": 1, "draw_series_syntax": 1},
    }


def test_another_pair_is_all_that_is_computed_for_it(finished):
    config = yaml.safe_load((finished / "tiny.yaml").read_text("utf-8"))
    before = (finished / "tiny.yaml").read_text("utf-8")
    config["compare"]["divergence"].append(["tiny@step0", "tiny@step1000"])
    config["models"][0] |= {"source": "runs", "revision": ["step0", "step1000"]}
    (finished / "tiny.yaml").write_text(yaml.safe_dump(config), "utf-8")
    jobs = planned(finished, "compare_divergence")
    (finished / "tiny.yaml").write_text(before, "utf-8")
    assert {name: jobs[name] for name in jobs if name not in TARGETS} == {
        name: 2 for name in (f"{verb}_compare_divergence" for verb in ("count", "merge", "join", "draw"))
    }
