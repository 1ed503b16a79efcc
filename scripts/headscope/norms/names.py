"""How the tables of norms read: kinds of key token, measures, and the two claims about [SEP]."""

KEYS = ("cls", "sep", "punctuation", "other")
MEASURES = ("weight_share", "norm_share", "value_norm")
ATTENTION, NORM, GRADIENT, TOKENS = "attention", "norm", "gradient", "tokens"
CLAIM_NAMES = {
    "cls_then_sep": "Early layers attend to {cls}, later ones to {sep}",
    "sep_is_no_op": "Where {sep} gets much attention, its norm share and gradient are small",
}
MEASURE_NAMES = {
    "sep_minus_cls": "attention share of {sep} − that of {cls}",
    "sep_minus_cls_by_layer": "the same by layer, rank correlation",
    "norm_to_attention": "norm share of {sep} ÷ its attention share",
    "value_norm_by_attention": "value norm of {sep} by its attention share over heads, rank correlation",
    "relative_value_norm_by_attention": "the same, value norm ÷ that of ordinary tokens",
    "gradient_to_other": "gradient of {sep} ÷ that of ordinary tokens",
    "gradient_by_attention": "the same by attention share over layers, rank correlation",
}
EXPECTATIONS = {"above 0": (0, 1), "below 0": (0, -1), "below 1": (1, -1)}
"""What a value has to be for a claim: a bound, and on which side of it."""
