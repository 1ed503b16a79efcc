"""Disks that are full or read-only, files that were damaged, signals: one line each, and nothing wrong is kept."""

import errno
import os
import signal
import subprocess
import sys

import altair as alt
import numpy as np
import polars as pl
import pytest
import torch
from checkpoints import REPOSITORY, copy_checkpoint
from jobs_alone import run_job
from safetensors.torch import load_file, save_file

from headscope import jobs
from headscope.charts import theme
from headscope.description import Description
from headscope.errors import InputError, MachineError
from headscope.files import why_disk
from headscope.locks import clear_stale_locks
from headscope.models.loading import load, load_described
from headscope.orphans import STARTER, name_starter
from headscope.seals import refuse_damaged
from headscope.store import Maps, Shard, ShardInfo, writing_shard
from headscope.tensors import read_tensors, write_tensors
from headscope.writing import write_table

NUMBERS = pl.DataFrame({"number": np.random.default_rng(0).random(60_000)})
TABLE = pl.DataFrame({"layer": [1, 1, 2], "head": [1, 2, 1], "word": ["a", "b", None], "share": [0.5, 0.25, 1.0]})


def mount(*arguments):
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode == 0


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 256 KiB of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() != 0 or not mount("-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)):
        pytest.skip("mounting a small disk takes root")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def write_shard(path):
    with writing_shard(path, ShardInfo("float16", 2, 3, "model", "corpus")) as shard:
        shard.write(Maps(np.arange(8, dtype=np.uint32), np.full((8, 2, 3, 60, 60), 0.5, np.float16)))


def draw(path):
    chart = alt.Chart(NUMBERS.head(3000)).mark_point().encode(x="number:Q").properties(title=alt.Title("t"))
    theme.save(chart, path, path.with_suffix(".svg"), path.with_suffix(".png"))


WRITERS = {
    "shard.parquet": write_shard,
    "table.parquet": lambda path: write_table(NUMBERS, path),
    "table.csv": lambda path: write_table(NUMBERS, path),
    "figure.html": draw,
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_is_one_line_and_leaves_what_was_there(small_disk, name):
    (small_disk / name).write_text("old")
    with pytest.raises(MachineError) as refused:
        WRITERS[name](small_disk / name)
    assert str(refused.value) == (
        f"{small_disk / name}: could not be read or written (No space left on device); free space there and run the "
        "same command again"
    )
    assert {path.name: path.read_text() for path in small_disk.iterdir()} == {name: "old"}


@pytest.mark.parametrize("name", WRITERS)
def test_a_disk_that_cannot_be_written_is_one_line(small_disk, name):
    assert mount("-o", "remount,ro", str(small_disk))
    with pytest.raises(MachineError, match=rf"{name}: .*\(Read-only file system\); make it writable and run"):
        WRITERS[name](small_disk / name)
    assert mount("-o", "remount,rw", str(small_disk))
    write_table(TABLE, small_disk / "after.parquet")
    refuse_damaged(small_disk / "after.parquet")


def test_a_log_on_a_full_disk_costs_the_log_and_not_the_job(small_disk, tmp_path, capsys):
    def main(table):
        for _ in range(400):
            jobs.LOG.info("%s", "x" * 1000)
        write_table(TABLE, table)

    assert run_job(main, small_disk / "log", outputs={"table": tmp_path / "t.csv"}) == 0
    assert pl.read_csv(tmp_path / "t.csv").height == 3
    said = capsys.readouterr().err
    assert said.count("log ends here: ") == 1
    assert said.count("x" * 1000) == 400
    assert "Traceback" not in said


def test_a_log_that_cannot_be_opened_is_one_line(small_disk):
    assert mount("-o", "remount,ro", str(small_disk))
    assert run_job(print, small_disk / "log").endswith(
        "log: could not be read or written (Read-only file system); make it writable and run the same command again"
    )


@pytest.mark.parametrize(
    ("error", "lines"),
    [
        (OSError(errno.EDQUOT, "Disk quota exceeded", "a/b"), ["ERROR: a/b: could not be read or written (Disk quota"]),
        (MachineError("no room"), ["ERROR: no room"]),
        (MemoryError(), ["ERROR: a_rule: expected to fit into memory, found too little (MemoryError); run fewer jobs"]),
        (
            RuntimeError("CUDA out of memory."),
            ["ERROR: a_rule: expected to fit into memory, found too little (CUDA"],
        ),
    ],
)
def test_the_fault_of_a_machine_is_one_line_in_the_log(tmp_path, error, lines):
    def main():
        raise error

    assert run_job(main, tmp_path / "log") == 1
    found = (tmp_path / "log").read_text().splitlines()
    assert len(found) == len(lines)
    assert all(line.startswith(start) for line, start in zip(found, lines, strict=True))


def test_our_own_fault_keeps_its_traceback_once(tmp_path, capsys):
    def main():
        raise KeyError("layer")

    assert run_job(main, tmp_path / "log") == 1
    for said in ((tmp_path / "log").read_text(), capsys.readouterr().err):
        assert said.count("Traceback") == 1
        assert "this is a fault of headscope or of the machine" in said
    assert why_disk(FileNotFoundError(errno.ENOENT, "No such file or directory", "x")) is None


def flipped(content: bytes, bit: int):
    """Every copy of this with one bit of one byte the other way round."""
    for place in range(len(content)):
        copy = bytearray(content)
        copy[place] ^= 1 << bit
        yield bytes(copy)


@pytest.mark.parametrize("bit", [0, 2, 7])
def test_wherever_a_bit_of_a_table_flips_it_is_refused_or_changes_nothing(tmp_path, bit):
    path = tmp_path / "t.parquet"
    write_table(TABLE, path)
    refuse_damaged(path)
    refused = 0
    for content in flipped(path.read_bytes(), bit):
        path.write_bytes(content)
        try:
            refuse_damaged(path)
        except InputError as error:
            assert "delete it and run again" in str(error)
            refused += 1
        else:
            assert pl.read_parquet(path).equals(TABLE)
    assert len(content) - refused <= 16, "only the mark of the seal itself may change unseen"


@pytest.mark.parametrize("bit", [0, 2, 7])
def test_wherever_a_bit_of_a_shard_flips_it_is_refused_or_changes_nothing(tmp_path, bit):
    path = tmp_path / "s.parquet"
    weights = np.random.default_rng(0).random((1, 1, 2, 3, 3)).astype(np.float16)
    with writing_shard(path, ShardInfo("float16", 1, 2, "model", "corpus")) as shard:
        shard.write(Maps(np.array([5], np.uint32), weights))
    refused = 0
    for content in flipped(path.read_bytes(), bit):
        path.write_bytes(content)
        try:
            (maps,) = Shard(path, "model", "corpus")
        except InputError as error:
            assert str(error).startswith(str(path))
            refused += 1
        else:
            assert (maps.examples.tolist(), maps.weights.tobytes()) == ([5], weights.tobytes())
    assert refused > 0.9 * len(content)


def test_wherever_a_bit_of_a_description_flips_it_is_refused(bert_described, tmp_path):
    path = tmp_path / "description.json"
    bert_described.write(path)
    refuse_damaged(path)
    for copy in flipped(path.read_bytes(), 0):
        path.write_bytes(copy)
        with pytest.raises(InputError, match="delete it and run again"):
            Description.read(path)


def test_wherever_a_bit_of_learned_tensors_flips_they_are_refused_or_the_same(tmp_path):
    """Of a probe, or the head of a model: all are written so."""
    path = tmp_path / "probe.safetensors"
    tensors = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.tensor(0.5, dtype=torch.bfloat16)}
    said = {"probe": "attention", "sizes": [1, 0.1]}
    write_tensors(tensors, path, "ours", said)
    assert read_tensors(path, "ours", "a probe", "delete it")[1] == said
    content, unseen = path.read_bytes(), 0
    for bit in (0, 6):
        for copy in flipped(content, bit):
            path.write_bytes(copy)
            try:
                found, says = read_tensors(path, "ours", "a probe", "delete it")
            except InputError as error:
                assert str(error).startswith(f"{path}: expected ")
                assert str(error).endswith("; delete it")
                continue
            if says:
                assert says == said
                assert all(torch.equal(found[name], tensor) for name, tensor in tensors.items())
            unseen += 1
    assert unseen < 0.1 * len(content), "the name of our entry, and spaces"


SOMEBODYS = {
    "vocab.json": '{"seal": 22139, "headscope.seal": 22140}',
    "list.json": '["seal", "headscope.seal"]',
    "comments.json": "// no JSON at all",
    "text.json": '{"headscope.seal": "a short one"}',
}


@pytest.mark.parametrize("name", SOMEBODYS)
def test_json_of_others_is_taken_as_it_is(tmp_path, name):
    path = tmp_path / name
    path.write_text(SOMEBODYS[name])
    called = []
    assert run_job(lambda **files: called.append(files), tmp_path / "log", {"table": path}) == 0
    assert called == [{"table": path}]


@pytest.mark.parametrize("keep", [0, 1, 7, 100, -100, -2])
@pytest.mark.parametrize("name", ["t.parquet", "d.json"])
def test_a_job_refuses_an_input_that_was_cut(bert_described, tmp_path, name, keep):
    path = tmp_path / name
    write_table(TABLE, path) if name == "t.parquet" else bert_described.write(path)
    path.write_bytes(path.read_bytes()[:keep])
    called = []

    def main(table):
        called.append(Description.read(table) if name == "d.json" else table)

    assert run_job(main, tmp_path / "log", {"table": path}) == 1
    (line,) = (tmp_path / "log").read_text().splitlines()
    assert line.startswith(f"ERROR: {path}: expected ")
    assert line.endswith("it was cut or damaged on the disk: delete it and run again")
    assert called == []


JOB = """
import sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from headscope.files import replacing
from jobs_alone import run_job

def main(table):
    with replacing(table) as temporary:
        temporary.write_text("half")
        print("writing", flush=True)
        time.sleep(60)

sys.exit(run_job(main, sys.argv[2] + "/log", outputs={"table": sys.argv[2] + "/made/table.csv"}))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_a_job_with_a_line_and_leaves_nothing_half_written(tmp_path, number):
    """Also where these tests run under nohup, or in the background: what is ignored there is not in the job."""
    code = f"import signal; signal.signal({number:d}, signal.SIG_DFL)" + JOB
    command = [sys.executable, "-c", code, str(REPOSITORY / "tests"), str(tmp_path)]
    here = os.environ | {"PYTHONPATH": str(REPOSITORY / "scripts")}
    with subprocess.Popen(command, env=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
        assert job.stdout.readline() == "writing\n"
        job.send_signal(number)
        _, said = job.communicate(timeout=60)
    line = f"ERROR: stopped by {number.name}: nothing half written is kept; run the same command to go on\n"
    assert (said, (tmp_path / "log").read_text()) == (line, line)
    assert job.returncode == 128 + number
    assert list((tmp_path / "made").iterdir()) == []


def test_a_job_under_nohup_outlives_its_terminal(tmp_path):
    """It ignores hanging up from the start; other signals still end it."""
    code = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)" + JOB
    command = [sys.executable, "-c", code, str(REPOSITORY / "tests"), str(tmp_path)]
    here = os.environ | {"PYTHONPATH": str(REPOSITORY / "scripts")}
    with subprocess.Popen(command, env=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
        assert job.stdout.readline() == "writing\n"
        job.send_signal(signal.SIGHUP)
        job.send_signal(signal.SIGTERM)
        _, said = job.communicate(timeout=60)
    assert said.startswith("ERROR: stopped by SIGTERM: ")


STARTS_IT = """
import subprocess, sys
from headscope.orphans import name_starter
name_starter(is_main=True, is_remote=False)
subprocess.run([sys.executable, *sys.argv[1:]])
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="who started whom is read in /proc")
def test_a_job_ends_when_the_snakemake_that_started_it_is_gone(tmp_path):
    command = [sys.executable, "-c", STARTS_IT, "-c", JOB, str(REPOSITORY / "tests"), str(tmp_path)]
    here = os.environ | {"PYTHONPATH": str(REPOSITORY / "scripts")}
    with subprocess.Popen(command, env=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as starter:
        assert starter.stdout.readline() == "writing\n"
        starter.kill()
        _, said = starter.communicate(timeout=50)  # until the job is gone too; left alone it would write for 60
    assert said.splitlines()[0] == "WARNING: the Snakemake that started this job is gone"
    assert said.splitlines()[1].startswith("ERROR: stopped by SIGTERM: nothing half written is kept")
    assert list((tmp_path / "made").iterdir()) == []


def test_a_job_that_a_cluster_starts_knows_no_starter(monkeypatch):
    monkeypatch.setenv(STARTER, "17")
    name_starter(is_main=False, is_remote=False)
    assert os.environ[STARTER] == "17"
    name_starter(is_main=False, is_remote=True)
    assert STARTER not in os.environ


def test_a_working_folder_that_cannot_be_written_is_one_line(small_disk, monkeypatch):
    assert mount("-o", "remount,ro", str(small_disk))
    monkeypatch.chdir(small_disk)
    with pytest.raises(
        MachineError, match=r"\.snakemake: could not be read or written \(Read-only .* make it writable"
    ):
        clear_stale_locks()


def test_weights_changed_under_the_same_name_and_time_are_refused(bert_folder, bert_described, tmp_path):
    copy = copy_checkpoint(bert_folder, tmp_path) / "model.safetensors"
    before = copy.stat()
    weights = load_file(copy)
    weights["encoder.layer.0.attention.self.query.weight"][3, 4] += 1
    save_file(weights, copy, {"format": "pt"})
    os.utime(copy, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(
        InputError, match=r"model bert: expected the weights that were described .* under the same name"
    ):
        load_described(tmp_path, bert_described, "cpu", {})


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize(
    "name",
    [
        "embeddings.word_embeddings.weight",
        "encoder.layer.1.attention.self.query.weight",
        "encoder.layer.2.attention.self.value.bias",
        "encoder.layer.2.output.dense.weight",
    ],
)
def test_one_broken_number_anywhere_is_named(bert_folder, tmp_path, name, number):
    """Attention alone would not tell of the values of the last layer, nor of the embedding of a rare token."""
    copy = copy_checkpoint(bert_folder, tmp_path) / "model.safetensors"
    weights = load_file(copy)
    weights[name].view(-1)[-1] = number
    save_file(weights, copy, {"format": "pt"})
    with pytest.raises(InputError, match=rf"model bert: expected finite weights, found .* in 1 of them \({name}\)"):
        load(tmp_path, "bert")


def test_a_broken_pooler_breaks_nothing(bert_folder, tmp_path):
    copy = copy_checkpoint(bert_folder, tmp_path) / "model.safetensors"
    weights = load_file(copy)
    weights["pooler.dense.bias"][0] = float("nan")
    save_file(weights, copy, {"format": "pt"})
    load(tmp_path, "bert")
