"""A small coreference model of Stanza, trained on the spot by Stanza's own code on documents made up here."""

import json
import logging
import random
from pathlib import Path

import torch
import transformers
from checkpoints import SIZES, STANZA_MODELS, wordpiece
from stanza.models.coref.config import Config
from stanza.models.coref.model import CorefModel

from headscope.models.random_weights import RandomWeights

TRANSFORMER = "some-org/tiny-bert"  # as the hub would have it; there is no such organisation
WINDOW = 64
NAMES = ["Anna", "Mary", "Clara", "Emma", "Laura", "Julia"]
THINGS = ["dog", "house", "river", "train", "garden", "letter"]


def save_resolver(folder: Path) -> Path:
    """
    Lay the shared parser out with a coreference model `tiny` and its transformer, as fetch_stanza does.

    Two more are named there, as in a resources.json that was downloaded, but have no file.
    """
    transformer = save_transformer(folder / "transformers" / TRANSFORMER)
    (folder / "en").mkdir()
    for processor in (STANZA_MODELS / "en").iterdir():
        (folder / "en" / processor.name).symlink_to(processor)
    resources = json.loads((STANZA_MODELS / "resources.json").read_text("utf-8"))
    resources["en"]["coref"] = {name: {"md5": "", "dependencies": []} for name in ("tiny", "zeros", "lora")}
    resources["en"]["packages"]["default"]["optional"] = {"coref": "tiny"}
    (folder / "resources.json").write_text(json.dumps(resources), "utf-8")
    train(folder / "en" / "coref" / "tiny.pt", folder / "training", transformer)
    return folder


def save_transformer(folder: Path) -> Path:
    """A BERT of random weights that has the names and things as tokens."""
    tokenizer = wordpiece()
    tokenizer.add_tokens([word.lower() for word in (*NAMES, *THINGS, "saw", "liked")])
    config = transformers.BertConfig(vocab_size=len(tokenizer), max_position_embeddings=WINDOW, **SIZES)
    with RandomWeights(0):
        network = transformers.AutoModel.from_config(config)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def train(path: Path, folder: Path, transformer: Path):
    """Train in this folder with Stanza's trainer; the model saved names its transformer as the released ones do."""
    folder.mkdir()
    for part, count in {"train": 16, "dev": 2}.items():
        documents = json.dumps([made_up_document(number) for number in range(count)])
        (folder / f"{part}.json").write_text(documents, "utf-8")
    logging.getLogger("stanza").setLevel(logging.ERROR)
    transformers.set_seed(0)
    model = CorefModel(config=config_of(folder, transformer))
    model.train()
    model.config.bert_model = TRANSFORMER
    model.save_weights(str(path), save_optimizers=False)


def made_up_document(number: int) -> dict:
    """`Anna saw the dog . She liked it .` with other names and things, as Stanza's trainer reads it."""
    pick = random.Random(number)
    words = [pick.choice(NAMES), "saw", "the", pick.choice(THINGS), ".", "She", "liked", "it", "."]
    return {
        "document_id": f"wb_{number}",
        "part_id": 0,
        "cased_words": words,
        "sent_id": [0] * 5 + [1] * 4,
        "speaker": ["_"] * len(words),
        "span_clusters": [[[0, 1], [5, 6]], [[2, 4], [7, 8]]],
        "word_clusters": [[0, 5], [3, 7]],
        "head2span": [[0, 0, 1], [3, 2, 4], [5, 5, 6], [7, 7, 8]],
    }


def config_of(folder: Path, transformer: Path, **changes) -> Config:
    """Stanza's settings: small, but each of the kind that the released models have."""
    settings = {
        "section": "tiny",
        "data_dir": str(folder),
        "save_dir": str(folder),
        "save_name": "tiny",
        "train_data": str(folder / "train.json"),
        "dev_data": str(folder / "dev.json"),
        "test_data": str(folder / "dev.json"),
        "device": "cpu",
        "bert_model": str(transformer),
        "bert_window_size": WINDOW,
        "embedding_size": 8,
        "sp_embedding_size": 64,
        "a_scoring_batch_size": 128,
        "hidden_size": 32,
        "n_hidden_layers": 1,
        "max_span_len": 16,
        "rough_k": 20,
        "lora": False,
        "lora_alpha": 8,
        "lora_rank": 4,
        "lora_dropout": 0.0,
        "full_pairwise": False,
        "lora_target_modules": ["query", "value"],
        "lora_modules_to_save": [],
        "clusters_starts_are_singletons": True,
        "bert_finetune": True,
        "dropout_rate": 0.0,
        "learning_rate": 0.003,
        "bert_learning_rate": 0.001,
        "bert_finetune_begin_epoch": 0,
        "train_epochs": 10,
        "plateau_epochs": 0,
        "bce_loss_weight": 0.5,
        "tokenizer_kwargs": {},
        "conll_log_dir": str(folder / "conll"),
        "save_each_checkpoint": False,
        "log_norms": False,
        "singletons": True,
        "max_train_len": 5000,
        "use_zeros": True,
        "lang_lr_attenuation": "",
        "lang_lr_weights": "",
    }
    return Config(**{**settings, **changes})


def respell(model: Path, target: Path, change):
    """Save a copy of a coreference model whose parts `change` has changed."""
    parts = torch.load(model, weights_only=True)
    change(parts)
    torch.save(parts, target)
