"""
Peak memory of extraction and of counting, each stage in a process of its own: at ten times the examples, and of long
documents through a model of 12 layers and 12 heads.
"""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl
import torch
import transformers

from benchmarks.common import REPOSITORY, Row, encode_demo, load_demo_model
from headscope.attention import extract_shard
from headscope.coreference.scoring import count_coreference
from headscope.corpora.documents import read_documents
from headscope.corpora.trees import read_trees
from headscope.encoding import read_encoded, write_encoded
from headscope.models.describing import describe
from headscope.models.loading import load
from headscope.store import Shard
from headscope.surface import merge_surface
from headscope.surface_counts import count_surface
from headscope.syntax.scoring import count_syntax
from headscope.tokenizing import encode_words
from headscope.writing import write_table

SHORT, SHARD = 32, 500  # tokens of a segment, and segments of a shard, where there are 10,000


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


def encode_short(folder, examples):
    encode_demo(load_demo_model(), examples, folder, SHORT)


def reduce_shards(folder, examples):
    """Extract and count shard after shard, as jobs do, then merge; a shard is deleted once it is read."""
    torch.set_num_threads(1)
    model, encoded = load_demo_model(), read_encoded(folder / "examples.parquet")
    described, shards = describe(model, "minilm", "demo", None), examples // SHARD
    for number in range(1, shards + 1):
        extract_shard(model, described, encoded.shard(number, shards), folder / "shard")
        write_table(count_surface(Shard(folder / "shard"), encoded), folder / f"{number}.parquet")
    merge_surface(lambda: (pl.read_parquet(folder / f"{n}.parquet") for n in range(1, shards + 1)), encoded, described)


def count(folder, _):
    torch.set_num_threads(1)
    count_surface(Shard(folder / "shard"), read_encoded(folder / "examples.parquet"))


def score(folder, _):
    trees = pl.read_parquet(folder / "trees.parquet")
    count_syntax(Shard(folder / "shard"), read_encoded(folder / "examples.parquet"), trees)


def encode_documents(folder, examples):
    """Documents of 512 tokens, several of the demo's in a row each, and a model of BERT-base's shape to read them."""
    demo = load_demo_model()
    shape = transformers.BertConfig(vocab_size=len(demo.tokenizer))
    transformers.BertModel(shape).save_pretrained(folder / "model")
    demo.tokenizer.save_pretrained(folder / "model")
    first, *others = (REPOSITORY / "config" / "demo" / "coreference.conllu").read_text("utf-8").split("# newdoc")
    joined = ["# part".join(others[start : start + 6]) for start in range(0, len(others), 6)]
    (folder / "long.conllu").write_text(first + "".join(f"# newdoc{text}" for text in joined), "utf-8")
    documents, mentions, _ = read_documents([folder / "long.conllu"])
    documents.write_parquet(folder / "documents.parquet")
    mentions.write_parquet(folder / "mentions.parquet")
    encoded, _ = encode_words(documents.head(examples), demo.tokenizer, 512, cut=True)
    write_encoded(encoded, folder / "examples.parquet", describe(demo, "minilm", "demo", None).tokenizer)


def extract_documents(folder, _):
    model, encoded = load(folder / "model", "large"), read_encoded(folder / "examples.parquet")
    extract_shard(model, describe(model, "large", "random", None), encoded, folder / "shard")


def score_documents(folder, _):
    tables = [pl.read_parquet(folder / f"{name}.parquet") for name in ("documents", "mentions")]
    count_coreference(Shard(folder / "shard"), read_encoded(folder / "examples.parquet"), *tables)


STAGES = {
    stage.__name__: stage
    for stage in (
        *(encode, encode_short, encode_trees, encode_documents),
        *(extract, extract_documents, reduce_shards),
        *(count, score, score_documents),
    )
}
MEASURED = {
    ("encode", "extract"): ("extraction", "segments", 60, "at most 1.1×"),
    ("encode_short", "reduce_shards"): (
        "extraction to tables, shards of 500",
        "segments",
        1000,
        "at most 1.1×",
    ),
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


def peak(stage, folder, examples, module="benchmarks.memory"):
    command = [sys.executable, "-m", module, stage, folder, str(examples)]
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
    return rows + measure_documents()


def measure_documents(examples=4):
    with tempfile.TemporaryDirectory() as folder:
        _, *peaks = [
            peak(stage, folder, examples) for stage in ("encode_documents", "extract_documents", "score_documents")
        ]
    return [
        Row(f"peak memory of {name} documents of 512 tokens, 12 × 12 heads", f"{found:.0f} MiB", "at most 3 GB")
        for name, found in zip(("extracting", "scoring"), peaks, strict=True)
    ]


if __name__ == "__main__":
    STAGES[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
    print(peak_of_this_process())
