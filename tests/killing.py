"""Start Snakemake, kill it or its jobs at a moment of choice, start it again: what survives a night on a cluster."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from workflow_runs import copy_workflow, tiny_config, write_inputs

SEED = int(os.environ.get("HEADSCOPE_SEED", 0))
SHARDS = 3
HEADS = "results/tiny/few/surface/heads.csv"
MARK = "HEADSCOPE_TEST_RUN"  # in the environment of every process of a harness, so that none of others is touched
KINDS = ("parsing", "working", "writing", "the job alone", "snakemake alone")
LONGEST = 120  # seconds until what is waited for has come, or the harness is broken
STARTED = re.compile(r"^localrule (\w+):(?:\n +.*)*?\n +jobid: (\d+)(?:\n +.*)*?\n +wildcards: (.*)$", re.MULTILINE)
FINISHED = re.compile(r"^Finished jobid: (\d+) \(Rule: (\w+)\)$", re.MULTILINE)


class Harness:
    """Runs one target in a copy of the workflow; every run's output is kept in `outputs`."""

    def __init__(self, folder: Path, target: str, seed: int, cores: int = 2):
        self._folder = folder
        self._command = [sys.executable, "-m", "snakemake", target, "--cores", str(cores), "--max-threads", "1"]
        self._command += ["--configfile", "tiny.yaml"]
        self._random = random.Random(seed)
        self.outputs: list[str] = []

    def start(self) -> subprocess.Popen:
        """The one command of the README, in a session of its own."""
        mark = {MARK: str(self._folder)}
        self.outputs.append(str(self._folder / f"run-{len(self.outputs)}.txt"))
        with open(self.outputs[-1], "w") as output:
            return subprocess.Popen(
                self._command,
                cwd=self._folder,
                env=os.environ | mark,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def said(self, number: int = -1) -> str:
        return Path(self.outputs[number]).read_text("utf-8", errors="replace")

    def finish(self) -> str:
        """Run to the end, alone; what it said."""
        assert self.start().wait(600) == 0, self.said()
        return self.said()

    def kill(self, kind: str) -> int:
        """Start a run and kill in it until nothing of it runs; how often, 0 where it had come to its end before."""
        run = self.start()
        if kind == "parsing":
            self._wait(run, self._random.uniform(0.2, 3))
        else:
            self.until(run, lambda: "Finished jobid" in self.said())
            if kind == "writing":
                self.until(run, lambda: any(self.unfinished()), pause=0.002)
            else:
                self._wait(run, self._random.uniform(0, 2))
        if kind == "the job alone":
            self.until(run, self.jobs)
        kills = 0
        if kind == "the job alone":
            kills += _kill(self.jobs()[:1])
            self.until(run, lambda: "Error in rule" in self.said())
        if run.poll() is None:
            _kill([run.pid] if kind == "snakemake alone" else self.processes())
            kills += 1
        run.wait(60)
        stop = time.monotonic() + LONGEST
        while self.processes():  # jobs whose Snakemake was killed, which end by themselves
            assert time.monotonic() < stop, self.said()
            time.sleep(0.05)
        return kills

    def processes(self) -> list[int]:
        """All that this harness started and that is still running."""
        wanted = f"{MARK}={self._folder}\0".encode()
        return [process for process in _processes() if wanted in _read(process, "environ")]

    def jobs(self) -> list[int]:
        """Those of them that run a script."""
        return [process for process in self.processes() if b".snakemake/scripts/" in _read(process, "cmdline")]

    def unfinished(self) -> list[Path]:
        """Temporary files of results."""
        return [path for path in self._folder.rglob(".*.part") if ".snakemake" not in path.parts]

    @property
    def last(self) -> int:
        """The number of the last run."""
        return len(self.outputs) - 1

    def starts(self, rule: str, first: int = 0) -> list[tuple[int, str, bool]]:
        """(number of the run, wildcards, whether it was finished) of each start of a job of the rule, from a run on."""
        found = []
        for number in range(first, len(self.outputs)):
            said = self.said(number)
            finished = {jobid for jobid, _ in FINISHED.findall(said)}
            started = STARTED.findall(said)
            found += [(number, wildcards, jobid in finished) for name, jobid, wildcards in started if name == rule]
        return found

    def _wait(self, run, seconds):
        try:
            run.wait(seconds)
        except subprocess.TimeoutExpired:
            return

    def until(self, run: subprocess.Popen, is_so, pause: float = 0.02):
        """Wait until something is so, or the run has ended; look every `pause` seconds."""
        stop = time.monotonic() + LONGEST
        while run.poll() is None and not is_so():
            assert time.monotonic() < stop, self.said()
            time.sleep(pause)


def _processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _read(process: int, what: str) -> bytes:
    try:
        return Path(f"/proc/{process}/{what}").read_bytes()
    except OSError:
        return b""


def _kill(processes: list[int]) -> int:
    """How many of them were there to be killed."""
    killed = 0
    for process in processes:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue
        killed += 1
    return killed


def undisturbed_run(folder: Path, model_folder: Path, seed: int) -> Path:
    """A small run that nobody kills, to its end."""
    write_inputs(copy_workflow(folder), tiny_config(model_folder, shards=SHARDS))
    Harness(folder, HEADS, seed).finish()
    return folder


def results(folder: Path) -> dict[str, bytes]:
    """What a run ended with, by path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in (folder / "results").rglob("*.*")}
