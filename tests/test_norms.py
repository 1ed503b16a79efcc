import types

import numpy as np
import polars as pl
import pytest
import torch
import transformers

from headscope.attention import attention_maps
from headscope.encoding import Kind
from headscope.errors import InputError
from headscope.keys import KEYS
from headscope.models.loaded import LoadedModel
from headscope.models.loading import load
from headscope.models.random_weights import RandomWeights
from headscope.norms import values as norm_values
from headscope.norms.architectures import ARCHITECTURES, Projections, why_not
from headscope.norms.counts import SUMS, count_norms, keys_of_kinds, layer_sums
from headscope.norms.tables import example_means, merge_norms
from headscope.norms.values import HeadOutput, Seen, check_law, watching
from headscope.surface import example_means as surface_means
from headscope.surface_counts import count_surface

HEADS = 4
BERT = {
    **{"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": HEADS, "intermediate_size": 48},
    **{"vocab_size": 50, "max_position_embeddings": 64, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2},
}
GROUPED = {"num_key_value_heads": 2}  # two heads share their values
XLM = {"emb_dim": 32, "n_layers": 3, "n_heads": HEADS, "vocab_size": 50}
OTHER_SIZES = {
    "DistilBertModel": {"dim": 32, "n_layers": 3, "n_heads": HEADS, "hidden_dim": 48, "vocab_size": 50},
    "FlaubertModel": XLM,
    "XLMModel": XLM,
    "AlbertModel": BERT | {"embedding_size": 16},
    "EuroBertModel": BERT | GROUPED | {"mask_token_id": 3},
    "LlamaModel": BERT | GROUPED,
    "MistralModel": BERT | GROUPED,
    "Qwen2Model": BERT | GROUPED,
    "Qwen3Model": BERT | GROUPED | {"head_dim": 12},  # heads wider than their share of the width
    "BartEncoder": {"d_model": 32, "encoder_layers": 3, "encoder_attention_heads": HEADS, "vocab_size": 50},
    "T5Stack": {"d_model": 32, "num_layers": 3, "num_heads": HEADS, "d_kv": 6, "d_ff": 48, "vocab_size": 50},
    "ModernBertModel": BERT | {"cls_token_id": 0, "sep_token_id": 2},
}
SMALL = {"AlbertModel of unlike groups": ("AlbertModel", OTHER_SIZES["AlbertModel"] | {"num_hidden_groups": 2})}
SMALL |= {name: (name, OTHER_SIZES.get(name, BERT)) for name in ARCHITECTURES}


def network(architecture, options):
    """A network of random weights and, so that none goes unnoticed, random biases."""
    name = architecture.removesuffix("Model").removesuffix("Encoder").removesuffix("Stack")
    config = getattr(transformers, f"{name}Config")(**options)
    with torch.no_grad(), RandomWeights(0):
        made = transformers.AutoModel.from_config(config, attn_implementation="eager")
        for weights in made.parameters():
            weights.mul_(6) if weights.ndim > 1 else weights.add_(0.2 * torch.randn(weights.shape))
    made = made.get_encoder() if config.is_encoder_decoder else made
    assert type(made).__name__ == architecture
    return LoadedModel(made.eval(), types.SimpleNamespace(model_input_names=["input_ids"]), torch.device("cpu"))


def seen(model, ids=None):
    """What each layer of a model did in one forward pass."""
    ids = torch.arange(5, 27).reshape(2, 11) if ids is None else ids
    with watching(model, HEADS) as watch:
        maps, _ = model.forward(ids)
        return watch.take(maps)


@pytest.mark.parametrize("name", SMALL)
def test_transformed_values_add_up_to_the_real_output_of_every_layer(name):
    layers = seen(network(*SMALL[name]))
    assert len(layers) == 3
    for maps, values, output, projection in layers:
        # f(x) in full: (example, head, token, width)
        transformed = torch.einsum("ehtv,hvw->ehtw", values, projection.weights)
        summed = torch.einsum("ehqk,ehkw->eqw", maps, transformed)
        summed = summed if projection.bias is None else summed + projection.bias
        torch.testing.assert_close(summed, output, atol=1e-4, rtol=0)
        assert output.std() > 0.01, "an output of nothing but zeros would prove nothing"
        torch.testing.assert_close(projection.norms(values), transformed.norm(dim=-1), atol=1e-5, rtol=1e-4)
    check_law(layers)


def test_the_output_is_what_bert_adds_to_its_residual():
    """Read where the layer itself uses it: before dropout, residual and layer norm."""
    model = network("BertModel", BERT)
    taken = []
    norm = model.network.encoder.layer[1].attention.output.LayerNorm
    norm.register_forward_hook(lambda _, inputs, __: taken.append(inputs[0]))
    residual = []
    model.network.encoder.layer[1].attention.register_forward_hook(lambda _, inputs, __: residual.append(inputs[0]))
    layer = seen(model)[1]
    summed = layer.projection.attended(layer.maps, layer.values)
    torch.testing.assert_close(summed, taken[0] - residual[0], atol=1e-4, rtol=0)


def test_other_architectures_are_refused_by_name(gpt2):
    sentence = "expected a model whose value and output projections we know .*Bert.*, found GPT2Model"
    with pytest.raises(InputError, match=sentence), watching(gpt2, HEADS):
        pass
    assert why_not("BertModel") is None


def test_a_checkpoint_that_rotates_its_values_is_refused():
    with pytest.raises(InputError, match="layer 1: expected the transformed values of all heads to add up"):
        check_law(seen(network("RoFormerModel", BERT | {"rotary_value": True})))


def test_modules_that_are_not_where_the_table_says_are_refused(monkeypatch):
    monkeypatch.setitem(ARCHITECTURES, "BertModel", Projections("layer.*.value", "layer.*.dense"))
    with pytest.raises(InputError, match="values and an output for each of 3 layers of attention, found 0 and 0"):
        seen(network("BertModel", BERT))


def test_no_hook_is_left_behind():
    model = network("BertModel", BERT)
    seen(model)
    linear = [module for module in model.network.modules() if isinstance(module, torch.nn.Linear)]
    assert not [module for module in linear if module._forward_hooks]


def hand_made(weights, values, output):
    """One layer of one head: maps (query, key), values (token, 2), W_O (2, width)."""
    linear = torch.nn.Linear(*np.shape(output))
    with torch.no_grad():
        linear.weight.copy_(torch.tensor(output).T)
    maps, values = (torch.tensor(array, dtype=torch.float32)[None, None] for array in (weights, values))
    projection = HeadOutput(linear, heads=1)
    return Seen(maps, values, torch.zeros(0), projection)


WEIGHTS = [
    # [CLS]  a    [SEP]
    [0.5, 0.25, 0.25],  # [CLS]
    [0.0, 0.5, 0.5],  # a
    [1.0, 0.0, 0.0],  # [SEP]
]
VALUES = [[0.0, 0.0], [3.0, 4.0], [0.3, 0.4]]
OUTPUT = [[2.0, 0.0, 0.0], [0.0, 0.0, 2.0]]  # norms of f: 0, 10, 1


def sums_of(layer, kinds):
    return dict(zip(SUMS, layer_sums(layer, keys_of_kinds(torch.tensor([kinds])))[0, 0].tolist(), strict=True))


def test_sums_of_one_small_layer_by_hand():
    sums = sums_of(hand_made(WEIGHTS, VALUES, OUTPUT), [Kind.CLS, Kind.TEXT, Kind.SEP])
    # Norms α‖f‖: 0, 2.5, 0.25 for [CLS]; 0, 5, 0.5 for a; all 0 for [SEP], to which the head writes nothing.
    expected = {
        **{"weight_cls": 1.5, "weight_sep": 0.75, "weight_punctuation": 0, "weight_other": 0.75},
        **{"norm_cls": 0, "norm_sep": 2 / 11, "norm_punctuation": 0, "norm_other": 20 / 11},
        **{"value_cls": 0, "value_sep": 1, "value_punctuation": 0, "value_other": 10},
        "norm_queries": 2,
    }
    assert sums == pytest.approx(expected, abs=1e-6)


def test_kinds_are_told_apart_and_other_special_tokens_are_others():
    keys = keys_of_kinds(torch.tensor([[Kind.CLS, Kind.TEXT, Kind.PUNCTUATION, Kind.SPECIAL, Kind.SEP]]))
    assert [KEYS[kind] for kind in keys[0].argmax(-1)] == ["cls", "other", "punctuation", "other", "sep"]
    assert keys.sum(-1).tolist() == [[1] * 5]


def test_a_larger_output_projection_scales_norms_and_changes_no_share():
    kinds = [Kind.CLS, Kind.TEXT, Kind.SEP]
    small, large = (sums_of(hand_made(WEIGHTS, VALUES, scale * np.array(OUTPUT)), kinds) for scale in (1, 8))
    for name in SUMS:
        assert large[name] == pytest.approx((8 if name.startswith("value") else 1) * small[name])


@pytest.fixture(scope="module")
def counts(bert, bert_described, encoded):
    return count_norms(bert, bert_described, encoded)


def as_defined(layer, kinds):
    """The sums of one example of one layer in float64, head by head and query by query."""
    rows = []
    for head, output in enumerate(layer.projection.weights.double().numpy()):
        maps, values = layer.maps[0, head].double().numpy(), layer.values[0, head].double().numpy()
        norms = np.linalg.norm(values @ output, axis=-1)
        keys = [kinds == Kind.CLS, kinds == Kind.SEP, kinds == Kind.PUNCTUATION]
        keys.append(~np.any(keys, axis=0))
        weight = [maps[:, key].sum() for key in keys]
        norm = [sum(row[key] @ norms[key] / (row @ norms) for row in maps) for key in keys]
        rows.append([*weight, *norm, *(norms[key].sum() for key in keys), len(kinds)])
    return rows


def test_counts_are_those_of_the_definition(bert, encoded, counts):
    for row in encoded.table.filter(pl.col("example").is_in([1, 2, 7])).iter_rows(named=True):
        ids, segments = (torch.tensor([row[name]]) for name in ("ids", "segments"))
        with watching(bert, HEADS) as watch:
            maps, _ = bert.forward(ids, segments)
            layers = watch.take(maps)
        expected = [as_defined(layer, np.array(row["kinds"])) for layer in layers]
        found = counts.filter(example=row["example"]).select(SUMS).to_numpy()
        np.testing.assert_allclose(found, np.concatenate(expected), rtol=1e-4, atol=1e-5)


def test_the_size_of_a_batch_changes_no_bit(bert, bert_described, encoded, counts):
    for budget_mb in (0.01, 0.5, 100):
        assert counts.equals(count_norms(bert, bert_described, encoded, budget_mb))


def test_every_example_is_told_done(bert, bert_described, encoded):
    done = []
    count_norms(bert, bert_described, encoded, 0.1, done.append)
    assert sum(done) == encoded.table.height
    assert len(done) > 1


def merged(bert, described, encoded, shards):
    tables = [count_norms(bert, described, encoded.shard(number, shards)) for number in range(1, shards + 1)]
    return merge_norms(lambda: iter(tables), encoded, described)


@pytest.fixture(scope="module")
def tables(bert, bert_described, encoded):
    return merged(bert, bert_described, encoded, 1)


def test_any_number_of_shards_gives_the_same_bits(bert, bert_described, encoded, tables):
    for shards in (2, 5, 20):
        for one, other in zip(tables, merged(bert, bert_described, encoded, shards), strict=True):
            assert one.equals(other)


def test_shares_sum_to_one_and_layers_and_kinds_stand_in_order(tables):
    layers, heads = tables
    assert layers.select("layer", "key").rows() == [(layer, key) for layer in (1, 2, 3) for key in KEYS]
    places = [(layer, head, key) for layer in (1, 2, 3) for head in range(1, HEADS + 1) for key in KEYS]
    assert heads.select("layer", "head", "key").rows() == places
    for table, place in ((layers, ["layer"]), (heads, ["layer", "head"])):
        sums = table.group_by(place).agg(pl.col("weight_share", "norm_share").sum())
        np.testing.assert_allclose(sums.select("weight_share", "norm_share"), 1, rtol=1e-5)


def test_a_layer_is_the_mean_of_its_heads_and_errors_are_over_examples(bert_described, counts, tables):
    layers, heads = tables
    means = heads.group_by("layer", "key", maintain_order=True).agg(pl.col("weight_share", "norm_share").mean())
    np.testing.assert_allclose(layers["norm_share"], means["norm_share"], rtol=1e-12)
    shares = example_means(counts, bert_described)[:, 1, :, 1, KEYS.index("sep")].mean(1)  # of layer 2, (example,)
    row = layers.row(by_predicate=(pl.col("layer") == 2) & (pl.col("key") == "sep"), named=True)
    assert row["norm_share"] == pytest.approx(shares.mean())
    assert row["norm_share_se"] == pytest.approx(shares.std(ddof=1) / np.sqrt(len(shares)))


def test_the_weight_share_is_the_attention_that_the_surface_analysis_finds(bert, bert_described, encoded, counts):
    maps = attention_maps(bert, encoded, 3 * HEADS, 1)
    surface = surface_means(count_surface(maps, encoded), "existing")[..., 3:6]  # to_cls, to_sep, to_punctuation
    norms = example_means(counts, bert_described)[:, :, :, 0, :3].reshape(surface.shape)
    np.testing.assert_allclose(norms, surface, rtol=1e-4, atol=1e-6)


def test_what_examples_do_not_have_is_null_but_no_punctuation_gets_nothing(bert_described, counts, encoded):
    plain = counts.with_columns(pl.lit(0, pl.UInt32).alias(key) for key in ("cls", "sep", "punctuation"))
    layers, heads = merge_norms(lambda: iter([plain]), encoded, bert_described)
    for table in (layers, heads):
        special = table.filter(pl.col("key").is_in(["cls", "sep"]))
        assert special.null_count().select("weight_share", "norm_share", "value_norm").row(0) == (special.height,) * 3
        punctuation = table.filter(key="punctuation")
        assert punctuation["weight_share"].null_count() == 0
        assert punctuation["value_norm"].null_count() == punctuation.height


def test_a_head_that_writes_nothing_has_no_norm_share_and_its_layer_is_that_of_the_others(
    bert_described, counts, encoded
):
    first = (pl.col("layer") == 1) & (pl.col("head") == 1)
    silent = counts.with_columns(pl.when(~first).then("norm_queries").otherwise(0.0).alias("norm_queries"))
    layers, heads = merge_norms(lambda: iter([silent]), encoded, bert_described)
    assert heads.filter(first)["norm_share"].null_count() == len(KEYS)
    others = heads.filter(layer=1, key="sep")["norm_share"]
    assert layers.filter(layer=1, key="sep")["norm_share"].item() == pytest.approx(others.drop_nulls().mean())


def test_missing_examples_are_refused(bert_described, counts, encoded):
    with pytest.raises(InputError, match="expected each of 12 examples once and in order, found 11 with 1 missing"):
        merge_norms(lambda: iter([counts.filter(pl.col("example") != 5)]), encoded, bert_described)


def test_examples_of_words_or_of_another_tokenizer_are_refused(bert, bert_described, encoded):
    words = encoded.table.with_columns(words=pl.col("kinds").cast(pl.List(pl.UInt16)))
    with pytest.raises(InputError, match="expected the examples of a text corpus, found examples of words"):
        count_norms(bert, bert_described, encoded._replace(table=words))
    with pytest.raises(InputError, match="expected examples in its own tokens"):
        count_norms(bert, bert_described, encoded._replace(tokenizer="another"))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_lower_precision_gives_about_the_same(bert_folder, bert_described, encoded, tables, dtype):
    model = load(bert_folder, "bert", dtype=dtype)
    lower = count_norms(model, bert_described, encoded)
    layers, _ = merge_norms(lambda: iter([lower]), encoded, bert_described)
    np.testing.assert_allclose(layers["value_norm"], tables[0]["value_norm"], rtol=0.05)


def test_the_law_is_checked_on_every_run(bert, bert_described, encoded, monkeypatch):
    monkeypatch.setattr(norm_values, "LAW_TOLERANCE", 0)
    monkeypatch.setattr(norm_values, "LAW_ROUNDINGS", 0)
    with pytest.raises(InputError, match="found them off by"):
        count_norms(bert, bert_described, encoded)
