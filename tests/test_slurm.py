import shutil
import subprocess
import sys
import time

import pytest
from cluster import slurm
from workflow_runs import copy_workflow

from headscope.resources import memory_to_run, minutes_to_run, model_size, tokens_of

PROFILE = "workflow/profiles/slurm"
TABLES = [f"results/minilm/demo/surface/{name}.csv" for name in ("heads", "uniform")]
# What the profile says of a site and is not so on one node without accounts, or only takes long.
OF_ONE_NODE = {
    "--slurm-status-command": "squeue",
    "--slurm-init-seconds-before-status-checks": "5",
    "--seconds-between-status-checks": "5",
    "--max-threads": "1",
}
pytestmark = pytest.mark.skipif(bool(slurm.why_not()), reason=f"Slurm cannot be started: {slurm.why_not()}")


def start(folder, *arguments, environment=None):
    """Snakemake in a folder, started; its output, standard and error together, goes into run.log."""
    with open(folder / "run.log", "w") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "snakemake", *arguments],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def finish(run, folder):
    """Wait for a run and expect it to succeed; its output."""
    assert run.wait(timeout=400) == 0, (folder / "run.log").read_text()
    return (folder / "run.log").read_text()


def of_rule(jobs, rule):
    return [job for job in jobs if job["Comment"].startswith(f"rule_{rule}_")]


def first_at_work(environment, folder, run, seconds=180):
    """The first job that extracts a shard and has begun to log."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and run.poll() is None:
        begun = [*(folder / "logs/extract_attention/minilm/demo").glob("*.log")]
        for job in of_rule(slurm.jobs(environment), "extract_attention") if begun else []:
            if job["JobState"] == "RUNNING" and begun[0].stem in job["Comment"]:
                return job
        time.sleep(0.2)
    return None


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """The demo's text, read and encoded on this machine."""
    folder = copy_workflow(tmp_path_factory.mktemp("local"))
    encoded = "encoded/minilm/demo/examples.parquet"
    finish(start(folder, encoded, "--cores", "2", "--max-threads", "1"), folder)
    return folder


@pytest.fixture(scope="module")
def on_slurm(local, tmp_path_factory):
    """Its extraction and surface analysis by the profile; the job of a shard was cancelled while it ran."""
    folder = tmp_path_factory.mktemp("slurm") / "run"
    shutil.copytree(local, folder)
    with slurm.one_node_slurm(tmp_path_factory.mktemp("cluster") / "slurm") as environment:
        options = [word for option in OF_ONE_NODE.items() for word in option]
        run = start(folder, *TABLES, "--profile", PROFILE, *options, environment=environment)
        try:
            cancelled = first_at_work(environment, folder, run)
            if cancelled:
                slurm.cancel(environment, cancelled)
            log = finish(run, folder)
        finally:
            run.terminate()
        assert cancelled, log
        yield folder, cancelled, slurm.jobs(environment), log


def test_a_cancelled_job_is_noticed_and_done_again_with_more_memory(on_slurm):
    _, cancelled, jobs, log = on_slurm
    same = [job for job in jobs if job["Comment"] == cancelled["Comment"]]
    assert [job["JobState"] for job in same] == ["CANCELLED", "COMPLETED"]
    assert "Trying to restart job" in log
    first, second = (int(job["MinMemoryNode"].removesuffix("M")) for job in same)
    assert second == 2 * first


def test_nothing_else_was_done_twice(on_slurm):
    _, _, jobs, _ = on_slurm
    assert [len(of_rule(jobs, rule)) for rule in ("extract_attention", "count_surface", "merge_surface")] == [3, 2, 1]
    assert len(jobs) == 6


def test_only_rules_with_a_device_ask_for_a_gpu(on_slurm):
    _, _, jobs, _ = on_slurm
    with_a_gpu = [job for job in jobs if "gpu" in job.get("TresPerJob", "")]
    assert with_a_gpu == of_rule(jobs, "extract_attention")
    assert {job["TresPerJob"] for job in with_a_gpu} == {"gres:gpu:1"}
    assert {job["Partition"] for job in with_a_gpu} == {"gpu"}
    assert {job["Partition"] for job in jobs if job not in with_a_gpu} == {"cpu"}


def test_memory_and_time_are_those_of_the_library(on_slurm):
    folder, cancelled, jobs, _ = on_slurm
    size = model_size(folder / "models/minilm/description.json", "float32", 128)
    tokens = tokens_of(folder / "encoded/minilm/demo/examples.parquet", shards=2)
    assert cancelled["MinMemoryNode"] in (f"{memory_to_run(size, 1)}M", f"{memory_to_run(size, 1) / 1024:g}G")
    assert cancelled["TimeLimit"] == f"00:{minutes_to_run(size, tokens, 1):02}:00"
    assert {job["TimeLimit"] for job in of_rule(jobs, "merge_surface")} == {"01:00:00"}


def test_tables_are_those_of_a_local_run(on_slurm, local):
    folder, *_ = on_slurm
    finish(start(local, *TABLES, "--cores", "2", "--max-threads", "1"), local)
    for table in TABLES:
        assert (folder / table).read_bytes() == (local / table).read_bytes()


def test_a_cancelled_job_leaves_no_part_of_a_shard(on_slurm):
    folder, *_ = on_slurm
    assert sorted(file.name for file in (folder / "attention/minilm/demo").iterdir()) == [
        "1-of-2.parquet",
        "2-of-2.parquet",
    ]
