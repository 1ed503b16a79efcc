"""Run the real Snakefile in a copy of the workflow, with a tiny model and text."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml
from checkpoints import DEMO_TEXT, REPOSITORY

TARGETS = {
    *("total", "all", "surface", "syntax", "coreference", "clusters", "norms", "gradients"),
    *(
        "probes",
        "compare",
        "compare_divergence",
        "series",
        "report",
        "table_1",
        "table_2",
        "table_3",
        "figure_sep",
        *(f"figure_{number}" for number in range(1, 7)),
    ),
}
PARTS = ("workflow", "scripts", "envs", "config")


def copy_workflow(folder: Path) -> Path:
    """The files of the workflow, and nothing that it made."""
    for part in PARTS:
        shutil.copytree(REPOSITORY / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def tiny_config(model_folder, **corpus) -> dict:
    """Two documents of the demo text, one of five paragraphs, through a tiny model."""
    return {
        "models": [{"name": "tiny", "source": str(model_folder)}],
        "corpora": [{"name": "few", "kind": "text", "path": "few.txt", "max_tokens": 64, "shards": 2} | corpus],
    }


def write_inputs(folder: Path, config: dict) -> Path:
    """Put few.txt and the config into a copy of the workflow."""
    documents = DEMO_TEXT.read_text("utf-8").split("\n\n")
    few = [documents[0], documents[4], "A short one.\nAnd another, shorter."]
    (folder / "few.txt").write_text("\n\n".join(few), encoding="utf-8")
    (folder / "tiny.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    return folder


def snakemake(folder: Path, *arguments, **environment) -> subprocess.CompletedProcess:
    """Run Snakemake in a folder; its output, standard and error together, is in `stdout`."""
    command = [
        sys.executable,
        "-m",
        "snakemake",
        *arguments,
        "--cores",
        "2",
        "--max-threads",
        "1",
        "--configfile",
        "tiny.yaml",
    ]
    return subprocess.run(
        command,
        cwd=folder,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=600,
    )


def planned(folder: Path, *arguments) -> dict[str, int]:
    """The jobs that a run would start, targets left out."""
    run = snakemake(folder, *arguments, "--dry-run")
    assert run.returncode == 0, run.stdout
    jobs = {name: int(count) for name, count in re.findall(r"^([a-z_]\w*) +(\d+)$", run.stdout, re.MULTILINE)}
    return {name: count for name, count in jobs.items() if name not in TARGETS}
