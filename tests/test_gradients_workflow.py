import polars as pl
import pytest
import transformers
from checkpoints import save_bert, save_gpt2
from result_columns import check_columns
from workflow_runs import copy_workflow, planned, snakemake, tiny_config, write_inputs

RESULTS = "results/tiny/few"
TABLES = [f"{RESULTS}/gradients/{table}.csv" for table in ("layers", "heads", "loss")]


@pytest.fixture(scope="module")
def with_head(tmp_path_factory):
    return save_bert(tmp_path_factory.mktemp("with_head"), auto=transformers.AutoModelForMaskedLM)


@pytest.fixture(scope="module")
def finished(with_head, tmp_path_factory):
    """A copy of the workflow in which the gradients of a model with a head of its own have been taken."""
    folder = write_inputs(copy_workflow(tmp_path_factory.mktemp("run")), tiny_config(with_head))
    run = snakemake(folder, "gradients")
    assert run.returncode == 0, run.stdout
    return folder


def test_tables_and_figure_are_made_without_stored_maps(finished):
    layers, heads, loss = (pl.read_csv(finished / table) for table in TABLES)
    assert layers.columns == ["layer", "key", "magnitude", "magnitude_se"]
    assert heads.columns == ["layer", "head", "key", "magnitude", "magnitude_se"]
    assert (layers.height, heads.height) == (3 * 4, 3 * 4 * 4)
    assert layers.null_count().sum_horizontal().item() == heads.null_count().sum_horizontal().item() == 0
    row = loss.row(0, named=True)
    assert (row["examples"], row["refused"]) == (6, None)
    assert row["masked"] > 6 and row["loss"] > 0
    for ending in ("html", "svg", "png"):
        assert (finished / RESULTS / "figures" / f"figure_3.{ending}").stat().st_size
    assert not (finished / "attention").exists()
    assert "Nothing to be done" in snakemake(finished, "gradients").stdout


def test_the_tables_have_the_columns_of_the_manual(finished):
    check_columns(finished, __file__)


def test_every_job_says_how_fast_and_where_the_head_is_from(finished):
    assert "a second" in (finished / "logs/count_gradients/tiny/few/1-of-2.log").read_text()
    assert (finished / "logs/count_gradients/tiny/few/1-of-2.benchmark.tsv").is_file()
    assert "the checkpoint's own" in (finished / "models/tiny/mlm_head.json").read_text()


def test_shards_and_batches_change_no_byte_of_a_table(finished, with_head, tmp_path):
    folder = write_inputs(copy_workflow(tmp_path), tiny_config(with_head, shards=3))
    run = snakemake(folder, *TABLES, "--set-resources", "count_gradients:budget_mb=100")
    assert run.returncode == 0, run.stdout
    for table in TABLES:
        assert (folder / table).read_bytes() == (finished / table).read_bytes()


def test_another_seed_counts_again_and_another_device_does_not(finished):
    text = (finished / "tiny.yaml").read_text()
    try:
        (finished / "tiny.yaml").write_text(text + "gradients: {seed: 1}\n")
        again = {"count_gradients": 2, "merge_gradients": 1, "draw_figure_3": 1}
        assert planned(finished, "gradients") == again
    finally:
        (finished / "tiny.yaml").write_text(text)
    assert planned(finished, "gradients", "--set-resources", "count_gradients:device=cpu") == {}


def refused(folder):
    """The reason that the tables give; everything else is there, and empty."""
    run = snakemake(folder, "gradients")
    assert run.returncode == 0, run.stdout
    layers, heads, loss = (pl.read_csv(folder / table) for table in TABLES)
    assert (layers.height, heads.height) == (0, 0)
    assert layers.columns == ["layer", "key", "magnitude", "magnitude_se"]
    reason = loss["refused"].item()
    assert reason in (folder / RESULTS / "figures" / "figure_3.svg").read_text("utf-8").replace("&#39;", "'")
    assert f"WARNING: {reason}" in run.stdout
    assert run.stdout.count("WARNING: model tiny") == 1
    return reason


def test_a_model_without_a_head_says_so_and_the_rest_goes_on(tmp_path, tmp_path_factory):
    bare = save_bert(tmp_path_factory.mktemp("bare"))
    reason = refused(write_inputs(copy_workflow(tmp_path), tiny_config(bare)))
    assert reason.startswith("model tiny: no gradients of a masked language model's loss: its checkpoint holds no")


def test_a_causal_model_is_refused_by_name_and_the_rest_goes_on(tmp_path, tmp_path_factory):
    causal = save_gpt2(tmp_path_factory.mktemp("gpt2"))
    assert "GPT2Model is causal" in refused(write_inputs(copy_workflow(tmp_path), tiny_config(causal)))


def test_a_head_is_fitted_where_the_config_says_so(tmp_path, tmp_path_factory):
    bare = save_bert(tmp_path_factory.mktemp("bare"))
    config = tiny_config(bare, shards=1)
    config["models"][0]["mlm_head"] = "train"
    config["corpora"].append({"name": "learnt", "kind": "text", "path": "config/demo/text.txt", "max_tokens": 64})
    config["train_mlm_head"] = {"corpus": "learnt", "held_out": "few", "draws": 1, "epochs": 1}
    folder = write_inputs(copy_workflow(tmp_path), config)
    run = snakemake(folder, TABLES[0])
    assert run.returncode == 0, run.stdout
    curve = pl.read_csv(folder / "models/tiny/mlm_head.csv")
    assert curve.columns == ["epoch", "training", "held_out", "frequencies"]
    assert curve["epoch"].to_list() == [0, 1]
    assert pl.read_csv(folder / TABLES[0]).height == 12
    assert "held-out loss" in (folder / "logs/train_mlm_head/tiny.log").read_text()


def test_a_head_of_another_model_is_one_error(tmp_path):
    demo = "config/demo/mlm_head.safetensors"
    config = tiny_config(save_bert(tmp_path / "bare"))
    config["models"][0]["mlm_head"] = demo
    folder = write_inputs(copy_workflow(tmp_path / "copy"), config)
    run = snakemake(folder, "gradients")
    assert run.returncode != 0
    assert f"{demo}: expected a head fitted to the weights of tiny" in run.stdout
    assert "Traceback" not in run.stdout
