"""A tokenizer of every kind that transformers has, small and the same each time; and texts that are hard for them."""

import json
import math
from collections import Counter
from functools import cache

import transformers
from checkpoints import DEMO_TEXT, SPECIAL, byte_level, trained_vocabulary, wordpiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers.models.bert.tokenization_bert_legacy import BertTokenizerLegacy

SENTENCES = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
OTHER_SCRIPTS = "東京は大都市 我喜歡你。 وكتابه كتب، שלום ירושלים ı İ ğ é ä ß ö한국어 ’ “” <>/[]|_"


@cache
def counted_words() -> Counter:
    """The words of the demo text."""
    return Counter(DEMO_TEXT.read_text("utf-8").split())


@cache
def unigram_pieces(special: tuple[str, ...], lower: bool = False) -> list[tuple[str, float]]:
    """A Unigram vocabulary as SentencePiece ships it: special tokens at 0.0, words, their halves, characters."""
    counts = Counter({"▁": 50.0})
    for word, count in counted_words().items():
        word = word.lower() if lower else word
        half = max(1, len(word) // 2)
        for piece in (f"▁{word}", f"▁{word[:half]}", word[half:], *word):
            counts[piece] += count
    counts.update(set(OTHER_SCRIPTS) - {" "})
    total = sum(counts.values())
    common = [(piece, count) for piece, count in sorted(counts.items()) if count > 2 or len(piece) == 1]
    return [(piece, 0.0) for piece in special] + [(piece, math.log(count / total)) for piece, count in common]


@cache
def merges(with_bytes: bool) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """The vocabulary and merges of a BPE over words that start with ▁."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)] if with_bytes else []
    characters = sorted(set(DEMO_TEXT.read_text("utf-8")) - {" ", "\n"})
    known = ["<unk>", "<s>", "</s>", *bytes_, "▁", *characters]
    tokenizer.train([str(DEMO_TEXT)], trainers.BpeTrainer(vocab_size=len(known) + 300, special_tokens=known))
    vocabulary = tokenizer.get_vocab()
    pairs = json.loads(tokenizer.to_str())["model"]["merges"]
    return vocabulary, [tuple(pair) for pair in pairs]


def cased_wordpiece(whitespace_only=False):
    """A WordPiece tokenizer that keeps case and accents; or one that parts text at blanks alone."""
    words = [word for word, count in counted_words().items() if count > 2]
    characters = sorted(set(DEMO_TEXT.read_text("utf-8") + OTHER_SCRIPTS) - {" ", "\n"})
    pieces = [*SPECIAL, *dict.fromkeys([*characters, *words]), *(f"##{character}" for character in characters)]
    tokenizer = Tokenizer(models.WordPiece({piece: number for number, piece in enumerate(pieces)}, unk_token="[UNK]"))
    if whitespace_only:
        tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    else:
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return framed(tokenizer)


def framed(tokenizer: Tokenizer, around=("[CLS]", "[SEP]"), **options):
    """The tokenizer with BERT's special tokens around a text."""
    tokenizer.add_special_tokens(SPECIAL)
    first, last = around
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}",
        pair=f"{first} $A {last} $B:1 {last}:1",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in around],
    )
    roles = {f"{token.strip('[]').lower()}_token": token for token in SPECIAL}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **roles | options)


def slow_wordpiece(folder):
    """BERT's Python tokenizer on the vocabulary of its fast one."""
    pieces = sorted(trained_vocabulary(), key=trained_vocabulary().get)
    file = folder / "vocab.txt"
    file.write_text("\n".join(pieces) + "\n", "utf-8")
    return BertTokenizerLegacy(str(file), do_lower_case=True)


@cache
def byte_pairs():
    """The vocabulary and merges of a byte-level BPE."""
    trained = json.loads(byte_level().backend_tokenizer.to_str())["model"]
    return trained["vocab"], [tuple(pair) for pair in trained["merges"]]


def roberta(add_prefix_space):
    vocabulary, pairs = byte_pairs()
    pieces = {piece: number + len(SENTENCES) for piece, number in vocabulary.items()}
    pieces |= {piece: number for number, piece in enumerate(SENTENCES)}
    return transformers.RobertaTokenizer(pieces, pairs, add_prefix_space=add_prefix_space)


def modernbert():
    tokenizer = byte_level().backend_tokenizer
    tokenizer.normalizer = normalizers.NFC()
    return framed(tokenizer)


def qwen():
    vocabulary, pairs = byte_pairs()
    return transformers.Qwen2Tokenizer(vocabulary, pairs)


def charsmap():
    """A Unigram that normalises as SentencePiece's map of characters does: zero-width characters become blanks."""
    tokenizer = Tokenizer(models.Unigram(unigram_pieces(tuple(SPECIAL)), unk_id=1))
    blanks = normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Strip(), blanks])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return framed(tokenizer)


def xlnet():
    special = ("<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>")
    return transformers.XLNetTokenizer(unigram_pieces(special))


def llama(legacy):
    """Llama's BPE with byte fallback; `legacy` as its converted files are, with a normaliser that prepends a blank."""
    vocabulary, pairs = merges(with_bytes=True)
    if not legacy:
        return transformers.LlamaTokenizer(dict(vocabulary), list(pairs))
    model = models.BPE(vocabulary, list(pairs), unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in ("<unk>", "<s>", "</s>")])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


def without_pre_tokenizer():
    """A BPE over whole texts: its tokens run across blanks, and `word_ids` calls everything one word."""
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
    characters = sorted(set(DEMO_TEXT.read_text("utf-8")) - {"\n"})
    trainer = trainers.BpeTrainer(vocab_size=len(SPECIAL + characters) + 300, special_tokens=[*SPECIAL, *characters])
    tokenizer.train([str(DEMO_TEXT)], trainer)
    spoken = {**tokenizer.get_vocab()}
    import json

    pairs = [tuple(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]
    fresh = Tokenizer(models.BPE(spoken, pairs, unk_token="[UNK]"))
    return framed(fresh)


def merging_metaspace():
    """A Unigram whose blanks do not part words, and whose vocabulary has pieces across them."""
    pieces = [*unigram_pieces(tuple(SPECIAL)), ("▁the▁sea", -2.0), ("▁of▁the", -2.0)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=1))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(split=False)
    return framed(tokenizer)


def deleting():
    """A WordPiece whose normaliser deletes digits and writes a blank into every hyphen."""
    tokenizer = wordpiece().backend_tokenizer
    tokenizer.normalizer = normalizers.Sequence(
        [tokenizer.normalizer, normalizers.Replace("1", ""), normalizers.Replace("-", " - ")]
    )
    return framed(tokenizer)


FAST = {
    "WordPiece uncased": wordpiece,
    "WordPiece uncased, accents kept": lambda: transformers.BertTokenizer(trained_vocabulary(), strip_accents=False),
    "WordPiece cased": cased_wordpiece,
    "WordPiece at blanks": lambda: cased_wordpiece(whitespace_only=True),
    "MPNet": lambda: transformers.MPNetTokenizer(
        {**trained_vocabulary(), **{piece: len(trained_vocabulary()) + n for n, piece in enumerate(SENTENCES)}}
    ),
    "GPT-2": byte_level,
    "RoBERTa": lambda: roberta(False),
    "RoBERTa with prefix": lambda: roberta(True),
    "ModernBERT": modernbert,
    "Qwen": qwen,
    "XLM-R": lambda: transformers.XLMRobertaTokenizer(unigram_pieces(SENTENCES), unk_token="<unk>"),
    "ALBERT": lambda: transformers.AlbertTokenizer(
        unigram_pieces(("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"), lower=True)
    ),
    "T5": lambda: transformers.T5Tokenizer(unigram_pieces(("<pad>", "</s>", "<unk>")), extra_ids=5),
    "DeBERTa-v2": lambda: transformers.DebertaV2Tokenizer(
        unigram_pieces(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"))
    ),
    "Unigram with NMT's map": charsmap,
    "XLNet": xlnet,
    "Llama": lambda: llama(False),
    "Llama, legacy": lambda: llama(True),
}
SLOW = {
    "BERT in Python": slow_wordpiece,
    "CANINE": lambda folder: transformers.CanineTokenizer(),
    "ByT5": lambda folder: transformers.ByT5Tokenizer(),
}
WRONG_WORD_IDS = {
    "no pre-tokenizer": without_pre_tokenizer,
    "merging Metaspace": merging_metaspace,
    "deleting normaliser": deleting,
}
