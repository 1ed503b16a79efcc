"""Peak memory of extraction and of counting, at ten times the segments; each stage in a process of its own."""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

from benchmarks.common import REPOSITORY, Row, encode_demo, load_demo_model
from headscope.attention import extract_shard
from headscope.encoding import read_encoded
from headscope.models import describe
from headscope.store import Shard
from headscope.surface import count_surface

EXAMPLES = 60


def encode(folder, examples):
    encode_demo(load_demo_model(), examples, folder)


def extract(folder, _):
    model, encoded = load_demo_model(), read_encoded(folder / "examples.parquet")
    extract_shard(model, describe(model, "minilm", "demo", None), encoded, folder / "shard")


def count(folder, _):
    torch.set_num_threads(1)
    count_surface(Shard(folder / "shard"), read_encoded(folder / "examples.parquet"))


STAGES = {"encode": encode, "extract": extract, "count": count}


def peak_of_this_process():
    """Return MiB. Linux counts into ru_maxrss what the parent had when it forked, so its own mark is read first."""
    try:
        with open("/proc/self/status", encoding="utf-8") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def peak(stage, folder, examples):
    command = [sys.executable, "-m", "benchmarks.memory", stage, folder, str(examples)]
    return float(subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout)


def measure():
    peaks = {}
    for examples in (EXAMPLES, 10 * EXAMPLES):
        with tempfile.TemporaryDirectory() as folder:
            for stage in STAGES:
                peaks[stage, examples] = peak(stage, folder, examples)
    rows = []
    for stage, name in (("extract", "extraction"), ("count", "surface counts")):
        few, many = peaks[stage, EXAMPLES], peaks[stage, 10 * EXAMPLES]
        result = f"{many / few:.2f}× ({few:.0f} MiB at {EXAMPLES} segments, {many:.0f} MiB at {10 * EXAMPLES})"
        rows.append(Row(f"peak memory of {name} at ten times the segments", result, "at most 1.1×"))
    return rows


if __name__ == "__main__":
    STAGES[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
    print(peak_of_this_process())
