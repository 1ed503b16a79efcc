import math

import numpy as np
import polars as pl
import pytest
import torch
from safetensors.torch import load_file

from headscope.encoding import Encoded, Kind
from headscope.mlm.heads import NoHeadError, write_head
from headscope.mlm.training import CURVE, Settings, collect, first_head, fit_head, mean_loss, token_frequencies
from headscope.models.describing import describe

SETTINGS = Settings(draws=3, epochs=2, batch=16, learning_rate=0.003, seed=0)


@pytest.fixture(scope="module")
def halves(encoded):
    """Eight examples to learn from and four to be tested on."""
    return encoded._replace(table=encoded.table[:8]), encoded._replace(table=encoded.table[8:])


@pytest.fixture(scope="module")
def tasks(bert, bert_described, halves):
    return collect(bert, bert_described, halves[0], 3, 0), collect(bert, bert_described, halves[1], 1, 0)


@pytest.fixture(scope="module")
def frequencies(bert, halves):
    return token_frequencies(halves[0], bert.network.get_input_embeddings().num_embeddings)


def test_frequencies_by_hand():
    ids = [[2, 5, 5, 6, 3]]
    kinds = [[Kind.CLS, Kind.TEXT, Kind.TEXT, Kind.PUNCTUATION, Kind.SEP]]
    shares = token_frequencies(Encoded(pl.DataFrame({"ids": ids, "kinds": kinds}), "c", "t"), 8).exp()
    np.testing.assert_allclose(shares, np.array([1, 1, 1, 1, 1, 3, 2, 1]) / 11, rtol=1e-6)


def test_states_are_those_of_the_masked_tokens(bert, bert_described, halves, tasks):
    """Recomputed one example at a time: in the order of examples, then draws."""
    from headscope.mlm.heads import vocabulary_of
    from headscope.mlm.masking import mask_tokens

    states, targets = [], []
    for row in halves[0].table.iter_rows(named=True):
        for draw in range(3):
            ids, kinds = np.array(row["ids"]), np.array(row["kinds"], np.uint8)
            masked = mask_tokens(ids, kinds, vocabulary_of(bert), (0, draw, row["example"]))
            with torch.inference_mode():
                inputs = torch.from_numpy(masked.ids)[None], torch.tensor([row["segments"]])
                states.append(bert.states_and_maps(*inputs)[0][0, masked.positions])
            targets += masked.targets.tolist()
    assert tasks[0].targets.tolist() == targets
    torch.testing.assert_close(tasks[0].states.float(), torch.cat(states), rtol=1e-3, atol=1e-3)


def test_the_first_head_is_no_worse_than_the_frequencies(bert, bert_described, tasks, frequencies):
    head = first_head(bert, bert_described, tasks[0], frequencies)
    baseline = -frequencies[tasks[0].targets].mean().item()
    assert mean_loss(head, tasks[0]) < baseline
    assert mean_loss(head, tasks[1]) < -frequencies[tasks[1].targets].mean().item() + 0.1


def test_a_first_head_without_a_step_guesses_the_frequencies(bert, bert_described, tasks, frequencies, monkeypatch):
    monkeypatch.setattr("headscope.mlm.training.LENGTHS", (0.0,))
    head = first_head(bert, bert_described, tasks[0], frequencies)
    assert mean_loss(head, tasks[1]) == pytest.approx(-frequencies[tasks[1].targets].mean().item(), rel=1e-5)


def test_training_lowers_the_loss_and_leaves_the_model_alone(bert, bert_described, tasks, frequencies):
    before = {name: weights.clone() for name, weights in bert.network.state_dict().items()}
    head, curve = fit_head(bert, bert_described, *tasks, frequencies, SETTINGS._replace(epochs=8))
    table = pl.DataFrame(curve, CURVE, orient="row")
    assert table["epoch"].to_list() == list(range(9))
    assert table["training"][8] < table["training"][0] - 0.1, "0.3 to 0.4 on the processors we tried"
    assert table["frequencies"].unique().item() == pytest.approx(-frequencies[tasks[1].targets].mean().item())
    assert mean_loss(head, tasks[1]) == table["held_out"][8], "the last row is of the head that is kept"
    for name, weights in head.named_parameters():
        assert torch.equal(weights, weights.half().float()), name
    assert all(torch.equal(weights, before[name]) for name, weights in bert.network.state_dict().items())


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(bert, bert_described, halves, frequencies, tmp_path):
    for name, seed in (("one", 0), ("same", 0), ("other", 1)):
        fresh = [collect(bert, bert_described, half, draws, seed) for half, draws in zip(halves, (3, 1), strict=True)]
        head, _ = fit_head(bert, bert_described, *fresh, frequencies, SETTINGS._replace(seed=seed))
        write_head(head, tmp_path / name, bert_described, {})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "same").read_bytes()
    assert not torch.equal(load_file(tmp_path / "one")["bias"], load_file(tmp_path / "other")["bias"])


def test_the_loss_is_a_mean_over_tokens_whatever_is_scored_at_once(
    bert, bert_described, tasks, frequencies, monkeypatch
):
    head = first_head(bert, bert_described, tasks[0], frequencies)
    whole = mean_loss(head, tasks[1])
    monkeypatch.setattr("headscope.mlm.training.SCORED_AT_ONCE", 7)
    assert mean_loss(head, tasks[1]) == pytest.approx(whole, rel=1e-6)
    with torch.inference_mode():
        chances = head(tasks[1].states.float()).softmax(-1)[torch.arange(len(tasks[1].targets)), tasks[1].targets]
    assert whole == pytest.approx(-np.mean([math.log(chance) for chance in chances.tolist()]), rel=1e-5)


def test_a_causal_model_cannot_be_fitted(gpt2, halves):
    with pytest.raises(NoHeadError, match="is causal"):
        collect(gpt2, describe(gpt2, "gpt2", "tiny", None), halves[0], 1, 0)
