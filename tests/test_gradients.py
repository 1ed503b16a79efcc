from itertools import pairwise

import numpy as np
import polars as pl
import pytest
import torch
import transformers
from checkpoints import SIZES, save_bert, save_checkpoint, wordpiece

from headscope.description import Description, LayerView
from headscope.encoding import ENCODED, Encoded, Kind
from headscope.errors import InputError
from headscope.gradients.counting import (
    attention_gradients,
    count_gradients,
    gradient_sums,
    no_gradients,
    ready_for_gradients,
)
from headscope.gradients.merging import merge_gradients, refused_tables
from headscope.gradients.names import ENTRIES
from headscope.keys import KEYS
from headscope.mlm.heads import load_head, vocabulary_of
from headscope.mlm.masking import mask_tokens
from headscope.models.describing import describe
from headscope.models.loading import load

CLS, TEXT, DOT, SEP, SPECIAL = Kind.CLS, Kind.TEXT, Kind.PUNCTUATION, Kind.SEP, Kind.SPECIAL


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_bert(tmp_path_factory.mktemp("masked"), auto=transformers.AutoModelForMaskedLM)


def loaded(folder):
    model = load(folder, "tiny")
    described = describe(model, "tiny", "tiny", None)
    return model, load_head(folder, described, model, {}, None), described


@pytest.fixture(scope="module")
def counted(folder, encoded):
    model, head, described = loaded(folder)
    return count_gradients(model, head, described, encoded, 0)


def masked_examples(model, encoded, numbers):
    rows = [encoded.example(number) for number in numbers]
    masked = [
        mask_tokens(np.array(row["ids"]), np.array(row["kinds"], np.uint8), vocabulary_of(model), (0, row["example"]))
        for row in rows
    ]
    return masked, torch.tensor([row["segments"] for row in rows])


def test_gradients_are_finite_differences_of_the_loss(folder, encoded, monkeypatch):
    """One weight of one map moved by a hair, in float64, the rest of the model as it is."""
    from transformers.models.bert import modeling_bert

    model, head, _ = loaded(folder)
    ready_for_gradients(model).network.double()
    head.double()
    masked, segments = masked_examples(model, encoded, [1])
    size = len(masked[0].ids)
    gradients = [layer[0].numpy() for layer in attention_gradients(model, head, masked, segments).gradients]
    moved = {}

    def eager_attention_forward(module, query, key, value, attention_mask, scaling=None, **_):
        scores = query @ key.transpose(2, 3) * (scaling or query.size(-1) ** -0.5)
        weights = scores.softmax(-1)
        if layer_of[module] == moved.get("layer"):
            weights = weights.clone()
            weights[0][moved["entry"]] += moved["by"]
        return (weights @ value).transpose(1, 2).contiguous(), weights

    monkeypatch.setattr(modeling_bert, "eager_attention_forward", eager_attention_forward)
    layer_of = {layer.attention.self: number for number, layer in enumerate(model.network.encoder.layer)}
    generator = np.random.default_rng(0)
    found, expected = [], []
    for number in range(30):
        layer = number % 3
        entry = tuple(generator.integers(0, limit) for limit in (4, size, size))
        if layer == 2:  # of the last layer, only what masked tokens attend to bears on the loss
            entry = (entry[0], int(generator.choice(masked[0].positions)), entry[2])
        losses = []
        for by in (-1e-5, 1e-5):
            moved.update(layer=layer, entry=entry, by=by)
            states, _ = model.states_and_maps(torch.from_numpy(masked[0].ids)[None], segments)
            scores = head(states[0, masked[0].positions])
            losses.append(torch.nn.functional.cross_entropy(scores, torch.from_numpy(masked[0].targets)).item())
        expected.append((losses[1] - losses[0]) / 2e-5)
        found.append(gradients[layer][entry])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-8)
    assert np.abs(expected).min() > 1e-7, "differences that could fail"


def test_in_the_last_layer_only_the_rows_of_masked_tokens_matter(folder, encoded):
    model, head, _ = loaded(folder)
    masked, segments = masked_examples(ready_for_gradients(model), encoded, [2])
    last = attention_gradients(model, head, masked, segments).gradients[-1][0]
    rows = last.abs().sum((0, 2)).nonzero().flatten().tolist()
    assert rows == masked[0].positions.tolist()


def test_each_example_has_its_own_loss(folder, encoded):
    """In a batch as alone: nothing is divided by the number of examples."""
    model, head, _ = loaded(folder)
    ready_for_gradients(model)
    numbers = [2, 3, 4]
    together = attention_gradients(model, head, *masked_examples(model, encoded, numbers))
    for row, number in enumerate(numbers):
        alone = attention_gradients(model, head, *masked_examples(model, encoded, [number]))
        assert alone.losses[0] == pytest.approx(together.losses[row], rel=1e-6)
        for one, other in zip(alone.gradients, together.gradients, strict=True):
            torch.testing.assert_close(one[0], other[row], rtol=1e-3, atol=1e-7)


def test_sums_by_kind_of_key_by_hand():
    gradients = np.array(
        [
            # [CLS]  a    .   [SEP]
            [0.5, -0.25, 0.0, 1.0],  # [CLS]
            [-1.0, 0.0, 2.0, 0.0],  # a
            [0.0, 0.5, -0.5, 0.0],  # .
            [0.0, 0.0, 0.0, -4.0],  # [SEP]
        ],
        np.float32,
    )[None, None]
    kinds = np.array([CLS, TEXT, DOT, SEP], np.uint8)
    entries, sums = gradient_sums(gradients, kinds, np.ones((1, 4, 4), bool))
    assert dict(zip(KEYS, sums[0, 0].tolist(), strict=True)) == dict(cls=1.5, sep=5, punctuation=2.5, other=0.75)
    assert entries.tolist() == [[4, 4, 4, 4]]


def test_weights_that_a_window_hides_do_not_count():
    gradients = np.ones((2, 1, 3, 3), np.float32)
    kinds = np.array([CLS, TEXT, SPECIAL], np.uint8)
    visible = np.stack([LayerView(False, None).mask(3), LayerView(False, 1).mask(3)])
    entries, sums = gradient_sums(gradients, kinds, visible)
    assert entries.tolist() == [[3, 0, 0, 6], [2, 0, 0, 5]]
    assert sums[:, 0].tolist() == entries.tolist()


def test_counts_are_those_of_one_example_at_a_time(folder, encoded, counted):
    model, head, _ = loaded(folder)
    ready_for_gradients(model)
    assert counted["example"].unique(maintain_order=True).equals(encoded.table["example"])
    assert counted.height == encoded.table.height * 12
    for number in (1, 7):
        masked, segments = masked_examples(model, encoded, [number])
        backward = attention_gradients(model, head, masked, segments)
        row = counted.filter(example=number, layer=2, head=3).row(0, named=True)
        assert (row["masked"], row["loss"]) == (len(masked[0].targets), backward.losses[0])
        magnitudes = backward.gradients[1][0, 2].double().abs().numpy()
        for key, kind in (("cls", CLS), ("sep", SEP), ("punctuation", DOT), ("other", TEXT)):
            chosen = masked[0].kinds == kind
            assert row[f"{key}_entries"] == chosen.sum() * len(chosen)
            assert row[key] == pytest.approx(magnitudes[:, chosen].sum(), rel=1e-6)


def test_neither_batches_nor_shards_nor_order_change_a_bit(folder, encoded, counted):
    model, head, described = loaded(folder)
    for budget_mb in (0.01, 0.5, 100):
        assert counted.equals(count_gradients(model, head, described, encoded, 0, budget_mb))
    for shards in (2, 5):
        parts = [
            count_gradients(model, head, described, encoded.shard(number, shards), 0) for number in range(1, shards + 1)
        ]
        assert counted.equals(pl.concat(parts))
    backwards = encoded._replace(table=encoded.table.reverse())
    assert counted.equals(count_gradients(model, head, described, backwards, 0))
    assert not counted.equals(count_gradients(model, head, described, encoded, 1)), "the seed counts"


def test_half_precision_models_are_differentiated_in_float32(folder, encoded):
    model = load(folder, "tiny", dtype="bfloat16")
    described = describe(model, "tiny", "tiny", None)
    head = load_head(folder, described, model, {"dtype": "bfloat16"}, None)
    masked, segments = masked_examples(ready_for_gradients(model), encoded, [1])
    assert {layer.dtype for layer in attention_gradients(model, head, masked, segments).gradients} == {torch.float32}


def test_local_layers_are_counted_within_their_window(tmp_path):
    ids = {"pad_token_id": 0, "bos_token_id": 2, "cls_token_id": 2, "eos_token_id": 3, "sep_token_id": 3}
    config = transformers.ModernBertConfig(
        vocab_size=700, local_attention=8, max_position_embeddings=64, global_attn_every_n_layers=2, **ids, **SIZES
    )
    save_checkpoint(tmp_path, config, wordpiece(), auto=transformers.AutoModelForMaskedLM)
    model, head, described = loaded(tmp_path)
    encoded = encoded_from({1: [CLS, *[TEXT] * 18, SEP]}, first_id=100)._replace(tokenizer=described.tokenizer)
    counts = count_gradients(model, head, described, encoded, 0).filter(head=1)
    assert counts["cls_entries"].to_list() == [20, 5, 20]
    assert (counts["cls_entries"] + counts["sep_entries"] + counts["other_entries"]).to_list() == [400, 160, 400]


def test_examples_in_other_tokens_are_refused(folder, encoded):
    model, head, described = loaded(folder)
    with pytest.raises(InputError, match="expected examples in its own tokens"):
        count_gradients(model, head, described, encoded._replace(tokenizer="another"), 0)


def encoded_from(kinds_by_example, first_id=0):
    rows = [
        {
            "example": example,
            "where": f"file:{example}",
            "truncated": False,
            "tokens": ["x"] * len(kinds),
            "ids": list(range(first_id, first_id + len(kinds))),
            "segments": [0] * len(kinds),
            "words": None,
            "kinds": list(map(int, kinds)),
        }
        for example, kinds in kinds_by_example.items()
    ]
    return Encoded(pl.DataFrame(rows, ENCODED), "corpus", "t")


def tiny_description(layers, heads):
    views = [LayerView(False, None)] * layers
    return Description(
        "m", "s", None, None, "Model", layers, heads, 8, 1, None, True, {}, views, weights="w", tokenizer="t"
    )


def counts_of(example, magnitudes, loss, masked=2):
    """One layer of two heads: {key: (entries, sum of the first head, of the second)}."""
    rows = []
    for head in (1, 2):
        row = {"example": example, "layer": 1, "head": head, "masked": masked, "loss": loss}
        for key, entries_name in zip(KEYS, ENTRIES, strict=True):
            entries, *sums = magnitudes.get(key, (0, 0.0, 0.0))
            row |= {entries_name: entries, key: sums[head - 1]}
        rows.append(row)
    return pl.DataFrame(rows, no_gradients().schema)


def test_means_over_entries_then_heads_then_examples_by_hand():
    shards = [
        counts_of(1, {"cls": (4, 8.0, 4.0), "other": (8, 8.0, 0.0)}, loss=2.0),
        counts_of(2, {"cls": (10, 40.0, 0.0), "sep": (5, 5.0, 10.0), "other": (5, 15.0, 5.0)}, loss=3.0, masked=1),
    ]
    encoded = encoded_from({1: [CLS, TEXT], 2: [CLS, TEXT]})
    layers, heads, loss = merge_gradients(lambda: iter(shards), encoded, tiny_description(1, 2))
    by_key = {row["key"]: (row["magnitude"], row["magnitude_se"]) for row in layers.iter_rows(named=True)}
    assert by_key["cls"] == pytest.approx((1.75, 0.25))  # of 1.5 and 2
    assert by_key["sep"] == (1.5, None)  # only the second has one
    assert by_key["punctuation"] == (None, None)
    assert by_key["other"] == pytest.approx((1.25, 0.75))  # of 0.5 and 2
    assert heads.filter(key="cls")["magnitude"].to_list() == [3.0, 0.5]
    assert heads.filter(key="cls", head=1)["magnitude_se"].to_list() == pytest.approx([1.0])
    assert loss.row(0) == (2, 3, 2.5, 0.5, None)


def test_any_cut_into_shards_gives_the_same_tables(folder, encoded, counted):
    described = loaded(folder)[2]
    whole = merge_gradients(lambda: iter([counted]), encoded, described)
    assert whole[1].height == 3 * 4 * len(KEYS)
    for cuts in ([5], [1, 2, 11], [0, 12]):
        edges = [0, *(12 * cut for cut in cuts), counted.height]
        parts = [counted[start:stop] for start, stop in pairwise(edges)]
        again = merge_gradients(lambda parts=parts: iter(parts), encoded, described)
        assert all(one.equals(other) for one, other in zip(whole, again, strict=True))


def test_the_layer_is_the_mean_of_its_heads(folder, encoded, counted):
    layers, heads, _ = merge_gradients(lambda: iter([counted]), encoded, loaded(folder)[2])
    means = heads.group_by("layer", "key").agg(mean=pl.col("magnitude").mean())
    both = layers.join(means, on=["layer", "key"])
    np.testing.assert_allclose(both["magnitude"], both["mean"], rtol=1e-12)


def test_missing_examples_are_refused(counted, encoded, folder):
    with pytest.raises(InputError, match="expected each of 12 examples once and in order, found 11"):
        merge_gradients(lambda: iter([counted[12:]]), encoded, loaded(folder)[2])


def test_tables_of_a_refused_model_have_the_same_columns_and_the_reason(counted, encoded, folder):
    whole = merge_gradients(lambda: iter([counted]), encoded, loaded(folder)[2])
    layers, heads, loss = refused_tables("no head")
    for table, other in zip(whole, (layers, heads, loss), strict=True):
        assert table.schema == other.schema
    assert (layers.height, heads.height, loss.row(0)) == (0, 0, (0, 0, None, None, "no head"))


def test_broken_weights_are_refused(folder, encoded):
    model, head, described = loaded(folder)
    with torch.no_grad():
        head.masked.cls.predictions.bias.fill_(float("nan"))
    with pytest.raises(InputError, match="loss of masked tokens: expected finite numbers"):
        count_gradients(model, head, described, encoded, 0)


def test_maps_that_are_copies_are_refused(folder, encoded, monkeypatch):
    model, head, described = loaded(folder)
    whole = type(model).states_and_maps
    for spoil, message in ((lambda layer: layer.detach(), "cut off"), (lambda layer: layer * 1, "are copies")):

        def spoilt(self, *inputs, spoil=spoil):
            states, maps = whole(self, *inputs)
            return states, tuple(map(spoil, maps))

        with monkeypatch.context() as patch:
            patch.setattr(type(model), "states_and_maps", spoilt)
            with pytest.raises(InputError, match=message):
                count_gradients(model, head, described, encoded, 0)
