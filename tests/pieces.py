"""Tokenizers of transformers' own classes with vocabularies trained on the demo text, the same in every process."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import transformers
from checkpoints import DEMO_TEXT, byte_level, trained_vocabulary
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

LIMIT = 64
PIECES = 500


@cache
def unigram_pieces() -> tuple[tuple[str, float], ...]:
    """Pieces of the demo text and their log probabilities, rounded: the trainer's sums differ in their last bits."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.train([str(DEMO_TEXT)], trainers.UnigramTrainer(vocab_size=PIECES, unk_token="<unk>"))
    pieces = json.loads(tokenizer.to_str())["model"]["vocab"]
    rounded = [(piece, round(score, 3)) for piece, score in pieces if piece != "<unk>"]
    return tuple(sorted(rounded, key=lambda piece: (-piece[1], piece[0])))


@cache
def byte_level_bpe() -> tuple[list[str], list[tuple[str, str]]]:
    """Pieces and merges of a byte-level BPE of the demo text."""
    model = json.loads(byte_level().backend_tokenizer.to_str())["model"]
    pieces = sorted(model["vocab"], key=model["vocab"].get)
    return pieces[1:], [tuple(merge) for merge in model["merges"]]


@cache
def blank_marking_bpe() -> tuple[list[str], list[tuple[str, str]]]:
    """Pieces and merges of a BPE that marks blanks and falls back to bytes."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    # The trainer keeps the order of what it knows as special tokens; see checkpoints.trained_vocabulary.
    known = [*sorted(set(DEMO_TEXT.read_text("utf-8")) - {" ", "\n"}), "▁"]
    tokenizer.train([str(DEMO_TEXT)], trainers.BpeTrainer(vocab_size=PIECES, special_tokens=known))
    model = json.loads(tokenizer.to_str())["model"]
    pieces = [f"<0x{byte:02X}>" for byte in range(256)] + sorted(model["vocab"], key=model["vocab"].get)
    return pieces, [tuple(merge) for merge in model["merges"]]


def wordpiece_of(kind: type, special: tuple[str, ...]) -> Callable:
    """A tokenizer of this class with the WordPiece vocabulary of the demo text, after these special tokens."""

    def made():
        pieces = [*special, *(piece for piece in trained_vocabulary() if piece not in special)]
        return kind(vocab=_numbered(pieces), model_max_length=LIMIT)

    return made


def unigram_of(kind: type, special: tuple[str, ...]) -> Callable:
    """A tokenizer of this class with the Unigram vocabulary of the demo text, after these special tokens."""
    return lambda: kind(vocab=[*((token, 0.0) for token in special), *unigram_pieces()], model_max_length=LIMIT)


def byte_level_of(kind: type, special: tuple[str, ...]) -> Callable:
    """A tokenizer of this class with the byte-level BPE of the demo text, after these special tokens."""

    def made():
        pieces, merges = byte_level_bpe()
        return kind(vocab=_numbered([*special, *pieces]), merges=merges, model_max_length=LIMIT)

    return made


def modernbert_tokenizer() -> transformers.PreTrainedTokenizerFast:
    """A byte-level BPE with BERT's special tokens, as a class of no model in particular."""
    pieces, merges = byte_level_bpe()
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    special["mask_token"] = "[MASK]"
    vocabulary = _numbered([*special.values(), *pieces])
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")],
    )
    names = ["input_ids", "attention_mask"]
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=LIMIT, model_input_names=names, **special
    )


def llama_tokenizer() -> transformers.LlamaTokenizer:
    """A begin token before each text, blanks marked, bytes where nothing else fits."""
    pieces, merges = blank_marking_bpe()
    special = ["<unk>", "<s>", "</s>"]
    return transformers.LlamaTokenizer(
        vocab=_numbered([*special, *pieces]), merges=merges, add_bos_token=True, model_max_length=LIMIT
    )


def wordpiece_in_python(folder: Path) -> transformers.BertTokenizerLegacy:
    """BERT's tokenizer as it was before the tokenizers library; `folder` takes its vocabulary."""
    vocabulary = trained_vocabulary()
    (folder / "vocab.txt").write_text("\n".join(sorted(vocabulary, key=vocabulary.get)) + "\n", "utf-8")
    return transformers.BertTokenizerLegacy(str(folder / "vocab.txt"), model_max_length=LIMIT)


def bytes_alone(folder: Path) -> transformers.ByT5Tokenizer:
    """Every byte a token."""
    return transformers.ByT5Tokenizer(model_max_length=4 * LIMIT)


def _numbered(pieces: list[str]) -> dict[str, int]:
    return {piece: number for number, piece in enumerate(pieces)}
