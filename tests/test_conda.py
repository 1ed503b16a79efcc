import importlib.util
import os
import shutil
import subprocess
from hashlib import sha256

import pytest
import yaml
from checkpoints import DEMO_TEXT, REPOSITORY, STANZA_MODELS, save_bert
from cluster import conda
from environments import ENVIRONMENTS, MODULE_OF, imported, pinned, rules
from hub import Hub
from serving import serving
from workflow_runs import copy_workflow

TREES = REPOSITORY / "config" / "demo" / "treebank.conllu"
pytestmark = [
    pytest.mark.skipif(not importlib.util.find_spec("rattler"), reason="py-rattler is not installed"),
    pytest.mark.skipif(not shutil.which("bash"), reason="Snakemake activates environments in bash"),
]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A folder with a tiny model and a short text behind an address that answers as the hub does."""
    folder = save_bert(tmp_path_factory.mktemp("served"))
    (folder / "few.txt").write_text("\n".join(DEMO_TEXT.read_text("utf-8").splitlines()[:4]), "utf-8")
    with serving(Hub, folder) as address:
        yield folder, address


@pytest.fixture(scope="module")
def snakemake(tmp_path_factory):
    """A function that runs Snakemake from an environment of itself alone, with a conda that knows what is installed."""
    root = tmp_path_factory.mktemp("conda")
    programs = conda.lay_out(root / "conda")
    alone = root / "snakemake.yaml"
    alone.write_text(yaml.safe_dump({"channels": ["conda-forge"], "dependencies": ["python =3.11", "snakemake"]}))
    subprocess.run([programs / "conda", "env", "create", "--file", alone, "--prefix", root / "snakemake"], check=True)

    def run(folder, *arguments, **environment):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
        own = {"PATH": f"{programs}:{root}/snakemake/bin:/usr/local/bin:/usr/bin:/bin"}
        command = ["snakemake", *arguments, "--cores", "2", "--max-threads", "1", "--configfile", "tiny.yaml"]
        return subprocess.run(
            [root / "snakemake" / "bin" / "python", "-m", *command, "--conda-prefix", root / "envs", "--sdm", "conda"],
            cwd=folder,
            env=kept | own | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=600,
        )

    run.environments = root / "envs"
    return run


@pytest.fixture(scope="module")
def workflow(served, tmp_path_factory):
    """A copy of the workflow with a model and a text to fetch, trees, documents and a text to parse."""
    model, address = served
    folder = copy_workflow(tmp_path_factory.mktemp("workflow"))
    digest = sha256((model / "few.txt").read_bytes()).hexdigest()
    sentences = TREES.read_text("utf-8").split("\n\n")[:20]
    (folder / "trees.conllu").write_text("\n\n".join(sentences) + "\n\n", "utf-8")
    (folder / "raw.txt").write_text("She saw the dog. It barked.\n", "utf-8")
    config = {
        "models": [{"name": "tiny", "source": "org/tiny", "revision": Hub.REVISION}],
        "corpora": [
            {
                "name": "few",
                "kind": "text",
                "url": f"{address}/few.txt",
                "sha256": digest,
                "max_tokens": 64,
                "shards": 1,
            },
            {"name": "trees", "kind": "treebank", "path": "trees.conllu", "shards": 1},
            {"name": "parsed", "kind": "treebank", "path": "raw.txt", "format": "paragraphs", "package": "ewt"},
            {"name": "documents", "kind": "coreference", "path": "config/demo/coreference.conllu", "max_tokens": 64},
        ],
        "probes": {"train": "trees", "seeds": 1, "epochs": 1, "learning_curve": []},
        "stanza": {"models": str(STANZA_MODELS)},
    }
    (folder / "tiny.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def created(snakemake, workflow):
    """The environments that Snakemake makes for every rule that is asked for: where each lies, by its name."""
    run = snakemake(workflow, "all", "examples/parsed/trees.parquet", "--conda-create-envs-only")
    assert run.returncode == 0, run.stdout
    files = {file.read_bytes(): file.with_suffix("") for file in snakemake.environments.glob("*.yaml")}
    return {file.stem: files.get(file.read_bytes()) for file in ENVIRONMENTS}


def test_every_environment_can_be_made_of_what_the_lock_pins(created):
    assert [name for name, prefix in created.items() if prefix is None] == []


@pytest.mark.parametrize("name", [file.stem for file in ENVIRONMENTS])
def test_an_environment_holds_all_that_its_rules_may_import(created, name):
    """Also what is imported only on a path that no run here takes."""
    scripts = [script for _, environment, script in rules() if environment == name]
    packages = set(pinned(REPOSITORY / "envs" / f"{name}.yaml")) - {"python", "pip"}
    modules = {MODULE_OF.get(package, package) for package in packages}
    modules |= set().union(*map(imported, scripts))
    if "tqdm" not in packages:
        modules.discard("tqdm")  # headscope.jobs shows progress with it in rules that run a model
    run = subprocess.run(
        [created[name] / "bin" / "python", "-c", f"import {', '.join(sorted(modules))}"],
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


def test_rules_of_every_environment_run_in_it(snakemake, workflow, created, served):
    targets = ["results/tiny/few/figures/figure_2.svg", "results/tiny/few/clusters/map.csv"]
    targets += ["probes/tiny/trees/sentences.parquet", "examples/documents/documents.parquet"]
    if (STANZA_MODELS / "resources.json").is_file():
        targets.append("parsed/parsed/trees.conllu")
    run = snakemake(workflow, *targets, HF_ENDPOINT=served[1], HF_HUB_OFFLINE="0")
    assert run.returncode == 0, run.stdout
    assert all((workflow / target).stat().st_size for target in targets)
    activated = {line.rsplit("/", 1)[1] for line in run.stdout.splitlines() if "Activating conda environment" in line}
    used = created if "parsed/parsed/trees.conllu" in targets else created.keys() - {"parse"}
    assert activated >= {created[name].name for name in used}


def test_a_rule_whose_environment_lacks_a_package_fails(snakemake, workflow, served, tmp_path):
    shutil.copytree(workflow, tmp_path / "run", ignore=shutil.ignore_patterns("downloads", "examples", ".snakemake"))
    file = tmp_path / "run" / "envs" / "analyse.yaml"
    file.write_text("\n".join(line for line in file.read_text().splitlines() if "polars" not in line), "utf-8")
    run = snakemake(tmp_path / "run", "examples/few/pairs.parquet")
    assert run.returncode == 1
    assert "No module named 'polars'" in run.stdout
