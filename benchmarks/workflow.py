"""The demo from nothing in a warm environment, and a run that has nothing to do."""

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.common import REPOSITORY, Row


def seconds_of(folder):
    started = time.perf_counter()
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--max-threads", "1"]  # as `make demo` does
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - started


def seconds_to_import(script):
    """The fastest of three starts of Python with what a script imports, in CPU seconds."""
    scripts, found = REPOSITORY / "scripts", []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", f"import {script}"], cwd=scripts, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def measure():
    with tempfile.TemporaryDirectory() as folder:
        for part in ("workflow", "scripts", "envs", "config"):
            shutil.copytree(REPOSITORY / part, Path(folder) / part)
        first, second = seconds_of(folder), seconds_of(folder)
    starts = [
        seconds_to_import(script) for script in ("merge_surface", "draw_figure_2", "count_surface", "count_norms")
    ]
    return [
        Row(
            "start of a job that merges, draws, counts, runs a model: imports",
            ", ".join(f"{start:.1f} s" for start in starts),
            "",
        ),
        Row("the whole demo, environment in place, two cores", f"{first:.0f} s", "under 180 s, a minute for probes"),
        Row("`snakemake` with nothing to do", f"{second:.1f} s", "under 6 s"),
    ]
