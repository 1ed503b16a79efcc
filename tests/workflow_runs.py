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
ATTEMPTS = "network-attempts.txt"  # where a process says that it tried to use the network
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
    """Run Snakemake in a folder with its tiny.yaml, as `snakemake_in` does."""
    return snakemake_in(folder, *arguments, "--configfile", "tiny.yaml", **environment)


def snakemake_in(folder: Path, *arguments, **environment) -> subprocess.CompletedProcess:
    """
    Run Snakemake in a folder with the default config or what `arguments` name; its output, errors too, is in `stdout`.

    No process of it gets to the network, and none may try; to this machine only with HF_HUB_OFFLINE=0.
    """
    command = [sys.executable, "-m", "snakemake", *arguments, "--cores", "2", "--max-threads", "1"]
    run = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | without_network(folder) | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=600,
    )
    assert not (folder / ATTEMPTS).exists(), (folder / ATTEMPTS).read_text()
    return run


def without_network(folder: Path) -> dict[str, str]:
    """The environment of a process that must not use the network; what it tries stands in ATTEMPTS."""
    return {
        "PYTHONPATH": str(REPOSITORY / "tests" / "offline"),
        "HEADSCOPE_TEST_ATTEMPTS": str(folder / ATTEMPTS),
        "HF_HUB_OFFLINE": "1",
    }


def planned(folder: Path, *arguments) -> dict[str, int]:
    """The jobs that a run would start, targets left out."""
    run = snakemake(folder, *arguments, "--dry-run")
    assert run.returncode == 0, run.stdout
    return jobs_in(run.stdout)


def jobs_in(plan: str) -> dict[str, int]:
    """The jobs that a plan which Snakemake printed counts, targets left out."""
    jobs = {name: int(count) for name, count in re.findall(r"^([a-z_]\w*) +(\d+)$", plan, re.MULTILINE)}
    return {name: count for name, count in jobs.items() if name not in TARGETS}
