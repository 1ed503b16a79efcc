"""
What headscope.costs estimates against what runs take, for models of three shapes; and plans of thousands of shards.

The speed of this machine's core is measured first, as a user would.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import polars as pl
import torch
import transformers

from benchmarks.common import REPOSITORY, Row, encode_demo, load_demo_model
from headscope.attention import extract_shard
from headscope.coreference.scoring import count_coreference
from headscope.corpora.documents import read_documents
from headscope.corpora.trees import read_trees
from headscope.costs import Shape, Speed, cost, fastest
from headscope.description import Description
from headscope.divergence_counts import count_divergence
from headscope.encoding import Encoded, read_encoded, write_encoded
from headscope.gradients.counting import count_gradients
from headscope.mlm.heads import load_head
from headscope.models.describing import describe
from headscope.models.loaded import LoadedModel
from headscope.models.loading import load
from headscope.norms.counts import count_norms
from headscope.store import Shard
from headscope.surface_counts import count_surface
from headscope.syntax.scoring import count_syntax
from headscope.tokenizing import encode_words

DEMO = REPOSITORY / "config" / "demo"
SHAPES = (Shape(4, 8, 256), Shape(6, 12, 384), Shape(12, 12, 768))
LENGTHS = {32: 60, 128: 20, 256: 6}  # tokens of an example: how many examples
SHARDS = 2000


class Case(NamedTuple):
    """A model and examples that it has extracted."""

    shape: Shape
    model: LoadedModel
    described: Description
    encoded: Encoded
    shard: Path

    def extract(self):
        """Make the shard."""
        extract_shard(self.model, self.described, self.encoded, self.shard)


def made(shape: Shape, folder: Path) -> LoadedModel:
    """A BERT of this shape with random weights and the tokens of the demo's model."""
    demo = load_demo_model()
    config = transformers.BertConfig(
        vocab_size=len(demo.tokenizer),
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        hidden_size=shape.width,
        intermediate_size=4 * shape.width,
    )
    transformers.BertForMaskedLM(config).save_pretrained(folder)
    demo.tokenizer.save_pretrained(folder)
    return load(folder, "made")


def estimates(stage: str, case: Case, work: Callable[[], object], speed: Speed) -> tuple[float, float]:
    """Estimated ÷ measured: seconds, and bytes of the shard."""
    measured, estimated = fastest(work, times=2), cost(stage, case.shape, case.encoded.lengths(), speed=speed)
    return estimated.core_seconds / measured, estimated.bytes / case.shard.stat().st_size


def of_texts(shape: Shape, folder: Path, speed: Speed):
    """Yield (stage, estimated ÷ measured seconds, bytes) for a model of this shape."""
    model = made(shape, folder / "model")
    described = describe(model, "made", "random", None)
    head = load_head(folder / "model", described, model, {}, None).eval().requires_grad_(False)
    for tokens, examples in LENGTHS.items():
        encoded = encode_demo(model, examples, folder, tokens)
        case = Case(shape, model, described, encoded, folder / "shard")
        yield "extract_attention", *estimates("extract_attention", case, case.extract, speed)
    encoded = encode_demo(model, 8, folder)
    case = case._replace(encoded=encoded)
    case.extract()
    works = {
        "count_surface": lambda: count_surface(Shard(case.shard), encoded),
        "count_divergence": lambda: count_divergence(Shard(case.shard), described),
        "count_norms": lambda: count_norms(model, described, encoded),
        "count_gradients": lambda: count_gradients(model, head, described, encoded, 0),
    }
    for stage, work in works.items():
        yield stage, *estimates(stage, case, work, speed)


def of_words(folder: Path, speed: Speed):
    """Yield the same of the demo's treebank and documents, in the demo's model."""
    model, shape = load_demo_model(), Shape(6, 12, 384)
    described = describe(model, "minilm", "demo", None)
    trees, _ = read_trees(DEMO / "treebank.conllu")
    documents, mentions, _ = read_documents([DEMO / "coreference.conllu"])
    works = {
        "count_syntax": (trees, lambda case: count_syntax(Shard(case.shard), case.encoded, trees)),
        "count_coreference": (
            documents,
            lambda case: count_coreference(Shard(case.shard), case.encoded, documents, mentions),
        ),
    }
    for stage, (table, work) in works.items():
        encoded, _ = encode_words(table, model.tokenizer, 512, cut=stage == "count_coreference")
        write_encoded(encoded, folder / "examples.parquet", described.tokenizer)
        case = Case(shape, model, described, read_encoded(folder / "examples.parquet"), folder / "shard")
        of_extraction = "extract_attention_of_words"
        yield of_extraction, *estimates(of_extraction, case, case.extract, speed)
        yield stage, *estimates(stage, case, lambda work=work, case=case: work(case), speed)


def measure_costs():
    torch.set_num_threads(1)
    speed, found = Speed.measured(), []
    for shape in SHAPES:
        with tempfile.TemporaryDirectory(dir=".") as folder:
            found += of_texts(shape, Path(folder), speed)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        found += of_words(Path(folder), speed)
    table = pl.DataFrame(found, {"stage": pl.String, "seconds": pl.Float64, "bytes": pl.Float64}, orient="row")
    for (stage,), rows in table.group_by("stage", maintain_order=True):
        low, high = rows["seconds"].min(), rows["seconds"].max()
        yield Row(f"`{stage}`, time by headscope.costs ÷ measured", f"{low:.2f} to {high:.2f}", "0.7 to 1.3")
    of_shards = table.filter(
        pl.col("stage").str.starts_with("extract_attention"), pl.col("stage") != "extract_attention_of_words"
    )["bytes"]
    yield Row(
        "bytes of shards by headscope.costs ÷ found", f"{of_shards.min():.3f} to {of_shards.max():.3f}", "0.99 to 1.01"
    )


def measure_plan():
    """A dry run of everything for one model and a text of so many shards."""
    text = f"corpora: [{{name: big, kind: text, path: {DEMO / 'text.txt'}, shards: {SHARDS}}}]"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "big.yaml").write_text(f"{text}\nprobes: {{train: null}}\n", "utf-8")
        command = [sys.executable, "-m", "snakemake", "--snakefile", REPOSITORY / "workflow" / "Snakefile"]
        command += [
            "--dry-run",
            "--quiet",
            "all",
            "--cores",
            "1",
            "--directory",
            folder,
            "all",
            "--configfile",
            "big.yaml",
        ]
        took = fastest(lambda: subprocess.run(command, cwd=folder, check=True, capture_output=True), times=1)
    return Row(f"a dry run of all analyses of a text of {SHARDS:,} shards", f"{took:.0f} s", "under 30 s")


def measure():
    return [*measure_costs(), measure_plan()]
