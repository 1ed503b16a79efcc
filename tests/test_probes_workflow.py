import polars as pl
import pytest
import yaml
from checkpoints import REPOSITORY, save_bert
from result_columns import check_columns
from workflow_runs import copy_workflow, planned, snakemake, write_inputs

from headscope.probes.files import read_learned
from headscope.probes.names import LEARNED, PRINTED

DEMO = REPOSITORY / "config" / "demo"
RESULTS = "results/tiny/test/probes"
LEARNING, TEST = 30, 20


def some_sentences(source, count, path):
    path.write_text("\n\n".join(source.read_text("utf-8").split("\n\n")[:count]) + "\n\n", "utf-8")


def probe_config(bert_folder, shards=1):
    tiny = {"name": "tiny", "source": str(bert_folder)}
    return {
        "models": [tiny, tiny | {"name": "twin", "random_init": True, "seed": 3}],
        "corpora": [
            {"name": "learn", "kind": "treebank", "path": "learn.conllu", "shards": shards},
            {"name": "test", "kind": "treebank", "path": "test.conllu", "shards": 1},
        ],
        "probes": {
            "train": "learn",
            "seeds": 2,
            "epochs": 3,
            "learning_curve": [20, 1000],
            "structural_rank": 8,
            "resamples": 100,
        },
    }


@pytest.fixture(scope="module")
def bert_folder(tmp_path_factory):
    return save_bert(tmp_path_factory.mktemp("bert"))


def written(folder, config):
    some_sentences(DEMO / "coreference.conllu", LEARNING, folder / "learn.conllu")
    some_sentences(DEMO / "treebank.conllu", TEST, folder / "test.conllu")
    return write_inputs(folder, config)


@pytest.fixture(scope="module")
def finished(bert_folder, tmp_path_factory):
    folder = written(copy_workflow(tmp_path_factory.mktemp("run")), probe_config(bert_folder))
    run = snakemake(folder, "probes")
    assert run.returncode == 0, run.stdout
    return folder


def test_probes_become_tables_and_figures(finished):
    for table in ("table3", "curve", "weights", "coverage"):
        for ending in ("csv", "parquet"):
            assert (finished / RESULTS / f"{table}.{ending}").stat().st_size
    for figure in ("probe_weights", "probe_curve"):
        for ending in ("html", "svg", "png"):
            assert (finished / "results/tiny/test/figures" / f"{figure}.{ending}").stat().st_size
    table3 = pl.read_parquet(finished / RESULTS / "table3.parquet")
    assert table3["probe"].to_list() == list(PRINTED), "every row, in order"
    encoded = pl.read_parquet(finished / "encoded/tiny/learn/examples.parquet", columns=["example"])
    learning = pl.read_parquet(finished / "examples/learn/trees.parquet").join(encoded, on="example")
    learning = learning["words"].list.len()  # one sentence is too long for the model
    trees = pl.read_parquet(finished / "examples/test/trees.parquet")
    counted = trees["ud_relations"].explode(empty_as_null=False).ne("punct").sum()
    for row in table3.iter_rows(named=True):
        is_learned = row["features"][0] not in "to"  # the next word, offset
        assert row["seeds"] == (2 if is_learned else 1), row
        trained = (learning > 1).sum() if row["probe"] == "structural" else len(learning)
        assert row["trained"] == (trained if is_learned else None), row
        assert row["sentences"] == trees.height
        if row["probe"] != "structural":
            assert 0 <= row["uas_low"] <= row["uas"] <= row["uas_high"] < 1, row
        if "control" not in row["probe"] and row["probe"] != "structural":
            assert row["words"] == counted
    by_probe = {row["probe"]: row for row in table3.iter_rows(named=True)}
    for probe in ("attention", "attention+words"):
        row, control = by_probe[probe], by_probe[f"{probe}.control"]
        assert row["selectivity"] == pytest.approx(row["uas"] - control["uas"])
    assert "12 heads of twin" in by_probe["attention.random"]["features"]
    assert "input embeddings of tiny" in by_probe["attention+words.random"]["features"], "words of the original"
    curve = pl.read_parquet(finished / RESULTS / "curve.parquet")
    assert curve["trained"].to_list() == [20, len(learning)] * 2, "a number beyond the treebank is left out"
    assert curve.filter(trained=len(learning))["uas"].to_list() == [
        by_probe[probe]["uas"] for probe in ("attention", "attention+words")
    ]
    weights = pl.read_parquet(finished / RESULTS / "weights.parquet")
    assert weights.height == 2 * 2 * 12
    run = read_learned(finished / "probes/tiny/learn/attention.safetensors").of_all_sentences()
    mean = sum(one.weights["weights"][0, 5].item() for one in run) / 2
    chosen = weights.filter(probe="attention", layer=2, head=2, direction="dependent_to_head")
    assert chosen["weight"].item() == pytest.approx(mean, rel=1e-6)
    assert "| Attention + words |" in (finished / RESULTS / "table3.md").read_text("utf-8")


def test_the_tables_have_the_columns_of_the_manual(finished):
    check_columns(finished, __file__)


def test_the_training_treebank_has_no_tables_of_its_own_and_its_maps_are_laid_out_for_once(finished):
    assert not (finished / "results/tiny/learn/syntax").exists()
    assert not (finished / "probes/tiny/learn/sentences.arrow").exists()


def test_a_second_run_does_nothing(finished):
    assert "Nothing to be done" in snakemake(finished, "probes").stdout


def test_what_a_setting_makes_again(finished, bert_folder):
    config = probe_config(bert_folder)
    config["probes"]["resamples"] = 200
    write_inputs(finished, config)
    merged = {"merge_probes": 1, "render_table3": 1, "draw_probe_weights": 1, "draw_probe_curve": 1}
    assert planned(finished, "probes") == merged
    config["probes"] |= {"resamples": 100, "learning_rate": 0.1}
    write_inputs(finished, config)
    learned = len(LEARNED) + 2
    again = {"lay_out_sentences": 2, "train_probe": learned, "score_probes": 2} | merged
    assert planned(finished, "probes") == again, "the structural probe has a rate of its own"
    write_inputs(finished, probe_config(bert_folder))


def test_no_number_depends_on_the_shards(finished, bert_folder, tmp_path):
    folder = written(copy_workflow(tmp_path), probe_config(bert_folder, shards=3))
    run = snakemake(folder, f"{RESULTS}/table3.csv")
    assert run.returncode == 0, run.stdout
    for file in ("table3.csv", "curve.csv", "weights.csv"):
        assert (folder / RESULTS / file).read_bytes() == (finished / RESULTS / file).read_bytes()


def test_vectors_of_a_file_serve_the_model_and_its_twin(finished, bert_folder):
    config = probe_config(bert_folder)
    config["probes"]["vectors"] = "glove.txt"
    words = ["the", "of", "and", "to", "a", "in", "was", "it", "he", "she", ".", ","]
    lines = [f"{word} {number} {number * number / 50} 1" for number, word in enumerate(words)]
    (finished / "glove.txt").write_text("\n".join(lines) + "\n", "utf-8")
    write_inputs(finished, config)
    run = snakemake(finished, f"{RESULTS}/table3.csv", f"{RESULTS}/coverage.csv")
    assert run.returncode == 0, run.stdout
    features = pl.read_parquet(finished / RESULTS / "table3.parquet").select("probe", "features")
    features = dict(features.iter_rows())
    assert features["attention+words"] == "12 heads of tiny; glove.txt (3 numbers)"
    assert features["attention+words.random"] == "12 heads of twin; glove.txt (3 numbers)"
    coverage = pl.read_parquet(finished / RESULTS / "coverage.parquet").row(0, named=True)
    assert 0 < coverage["known_types"] < coverage["types"] and coverage["known_tokens"] < coverage["tokens"]


def test_a_rank_beyond_the_model_and_a_treebank_that_is_none_are_named(finished, bert_folder):
    config = probe_config(bert_folder)
    config["probes"]["train"] = "tset"
    write_inputs(finished, config)
    said = snakemake(finished, "probes").stdout
    assert "probes.train: expected the name of a treebank, or null for no probes, found 'tset'" in said
    config = probe_config(bert_folder)
    config["probes"]["structural_rank"] = 64
    (finished / "tiny.yaml").write_text(yaml.safe_dump(config), "utf-8")
    run = snakemake(finished, "counts/structural/tiny/test.parquet")
    assert run.returncode and "expected" in run.stdout and "64" in run.stdout
