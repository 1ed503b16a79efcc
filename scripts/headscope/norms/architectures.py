"""
Where the attention of an architecture projects its values and its output: module paths, as data.

A path names modules of the network as transformers 5 has them; `*` stands for a number (layer, group). To take on
another architecture, add a line here and one to the test of its law, which `headscope.norms.values` checks in every run
as well.
"""

from typing import NamedTuple


class Projections(NamedTuple):
    """
    The linear maps around the attention of every layer.

    `values` is the path of `x W_V + b_V`, `output` that of `W_O` (the numbers are the same in both); where one map
    makes queries, keys and values at once, the values are the last of `parts` equal parts.
    """

    values: str
    output: str
    parts: int = 1


_BERT = Projections("encoder.layer.*.attention.self.value", "encoder.layer.*.attention.output.dense")
_SELF_ATTN = Projections("layers.*.self_attn.v_proj", "layers.*.self_attn.o_proj")
_XLM = Projections("attentions.*.v_lin", "attentions.*.out_lin")
_ALBERT_LAYER = "encoder.albert_layer_groups.*.albert_layers.*.attention"

ARCHITECTURES = {
    "AlbertModel": Projections(f"{_ALBERT_LAYER}.value", f"{_ALBERT_LAYER}.dense"),
    "BartEncoder": Projections("layers.*.self_attn.v_proj", "layers.*.self_attn.out_proj"),
    "BertModel": _BERT,
    "CamembertModel": _BERT,
    "Data2VecTextModel": _BERT,
    "DebertaV2Model": Projections("encoder.layer.*.attention.self.value_proj", _BERT.output),
    "DistilBertModel": Projections("transformer.layer.*.attention.v_lin", "transformer.layer.*.attention.out_lin"),
    "ElectraModel": _BERT,
    "ErnieModel": _BERT,
    "EuroBertModel": _SELF_ATTN,
    "FlaubertModel": _XLM,
    "LlamaModel": _SELF_ATTN,
    "MegatronBertModel": _BERT,
    "MistralModel": _SELF_ATTN,
    "MobileBertModel": _BERT,
    "ModernBertModel": Projections("layers.*.attn.Wqkv", "layers.*.attn.Wo", parts=3),
    "MPNetModel": Projections("encoder.layer.*.attention.attn.v", "encoder.layer.*.attention.attn.o"),
    "NomicBertModel": _SELF_ATTN,
    "Qwen2Model": _SELF_ATTN,
    "Qwen3Model": _SELF_ATTN,
    "RemBertModel": _BERT,
    "RobertaModel": _BERT,
    "RobertaPreLayerNormModel": _BERT,
    "RoFormerModel": _BERT,
    "T5Stack": Projections("block.*.layer.0.SelfAttention.v", "block.*.layer.0.SelfAttention.o"),
    "XLMModel": _XLM,
    "XLMRobertaModel": _BERT,
    "XLMRobertaXLModel": _BERT,
}
"""By the class of the network that transformers' AutoModel loads, as in `models/{model}/description.json`."""


def why_not(architecture: str) -> str | None:
    """Return the sentence that refuses an architecture by name, or None where its norms can be computed."""
    if architecture in ARCHITECTURES:
        return None
    known = ", ".join(name.removesuffix("Model") for name in sorted(ARCHITECTURES, key=str.lower))
    return (
        f"norms: expected a model whose value and output projections we know ({known}), found {architecture}; its "
        "norms are left out"
    )
