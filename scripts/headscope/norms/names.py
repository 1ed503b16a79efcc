"""How the tables of norms read: measures, and the claims about [SEP] and [CLS]."""

MEASURES = ("weight_share", "norm_share", "value_norm")
ATTENTION, NORM, GRADIENT, TOKENS = "attention", "norm", "gradient", "tokens"
CLAIM_NAMES = {
    "cls_then_sep": "Early layers attend to {cls}, later ones to {sep}",
    "sep_is_no_op": "Where {sep} gets much attention, its norm share and gradient are small",
    "cls_is_no_op": "Where {cls} gets much attention, its norm share and gradient are small",
}
MEASURE_NAMES = {
    "sep_minus_cls": "attention share of {sep} − that of {cls}",
    "sep_minus_cls_by_layer": "rank correlation of the above with the layer",
    "norm_to_attention": "norm share ÷ attention share",
    "value_norm_by_attention": "rank correlation over heads: attention share, value norm",
    "relative_value_norm_by_attention": "rank correlation over heads: attention share, value norm ÷ that of others",
    "gradient_to_other": "gradient ÷ that of others",
    "gradient_by_attention": "rank correlation over layers: attention share, gradient ÷ that of others",
}
