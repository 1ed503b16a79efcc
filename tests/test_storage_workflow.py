"""Maps that are stored, kept, dealt to jobs or not stored at all: through the real Snakefile, with a tiny model."""

import polars as pl
import pytest
from workflow_runs import copy_workflow, planned, snakemake, tiny_config, write_inputs

RESULTS = "results/tiny/few"
TABLES = [f"{RESULTS}/surface/heads.csv", f"{RESULTS}/surface/maps.csv"]
COUNTS = {"count_surface": 2, "merge_surface": 1, "choose_maps": 1}


def configured(folder, bert_folder, attention, **more):
    """A copy of the workflow with this section `attention`; its text is cut into three shards."""
    return write_inputs(copy_workflow(folder), tiny_config(bert_folder, shards=3) | {"attention": attention} | more)


@pytest.fixture(scope="module")
def passing(bert_folder, tmp_path_factory):
    """A run in which each job makes two shards, which are deleted when they are read."""
    attention = {"dtype": "float32", "keep": False, "shards_per_job": 2}
    folder = configured(tmp_path_factory.mktemp("passing"), bert_folder, attention)
    run = snakemake(folder, *TABLES)
    assert run.returncode == 0, run.stdout
    return folder


def test_shards_go_when_they_are_read_and_are_not_missed(passing):
    assert not [*(passing / "attention").rglob("*.parquet")]
    assert [path.name for path in sorted((passing / "counts/surface/tiny/few").iterdir())] == [
        "1-of-2.parquet",
        "2-of-2.parquet",
    ]
    assert planned(passing, *TABLES) == {}


@pytest.mark.parametrize(
    ("file", "before", "after", "again"),
    [
        ("scripts/headscope/surface_counts.py", "-np.vecdot(", "-1.0 * np.vecdot(", {"count_surface": 2}),
        ("tiny.yaml", "dtype: float32", "dtype: float16", COUNTS),
        (
            "scripts/headscope/attention.py",
            "launcher, waiting, table =",
            "launcher = None\n    launcher, waiting, table =",
            COUNTS,
        ),
    ],
    ids=["formula", "precision", "extraction"],
)
def test_deleted_shards_are_made_again_where_a_change_needs_them(passing, file, before, after, again):
    text = (passing / file).read_text("utf-8")
    try:
        assert before in text
        (passing / file).write_text(text.replace(before, after, 1), "utf-8")
        jobs = planned(passing, *TABLES)
    finally:
        (passing / file).write_text(text, "utf-8")
    assert jobs["extract_attention"] == 2
    assert again.items() <= jobs.items()


def test_live_tables_are_those_of_float32_shards_and_nothing_is_stored(bert_folder, passing, tmp_path):
    folder = configured(tmp_path, bert_folder, {"store": False, "shards_per_job": 3})
    run = snakemake(folder, *TABLES)
    assert run.returncode == 0, run.stdout
    assert not (folder / "attention").exists()
    for file in TABLES:
        found, expected = (pl.read_csv(run / file) for run in (folder, passing))
        assert found.columns == expected.columns
        for column in found.columns:
            if found[column].dtype.is_float():
                assert (found[column] - expected[column]).abs().max() <= 1e-6, column
            else:
                assert found[column].equals(expected[column]), column
    assert "a second" in (folder / "logs/count_surface/tiny/few/1-of-1.log").read_text()
    assert "Nothing to be done" in snakemake(folder, *TABLES).stdout


def everything(bert_folder):
    """A text, two treebanks and documents, for two models that are compared."""
    tiny = {"name": "tiny", "source": str(bert_folder)}
    trees = {"kind": "treebank", "path": "config/demo/treebank.conllu", "shards": 3}
    documents = {"name": "documents", "kind": "coreference", "path": "config/demo/coreference.conllu", "shards": 3}
    return {
        "models": [tiny, tiny | {"name": "other", "dtype": "bfloat16"}],
        "corpora": [
            {"name": "few", "kind": "text", "path": "few.txt", "shards": 3},
            *(trees | {"name": name} for name in ("learn", "test")),
            documents,
        ],
        "compare": {"divergence": [["tiny", "other"]]},
        "probes": {"train": "learn"},
    }


@pytest.mark.parametrize(
    ("attention", "extractions", "states", "counts"),
    [({"shards_per_job": 2}, 16, 8, 4), ({"store": False}, 0, 12, 6)],
    ids=str,
)
def test_a_job_makes_and_reads_several_shards_or_none(bert_folder, tmp_path, attention, extractions, states, counts):
    folder = configured(tmp_path, bert_folder, attention, **everything(bert_folder))
    jobs = planned(folder)
    assert jobs.get("extract_attention", 0) == extractions
    assert jobs["extract_states"] == states
    for name in (
        "count_surface",
        "count_divergence",
        "count_norms",
        "count_gradients",
        "count_syntax",
        "count_coreference",
    ):
        assert jobs[name] == counts, name
    assert {"choose_maps", "choose_sentences", "choose_passage", "lay_out_sentences", "score_probes"} <= jobs.keys()
