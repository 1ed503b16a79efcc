import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
import torch
import transformers
from checkpoints import REPOSITORY, save_bert, save_gpt2, wordpiece

from headscope.description import Description
from headscope.encoding import write_encoded
from headscope.errors import InputError
from headscope.mlm.answer import HeadAnswer
from headscope.mlm.heads import load_head
from headscope.models.describing import describe
from headscope.models.fingerprints import weights_fingerprint
from headscope.models.loading import load, load_described, load_masked
from headscope.models.random_weights import PIECE, RandomWeights
from headscope.pages import is_papers_model
from headscope.sources import twins


@pytest.fixture
def bare_folder(bert_folder, tmp_path):
    """What fetch_model leaves of a random model: no weights."""
    for file in bert_folder.iterdir():
        if file.suffix == ".json":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    assert not [*tmp_path.glob("*.safetensors")]
    return tmp_path


def fingerprint(folder, seed, **loading):
    return weights_fingerprint(load(folder, "twin", random_init=seed, **loading).network)


def test_a_seed_gives_the_same_weights_each_time_and_another_others(bare_folder):
    assert fingerprint(bare_folder, 3) == fingerprint(bare_folder, 3)
    assert fingerprint(bare_folder, 3) != fingerprint(bare_folder, 4)
    ids = torch.arange(5, 25)[None]
    one, other = (load(bare_folder, "twin", random_init=3).forward(ids)[0] for _ in range(2))
    assert all(map(torch.equal, one, other))


def test_pytorchs_own_random_state_is_neither_read_nor_changed(bare_folder):
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = fingerprint(bare_folder, 0)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert fingerprint(bare_folder, 0) == first


def test_a_twin_has_the_shapes_of_its_original_and_none_of_its_weights(bert_folder, bert):
    original = bert.network.state_dict()
    drawn = load(bert_folder, "twin", random_init=7).network.state_dict()
    assert {key: weights.shape for key, weights in drawn.items()} == {key: w.shape for key, w in original.items()}
    for key, weights in drawn.items():
        if weights.ndim > 1:
            same = (weights == original[key]) & (weights != 0)  # the embedding of padding is zero in both
            assert same.float().mean() < 0.01, key


def test_weights_are_those_of_the_architectures_own_initialisation(bare_folder):
    network = load(bare_folder, "twin", random_init=0).network
    query = network.encoder.layer[0].attention.self.query
    deviation = network.config.initializer_range
    assert query.weight.std().item() == pytest.approx(deviation, rel=0.1)  # of 1,024 numbers: 4 standard errors
    assert abs(query.weight.mean().item()) < 4 * deviation / 32
    assert not query.bias.any()
    assert network.embeddings.LayerNorm.weight.eq(1).all()
    assert not network.embeddings.word_embeddings.weight[network.config.pad_token_id].any()


def test_half_precision_is_the_same_weights_rounded(bare_folder):
    exact = load(bare_folder, "twin", random_init=0).network.state_dict()
    for dtype in (torch.bfloat16, torch.float16):
        rounded = load(bare_folder, "twin", random_init=0, dtype=str(dtype).removeprefix("torch.")).network.state_dict()
        for key, weights in rounded.items():
            if weights.is_floating_point():
                assert torch.equal(weights, exact[key].to(dtype)), key


PRINT_FINGERPRINTS = """
import sys, torch, transformers
from headscope.models.fingerprints import weights_fingerprint
from headscope.models.loading import load
from headscope.models.random_weights import RandomWeights
print(torch.backends.cpu.get_cpu_capability(), file=sys.stderr)
print(weights_fingerprint(load(__import__("pathlib").Path(sys.argv[1]), "twin", random_init=5).network))
sizes = dict(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48)
ids = dict(pad_token_id=0, bos_token_id=2, cls_token_id=2, eos_token_id=3, sep_token_id=3)
with RandomWeights(5):
    print(weights_fingerprint(transformers.AutoModel.from_config(transformers.ModernBertConfig(**sizes, **ids))))
    print(torch.randn(9).tolist(), torch.rand(9).tolist(), torch.normal(1.0, 2.0, (3,)).tolist())
"""


def test_every_instruction_set_draws_the_same(bare_folder):
    """PyTorch's own numbers differ between these; ModernBERT's are of a normal distribution that is cut off."""
    command = [sys.executable, "-c", PRINT_FINGERPRINTS, str(bare_folder)]
    plain = {name: value for name, value in os.environ.items() if name != "ATEN_CPU_CAPABILITY"}
    plain["PYTHONPATH"] = str(REPOSITORY / "scripts")
    runs = [
        subprocess.run(command, env=plain | wish, capture_output=True, text=True, check=True)
        for wish in ({}, {"ATEN_CPU_CAPABILITY": "default"})
    ]
    assert "DEFAULT" in runs[1].stderr
    assert runs[0].stdout == runs[1].stdout
    assert len(runs[0].stdout.splitlines()) == 3


def test_numbers_are_drawn_in_pieces_of_any_tensor():
    with RandomWeights(0):
        whole = torch.empty(PIECE + 3).normal_(2.0, 3.0)
        across = torch.empty(5, 4).t().uniform_(-1.0, 0.5)
        single, none = torch.empty(()).uniform_(), torch.empty(0).normal_()
    generator = np.random.default_rng((0,))
    wanted = generator.standard_normal(PIECE + 3) * 3 + 2
    assert np.array_equal(whole.numpy(), wanted.astype(np.float32))
    assert np.array_equal(across.numpy().ravel(), (generator.random(20) * 1.5 - 1).astype(np.float32))
    assert 0 <= single.item() < 1
    assert none.shape == (0,)


def test_an_operation_that_cannot_be_drawn_is_refused(bare_folder, monkeypatch):
    with RandomWeights(0), pytest.raises(NotImplementedError, match=r"found aten\.randperm"):
        torch.randperm(3)
    monkeypatch.setattr(transformers.BertModel, "__init__", lambda *_, **__: torch.randperm(3))
    with pytest.raises(InputError, match=r"model twin in .*\(AutoModel\), found: weights at random: .*randperm"):
        load(bare_folder, "twin", random_init=0)


def test_the_masked_model_of_a_twin_has_its_encoder_and_a_head_of_its_own(bare_folder):
    encoder = load(bare_folder, "twin", random_init=2).network.state_dict()
    masked, missing = load_masked(bare_folder, "twin", {"random_init": 2})
    again, _ = load_masked(bare_folder, "twin", {"random_init": 2})
    assert missing == []
    of_masked = masked.base_model.state_dict()
    assert of_masked
    assert all(torch.equal(weights, encoder[key]) for key, weights in of_masked.items())
    assert weights_fingerprint(masked) == weights_fingerprint(again)
    head = masked.cls.predictions
    assert head.decoder.weight is masked.base_model.embeddings.word_embeddings.weight
    drawn = torch.cat([weights.flatten() for weights in encoder.values() if weights.ndim > 1])
    assert torch.isin(head.transform.dense.weight, drawn).float().mean() < 0.05, "some float32 numbers meet by chance"


def test_the_encoder_of_a_pair_and_a_causal_model_are_drawn_too(tmp_path):
    wordpiece().save_pretrained(tmp_path)
    config = transformers.T5Config(vocab_size=700, d_model=32, num_layers=3, num_heads=4, d_kv=8, d_ff=48)
    config.save_pretrained(tmp_path)
    model = load(tmp_path, "t5", random_init=0)
    described = describe(model, "t5", "tiny", None, 0)
    assert (described.architecture, described.layers) == ("T5Stack", 3)
    assert not model.network.is_decoder
    assert load_masked(tmp_path, "t5", {"random_init": 0}) == (None, [])
    (tmp_path / "gpt2").mkdir()
    described = describe(load(save_gpt2(tmp_path / "gpt2"), "gpt2", random_init=0), "gpt2", "tiny", None, 0)
    assert all(view.causal for view in described.views)


def test_no_weights_are_needed_but_code_is_refused_all_the_same(bare_folder):
    with pytest.raises(InputError, match=r"expected weights as \.safetensors"):
        load(bare_folder, "bert")
    (bare_folder / "pytorch_model.bin").write_bytes(b"pickle")
    load(bare_folder, "twin", random_init=0)
    config = (bare_folder / "config.json").read_text()
    (bare_folder / "config.json").write_text(config.replace("{", '{"auto_map": {"AutoModel": "code.Evil"},', 1))
    with pytest.raises(InputError, match=r"Python code of its own.*allow_remote_code: true"):
        load(bare_folder, "twin", random_init=0)


def test_a_description_says_that_weights_are_random(bare_folder, bert_described, tmp_path):
    described = describe(load(bare_folder, "twin", random_init=4), "twin", "bert-base-uncased", None, 4)
    assert (described.title, described.origin) == ("twin (random weights, seed 4)", "random weights, seed 4")
    assert not is_papers_model(described.origin)
    assert (bert_described.title, bert_described.origin) == ("bert", "tiny")
    described.write(tmp_path / "description.json")
    assert Description.read(tmp_path / "description.json") == described
    load_described(bare_folder, described, "cpu", {"random_init": 4})
    with pytest.raises(InputError, match=r"model twin: expected the weights that were described"):
        load_described(bare_folder, described, "cpu", {"random_init": 5})


@pytest.fixture
def twin(bare_folder, encoded, tmp_path, monkeypatch):
    """What the jobs of a random model find: the params and files of `count_norms` and `count_gradients`."""
    monkeypatch.syspath_prepend(REPOSITORY / "scripts")
    import describe_model

    loading = {"dtype": "float32", "attention": "eager", "allow_pickle": False, "allow_remote_code": False}
    shared = {"checkpoint": str(bare_folder), "loading": loading | {"random_init": 1}}
    files = {"description": tmp_path / "described.json", "encoded": tmp_path / "examples.parquet"}
    describe_model.main(files["description"], "twin", source="tiny", revision=None, **shared)
    write_encoded(encoded.table, files["encoded"], Description.read(files["description"]).tokenizer)
    return shared | files


def test_norms_of_a_random_model_are_counted(twin, encoded, tmp_path):
    import count_norms

    count_norms.main(counts=tmp_path / "norms.parquet", shard="1-of-1", device="cpu", budget_mb=0, **twin)
    counts = pl.read_parquet(tmp_path / "norms.parquet")
    assert counts.height == encoded.table.height * 3 * 4


def test_a_random_model_guesses_with_its_random_head_or_with_one_fitted_to_it(twin, encoded, tmp_path):
    import check_mlm_head
    import count_gradients
    import train_mlm_head

    described = Description.read(twin["description"])
    model = load_described(tmp_path, described, "cpu", twin["loading"])
    of_job = {key: twin[key] for key in ("description", "checkpoint", "loading")}
    texts = {"training": twin["encoded"], "held_out": twin["encoded"], "corpora": ["a", "b"]}
    settings = {"draws": 1, "epochs": 1, "batch": 8, "learning_rate": 0.001, "seed": 0}
    fitted = {"head": tmp_path / "head", "curve": tmp_path / "curve.csv"}
    train_mlm_head.main(**fitted, **texts, **settings, device="cpu", **of_job)
    losses = []
    for file in ([], tmp_path / "head"):
        check_mlm_head.main(answer=tmp_path / "answer.json", name="random weights", file=file, **of_job)
        assert HeadAnswer.read(tmp_path / "answer.json") == HeadAnswer("random weights", None)
        path = tmp_path / "gradients.parquet"
        job = {"shard": "1-of-1", "seed": 0, "device": "cpu", "budget_mb": 0, "file": file}
        count_gradients.main(answer=tmp_path / "answer.json", counts=path, **job, **twin)
        counts = pl.read_parquet(path)
        assert counts.height == encoded.table.height * 3 * 4
        losses.append(counts)
    assert not losses[0].equals(losses[1])
    head = load_head(tmp_path, described, model, twin["loading"], None)
    assert torch.equal(head.masked.cls.predictions.decoder.weight, model.network.get_input_embeddings().weight)


def entry(name, source="a", revision=None, random_init=False):
    return {"name": name, "source": source, "revision": revision, "random_init": random_init}


def test_a_twin_is_of_the_first_trained_model_of_its_source_and_revision():
    models = [
        entry("random", random_init=True),
        entry("bert"),
        entry("bert-half"),
        entry("other random", random_init=True),
        entry("of another source", "b", random_init=True),
        entry("of another revision", "a", "0" * 40, random_init=True),
    ]
    assert twins(models) == {"random": "bert", "other random": "bert"}


def test_checkpoints_of_the_tests_are_drawn_the_same_way(tmp_path):
    """So that they see the same numbers everywhere."""
    torch.manual_seed(1)
    (tmp_path / "one").mkdir(), (tmp_path / "two").mkdir()
    one = save_bert(tmp_path / "one") / "model.safetensors"
    torch.manual_seed(2)
    assert (save_bert(tmp_path / "two") / "model.safetensors").read_bytes() == one.read_bytes()
