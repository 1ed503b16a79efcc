"""Two runs at once, a stale lock, SIGTERM, bad disks and files, a corpus that changed: each through Snakemake."""

import os
import shutil
import signal
import subprocess
import sys

import pytest
from killing import HEADS, SEED, SHARDS, Harness, undisturbed_run
from workflow_runs import planned, snakemake

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the harness finds processes in /proc")


@pytest.fixture(scope="module")
def undisturbed(bert_folder, tmp_path_factory):
    return undisturbed_run(tmp_path_factory.mktemp("undisturbed"), bert_folder, SEED)


@pytest.fixture
def copied(undisturbed, tmp_path):
    """The undisturbed run in a folder of its own, with the times of its files."""
    return shutil.copytree(undisturbed, tmp_path / "copy")


def uncount(folder):
    """Leave the counts and all that is made of them to be made again."""
    for made in ("counts", "results"):
        shutil.rmtree(folder / made)


def test_two_runs_at_once_are_refused_and_the_second_is_told_of_the_first(copied):
    uncount(copied)
    harness = Harness(copied, HEADS, SEED, 1)
    first = harness.start()
    harness.until(first, lambda: any((copied / ".snakemake" / "locks").glob("*")) and bool(harness.jobs()))
    jobs = harness.jobs()
    for job in jobs:
        os.kill(job, signal.SIGSTOP)  # so that the first is at work for as long as the second takes
    second = snakemake(copied, HEADS)
    assert first.poll() is None
    for job in jobs:
        os.kill(job, signal.SIGCONT)
    assert second.returncode != 0
    assert f"Another Snakemake is at work in this folder (process {first.pid} on " in second.stdout
    assert "Directory cannot be locked" in second.stdout
    assert first.wait(600) == 0, harness.said()


def test_the_lock_of_a_killed_run_is_no_lock_but_that_of_another_machine_is(copied):
    """A folder on a network disk: whether a run there is alive cannot be told from here."""
    uncount(copied)
    locks, held = copied / ".snakemake" / "locks", copied / ".snakemake" / "headscope.lock"
    host = held.read_text().split()[0]
    locks.mkdir(exist_ok=True)
    (locks / "0.output.lock").write_text(f"{HEADS}\n")
    held.write_text("another-machine 17")
    run = snakemake(copied, HEADS)
    assert run.returncode != 0
    assert "Directory cannot be locked" in run.stdout
    held.write_text(f"{host} {2**22 + 1}")
    assert planned(copied, HEADS) == {"count_surface": SHARDS, "merge_surface": 1}
    assert not (locks / "0.output.lock").exists()


def test_sigterm_ends_a_run_and_its_job_and_the_next_goes_on(copied, undisturbed):
    uncount(copied)
    harness = Harness(copied, HEADS, SEED, 1)
    run = harness.start()
    harness.until(run, harness.jobs)
    os.kill(run.pid, signal.SIGTERM)
    for process in harness.jobs():
        os.kill(process, signal.SIGTERM)
    assert run.wait(600) != 0
    assert harness.jobs() == []
    assert harness.unfinished() == []
    assert not (copied / ".snakemake" / "locks" / "0.output.lock").exists()
    harness.finish()
    assert (copied / HEADS).read_bytes() == (undisturbed / HEADS).read_bytes()


def test_results_that_cannot_be_written_are_one_line_and_the_next_run_goes_on(copied, undisturbed):
    """The folder of results on a disk of its own, which turns read-only."""
    shutil.rmtree(copied / "results")
    (copied / "results").mkdir()
    if os.geteuid() != 0 or not mount("-t", "tmpfs", "-o", "size=4m", "tmpfs", str(copied / "results")):
        pytest.skip("mounting a small disk takes root")
    try:
        (copied / HEADS).parent.mkdir(parents=True)
        assert mount("-o", "remount,ro", str(copied / "results"))
        run = snakemake(copied, HEADS)
        assert run.returncode != 0
        assert "Traceback" not in run.stdout
        assert run.stdout.count("results: expected a folder that can be written, found that it cannot; make it") == 1
        assert mount("-o", "remount,rw", str(copied / "results"))
        run = snakemake(copied, HEADS)
        assert run.returncode == 0, run.stdout
        assert (copied / HEADS).read_bytes() == (undisturbed / HEADS).read_bytes()
    finally:
        subprocess.run(["umount", "--lazy", str(copied / "results")], check=True)


def mount(*arguments):
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode == 0


def test_a_damaged_shard_is_one_line_and_is_made_again_once_deleted(copied, undisturbed):
    """Two shards damaged in other ways, and one of the corpus before it was changed."""
    uncount(copied)
    shards = [copied / f"attention/tiny/few/{number}-of-{SHARDS}.parquet" for number in (1, 2)]
    for shard, damaged in zip(shards, (lambda whole: whole[:-100], flip_in_the_middle), strict=True):
        times = shard.stat()
        shard.write_bytes(damaged(shard.read_bytes()))
        os.utime(shard, ns=(times.st_atime_ns, times.st_mtime_ns))  # as a disk would: Snakemake sees nothing
    run = snakemake(copied, HEADS)
    assert run.returncode != 0
    assert "Traceback" not in run.stdout
    for shard, what in zip(shards, ("found no end of one", "row group 1 is damaged"), strict=True):
        log = copied / f"logs/count_surface/tiny/few/{shard.stem}.log"
        (line,) = log.read_text().splitlines()
        assert line.startswith(f"ERROR: {shard.relative_to(copied)}: ")
        assert what in line
        assert "delete" in line
        shard.unlink()
    assert not (copied / f"counts/surface/tiny/few/1-of-{SHARDS}.parquet").exists()
    run = snakemake(copied, HEADS)
    assert run.returncode == 0, run.stdout
    assert (copied / HEADS).read_bytes() == (undisturbed / HEADS).read_bytes()


def flip_in_the_middle(content):
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 4
    return bytes(flipped)


def test_a_corpus_that_changed_is_done_again_and_its_old_shards_are_refused(copied):
    old = copied / f"attention/tiny/few/1-of-{SHARDS}.parquet"
    kept = old.read_bytes()
    text = (copied / "few.txt").read_text("utf-8")
    (copied / "few.txt").write_text(text.replace("the", "that"), "utf-8")
    jobs = planned(copied, HEADS)
    assert jobs == {
        "read_text": 1,
        "encode_text": 1,
        "extract_attention": SHARDS,
        "count_surface": SHARDS,
        "merge_surface": 1,
    }
    wanted = f"counts/surface/tiny/few/1-of-{SHARDS}.parquet"
    assert snakemake(copied, wanted).returncode == 0
    old.write_bytes(kept)  # newer than the corpus: by its time it would pass
    run = snakemake(copied, wanted)
    assert run.returncode != 0
    assert "expected attention maps of corpus " in run.stdout
    assert "the corpus has changed since: delete the shard and run again" in run.stdout
