"""The paper's claims about gradients and norms of [SEP] (section 3.2) and about heads that are alike (section 6)."""

from functools import partial

import polars as pl

from headscope.comparison.claims import Claim, NotApplicable, Outcome, Run
from headscope.norms.architectures import why_not


def _rows_of_sep(claim: str, run: Run) -> pl.DataFrame:
    table = run.table("sep")
    if table.is_empty():
        raise NotApplicable(why_not(run.described.architecture) or "no separator or no [CLS]")
    return table.filter(claim=claim)


def _of_sep(claim: str, measure: str, run: Run) -> Outcome:
    """Return the row over all layers of the table `norms/claims`."""
    rows = _rows_of_sep(claim, run).filter(measure=measure).to_dicts()
    if not rows:
        raise NotApplicable("no gradients: no head for masked tokens")
    value, low, high = (rows[0][name] for name in ("value", "ci_low", "ci_high"))
    if value is None:
        raise NotApplicable("too few values to rank")
    return Outcome(value, low, high)


def _no_op(run: Run) -> Outcome:
    """
    Return the share of the tests of `sep_is_no_op` in the table `norms/claims` that support it.

    Its interval counts the undecided tests first against, then for the claim: it holds where most tests support it
    whatever those would say, and does not where most cannot.
    """
    rows = _rows_of_sep("sep_is_no_op", run)
    verdicts = rows["supported"].drop_nulls().to_list()
    if not verdicts:
        raise NotApplicable("too few values to test")
    yes, no = verdicts.count("yes"), verdicts.count("no")
    undecided = len(verdicts) - yes - no
    low, high = yes / len(verdicts), (yes + undecided) / len(verdicts)
    return Outcome(low, low, high, f"{yes} of {len(verdicts)} tests for it, {no} against, {undecided} undecided")


def _layer_test(run: Run) -> Outcome:
    within, between, p_value = run.table("clusters").select("within", "between", "p_value").row(0)
    if p_value is None:
        raise NotApplicable("no two heads of one layer, or of two layers")
    return Outcome(p_value, detail=f"{within:.3f} nats within a layer, {between:.3f} between layers")


CLAIMS = (
    Claim(
        "sep_grows_with_layer",
        "3.2",
        "Attention moves from [CLS] to [SEP] as layers go up",
        "norms/claims: rank correlation of attention to [SEP] − that to [CLS] with the layer",
        "above 0",
        "figure 2",
        "number",
        partial(_of_sep, "cls_then_sep", "sep_minus_cls_by_layer"),
    ),
    Claim(
        "sep_gradient_drops",
        "3.2",
        "Where attention to [SEP] rises, the gradient of it drops",
        "norms/claims: rank correlation over layers of attention to [SEP] with its gradient ÷ that of other tokens",
        "below 0",
        "from layer 5 on, very small",
        "number",
        partial(_of_sep, "sep_is_no_op", "gradient_by_attention"),
    ),
    Claim(
        "sep_is_no_op",
        "3.2",
        "Attention to [SEP] is a no-op (asked there; answered so by Kobayashi et al. 2020)",
        "norms/claims: share of the tests of norms and gradients of [SEP] that support it; interval: the undecided "
        "ones counted against it and for it",
        "above 0.5",
        "–",
        "share",
        _no_op,
    ),
    Claim(
        "layer_alike",
        "6",
        "Heads of one layer are more alike than heads of different layers",
        "p-value of the permutation test over layers, one-sided",
        "below 0.05",
        "figure 6",
        "p",
        _layer_test,
    ),
)
