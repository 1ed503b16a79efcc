"""Coreference through the real Snakefile: the demo's documents, in both formats, with a tiny model."""

import polars as pl
import pytest
import yaml
from checkpoints import REPOSITORY, needs_stanza_models, save_bert
from result_columns import check_columns
from test_documents import to_conll2012
from workflow_runs import copy_workflow, planned, snakemake, write_inputs

from headscope.corpora.documents import read_documents

DEMO = REPOSITORY / "config" / "demo" / "coreference.conllu"
DOCUMENTS = 6


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The first documents of the demo as one file, and as one file each in the other format, cut to 40 tokens."""
    blocks = DEMO.read_text("utf-8").split("# newdoc")[1 : DOCUMENTS + 1]
    config = {
        "models": [{"name": "tiny", "source": str(save_bert(tmp_path_factory.mktemp("bert")))}],
        "corpora": [
            {"name": "one", "kind": "coreference", "path": "one.conllu", "shards": 2},
            {"name": "many", "kind": "coreference", "format": "conll2012", "path": "files/*.conll", "max_tokens": 40},
        ],
        "coreference": {"resamples": 100},
    }
    folder = write_inputs(copy_workflow(tmp_path_factory.mktemp("run")), config)
    (folder / "one.conllu").write_text("".join("# newdoc" + block for block in blocks), "utf-8")
    (folder / "files").mkdir()
    for number, text in enumerate(to_conll2012(*read_documents([folder / "one.conllu"])[:2]), start=1):
        (folder / "files" / f"{number}.conll").write_text(text, "utf-8")
    run = snakemake(folder)
    assert run.returncode == 0, run.stdout
    return folder


def table(folder, corpus, name):
    return pl.read_parquet(folder / "results" / "tiny" / corpus / "coreference" / f"{name}.parquet")


def test_documents_become_tables_and_figures(finished):
    for corpus in ("one", "many"):
        results = finished / "results" / "tiny" / corpus
        for name in ("heads", "table2", "distances", "mentions", "links", "passage"):
            assert (results / "coreference" / f"{name}.csv").stat().st_size
        for figure in ("figure_5_coreference", "coreference_heads", "coreference_distances"):
            for ending in ("html", "svg", "png"):
                assert (results / "figures" / f"{figure}.{ending}").stat().st_size
        assert "best head" in (results / "coreference" / "table2.md").read_text("utf-8")
    assert table(finished, "one", "heads").height == 3 * 4 * 2 * 3 * 4  # sets, types, directions, layers, heads


def test_the_tables_have_the_columns_of_the_manual(finished):
    check_columns(finished, __file__)


def test_head_words_say_where_they_are_from(finished):
    assert table(finished, "one", "mentions")["head_by"].unique().to_list() == ["gold"]
    assert table(finished, "many", "mentions")["head_by"].unique().to_list() == ["last"]


def test_what_the_cut_drops_is_listed_with_file_and_line(finished):
    skipped = pl.read_csv(finished / "results" / "tiny" / "many" / "skipped.csv")
    assert skipped.height == DOCUMENTS
    assert skipped["where"][0] == "files/1.conll:1"
    assert (
        skipped["reason"].str.contains(r"document cut after \d+ words: \d+ mentions cross the cut and \d+ stand").all()
    )
    assert table(finished, "many", "mentions").height < table(finished, "one", "mentions").height


def test_a_second_run_does_nothing(finished):
    assert "Nothing to be done" in snakemake(finished).stdout


def test_another_number_of_shards_gives_the_same_tables(finished):
    before = [table(finished, "one", name) for name in ("heads", "table2", "distances")]
    config = yaml.safe_load((finished / "tiny.yaml").read_text("utf-8"))
    config["corpora"][0]["shards"] = 3
    (finished / "tiny.yaml").write_text(yaml.safe_dump(config), "utf-8")
    run = snakemake(finished, "table_2")
    assert run.returncode == 0, run.stdout
    for name, expected in zip(("heads", "table2", "distances"), before, strict=True):
        assert table(finished, "one", name).equals(expected)


def test_another_candidate_set_only_draws_again(finished):
    config = yaml.safe_load((finished / "tiny.yaml").read_text("utf-8"))
    config["coreference"]["candidates"] = "words"
    before = (finished / "tiny.yaml").read_text("utf-8")
    (finished / "tiny.yaml").write_text(yaml.safe_dump(config), "utf-8")
    jobs = planned(finished, "coreference")
    (finished / "tiny.yaml").write_text(before, "utf-8")
    assert {name: count for name, count in jobs.items() if name.startswith("draw_coreference")} == {
        "draw_coreference_heads": 2,
        "draw_coreference_distances": 2,
    }
    assert not {"extract_attention", "count_coreference", "merge_coreference"} & jobs.keys()


@needs_stanza_models
def test_a_text_is_resolved_and_scored(finished, tmp_path):
    """With a small coreference model that Stanza's own code has trained: raw text to Table 2."""
    coref_models = pytest.importorskip("coref_models", reason="Stanza is not installed")
    models = coref_models.save_resolver(tmp_path / "models")
    corpus = {"name": "raw", "kind": "coreference", "format": "paragraphs", "path": "raw.txt", "package": "ewt"}
    config = yaml.safe_load((finished / "tiny.yaml").read_text("utf-8"))
    config |= {"corpora": [corpus | {"shards": 1}], "stanza": {"models": str(models)}}
    folder = write_inputs(copy_workflow(tmp_path / "run"), config)
    story = "{0} saw the {1} . {0} liked the {1} .\nThe {1} saw {0} .\n\n"
    pairs = zip(coref_models.NAMES, coref_models.THINGS, strict=True)
    (folder / "raw.txt").write_text("".join(story.format(*pair) for pair in pairs), "utf-8")
    run = snakemake(folder, "table_2", "results/tiny/raw/skipped.csv")
    assert run.returncode == 0, run.stdout
    documents = pl.read_parquet(folder / "examples" / "raw" / "documents.parquet")
    assert documents.height == len(coref_models.NAMES)
    assert documents["where"][0] == "resolved/raw/documents.conllu:5"
    table2 = table(folder, "raw", "table2").filter(candidates="mentions", predictor="head")
    assert table2["all_total"].item() > 0, "how many hangs on a random resolver"
    assert table(folder, "raw", "mentions")["head_by"].unique().to_list() == ["gold"]
