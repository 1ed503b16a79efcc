import numpy as np
import polars as pl
import pytest
import torch

from headscope.attention import attention_maps, extract_shard
from headscope.batches import plan_batches
from headscope.errors import InputError
from headscope.store import Shard

MAPS_PER_EXAMPLE = 12


def all_maps(batches):
    return {
        example: weights
        for maps in batches
        for example, weights in zip(maps.examples.tolist(), maps.weights, strict=True)
    }


def test_batches_are_of_one_length_longest_first_and_within_the_budget():
    lengths = np.array([5, 8, 5, 8, 5, 20])
    megabyte_per_example = {length: 4 * MAPS_PER_EXAMPLE * length**2 / 2**20 for length in (5, 8, 20)}
    batches = plan_batches(lengths, lengths, MAPS_PER_EXAMPLE, 2 * megabyte_per_example[5])
    assert [batch.tolist() for batch in batches] == [[5], [1], [3], [0, 2], [4]]


def test_no_examples_make_no_batches():
    assert plan_batches(np.array([], dtype=np.int64), np.array([], dtype=np.int64), MAPS_PER_EXAMPLE, 1) == []


def test_rows_sum_to_one_and_every_example_is_there(bert, encoded):
    found = all_maps(attention_maps(bert, encoded, MAPS_PER_EXAMPLE, 1))
    assert sorted(found) == encoded.table["example"].to_list()
    for row in encoded.table.iter_rows(named=True):
        weights = found[row["example"]]
        assert weights.shape == (3, 4, len(row["ids"]), len(row["ids"]))
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)


def test_batch_size_does_not_matter(bert, encoded):
    single = all_maps(attention_maps(bert, encoded, MAPS_PER_EXAMPLE, 1e-9))
    batched = all_maps(attention_maps(bert, encoded, MAPS_PER_EXAMPLE, 1000))
    for example, weights in single.items():
        np.testing.assert_allclose(batched[example], weights, atol=1e-6)


def test_maps_are_those_of_a_padded_batch_without_its_padding(bert, encoded):
    """The usual way, all examples padded to one length under a mask, gives the same weights."""
    found = all_maps(attention_maps(bert, encoded, MAPS_PER_EXAMPLE, 1))
    lengths = encoded.lengths()
    padded, segments, mask = (torch.zeros(len(lengths), lengths.max(), dtype=torch.int64) for _ in range(3))
    for number, row in enumerate(encoded.table.iter_rows(named=True)):
        padded[number, : len(row["ids"])] = torch.tensor(row["ids"])
        segments[number, : len(row["ids"])] = torch.tensor(row["segments"])
        mask[number, : len(row["ids"])] = 1
    with torch.inference_mode():
        usual = bert.network(
            input_ids=padded, token_type_ids=segments, attention_mask=mask, output_attentions=True
        ).attentions
    for number, (example, size) in enumerate(zip(encoded.table["example"], lengths, strict=True)):
        for layer in range(3):
            expected = usual[layer][number, :, :size, :size].numpy()
            np.testing.assert_allclose(found[example][layer], expected, atol=1e-5)


def test_segments_reach_the_model(bert, encoded):
    single = encoded._replace(
        table=encoded.table.with_columns(segments=encoded.table["segments"].list.eval(0 * pl.element()))
    )
    one = all_maps(attention_maps(bert, encoded, MAPS_PER_EXAMPLE, 1))
    other = all_maps(attention_maps(bert, single, MAPS_PER_EXAMPLE, 1))
    assert np.abs(one[2] - other[2]).max() > 1e-3


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_shard_holds_the_maps_of_its_examples(bert, bert_described, encoded, tmp_path, dtype):
    expected = all_maps(attention_maps(bert, encoded, MAPS_PER_EXAMPLE, 1))
    done = []
    for number in (1, 2, 3):
        examples = encoded.shard(number, 3)
        path = tmp_path / f"{number}.parquet"
        extract_shard(bert, bert_described, examples, path, dtype, 0.2, done=done.append)
        found = all_maps(Shard(path, bert_described.weights, encoded.corpus))
        assert sorted(found) == examples.table["example"].to_list()
        for example, weights in found.items():
            np.testing.assert_allclose(weights, expected[example], atol=5e-4 if dtype == "float16" else 1e-6)
    assert sum(done) == 12


def test_a_shard_without_examples_is_written(bert, bert_described, encoded, tmp_path):
    extract_shard(bert, bert_described, encoded._replace(table=encoded.table.head(0)), tmp_path / "s.parquet")
    assert list(Shard(tmp_path / "s.parquet", bert_described.weights, encoded.corpus)) == []


def test_examples_of_another_tokenizer_are_refused(bert, bert_described, encoded, tmp_path):
    other = encoded._replace(tokenizer="other")
    with pytest.raises(InputError, match="model bert: expected examples in its own tokens"):
        extract_shard(bert, bert_described, other, tmp_path / "s.parquet")
    assert list(tmp_path.iterdir()) == []


def test_a_map_that_goes_bad_on_the_way_leaves_no_shard(bert_folder, bert_described, encoded, tmp_path):
    from headscope.models.loading import load

    broken = load(bert_folder, "bert")
    worst = encoded.table["ids"][11][1]
    broken.network.embeddings.word_embeddings.weight.data[worst] = float("nan")
    with pytest.raises(InputError, match="values that are not finite"):
        extract_shard(broken, bert_described, encoded, tmp_path / "s.parquet")
    assert list(tmp_path.iterdir()) == []


def test_a_causal_model_has_an_upper_triangle_of_zeros(gpt2, encoded):
    ids = torch.arange(1, 31)[None]
    maps, _ = gpt2.forward(ids)
    for layer in maps:
        assert (layer.triu(1) == 0).all()
