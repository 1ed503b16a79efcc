"""Tiny random checkpoints with real tokenizers, made on the spot; and where real corpora lie, if they do."""

import gzip
from functools import cache
from pathlib import Path

import pytest
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from headscope.models.random_weights import RandomWeights

REPOSITORY = Path(__file__).resolve().parents[1]
DEMO_TEXT = REPOSITORY / "config" / "demo" / "text.txt"
SHARED = REPOSITORY.parent / "shared"

needs_shared_corpora = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the development corpora in ../shared are not on this machine"
)

STANZA_MODELS = SHARED / "stanza_models"
needs_stanza_models = pytest.mark.skipif(
    not (STANZA_MODELS / "resources.json").is_file(),
    reason="the small Stanza models in ../shared are not on this machine",
)

SIZES = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}


SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@cache
def trained_vocabulary() -> dict[str, int]:
    """600 pieces of the demo text, the same in every process.

    The trainer breaks ties by the ids of pieces, and gives characters inside words theirs in a random order, unless it
    knows them as special tokens already.
    """
    tokenizer = with_bert_splitting(models.WordPiece(unk_token="[UNK]"))
    characters = sorted(set(tokenizer.normalizer.normalize_str(DEMO_TEXT.read_text("utf-8"))) - {" ", "\n"})
    known = [*SPECIAL, *(f"##{character}" for character in characters)]
    tokenizer.train([str(DEMO_TEXT)], trainers.WordPieceTrainer(vocab_size=600, special_tokens=known))
    return tokenizer.get_vocab()


def with_bert_splitting(model) -> Tokenizer:
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def wordpiece() -> transformers.PreTrainedTokenizerFast:
    """A lower-casing WordPiece tokenizer like BERT's, trained on the demo text."""
    tokenizer = with_bert_splitting(models.WordPiece(trained_vocabulary(), unk_token="[UNK]"))
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")],
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        **{f"{token.strip('[]').lower()}_token": token for token in SPECIAL},
        model_max_length=64,
    )


def byte_level(**special) -> transformers.PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer like GPT-2's, without special tokens in its encodings."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train([str(DEMO_TEXT)], trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_input_names=["input_ids", "attention_mask"], **special
    )


def save_checkpoint(
    folder: Path, config, tokenizer, seed: int = 0, auto=transformers.AutoModel, wider: float = 12
) -> Path:
    """A checkpoint of random weights of this config, the same on every processor."""
    with RandomWeights(seed):
        network = auto.from_config(config)
    # Wider than an initialisation: so that heads differ and their attention is not all but uniform.
    with torch.no_grad():
        for weights in network.parameters():
            if weights.ndim > 1:
                weights.mul_(wider)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_bert(folder: Path, seed: int = 0, auto=transformers.AutoModel) -> Path:
    """A BERT of 3 layers and 4 heads that takes 64 tokens; with AutoModelForMaskedLM, one with a head."""
    tokenizer = wordpiece()
    config = transformers.BertConfig(vocab_size=len(tokenizer), max_position_embeddings=64, **SIZES)
    return save_checkpoint(folder, config, tokenizer, seed, auto)


def save_gpt2(folder: Path) -> Path:
    """A GPT-2 of 3 layers and 4 heads: causal, without special tokens."""
    tokenizer = byte_level()
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer), n_positions=64, n_embd=32, n_layer=3, n_head=4, bos_token_id=0, eos_token_id=0
    )
    return save_checkpoint(folder, config, tokenizer)


def copy_checkpoint(folder: Path, target: Path) -> Path:
    """A copy that a test may spoil."""
    for file in folder.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    return target


def wrapped(text: str) -> dict[str, bytes]:
    """The same text in every wrapping that a reader must not mind."""
    return {
        "byte order mark": b"\xef\xbb\xbf" + text.encode(),
        "CRLF": text.replace("\n", "\r\n").encode(),
        "gzip": gzip.compress(text.encode()),
        "gzip, mark, CRLF": gzip.compress(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()),
        "no final newline": text.rstrip("\n").encode(),
        "blank lines around": ("\n\n" + text + "\n\n").encode(),
    }
