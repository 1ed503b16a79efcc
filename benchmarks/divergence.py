"""
The divergence of every two heads against the published script's way, and against the logarithms that it cannot avoid.

Head by head, the script smooths, takes the mean and two log ratios over all heads, in float16 as its maps are stored.
"""

from functools import partial

import numpy as np
import torch

from benchmarks.common import Row, paired_ratio, shown
from headscope.divergence_counts import pair_sums

SIZE = 128
TIMED = 6  # heads that the script is timed on, each the same work; all of them would take minutes
MODELS = {72: (6, 12), 144: (12, 12)}  # as the demo's model, as BERT-base


def random_maps(layers, heads):
    generator = np.random.default_rng(0)
    weights = np.exp(3 * generator.standard_normal((layers, heads, SIZE, SIZE)))
    return (weights / weights.sum(-1, keepdims=True)).astype(np.float16)


def published(weights, heads):
    """Return the sums (head, other head) over the query tokens as the script has them, for so many heads first."""
    maps = weights.reshape(-1, SIZE, SIZE)
    sums = np.zeros((heads, len(maps)))
    for head in range(heads):
        one = 0.001 / SIZE + 0.999 * maps[head][None]
        every = 0.001 / SIZE + 0.999 * maps
        mean = (one + every) / 2
        divergence = -one * np.log(mean / one) - every * np.log(mean / every)
        sums[head] = (divergence / 2).sum(-1).sum(-1)
    return sums


def logarithms(pairs):
    """Return a function that takes one float32 logarithm for each pair of heads, query and key, in cached blocks."""
    generator = np.random.default_rng(0)
    weights = generator.random(SIZE * SIZE, np.float32)
    out = np.empty_like(weights)

    def take():
        for _ in range(pairs):
            np.log(weights, out=out)

    return take


def measure():
    torch.set_num_threads(1)  # as the rule runs it; the workflow compares heads on one shard a core
    rows = []
    for heads, shape in MODELS.items():
        weights = random_maps(*shape)
        ours = pair_sums(weights, "paper")
        expected = published(weights.astype(np.float64), heads)[np.triu_indices(heads, 1)]
        np.testing.assert_allclose(ours / SIZE, expected / SIZE, atol=1e-4)
        script = paired_ratio(partial(pair_sums, weights, "paper"), partial(published, weights, TIMED), pairs=2)
        bare = paired_ratio(partial(pair_sums, weights), logarithms(len(ours)))
        what = f"divergence of {heads} heads on a segment"
        whole = [ratio * heads / TIMED for ratio in script]
        rows += [
            Row(f"{what}, the published script's way ÷ ours", shown(whole), "at least 50×"),
            Row(f"{what} ÷ as many float32 logarithms", shown([1 / ratio for ratio in bare]), "at most 4×"),
        ]
    return rows
