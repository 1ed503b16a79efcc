import os
import shutil
import subprocess
import sys

import pytest
from checkpoints import REPOSITORY
from cluster.bucket import Bucket
from serving import serving
from workflow_runs import copy_workflow, jobs_in, planned

PROFILE = "workflow/profiles/kubernetes"
TARGETS = ("surface", "table_1", "table_2")  # a text, trees and documents


@pytest.fixture(scope="module")
def plugins(tmp_path_factory):
    """The folder that the profile's own requirements were installed into; they are not in the lock."""
    folder, pins = tmp_path_factory.mktemp("plugins"), tmp_path_factory.mktemp("pins") / "snakemake.txt"
    locked = (REPOSITORY / "requirements.lock").read_text("utf-8").splitlines()
    pins.write_text("\n".join(line for line in locked if line.startswith("snakemake")))
    wanted = ["--requirement", REPOSITORY / PROFILE / "requirements.txt", "--constraint", pins]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", folder, *wanted]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        pytest.skip(f"the plugins for Kubernetes cannot be installed here: {run.stderr[-300:]}")
    return folder


@pytest.fixture(scope="module")
def dry_run(plugins, tmp_path_factory):
    """The copy of the workflow and the plan of a dry run by the profile, the demo's corpora in a bucket."""
    folder = copy_workflow(tmp_path_factory.mktemp("workflow"))
    store = tmp_path_factory.mktemp("store")
    shutil.copytree(folder / "config", store / "run" / "config")
    secrets = {
        "SNAKEMAKE_STORAGE_S3_ACCESS_KEY": "key",
        "SNAKEMAKE_STORAGE_S3_SECRET_KEY": "secret",
        "HF_TOKEN": "token",
    }
    with serving(Bucket, store) as address:
        run = subprocess.run(
            [
                *(sys.executable, "-m", "snakemake", *TARGETS, "--dry-run", "--profile", PROFILE),
                *("--storage-s3-endpoint-url", address),
            ],
            cwd=folder,
            env=os.environ | secrets | {"PYTHONPATH": str(plugins)},
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
    assert run.returncode == 0, run.stdout + run.stderr
    return folder, run.stdout


def test_the_plan_over_an_object_store_is_that_of_a_local_run(dry_run):
    folder, plan = dry_run
    (folder / "tiny.yaml").write_text("{}\n")
    assert jobs_in(plan) == planned(folder, *TARGETS)


def test_inputs_and_results_lie_in_the_bucket(dry_run):
    _, plan = dry_run
    assert "s3://headscope/run/config/demo/text.txt (retrieve from storage)" in plan
    assert "s3://headscope/run/results/minilm/demo/surface/heads.parquet (send to storage)" in plan
