"""Peak memory of extraction and of counting, at ten times the examples; each stage in a process of its own."""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl
import torch

from benchmarks.common import REPOSITORY, Row, encode_demo, load_demo_model
from headscope.attention import extract_shard
from headscope.corpora.trees import read_trees
from headscope.encoding import read_encoded, write_encoded
from headscope.models import describe
from headscope.store import Shard
from headscope.surface import count_surface
from headscope.syntax.scoring import count_syntax
from headscope.tokenizing import encode_words


def encode(folder, examples):
    encode_demo(load_demo_model(), examples, folder)


def encode_trees(folder, examples):
    model = load_demo_model()
    trees, _ = read_trees(REPOSITORY / "config" / "demo" / "treebank.conllu")
    repeated = pl.concat([trees] * (examples // trees.height + 1)).head(examples)
    repeated = repeated.with_columns(example=pl.int_range(1, examples + 1, dtype=pl.UInt32))
    repeated.write_parquet(folder / "trees.parquet")
    encoded, _ = encode_words(repeated, model.tokenizer, 512)
    write_encoded(encoded, folder / "examples.parquet", describe(model, "minilm", "demo", None).tokenizer)


def extract(folder, _):
    model, encoded = load_demo_model(), read_encoded(folder / "examples.parquet")
    extract_shard(model, describe(model, "minilm", "demo", None), encoded, folder / "shard")


def count(folder, _):
    torch.set_num_threads(1)
    count_surface(Shard(folder / "shard"), read_encoded(folder / "examples.parquet"))


def score(folder, _):
    trees = pl.read_parquet(folder / "trees.parquet")
    count_syntax(Shard(folder / "shard"), read_encoded(folder / "examples.parquet"), trees)


STAGES = {stage.__name__: stage for stage in (encode, encode_trees, extract, count, score)}
MEASURED = {
    ("encode", "extract"): ("extraction", "segments", 60, "at most 1.1×"),
    ("encode", "extract", "count"): ("surface counts", "segments", 60, "at most 1.1×"),
    # Its table of hits grows by some 5 KB a sentence, a tenth of what the sentence's maps take.
    ("encode_trees", "extract", "score"): ("scoring syntax", "sentences", 1200, "its results only"),
}


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
    rows = []
    for stages, (name, unit, examples, bound) in MEASURED.items():
        peaks = []
        for count_of in (examples, 10 * examples):
            with tempfile.TemporaryDirectory() as folder:
                peaks.append([peak(stage, folder, count_of) for stage in stages][-1])
        few, many = peaks
        result = f"{many / few:.2f}× ({few:.0f} MiB at {examples} {unit}, {many:.0f} MiB at {10 * examples})"
        rows.append(Row(f"peak memory of {name} at ten times the {unit}", result, bound))
    return rows


if __name__ == "__main__":
    STAGES[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
    print(peak_of_this_process())
