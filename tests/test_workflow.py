import http.server
import json
import math
import threading
from functools import partial
from hashlib import sha256

import polars as pl
import pytest
from checkpoints import save_bert, save_gpt2
from hub import Hub
from workflow_runs import copy_workflow, planned, snakemake, tiny_config, write_inputs

RESULTS = "results/tiny/few"
ALL_JOBS = {
    "read_text": 1,
    "describe_model": 1,
    "encode_text": 1,
    "extract_attention": 2,
    "count_surface": 2,
    "merge_surface": 1,
    "list_skipped": 1,
    "choose_maps": 1,
    "draw_figure_1": 1,
    "draw_figure_2": 1,
    "draw_figure_4": 1,
    "check_mlm_head": 1,
    "count_gradients": 2,
    "merge_gradients": 1,
    "draw_figure_3": 1,
}
GRADIENTS = {"check_mlm_head", "count_gradients", "merge_gradients", "draw_figure_3"}
MAPS = {"extract_attention", "count_surface", "merge_surface", "choose_maps", "draw_figure_1"}


@pytest.fixture(scope="module")
def bert_folder(tmp_path_factory):
    return save_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def finished(bert_folder, tmp_path_factory):
    """A copy of the workflow that has run to the end."""
    folder = write_inputs(copy_workflow(tmp_path_factory.mktemp("run")), tiny_config(bert_folder))
    run = snakemake(folder)
    assert run.returncode == 0, run.stdout
    return folder


@pytest.fixture
def fresh(bert_folder, tmp_path):
    return write_inputs(copy_workflow(tmp_path), tiny_config(bert_folder))


@pytest.fixture
def edited(finished):
    """A function that edits a file of the finished copy; undone afterwards."""
    originals = {}

    def edit(file, before, after):
        path = finished / file
        originals.setdefault(path, path.read_text("utf-8"))
        text = path.read_text("utf-8")
        assert before in text
        path.write_text(text.replace(before, after, 1), encoding="utf-8")

    yield edit
    for path, text in originals.items():
        path.write_text(text, encoding="utf-8")


def test_one_command_makes_every_table_and_figure(finished):
    for table in ("heads", "uniform", "maps"):
        for ending in ("csv", "parquet"):
            assert (finished / RESULTS / "surface" / f"{table}.{ending}").stat().st_size
    for number in (1, 2, 4):
        for ending in ("html", "svg", "png"):
            assert (finished / RESULTS / "figures" / f"figure_{number}.{ending}").stat().st_size
    heads = pl.read_parquet(finished / RESULTS / "surface" / "heads.parquet")
    assert heads.shape == (12, 22)
    assert heads.null_count().sum_horizontal().item() == 0


def test_nothing_vanishes_silently(finished):
    """Six, five and two paragraphs: six pairs and one left over."""
    skipped = pl.read_csv(finished / RESULTS / "skipped.csv")
    assert skipped["where"].to_list() == ["few.txt:12"]
    uniform = pl.read_csv(finished / RESULTS / "surface" / "uniform.csv")
    assert uniform["examples"].to_list() == [6, 6, 6]


def test_no_temporary_file_is_left(finished):
    assert not [path for path in finished.rglob("*.part") if ".snakemake" not in path.parts]


def test_every_job_has_a_log_and_extraction_says_how_fast(finished):
    log = (finished / "logs/extract_attention/tiny/few/1-of-2.log").read_text()
    assert "examples" in log
    assert "a second" in log
    assert (finished / "logs/extract_attention/tiny/few/1-of-2.benchmark.tsv").is_file()


def test_a_second_run_does_nothing(finished):
    assert "Nothing to be done" in snakemake(finished).stdout


def test_a_comment_or_a_docstring_redoes_nothing(edited, finished):
    edited("scripts/headscope/surface.py", "def row_entropy", "# a comment\ndef row_entropy")
    edited("scripts/headscope/surface.py", '"""\nSurface patterns', '"""\nPatterns on the surface')
    edited("scripts/count_surface.py", '"""Sum', '"""Add up')
    edited("scripts/headscope/jobs.py", "SECONDS_BETWEEN_LOG_LINES = 15", "SECONDS_BETWEEN_LOG_LINES = 16")
    assert planned(finished) == {}


def test_one_colour_redraws_one_figure(edited, finished):
    edited("scripts/headscope/charts/figure_2.py", '"to_self": GREEN', '"to_self": BLUE')
    assert planned(finished) == {"draw_figure_2": 1}


def test_the_entropy_formula_redoes_the_counts_of_every_shard_but_no_extraction(edited, finished):
    edited("scripts/headscope/surface.py", "-np.vecdot(", "-1.0 * np.vecdot(")
    again = {"count_surface": 2, "merge_surface": 1, "choose_maps": 1}
    assert planned(finished) == again | {f"draw_figure_{number}": 1 for number in (1, 2, 4)}


def test_a_change_of_the_shard_format_redoes_what_writes_and_reads_it(edited, finished):
    edited("scripts/headscope/store.py", "ROW_GROUP_BYTES = 16", "ROW_GROUP_BYTES = 32")
    untouched = {"read_text", "describe_model", "encode_text", "list_skipped", "check_mlm_head"}
    assert set(planned(finished)) == set(ALL_JOBS) - untouched


def test_one_config_key_redoes_its_dependants(edited, finished):
    edited("tiny.yaml", "models:", "surface: {neighbours: paper}\nmodels:")
    jobs = planned(finished)
    assert jobs["merge_surface"] == 1
    assert not {"extract_attention", "count_surface"} & jobs.keys()


def test_how_a_job_runs_redoes_nothing(finished):
    resources = ["extract_attention:device=cpu", "extract_attention:budget_mb=1"]
    assert planned(finished, "--set-resources", *resources, "--set-threads", "extract_attention=1") == {}


def test_shards_and_batches_change_no_byte_of_a_table(finished, fresh):
    (fresh / "tiny.yaml").write_text((finished / "tiny.yaml").read_text().replace("shards: 2", "shards: 3"))
    tables = [f"{RESULTS}/surface/{table}.csv" for table in ("heads", "uniform")]
    run = snakemake(fresh, *tables, "--set-resources", "extract_attention:budget_mb=0.1")
    assert run.returncode == 0, run.stdout
    for table in tables:
        assert (fresh / table).read_bytes() == (finished / table).read_bytes()


@pytest.mark.parametrize(
    ("target", "left_out"),
    [
        ("all", set()),
        ("surface", GRADIENTS),
        ("gradients", {*MAPS, "draw_figure_2", "draw_figure_4", "list_skipped"}),
        ("figure_1", {*GRADIENTS, "draw_figure_2", "draw_figure_4", "list_skipped"}),
        ("figure_2", {*GRADIENTS, "draw_figure_1", "draw_figure_4", "list_skipped", "choose_maps"}),
        ("figure_3", {*MAPS, "draw_figure_2", "draw_figure_4", "list_skipped"}),
        ("figure_4", {*GRADIENTS, "draw_figure_1", "draw_figure_2", "list_skipped", "choose_maps"}),
    ],
)
def test_each_target_works_from_nothing(fresh, target, left_out):
    assert planned(fresh, target) == {job: count for job, count in ALL_JOBS.items() if job not in left_out}


def test_a_wrong_config_is_one_error_before_any_job(fresh):
    text = (fresh / "tiny.yaml").read_text()
    (fresh / "tiny.yaml").write_text(text.replace("max_tokens", "max_token"))
    run = snakemake(fresh)
    assert run.returncode != 0
    assert "tiny.yaml:3: corpora[0].max_token: there is no key max_token; did you mean max_tokens?" in run.stdout
    assert "Traceback" not in run.stdout
    assert not (fresh / "examples").exists()


def test_bad_input_of_a_job_is_one_sentence_and_the_rest_goes_on(fresh):
    text = (fresh / "tiny.yaml").read_text()
    (fresh / "tiny.yaml").write_text(text.replace("name: tiny", "name: tiny\n  attention: sdpa"))
    run = snakemake(fresh)
    assert run.returncode != 0
    sentence = "ERROR: BertModel returned no attention maps: its attention implementation is 'sdpa'"
    assert sentence in run.stdout
    assert "Traceback" not in run.stdout
    assert sentence in (fresh / "logs/describe_model/tiny.log").read_text()
    assert (fresh / "examples/few/pairs.parquet").is_file()
    assert not (fresh / "attention").exists()


def test_snakemakes_own_report_is_made(finished):
    run = snakemake(finished, "--report", "report.html")
    assert run.returncode == 0, run.stdout
    assert "figure_2.html" in (finished / "report.html").read_text("utf-8")


def test_a_causal_model_without_special_tokens_goes_all_the_way(tmp_path, tmp_path_factory):
    gpt2 = save_gpt2(tmp_path_factory.mktemp("gpt2"))
    folder = write_inputs(copy_workflow(tmp_path), tiny_config(gpt2, shards=1))
    run = snakemake(folder)
    assert run.returncode == 0, run.stdout
    heads = pl.read_parquet(folder / RESULTS / "surface" / "heads.parquet")
    assert heads["to_sep"].null_count() == heads.height
    assert heads["to_next"].to_list() == [0] * heads.height
    uniform = pl.read_parquet(folder / RESULTS / "surface" / "uniform.parquet")
    assert uniform["entropy"][0] < math.log(64) - 0.5, "a query sees the keys before it, not all"


@pytest.fixture
def hub(bert_folder, monkeypatch):
    """A hub of one model on this machine; a folder that serves corpora beside it."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Hub, bert_folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_model_and_corpus_come_from_the_network_pinned(hub, bert_folder, finished, tmp_path):
    text = (finished / "few.txt").read_bytes()
    (bert_folder / "few.txt").write_bytes(text)
    (bert_folder / "pytorch_model.bin").write_bytes(b"pickle")
    digest = sha256(text).hexdigest()
    config = tiny_config("org/tiny", path=None, url=f"{hub}/few.txt", sha256=digest)
    config["models"][0]["revision"] = Hub.REVISION
    folder = write_inputs(copy_workflow(tmp_path), config)
    run = snakemake(folder, f"{RESULTS}/surface/heads.csv", HF_ENDPOINT=hub, HF_HUB_OFFLINE="0")
    assert run.returncode == 0, run.stdout
    assert (folder / RESULTS / "surface/heads.csv").read_bytes() == (
        finished / RESULTS / "surface/heads.csv"
    ).read_bytes()
    fetched = json.loads((folder / "downloads/models/tiny.json").read_text())
    assert "model.safetensors" in fetched["sha256"]
    assert "pytorch_model.bin" not in fetched["sha256"]
    described = json.loads((folder / "models/tiny/description.json").read_text())
    assert (described["source"], described["revision"]) == ("org/tiny", Hub.REVISION)
