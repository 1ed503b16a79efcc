"""A file of word vectors of GloVe's size, read for the words of a treebank, against reading every number of it."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.common import REPOSITORY, Row
from benchmarks.memory import peak_of_this_process
from headscope.probes.vector_files import look_up

LINES, WIDTH = 400_000, 100  # GloVe 6B
NEEDED = 20_000  # different words of the English Web Treebank


def needed_words():
    """Words from all over the file."""
    return [f"word{number}" for number in range(0, LINES, LINES // NEEDED)]


def write_vectors(path):
    numbers = np.random.default_rng(0).normal(0, 0.4, (1000, WIDTH))
    ends = [" ".join(f"{number:.5f}" for number in row) for row in numbers]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"word{number} {ends[number % len(ends)]}\n" for number in range(LINES))


def look_up_needed(path):
    return look_up(path, needed_words())


def read_every_number(path):
    vectors = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            word, *numbers = line.split(" ")
            vectors[word] = np.array([float(number) for number in numbers], np.float32)
    return vectors


READERS = {reader.__name__: reader for reader in (look_up_needed, read_every_number)}


def measured(reader, path):
    """Seconds a reader takes in a process of its own, and MiB by which it raises the peak there."""
    command = [sys.executable, "-m", "benchmarks.vectors", reader.__name__, path]
    printed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    return map(float, printed.split())


def measure():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "glove.txt"
        write_vectors(path)
        size = path.stat().st_size / 2**20
        (seconds, memory), (seconds_of_all, memory_of_all) = (measured(reader, path) for reader in READERS.values())
    what = f"{NEEDED:,} of {LINES:,} word vectors of {WIDTH} numbers"
    ratio = f"{seconds_of_all / seconds:.2f}× ({seconds:.1f} s)"
    share = f"{memory / size:.2f}× ({memory:.0f} MiB; reading every number: {memory_of_all:.0f} MiB)"
    return [
        Row(f"{what}: reading every number ÷ looking words up", ratio, "at least 4×"),
        Row(f"{what}: memory to look them up ÷ the file of {size:.0f} MiB", share, "at most 0.2×"),
    ]


if __name__ == "__main__":
    before, started = peak_of_this_process(), time.perf_counter()
    kept = READERS[sys.argv[1]](sys.argv[2])
    print(time.perf_counter() - started, peak_of_this_process() - before)
