"""Extraction with durable shards against a plain forward pass that returns no maps (sdpa), same batches."""

import tempfile
from pathlib import Path

import numpy as np
import torch

from benchmarks.common import Row, encode_demo, load_demo_model, paired_ratio, shown
from headscope.attention import extract_shard
from headscope.batches import CPU_BUDGET_MB, plan_batches
from headscope.models.describing import describe

EXAMPLES = 198


def measure():
    model, plain = load_demo_model(), load_demo_model("sdpa")
    described = describe(model, "minilm", "demo", None)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        encoded = encode_demo(model, EXAMPLES, Path(folder))
        batches = plan_batches(encoded.lengths(), encoded.sizes(), described.layers * described.heads, CPU_BUDGET_MB)
        ids, segments = (
            torch.from_numpy(np.array(encoded.table[name].to_list(), np.int64)) for name in ("ids", "segments")
        )

        def forward():
            with torch.inference_mode():
                for rows in batches:
                    plain.network(input_ids=ids[rows], token_type_ids=segments[rows])

        def extract():
            extract_shard(model, described, encoded, Path(folder) / "shard.parquet")

        ratios = [1 / ratio for ratio in paired_ratio(extract, forward)]
    return [Row("extraction into durable float16 shards ÷ plain `sdpa` forward pass", shown(ratios), "at most 1.3×")]
