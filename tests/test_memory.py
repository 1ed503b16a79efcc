"""A batch that does not fit into memory is halved, and no bit of a result tells."""

from contextlib import contextmanager

import numpy as np
import polars as pl
import pytest
import torch
import transformers
from checkpoints import save_bert

from headscope.attention import extract_shard
from headscope.batches import halving
from headscope.errors import MachineError
from headscope.gradients.counting import count_gradients
from headscope.mlm.heads import load_head
from headscope.mlm.training import collect
from headscope.models.describing import describe
from headscope.models.loading import load
from headscope.norms.counts import count_norms
from headscope.states.extraction import extract_states
from headscope.store import Shard

TABLE = pl.DataFrame(
    {"example": [7, 8, 9, 10, 11], "where": [f"few.txt:{n}" for n in range(5)], "ids": [[1, 2, 3]] * 5}
)
SHORT = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
    RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: you tried ..."),
    MemoryError("Unable to allocate 8.00 GiB for an array"),
]


def room_for(most, error, calls=None):
    """Work that takes so many rows at once."""

    def work(rows):
        if calls is not None:
            calls.append(len(rows))
        yield from rows[:most].tolist()
        if len(rows) > most:
            raise error

    return work


@contextmanager
def little_memory(model, most, error=SHORT[1]):
    """While this lasts, a batch of more than so many examples runs out of memory in the last layer."""

    def refuse(_, inputs):
        if len(inputs[0]) > most:
            raise error

    hook = model.network.encoder.layer[-1].register_forward_pre_hook(refuse)
    try:
        yield
    finally:
        hook.remove()


@pytest.mark.parametrize("error", SHORT)
def test_every_row_is_worked_on_once_and_in_order(error):
    assert list(halving(room_for(2, error), [np.arange(5)], TABLE)) == [0, 1, 2, 3, 4]


def test_later_batches_start_as_small_as_fitted(caplog):
    calls = []
    batches = [np.array([0, 1, 2, 3]), np.array([4, 0, 1, 2])]
    assert list(halving(room_for(2, SHORT[0], calls), batches, TABLE)) == [0, 1, 2, 3, 4, 0, 1, 2]
    assert calls == [4, 2, 2, 2, 2]
    assert [record.message for record in caplog.records] == ["memory is short for 4 examples at once: going on with 2"]


def test_an_example_that_does_not_fit_by_itself_is_named():
    with pytest.raises(MachineError, match=r"example 9 \(few.txt:2\), 3 tokens: .*CUDA out of memory.*below 3"):
        list(halving(room_for(0, SHORT[0]), [np.array([2])], TABLE))


def test_another_error_is_let_through():
    with pytest.raises(RuntimeError, match="no kernel"):
        list(halving(room_for(0, RuntimeError("no kernel image")), [np.arange(2)], TABLE))


@pytest.fixture(scope="module")
def masked_bert(tmp_path_factory):
    folder = save_bert(tmp_path_factory.mktemp("masked"), auto=transformers.AutoModelForMaskedLM)
    model = load(folder, "tiny")
    return model, describe(model, "tiny", "tiny", None), folder


@pytest.fixture(scope="module")
def sentences(masked_bert, tmp_path_factory):
    from headscope.encoding import read_encoded, write_encoded
    from headscope.tokenizing import encode_words

    words = [["they", "sleep", "all", "day"], ["a", "keeper", "saw", "it"], ["they", "sleep", "all", "day"], ["no"]]
    columns = {
        "example": range(4),
        "where": ["here"] * 4,
        "words": words,
        "space_after": [[True] * len(w) for w in words],
    }
    table, _ = encode_words(pl.DataFrame(columns).cast({"example": pl.UInt32}), masked_bert[0].tokenizer, 64)
    path = tmp_path_factory.mktemp("words") / "examples.parquet"
    write_encoded(table, path, masked_bert[1].tokenizer)
    return read_encoded(path)


@pytest.mark.parametrize("texts", ["encoded", "sentences"])
def test_attention_maps_do_not_tell(masked_bert, texts, request, tmp_path, caplog):
    model, described, _ = masked_bert
    of = request.getfixturevalue(texts)
    extract_shard(model, described, of, tmp_path / "whole.parquet")
    with little_memory(model, 1):
        extract_shard(model, described, of, tmp_path / "halved.parquet")
    assert "memory is short" in caplog.text
    whole, halved = (
        {example: weights.tobytes() for maps in Shard(path) for example, weights in zip(*maps, strict=True)}
        for path in (tmp_path / "whole.parquet", tmp_path / "halved.parquet")
    )
    assert whole == halved


def test_states_norms_and_masked_tokens_do_not_tell(masked_bert, encoded, sentences, tmp_path):
    from headscope.states.store import StatesShard

    model, described, _ = masked_bert
    whole = count_norms(model, described, encoded), collect(model, described, encoded, 2, 0).states
    extract_states(model, described, sentences, tmp_path / "whole.parquet")
    with little_memory(model, 2):
        halved = count_norms(model, described, encoded), collect(model, described, encoded, 2, 0).states
        extract_states(model, described, sentences, tmp_path / "halved.parquet")
    assert whole[0].equals(halved[0])
    assert torch.equal(whole[1], halved[1])
    read = [
        [
            (example, [layer[row].tobytes() for layer in states.layers])
            for states in StatesShard(tmp_path / f"{name}.parquet")
            for row, example in enumerate(states.examples.tolist())
        ]
        for name in ("whole", "halved")
    ]
    assert sorted(read[0]) == sorted(read[1])


def test_gradients_of_an_example_that_does_not_fit_name_it(masked_bert, encoded):
    _, described, folder = masked_bert
    model = load(folder, "tiny")
    head = load_head(folder, described, model, {}, None)
    with (
        little_memory(model, 0),
        pytest.raises(MachineError, match=r"example \d+ \(.*text.txt:\d+\), 64 tokens: expected"),
    ):
        count_gradients(model, head, described, encoded, 0)


def test_an_example_that_does_not_fit_leaves_no_shard(masked_bert, encoded, tmp_path):
    model, described, _ = masked_bert
    with little_memory(model, 0), pytest.raises(MachineError, match="expected it to fit into memory by itself"):
        extract_shard(model, described, encoded, tmp_path / "s.parquet")
    assert list(tmp_path.iterdir()) == []
