import json

import numpy as np
import pytest
import torch
import transformers
from checkpoints import SIZES, byte_level, copy_checkpoint, save_bert, save_checkpoint, wordpiece
from safetensors.torch import load_file, save_file

from headscope.errors import InputError
from headscope.mlm.heads import METADATA, NoHeadError, StandardHead, load_head, read_head, vocabulary_of, write_head
from headscope.models.describing import describe
from headscope.models.loading import load
from headscope.models.random_weights import RandomWeights
from headscope.tensors import write_tensors

MASKED = transformers.AutoModelForMaskedLM
ARCHITECTURES = {
    "Bert": {},
    "Roberta": {"pad_token_id": 0, "max_position_embeddings": 70, "type_vocab_size": 1},
    "DistilBert": {"dim": 32, "n_layers": 3, "n_heads": 4, "hidden_dim": 48},
    "Albert": {"embedding_size": 16},
    "Electra": {"embedding_size": 16},
    "MPNet": {"pad_token_id": 0, "max_position_embeddings": 70},
    "DebertaV2": {"type_vocab_size": 2, "relative_attention": True, "position_biased_input": False},
    "ModernBert": {"pad_token_id": 0, "cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3},
}


def save(folder, architecture, auto=MASKED):
    tokenizer = wordpiece()
    sizes = {} if architecture == "DistilBert" else SIZES
    options = {"vocab_size": len(tokenizer), "max_position_embeddings": 64} | sizes | ARCHITECTURES[architecture]
    return save_checkpoint(folder, getattr(transformers, f"{architecture}Config")(**options), tokenizer, auto=auto)


def head_of(folder, file=None, **loading):
    model = load(folder, "tiny", **loading)
    return load_head(folder, describe(model, "tiny", "tiny", None), model, loading, file), model


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_checkpoint_with_a_head_uses_it_on_chosen_tokens_only(architecture, tmp_path):
    """The scores of two tokens are those that transformers' own model gives for the whole."""
    head, model = head_of(save(tmp_path, architecture))
    ids = torch.tensor([[2, 50, 60, 70, 80, 3]])
    with torch.inference_mode():
        whole = MASKED.from_pretrained(tmp_path, attn_implementation="eager").eval()(input_ids=ids).logits
        states, _ = model.states_and_maps(ids)
        torch.testing.assert_close(head(states[0, [1, 4]]), whole[0, [1, 4]], rtol=1e-5, atol=1e-5)
    assert not any(weights.requires_grad for weights in head.parameters())


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_head_that_transformers_made_up_is_never_used(architecture, tmp_path):
    with pytest.raises(NoHeadError, match=r"holds no trained head for masked tokens \(.* are missing from it\)"):
        head_of(save(tmp_path, architecture, transformers.AutoModel))


@pytest.mark.parametrize("lost", ["cls.predictions.bias", "cls.predictions.transform.dense.weight"])
def test_one_weight_that_is_missing_is_enough(lost, tmp_path):
    save(tmp_path, "Bert")
    tensors = load_file(tmp_path / "model.safetensors")
    save_file(
        {key: value for key, value in tensors.items() if key != lost}, tmp_path / "model.safetensors", {"format": "pt"}
    )
    with pytest.raises(NoHeadError, match=lost.replace(".", r"\.")):
        head_of(tmp_path)


def test_a_head_of_another_shape_is_not_used(tmp_path):
    save(tmp_path, "Bert")
    tensors = load_file(tmp_path / "model.safetensors")
    tensors["cls.predictions.transform.dense.weight"] = torch.zeros(8, 32)
    save_file(tensors, tmp_path / "model.safetensors", {"format": "pt"})
    with pytest.raises(InputError, match=r"transform\.dense\.weight|size|shape"):
        head_of(tmp_path)


def test_a_causal_model_is_refused_by_name(gpt2, tmp_path):
    described = describe(gpt2, "gpt2", "tiny", None)
    with pytest.raises(NoHeadError, match="GPT2Model is causal"):
        load_head(tmp_path, described, gpt2, {}, None)


def test_an_encoder_of_a_pair_has_no_head(tmp_path):
    config = transformers.T5Config(vocab_size=700, d_model=32, num_layers=3, num_heads=4, d_kv=8, d_ff=48)
    with pytest.raises(NoHeadError, match="transformers knows no masked language model of T5Stack"):
        head_of(save_checkpoint(tmp_path, config, wordpiece()))


def test_a_tokenizer_without_mask_is_refused(tmp_path):
    tokenizer = byte_level(cls_token="<|endoftext|>")
    config = transformers.BertConfig(vocab_size=len(tokenizer), max_position_embeddings=64, **SIZES)
    with pytest.raises(NoHeadError, match="has no mask token"):
        head_of(save_checkpoint(tmp_path, config, tokenizer, auto=MASKED))


def test_ordinary_tokens_are_those_that_are_not_special(bert):
    vocabulary = vocabulary_of(bert)
    assert bert.tokenizer.convert_ids_to_tokens(vocabulary.mask) == "[MASK]"
    left = np.setdiff1d(np.arange(len(bert.tokenizer)), vocabulary.ordinary)
    assert bert.tokenizer.convert_ids_to_tokens(left.tolist()) == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def test_the_standard_head_is_berts_own(tmp_path):
    """With the weights of BERT's head, the same scores."""
    own, model = head_of(save_bert(tmp_path, auto=MASKED))
    head = StandardHead(model.network.get_input_embeddings().weight, 32)
    theirs = own.masked.cls.predictions
    head.dense.load_state_dict(theirs.transform.dense.state_dict())
    head.norm.load_state_dict(theirs.transform.LayerNorm.state_dict())
    head.bias.data = theirs.bias.data
    states = torch.randn(5, 32)
    torch.testing.assert_close(head(states), own(states), rtol=1e-4, atol=1e-4)


@pytest.fixture
def written(bert, bert_described, tmp_path):
    with RandomWeights(0):
        head = StandardHead(bert.network.get_input_embeddings().weight, 32)
    write_head(head, tmp_path / "head.safetensors", bert_described, {"seed": 0})
    return head, tmp_path / "head.safetensors"


def test_a_head_survives_its_file_in_half_precision(written, bert_folder):
    head, path = written
    read, model = head_of(bert_folder, str(path))
    assert torch.equal(read.dense.weight, head.dense.weight.half().float())
    assert torch.equal(read.embeddings, model.network.get_input_embeddings().weight)
    assert load_file(path)["bias"].dtype == torch.float16
    assert "embeddings" not in load_file(path), "the model has them"


def test_a_head_of_another_model_is_refused(written, tmp_path):
    other = save_bert(tmp_path, seed=1)
    with pytest.raises(InputError, match=r"expected a head fitted to the weights of tiny .*, found one of others"):
        head_of(other, str(written[1]))


def test_what_is_no_head_is_refused(bert, bert_described, bert_folder, tmp_path):
    (tmp_path / "text").write_text("not weights")
    with pytest.raises(InputError, match=r"text: expected the head of a model in safetensors, found"):
        read_head(tmp_path / "text", bert_described, bert)
    with pytest.raises(InputError, match=r"expected a head of format 1, found a file that is none"):
        read_head(bert_folder / "model.safetensors", bert_described, bert)
    said = {"format": 1, "model": bert_described.weights}
    write_tensors({"bias": torch.zeros(3)}, tmp_path / "small", METADATA, said)
    with pytest.raises(InputError, match=r"small: expected the tensors .*, found \{'bias': \(3,\)\}"):
        read_head(tmp_path / "small", bert_described, bert)


def test_a_broken_checkpoint_is_no_missing_head(bert_folder, bert, bert_described, tmp_path):
    copy_checkpoint(bert_folder, tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert", "hidden_size": 7}))
    with pytest.raises(InputError) as caught:
        load_head(tmp_path, bert_described, bert, {}, None)
    assert not isinstance(caught.value, NoHeadError)
