from hashlib import sha256

import polars as pl
import pytest
import yaml
from checkpoints import REPOSITORY, STANZA_MODELS, needs_stanza_models, save_bert
from hub import Hub
from result_columns import check_columns
from serving import serving
from workflow_runs import copy_workflow, planned, snakemake, write_inputs

DEMO = REPOSITORY / "config" / "demo" / "treebank.conllu"
RESULTS = "results/tiny/ewt-dev"
SENTENCES = 40


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The first sentences of the demo treebank behind an address."""
    folder = tmp_path_factory.mktemp("served")
    sentences = DEMO.read_text("utf-8").split("\n\n")[:SENTENCES]
    (folder / "trees.conllu").write_text("\n\n".join(sentences) + "\n\n", "utf-8")
    with serving(Hub, folder) as address:
        yield f"{address}/trees.conllu", sha256((folder / "trees.conllu").read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def finished(served, tmp_path_factory):
    """A run of config/treebank-example.yaml with a tiny model, its address replaced by ours."""
    config = yaml.safe_load((REPOSITORY / "config" / "treebank-example.yaml").read_text("utf-8"))
    config["models"] = [{"name": "tiny", "source": str(save_bert(tmp_path_factory.mktemp("bert")))}]
    (corpus,) = config["corpora"]
    corpus["url"], corpus["sha256"] = served
    folder = write_inputs(copy_workflow(tmp_path_factory.mktemp("run")), config)
    run = snakemake(folder, HF_HUB_OFFLINE="0")  # the address is on this machine
    assert run.returncode == 0, run.stdout
    return folder


def test_a_treebank_from_an_address_becomes_tables_and_figures(finished, served):
    for table in ("heads", "table1", "examples"):
        for ending in ("csv", "parquet"):
            assert (finished / RESULTS / "syntax" / f"{table}.{ending}").stat().st_size
    for figure in ("figure_5", "syntax_heads", "syntax_baseline"):
        for ending in ("html", "svg", "png"):
            assert (finished / RESULTS / "figures" / f"{figure}.{ending}").stat().st_size
    assert "| det |" in (finished / RESULTS / "syntax" / "table1.md").read_text("utf-8")
    heads = pl.read_parquet(finished / RESULTS / "syntax" / "heads.parquet")
    assert heads.filter(scheme="ud", relation="det").height == 2 * 3 * 4
    trees = pl.read_parquet(finished / "examples" / "ewt-dev" / "trees.parquet")
    assert trees.height == SENTENCES
    assert trees["where"][0] == f"{served[0]}:4"
    dependents = trees["ud_relations"].explode().is_in(["root", "punct"]).not_().sum()
    assert heads.filter(scheme="ud", relation="all")["total"].unique().to_list() == [dependents]


def test_the_tables_have_the_columns_of_the_manual(finished):
    check_columns(finished, __file__)


def test_a_second_run_does_nothing(finished):
    assert "Nothing to be done" in snakemake(finished).stdout


def test_another_seed_only_merges_and_draws_again(finished):
    config = (finished / "tiny.yaml").read_text("utf-8")
    (finished / "tiny.yaml").write_text(config + "syntax: {seed: 1}\n", "utf-8")
    jobs = planned(finished)
    (finished / "tiny.yaml").write_text(config, "utf-8")
    assert jobs == {
        "merge_syntax": 1,
        "choose_sentences": 1,
        "render_table1": 1,
        "draw_figure_5": 1,
        "draw_syntax_heads": 1,
        "draw_syntax_baseline": 1,
        "judge_claims": 1,
        "compare_claims": 1,
        "write_report": 1,
    }


@pytest.mark.parametrize("target", ["syntax", "table_1", "figure_5", "all"])
def test_each_target_works_from_nothing(finished, tmp_path, target):
    config = yaml.safe_load((finished / "tiny.yaml").read_text("utf-8"))
    folder = write_inputs(copy_workflow(tmp_path), config)
    jobs = planned(folder, target)
    assert jobs["fetch_corpus"] == jobs["read_treebank"] == jobs["merge_syntax"] == 1
    assert ("draw_figure_5" in jobs) == (target != "table_1")


@needs_stanza_models
def test_a_text_is_parsed_and_scored(finished, tmp_path):
    config = yaml.safe_load((finished / "tiny.yaml").read_text("utf-8"))
    corpus = {"name": "ewt-dev", "kind": "treebank", "format": "paragraphs", "path": "few.txt", "package": "ewt"}
    config |= {"corpora": [corpus | {"shards": 1}], "stanza": {"models": str(STANZA_MODELS)}}
    folder = write_inputs(copy_workflow(tmp_path), config)
    run = snakemake(folder, f"{RESULTS}/syntax/table1.csv", f"{RESULTS}/skipped.csv")
    assert run.returncode == 0, run.stdout
    table1 = pl.read_csv(folder / RESULTS / "syntax" / "table1.csv")
    assert table1.filter(scheme="stanford", relation="det")["total"].item() > 20


def test_models_of_stanza_that_are_not_there_are_one_sentence(finished, tmp_path):
    config = yaml.safe_load((finished / "tiny.yaml").read_text("utf-8"))
    corpus = {"name": "ewt-dev", "kind": "treebank", "format": "words", "path": "few.txt"}
    config |= {"corpora": [corpus], "stanza": {"models": "nowhere"}}
    folder = write_inputs(copy_workflow(tmp_path), config)
    run = snakemake(folder, "examples/ewt-dev/trees.parquet")
    assert run.returncode != 0
    assert "ERROR: Stanza models: expected a folder nowhere, found none there; run the rule fetch_stanza" in run.stdout
    assert "Traceback" not in run.stdout
