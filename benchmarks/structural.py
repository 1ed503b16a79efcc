"""
The structural probe: an epoch in batches against one sentence a step, and the peak memory of each stage, in a process
of its own, at ten times the sentences.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import torch

from benchmarks.common import Row, load_demo_model, paired_ratio, shown
from benchmarks.memory import encode_trees, peak, peak_of_this_process
from headscope.encoding import read_encoded
from headscope.models.describing import describe
from headscope.probes.structural.files import StructuralProbe
from headscope.probes.structural.scoring import count_structural
from headscope.probes.structural.sentences import Sentences
from headscope.probes.structural.training import Settings, learn_layers, learn_structural
from headscope.probes.trees import Trees
from headscope.states.extraction import extract_states
from headscope.states.laying import laid_states
from headscope.states.store import StatesShard

SETTINGS = Settings(rank=128, seeds=1, epochs=1, patience=1, batch_words=640)
EPOCH_SENTENCES, MEMORY_SENTENCES, LAYER = 1000, 1200, 3


def extract(folder, _):
    model = load_demo_model()
    described = describe(model, "minilm", "demo", None)
    extract_states(model, described, read_encoded(folder / "examples.parquet"), folder / "states")


def _gold(folder):
    encoded = read_encoded(folder / "examples.parquet")
    trees = Trees.read(pl.read_parquet(folder / "trees.parquet"), "stanford")
    return encoded, trees.only(encoded.table["example"].to_numpy())


def learn(folder, _):
    """One pass over every layer."""
    torch.set_num_threads(1)
    encoded, trees = _gold(folder)
    with laid_states([folder / "states"], encoded, StatesShard(folder / "states").info.model, folder) as laid:
        learn_structural(Sentences(laid, trees), SETTINGS, torch.device("cpu"))


def score(folder, _):
    torch.set_num_threads(1)
    encoded, trees = _gold(folder)
    shard = StatesShard(folder / "states")
    projections = torch.from_numpy(np.random.default_rng(0).normal(size=(5, 128, shard.info.width)).astype(np.float32))
    probe = StructuralProbe(projections, LAYER, "stanford", 1, 0, shard.info.model, encoded.corpus)
    count_structural([shard], encoded, trees, probe)


STAGES = {stage.__name__: stage for stage in (encode_trees, extract, learn, score)}
NAMES = {
    "extract": "extraction of hidden states",
    "learn": "learning the structural probe",
    "score": "scoring it",
}


def measure_epoch():
    """A pass over one layer with one seed: in batches, and one sentence a step."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name)
        encode_trees(folder, EPOCH_SENTENCES)
        extract(folder, None)
        encoded, trees = _gold(folder)
        with laid_states([folder / "states"], encoded, StatesShard(folder / "states").info.model, folder) as laid:
            sentences, layers = Sentences(laid, trees), range(LAYER, LAYER + 1)
            spreads = sentences.spreads()

            def epoch(words):
                settings = SETTINGS._replace(batch_words=words)
                return lambda: learn_layers(sentences, layers, spreads, 0, settings, torch.device("cpu"))

            ratios = paired_ratio(epoch(SETTINGS.batch_words), epoch(1))
    return Row(
        f"an epoch of the structural probe over {EPOCH_SENTENCES} sentences, one a step ÷ in batches", shown(ratios), ""
    )


def measure_memory():
    peaks = {}
    for examples in (MEMORY_SENTENCES, 10 * MEMORY_SENTENCES):
        with tempfile.TemporaryDirectory(dir=".") as name:
            folder = Path(name).resolve()
            peaks[examples] = [peak(stage, folder, examples, "benchmarks.structural") for stage in STAGES]
    for name, few, many in list(zip(STAGES, *peaks.values(), strict=True))[1:]:
        fewer, more = peaks
        result = f"{many / few:.2f}× ({few:.0f} MiB at {fewer} sentences, {many:.0f} MiB at {more})"
        yield Row(f"peak memory of {NAMES[name]} at ten times the sentences", result, "at most 1.1×")


def measure():
    return [measure_epoch(), *measure_memory()]


if __name__ == "__main__":
    STAGES[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
    print(peak_of_this_process())
