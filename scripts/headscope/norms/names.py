"""How the tables of norms read: kinds of key token, measures, and the two claims about [SEP]."""

KEYS = ("cls", "sep", "punctuation", "other")
MEASURES = ("weight_share", "norm_share", "value_norm")
ATTENTION, NORM, GRADIENT, TOKENS = "attention", "norm", "gradient", "tokens"
CLS_THEN_SEP, NO_OP = "cls_then_sep", "sep_is_no_op"
