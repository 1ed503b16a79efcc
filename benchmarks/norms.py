"""Attention and norms of a shard, straight from the model, against the forward pass of extraction, same batches."""

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.common import Row, encode_demo, load_demo_model, paired_ratio, shown
from headscope.batches import CPU_BUDGET_MB, plan_batches, token_matrix
from headscope.encoding import Kind
from headscope.models.describing import describe
from headscope.norms.counts import SUMS, count_norms
from headscope.norms.values import watching

EXAMPLES, PLAIN_EXAMPLES = 66, 1


def as_defined(model, batches, heads):
    """Return the sums (example, layer, head, sum), with every vector `α f(x)` made: (head, query, key, width)."""
    with watching(model, heads) as watch:
        sums = []
        for ids, segments, kinds in batches:
            maps, _ = model.forward(ids, segments)
            layers = watch.take(maps)
            for example, row in enumerate(kinds.numpy()):
                sums.append([_plain_layer(layer, example, row) for layer in layers])
    return np.array(sums)


def _plain_layer(layer, example, kinds):
    keys = np.stack([kinds == Kind.CLS, kinds == Kind.SEP, kinds == Kind.PUNCTUATION])
    keys = np.concatenate([keys, ~keys.any(0, keepdims=True)]).T.astype(np.float32)
    maps = layer.maps[example]
    transformed = layer.values[example] @ layer.projection.weights  # (head, token, width)
    norms = (maps[..., None] * transformed[:, None]).norm(dim=-1).numpy()
    values = transformed.norm(dim=-1).numpy()
    shares = norms @ keys / norms.sum(-1, keepdims=True)
    queries = np.full((len(norms), 1), len(kinds))
    return np.concatenate([(maps.numpy() @ keys).sum(1), shares.sum(1), values @ keys, queries], axis=-1)


def measure():
    model = load_demo_model()
    described = describe(model, "minilm", "demo", None)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        encoded = encode_demo(model, EXAMPLES, Path(folder))
    planned = plan_batches(encoded.lengths(), encoded.sizes(), described.layers * described.heads, CPU_BUDGET_MB)
    batches = [[token_matrix(encoded.table[rows][name]) for name in ("ids", "segments", "kinds")] for rows in planned]
    few = encoded._replace(table=encoded.table.head(PLAIN_EXAMPLES))
    plain_batches = [[token_matrix(few.table[name]) for name in ("ids", "segments", "kinds")]]

    def forward():
        for ids, segments, _ in batches:
            model.forward(ids, segments)

    def ours_of_few():
        return count_norms(model, described, few)

    def plain_of_few():
        return as_defined(model, plain_batches, described.heads)

    ours = ours_of_few().select(SUMS).to_numpy()
    np.testing.assert_allclose(ours, plain_of_few().reshape(ours.shape), rtol=1e-3, atol=1e-4)
    ratios = [1 / ratio for ratio in paired_ratio(lambda: count_norms(model, described, encoded), forward)]
    plain = paired_ratio(ours_of_few, plain_of_few, pairs=2)
    return [
        Row("norms and attention of a shard ÷ the forward pass of extraction", shown(ratios), "at most 2×"),
        Row("norms with every vector α f(x) made ÷ ours", shown(plain), ""),
    ]
