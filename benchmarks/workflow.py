"""The demo from nothing in a warm environment, and a run that has nothing to do."""

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


def measure():
    with tempfile.TemporaryDirectory() as folder:
        for part in ("workflow", "scripts", "envs", "config"):
            shutil.copytree(REPOSITORY / part, Path(folder) / part)
        first, second = seconds_of(folder), seconds_of(folder)
    return [
        Row("the whole demo, environment in place, two cores", f"{first:.0f} s", "under 180 s, a minute for probes"),
        Row("`snakemake` with nothing to do", f"{second:.1f} s", "under 6 s"),
    ]
