"""The workflow as a part of another one, with an analysis added as CONTRIBUTING.md lists it: one real run of both."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml
from checkpoints import DEMO_TEXT, REPOSITORY, save_bert
from code_blocks import blocks
from workflow_runs import copy_workflow, snakemake_in

from headscope.encoding import read_encoded
from headscope.store import Shard

EXAMPLE = REPOSITORY / "tests" / "example_analysis"
RESULTS = Path("attention-study/results/my-bert/my-text")
HEADS = RESULTS / "distance/heads.csv"


def add_example(folder: Path):
    """Add the example analysis to a copy of the workflow: files, an include, a target, its columns."""
    for path in EXAMPLE.rglob("*"):
        if path.suffix in (".py", ".smk"):
            shutil.copy(path, folder / path.relative_to(EXAMPLE))
    snakefile = folder / "workflow/Snakefile"
    text = snakefile.read_text("utf-8")
    text = text.replace(
        'include: "rules/targets.smk"\n', 'include: "rules/targets.smk"\ninclude: "rules/distance.smk"\n'
    )
    snakefile.write_text(text.replace("rules.surface.input,", "rules.surface.input,\n        rules.distance.input,"))
    tables = folder / "scripts/headscope/tables.yaml"
    tables.write_text(tables.read_text("utf-8") + (EXAMPLE / "scripts/headscope/tables.yaml.part").read_text("utf-8"))


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with the Snakefile and config of the manual, and a clone of the workflow, run from another folder."""
    project = tmp_path_factory.mktemp("project")
    here = tmp_path_factory.mktemp("here")
    (project / "headscope").mkdir()
    add_example(copy_workflow(project / "headscope"))
    pages = {block.language: block.text for block in blocks() if block.page == "docs/module.md"}
    (project / "Snakefile").write_text(pages["snakemake"], "utf-8")
    (here / "project.yaml").write_text(pages["yaml"], "utf-8")
    folder = here / yaml.safe_load(pages["yaml"])["headscope"]["models"][0]["source"]
    folder.mkdir(parents=True)
    save_bert(folder)
    few = DEMO_TEXT.read_text("utf-8").split("\n\n")[4]
    config = yaml.safe_load(pages["yaml"])
    config["headscope"]["corpora"][0] |= {"max_tokens": 64, "shards": 2}
    (here / config["headscope"]["corpora"][0]["path"]).write_text(few, "utf-8")
    (here / "project.yaml").write_text(yaml.safe_dump(config), "utf-8")
    run = snakemake_in(here, "broadest_head", str(HEADS), "-s", str(project / "Snakefile"))
    assert run.returncode == 0, run.stdout
    assert "not present in the Snakefile" not in run.stdout, "localrules of a module do not carry its prefix"
    return project, here


def test_the_table_of_another_workflow_is_below_its_prefix(project):
    _, here = project
    heads = pl.read_csv(here / RESULTS / "surface/heads.csv")
    assert heads.height == 3 * 4
    broadest = (here / "broadest.csv").read_text("utf-8").split(",")
    best = heads.sort("entropy").row(-1, named=True)
    assert [int(part) for part in broadest[:2]] == [best["layer"], best["head"]]
    assert {path.name for path in here.iterdir()} - {".snakemake"} == {
        "project.yaml",
        "path",
        "attention-study",
        "broadest.csv",
    }


def test_all_of_it_is_planned_without_a_prefix_and_without_stored_maps(project):
    root, here = project
    config = yaml.safe_load((here / "project.yaml").read_text("utf-8"))
    config["headscope"]["attention"] = {"store": False}
    (root / "live.yaml").write_text(yaml.safe_dump(config), "utf-8")
    text = (root / "Snakefile").read_text("utf-8")
    (root / "without.smk").write_text(
        re.sub(r"\n    prefix:\n.*\n", "\n", text).replace("attention-study/", ""), "utf-8"
    )
    run = snakemake_in(
        here,
        "headscope_all",
        "headscope_syntax",
        *("-s", str(root / "without.smk"), "--dry-run", "--configfile", str(root / "live.yaml")),
    )
    assert run.returncode == 0, run.stdout
    assert re.search(r"^headscope_draw_figure_2 +1$", run.stdout, re.MULTILINE)
    assert re.search(r"^headscope_merge_distance +1$", run.stdout, re.MULTILINE)
    assert "attention-study" not in run.stdout
    assert "headscope_extract_attention" not in run.stdout


def test_an_error_in_its_config_is_one_sentence(project, tmp_path):
    root, _ = project
    (tmp_path / "project.yaml").write_text("headscope: {models: [{name: m, source: nowhere}], corpora: []}", "utf-8")
    run = snakemake_in(tmp_path, "-s", str(root / "Snakefile"), "--dry-run")
    assert run.returncode != 0
    assert "the config is not valid:\ncorpora: expected at least one, found none." in run.stdout


def test_the_example_analysis_gives_its_table(project):
    _, here = project
    run = here / "attention-study"
    wanted = {}
    encoded = read_encoded(run / "encoded/my-bert/my-text/examples.parquet")
    for shard in sorted((run / "attention/my-bert/my-text").glob("*.parquet")):
        for maps in Shard(shard, corpus=encoded.corpus):
            for number, weights in zip(maps.examples.tolist(), maps.weights.astype(np.float64), strict=True):
                size = weights.shape[-1]
                far = [[abs(query - key) for key in range(size)] for query in range(size)]
                wanted[number] = [[(head * far).sum() / size for head in layer] for layer in weights]
    values = np.array(list(wanted.values())).reshape(len(wanted), -1)
    assert len(values) == encoded.table.height > 1
    table = pl.read_csv(here / HEADS)
    np.testing.assert_allclose(table["distance"], values.mean(0), rtol=1e-9)
    np.testing.assert_allclose(table["distance_se"], values.std(0, ddof=1) / np.sqrt(len(values)), rtol=1e-7)
    assert table.select("layer", "head").rows() == [(layer, head) for layer in (1, 2, 3) for head in (1, 2, 3, 4)]


def test_the_page_of_the_example_gets_its_columns(project, tmp_path):
    root, _ = project
    page = Path(shutil.copy(EXAMPLE / "docs/distance.md", tmp_path))
    command = [sys.executable, "-m", "headscope.tables", str(page)]
    subprocess.run(command, cwd=root / "headscope/scripts", check=True)
    assert (
        "| `distance` | Float64 | tokens | mean distance between a token and what it attends to |" in page.read_text()
    )
    assert "| `distance_se` | Float64 | tokens | standard error of distance over examples |" in page.read_text()


def test_the_list_in_contributing_is_what_the_example_has():
    text = (REPOSITORY / "CONTRIBUTING.md").read_text("utf-8")
    rows = re.findall(r"^\| (`.+?`) \| (new|add|a page|a case)", text, re.MULTILINE)
    new = {name for names, what in rows if what == "new" for name in re.findall("`(.+?)`", names)}
    ours = {path.relative_to(EXAMPLE).as_posix() for path in EXAMPLE.rglob("*") if path.suffix in (".py", ".smk")}
    assert new == ours
    changed = {name for names, what in rows if what == "add" for name in re.findall("`(.+?)`", names)}
    assert changed == {"workflow/Snakefile", "scripts/headscope/tables.yaml"}
    assert all((REPOSITORY / name).is_file() for name in changed)
