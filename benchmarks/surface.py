"""Surface counts over a shard against a NumPy loop over examples written as the definition reads."""

import tempfile
from pathlib import Path

import numpy as np
import torch

from benchmarks.common import Row, encode_demo, load_demo_model, paired_ratio, shown
from headscope.attention import extract_shard
from headscope.encoding import Kind
from headscope.models.describing import describe
from headscope.store import Shard
from headscope.surface import MEASURES
from headscope.surface_counts import count_surface

EXAMPLES = 330


def masks_of(kinds):
    """Return for each measure but the entropies a mask (query, key) of the weights that it sums."""
    size = len(kinds)
    everyone, sep = np.ones(size), (kinds == Kind.SEP).astype(np.float64)
    masks = [np.eye(size), np.eye(size, k=-1), np.eye(size, k=1)]
    masks += [np.outer(everyone, kinds == kind) for kind in (Kind.CLS, Kind.SEP, Kind.PUNCTUATION)]
    masks += [np.outer(sep, sep), np.outer(1 - sep, sep)]
    return [mask.astype(np.float32) for mask in masks]


def as_defined(shard, kinds_of):
    """Return the sums (example, layer, head, measure): masks times maps."""
    sums = {}
    for maps in shard:
        for example, weights in zip(maps.examples.tolist(), maps.weights, strict=True):
            weights = weights.astype(np.float32)
            kinds = kinds_of[example]
            counted = [(weights * mask).sum((-2, -1)) for mask in masks_of(kinds)]
            entropy = -(weights * np.log(np.where(weights > 0, weights, 1))).sum(-1)
            counted += [entropy.sum(-1), entropy[..., kinds == Kind.CLS].sum(-1), weights[..., 0].sum(-1)]
            sums[example] = np.stack(counted, -1)
    return np.stack([sums[example] for example in sorted(sums)])


def measure():
    model = load_demo_model()
    described = describe(model, "minilm", "demo", None)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        encoded = encode_demo(model, EXAMPLES, Path(folder))
        extract_shard(model, described, encoded, Path(folder) / "shard.parquet")
        shard = Shard(Path(folder) / "shard.parquet", described.weights, encoded.corpus)
        kinds_of = {row["example"]: np.array(row["kinds"]) for row in encoded.table.iter_rows(named=True)}
        torch.set_num_threads(1)  # as the rule runs it; the workflow counts one shard a core
        ours = count_surface(shard, encoded).select(MEASURES).to_numpy()
        np.testing.assert_allclose(ours, as_defined(shard, kinds_of).reshape(ours.shape), rtol=1e-5, atol=1e-5)
        ratios = paired_ratio(lambda: count_surface(shard, encoded), lambda: as_defined(shard, kinds_of))
    return [Row("surface counts over a shard, NumPy loop as defined ÷ ours", shown(ratios), "at least 5×")]
