"""
The matrix of architectures: how a tiny checkpoint of each is made, with a tokenizer of its own kind, and what works.

What an entry declares, `test_architectures.py` finds or fails; `docs/models.md` is written from it (`make docs`).
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import transformers
from checkpoints import SIZES, save_checkpoint
from pieces import (
    LIMIT,
    byte_level_of,
    bytes_alone,
    llama_tokenizer,
    modernbert_tokenizer,
    unigram_of,
    wordpiece_in_python,
    wordpiece_of,
)

from headscope.description import LayerView

FULL, CAUSAL = LayerView(causal=False, reach=None), LayerView(causal=True, reach=None)
WINDOW = 8
FRAMED = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
BRACKETED = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
NO_MASK = "its tokenizer ({}) has no mask token, so no masked token can be guessed"
IS_CAUSAL = (
    "{} is causal, and the gradients are those of a masked language model's loss; what those of its own loss would "
    "mean is another question"
)
NO_MLM = "transformers knows no masked language model of {} alone, without a decoder"
NO_NORMS = (
    "norms: expected a model whose value and output projections we know (Albert, BartEncoder, Bert, Camembert, "
    "Data2VecText, DebertaV2, DistilBert, Electra, Ernie, EuroBert, Flaubert, Llama, MegatronBert, Mistral, "
    "MobileBert, ModernBert, MPNet, NomicBert, Qwen2, Qwen3, RemBert, Roberta, RobertaPreLayerNorm, RoFormer, "
    "T5Stack, XLM, XLMRoberta, XLMRobertaXL), found {}; its norms are left out"
)
SIZED = SIZES | {"max_position_embeddings": LIMIT}
AFTER_PADDING = SIZES | {
    "max_position_embeddings": LIMIT + 2,
    "type_vocab_size": 1,
}  # positions start after that of <pad>
GROUPED = SIZED | {"num_key_value_heads": 2}


class Architecture(NamedTuple):
    """
    One row of the matrix.

    `config` makes the config of a vocabulary's size, `tokenizer` the tokenizer; `in_python` makes one that is written
    in Python, where transformers still has such a one, in a folder of its own. `network` is the class that is run;
    `pair` what a pair becomes, A and B its sides; `segments` whether the model tells those apart; `views` what each
    layer sees; `wider` scales the random weights; `gradients` and `norms` are None where they are computed, else the
    sentence that says why not.
    """

    family: str
    hub: tuple[str, ...]
    config: Callable[[int], transformers.PretrainedConfig]
    tokenizer: Callable
    network: str
    pair: str
    views: tuple[LayerView, ...] = (FULL,) * 3
    segments: bool = False
    gradients: str | None = None
    norms: str | None = None
    in_python: Callable[[Path], transformers.PreTrainedTokenizerBase] | None = None
    note: str = ""
    wider: float = 12

    def save(self, folder: Path, tokenizer=None) -> Path:
        """A checkpoint of random weights, with a head for masked tokens where the architecture has one."""
        tokenizer = tokenizer or self.tokenizer()
        config = self.config(len(tokenizer))
        auto = transformers.AutoModel if self.gradients else transformers.AutoModelForMaskedLM
        return save_checkpoint(folder, config, tokenizer, auto=auto, wider=self.wider)

    @property
    def causal(self) -> bool:
        """Whether no token sees those after it."""
        return self.views[0].causal

    @property
    def cls(self) -> int | None:
        """Where the cls stands in a pair: 0, -1, or None where there is none."""
        tokens = self.pair.split()
        return next((place for place in (0, -1) if tokens[place] in ("[CLS]", "<cls>", "<s>")), None)


def of(config_class, **options):
    """A config of this class with these options."""
    return lambda size: config_class(vocab_size=size, **options)


def window_of(reach, causal):
    return LayerView(causal=causal, reach=reach)


ARCHITECTURES = (
    Architecture(
        "BERT",
        ("google-bert/bert-base-uncased", "google-bert/bert-base-multilingual-cased"),
        of(transformers.BertConfig, **SIZED),
        wordpiece_of(transformers.BertTokenizer, BRACKETED),
        "BertModel",
        "[CLS] A [SEP] B [SEP]",
        segments=True,
        in_python=wordpiece_in_python,
    ),
    Architecture(
        "RoBERTa",
        ("FacebookAI/roberta-base", "vinai/bertweet-base"),
        of(transformers.RobertaConfig, **AFTER_PADDING),
        byte_level_of(transformers.RobertaTokenizer, FRAMED),
        "RobertaModel",
        "<s> A </s> </s> B </s>",
    ),
    Architecture(
        "XLM-R",
        ("FacebookAI/xlm-roberta-base", "intfloat/multilingual-e5-base"),
        of(transformers.XLMRobertaConfig, **AFTER_PADDING),
        unigram_of(transformers.XLMRobertaTokenizer, FRAMED),
        "XLMRobertaModel",
        "<s> A </s> </s> B </s>",
    ),
    Architecture(
        "DistilBERT",
        ("distilbert/distilbert-base-uncased",),
        of(
            transformers.DistilBertConfig,
            **{"dim": 32, "n_layers": 3, "n_heads": 4, "hidden_dim": 48, "max_position_embeddings": LIMIT},
        ),
        wordpiece_of(transformers.DistilBertTokenizer, BRACKETED),
        "DistilBertModel",
        "[CLS] A [SEP] B [SEP]",
        in_python=wordpiece_in_python,
    ),
    Architecture(
        "ALBERT",
        ("albert/albert-base-v2",),
        of(transformers.AlbertConfig, embedding_size=16, **SIZED),
        unigram_of(transformers.AlbertTokenizer, ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")),
        "AlbertModel",
        "[CLS] A [SEP] B [SEP]",
        segments=True,
        note="Layers share their weights; they are counted as they run.",
    ),
    Architecture(
        "ELECTRA",
        ("google/electra-base-discriminator", "google/electra-base-generator"),
        of(transformers.ElectraConfig, embedding_size=16, **SIZED),
        wordpiece_of(transformers.ElectraTokenizer, BRACKETED),
        "ElectraModel",
        "[CLS] A [SEP] B [SEP]",
        segments=True,
        in_python=wordpiece_in_python,
        note="Only generators have a head for masked tokens.",
    ),
    Architecture(
        "DeBERTa-v2/v3",
        ("microsoft/deberta-v3-base", "microsoft/mdeberta-v3-base"),
        of(
            transformers.DebertaV2Config,
            **{
                "type_vocab_size": 0,
                "relative_attention": True,
                "pos_att_type": ["p2c", "c2p"],
                "position_buckets": 16,
            },
            **{"norm_rel_ebd": "layer_norm", "share_att_key": True, "position_biased_input": False},
            **SIZED,
        ),
        unigram_of(transformers.DebertaV2Tokenizer, ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")),
        "DebertaV2Model",
        "[CLS] A [SEP] B [SEP]",
        note="The maps are the softmax over content and positions together.",
    ),
    Architecture(
        "MPNet",
        ("microsoft/mpnet-base", "sentence-transformers/all-mpnet-base-v2"),
        of(transformers.MPNetConfig, **(SIZES | {"max_position_embeddings": LIMIT + 2})),
        wordpiece_of(transformers.MPNetTokenizer, ("<s>", "<pad>", "</s>", "[UNK]", "<mask>")),
        "MPNetModel",
        "<s> A </s> </s> B </s>",
    ),
    Architecture(
        "XLNet",
        ("xlnet/xlnet-base-cased",),
        of(transformers.XLNetConfig, d_model=32, n_layer=3, n_head=4, d_inner=48),
        unigram_of(transformers.XLNetTokenizer, ("<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>")),
        "XLNetModel",
        "A <sep> B <sep> <cls>",
        segments=True,
        gradients=NO_MLM.format("XLNetModel"),
        norms=NO_NORMS.format("XLNetModel"),
        note="One stream, that of the content. The special tokens stand at the end.",
    ),
    Architecture(
        "ModernBERT",
        ("answerdotai/ModernBERT-base",),
        of(
            transformers.ModernBertConfig,
            **{"local_attention": WINDOW, "global_attn_every_n_layers": 2},
            **{"pad_token_id": 0, "cls_token_id": 2, "bos_token_id": 2, "sep_token_id": 3, "eos_token_id": 3},
            **SIZED,
        ),
        modernbert_tokenizer,
        "ModernBertModel",
        "[CLS] A [SEP] B [SEP]",
        views=(FULL, window_of(WINDOW // 2, causal=False), FULL),
        note="Local layers see a window on both sides.",
    ),
    Architecture(
        "GPT-2",
        ("openai-community/gpt2", "distilbert/distilgpt2"),
        of(
            transformers.GPT2Config,
            **{"n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": LIMIT, "bos_token_id": 0, "eos_token_id": 0},
        ),
        byte_level_of(transformers.GPT2Tokenizer, ("<|endoftext|>",)),
        "GPT2Model",
        "A B",
        views=(CAUSAL,) * 3,
        gradients=IS_CAUSAL.format("GPT2Model"),
        norms=NO_NORMS.format("GPT2Model"),
    ),
    Architecture(
        "GPT-Neo",
        ("EleutherAI/gpt-neo-125m", "roneneldan/TinyStories-33M"),
        of(
            transformers.GPTNeoConfig,
            **{"hidden_size": 32, "num_heads": 4, "intermediate_size": 48, "max_position_embeddings": LIMIT},
            **{"num_layers": 4, "attention_types": [[["global", "local"], 2]], "window_size": WINDOW},
        ),
        byte_level_of(transformers.GPT2Tokenizer, ("<|endoftext|>",)),
        "GPTNeoModel",
        "A B",
        views=(CAUSAL, window_of(WINDOW - 1, causal=True)) * 2,
        gradients=IS_CAUSAL.format("GPTNeoModel"),
        norms=NO_NORMS.format("GPTNeoModel"),
        note="Every other layer is windowed.",
    ),
    Architecture(
        "Llama",
        ("meta-llama/Llama-2-7b-hf", "TinyLlama/TinyLlama-1.1B-Chat-v1.0", "HuggingFaceTB/SmolLM2-135M"),
        of(transformers.LlamaConfig, **GROUPED),
        llama_tokenizer,
        "LlamaModel",
        "<s> A <s> B",
        views=(CAUSAL,) * 3,
        gradients=IS_CAUSAL.format("LlamaModel"),
        note="Heads that share keys and values are heads of their own.",
    ),
    Architecture(
        "Mistral",
        ("mistralai/Mistral-7B-v0.1",),
        of(transformers.MistralConfig, sliding_window=WINDOW, **GROUPED),
        llama_tokenizer,
        "MistralModel",
        "<s> A <s> B",
        views=(window_of(WINDOW - 1, causal=True),) * 3,
        gradients=IS_CAUSAL.format("MistralModel"),
        note="Every layer is windowed where the config says so.",
    ),
    Architecture(
        "Qwen2",
        ("Qwen/Qwen2.5-0.5B",),
        of(transformers.Qwen2Config, use_sliding_window=True, sliding_window=WINDOW, max_window_layers=1, **GROUPED),
        byte_level_of(transformers.Qwen2Tokenizer, ("<|endoftext|>",)),
        "Qwen2Model",
        "A B",
        views=(CAUSAL, *(window_of(WINDOW - 1, causal=True),) * 2),
        gradients=IS_CAUSAL.format("Qwen2Model"),
        note="Windowed above a layer where the config says so.",
    ),
    Architecture(
        "Qwen3",
        ("Qwen/Qwen3-0.6B",),
        of(transformers.Qwen3Config, head_dim=12, **GROUPED),
        byte_level_of(transformers.Qwen2Tokenizer, ("<|endoftext|>",)),
        "Qwen3Model",
        "A B",
        views=(CAUSAL,) * 3,
        gradients=IS_CAUSAL.format("Qwen3Model"),
    ),
    Architecture(
        "Gemma 3",
        ("google/gemma-3-270m",),
        of(
            transformers.Gemma3TextConfig,
            **{"head_dim": 8, "sliding_window": WINDOW},
            **{"layer_types": ["sliding_attention", "sliding_attention", "full_attention"]},
            **GROUPED,
        ),
        llama_tokenizer,
        "Gemma3TextModel",
        "<s> A <s> B",
        views=(*(window_of(WINDOW - 1, causal=True),) * 2, CAUSAL),
        gradients=IS_CAUSAL.format("Gemma3TextModel"),
        norms=NO_NORMS.format("Gemma3TextModel"),
        note="Most layers are windowed.",
    ),
    Architecture(
        "T5 encoder",
        ("google-t5/t5-small", "google/mt5-small", "google/byt5-small"),
        of(transformers.T5Config, d_model=32, num_layers=3, num_heads=4, d_kv=8, d_ff=48),
        unigram_of(transformers.T5Tokenizer, ("<pad>", "</s>", "<unk>")),
        "T5Stack",
        "A </s> B </s>",
        gradients=NO_MASK.format("T5Tokenizer"),
        in_python=bytes_alone,
        note="The decoder is left out. The maps are the softmax with its relative positions.",
        wider=2,  # its scores are not divided by the width of a head
    ),
    Architecture(
        "BART encoder",
        ("facebook/bart-base",),
        of(
            transformers.BartConfig,
            **{"d_model": 32, "encoder_layers": 3, "encoder_attention_heads": 4, "encoder_ffn_dim": 48},
            **{"decoder_layers": 2, "decoder_attention_heads": 2, "decoder_ffn_dim": 48},
            max_position_embeddings=LIMIT,
        ),
        byte_level_of(transformers.BartTokenizer, FRAMED),
        "BartEncoder",
        "<s> A </s> </s> B </s>",
        gradients=NO_MLM.format("BartEncoder"),
        note="The decoder is left out.",
    ),
)


class Refused(NamedTuple):
    """An architecture that has no maps to study: as its config.json calls it, and what the refusal says of it."""

    family: str
    hub: str
    config: Callable[[], transformers.PretrainedConfig]
    says: str


REFUSED = (
    Refused("Longformer", "allenai/longformer-base-4096", transformers.LongformerConfig, "sliding window beside a few"),
    Refused("LED", "allenai/led-base-16384", transformers.LEDConfig, "sliding window beside a few global tokens"),
    Refused("BigBird", "google/bigbird-roberta-base", transformers.BigBirdConfig, "block sparse with blocks drawn at"),
    Refused("BigBird-Pegasus", "google/bigbird-pegasus-large-arxiv", transformers.BigBirdPegasusConfig, "block sparse"),
    Refused("Reformer", "google/reformer-crime-and-punishment", transformers.ReformerConfig, "hashed into buckets"),
    Refused("LongT5", "google/long-t5-local-base", transformers.LongT5Config, "attends within blocks"),
    Refused("Nyströmformer", "uw-madison/nystromformer-512", transformers.NystromformerConfig, "an approximation"),
    Refused("YOSO", "uw-madison/yoso-4096", transformers.YosoConfig, "an approximation that never makes"),
    Refused("MRA", "uw-madison/mra-base-512-4", transformers.MraConfig, "an approximation that never makes"),
    Refused("Mamba", "state-spaces/mamba-130m-hf", transformers.MambaConfig, "no attention weights"),
    Refused("Mamba-2", "mistralai/Mamba-Codestral-7B-v0.1", transformers.Mamba2Config, "no attention weights"),
    Refused("Falcon Mamba", "tiiuae/falcon-mamba-7b", transformers.FalconMambaConfig, "no attention weights"),
    Refused("RWKV", "RWKV/rwkv-4-169m-pile", transformers.RwkvConfig, "no attention weights"),
    Refused("xLSTM", "NX-AI/xLSTM-7b", transformers.xLSTMConfig, "no attention weights"),
    Refused("FNet", "google/fnet-base", transformers.FNetConfig, "mixes tokens by Fourier transforms"),
    Refused("Funnel", "funnel-transformer/small", transformers.FunnelConfig, "pools tokens between its layers"),
    Refused("CANINE", "google/canine-s", transformers.CanineConfig, "pools tokens between its layers"),
    Refused("Perceiver", "deepmind/language-perceiver", transformers.PerceiverConfig, "attend among latent vectors"),
    Refused("SqueezeBERT", "squeezebert/squeezebert-uncased", transformers.SqueezeBertConfig, "before the softmax"),
    Refused("gpt-oss", "openai/gpt-oss-20b", transformers.GptOssConfig, "have a sink outside of the text"),
    Refused("DiffLlama", "kajuma/DiffLlama-0.3B-handcut", transformers.DiffLlamaConfig, "difference of two softmaxes"),
    Refused("Jamba", "ai21labs/Jamba-v0.1", transformers.JambaConfig, "only some of its layers have attention"),
    Refused("Zamba2", "Zyphra/Zamba2-1.2B", transformers.Zamba2Config, "only some of its layers have attention"),
    Refused("RecurrentGemma", "google/recurrentgemma-2b", transformers.RecurrentGemmaConfig, "only some of its layers"),
    Refused("Qwen3-Next", "Qwen/Qwen3-Next-80B-A3B-Instruct", transformers.Qwen3NextConfig, "only some of its layers"),
    Refused("LFM2", "LiquidAI/LFM2-350M", transformers.Lfm2Config, "only some of its layers have attention"),
    Refused("MiniMax", "MiniMaxAI/MiniMax-Text-01-hf", transformers.MiniMaxConfig, "only some of its layers have"),
)
