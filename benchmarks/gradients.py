"""Gradients by attention weight, loss and sums included, against the forward pass of extraction."""

import tempfile
from pathlib import Path

from benchmarks.common import REPOSITORY, Row, encode_demo, load_demo_model, paired_ratio, shown
from headscope.attention import attention_maps
from headscope.batches import CPU_BUDGET_MB
from headscope.gradients.counting import count_gradients
from headscope.mlm.heads import read_head
from headscope.models.describing import describe

EXAMPLES = 66


def measure():
    plain, model = load_demo_model(), load_demo_model()
    described = describe(model, "minilm", "demo", None)
    head = read_head(REPOSITORY / "config" / "demo" / "mlm_head.safetensors", described, model)
    head.eval().requires_grad_(False)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        encoded = encode_demo(plain, EXAMPLES, Path(folder))

    def forward():
        for _ in attention_maps(plain, encoded, described.layers * described.heads, CPU_BUDGET_MB):
            pass

    ratios = [1 / ratio for ratio in paired_ratio(lambda: count_gradients(model, head, described, encoded, 0), forward)]
    return [Row("gradients by attention weight ÷ forward pass of extraction", shown(ratios), "at most 4×")]
