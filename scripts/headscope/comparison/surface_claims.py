"""The paper's claims about what heads look at and how broadly (sections 3.1 to 3.3), tested on the table of heads."""

import math
from functools import partial

import polars as pl

from headscope.comparison.claims import Claim, NotApplicable, Outcome, Run

BROAD, LITTLE, MOST_NAMED = 0.78, 0.1, 8
NORMAL = 1.96  # standard errors on either side of a mean: 95 %
NO_TOKEN = {
    "to_cls": "no [CLS]",
    "entropy_from_cls": "no [CLS]",
    "to_sep": "no separator",
    "sep_to_sep": "no separator",
    "other_to_sep": "no separator",
}


def _heads(run: Run, measure: str) -> pl.DataFrame:
    """Return layer, name, mean, se of each head; raise NotApplicable where the model has no such token."""
    table = run.table("surface")
    if measure == "to_next" and run.is_causal:
        raise NotApplicable("causal: no token sees the next one")
    if table[measure].null_count():
        raise NotApplicable(NO_TOKEN.get(measure, "no such token"))
    name = pl.format("{}-{}", "layer", "head").alias("name")
    return table.select("layer", name, mean=measure, se=f"{measure}_se")


def _layers(run: Run, measure: str) -> pl.DataFrame:
    """Return layer, mean over its heads, in order."""
    return _heads(run, measure).group_by("layer").agg(pl.mean("mean")).sort("layer")


def _broadness(run: Run) -> pl.DataFrame:
    """Return the heads with their entropy as a share of that of uniform attention in their layer."""
    uniform = run.table("uniform").select("layer", of_uniform="entropy")
    heads = _heads(run, "entropy").join(uniform, on="layer", maintain_order="left")
    return heads.with_columns(pl.col("mean", "se") / pl.col("of_uniform"))


def _highest(heads: pl.DataFrame, bound: float) -> Outcome:
    """Return the highest head, with an interval from its standard error, and name the heads above the bound."""
    best = heads.sort("mean", descending=True, maintain_order=True).row(0, named=True)
    above = heads.filter(pl.col("mean") > bound)["name"].to_list()
    named = ", ".join(above[:MOST_NAMED]) + (", …" if len(above) > MOST_NAMED else "")
    detail = f"{len(above)} {'head' if len(above) == 1 else 'heads'}: {named}" if above else f"highest: {best['name']}"
    if best["se"] is None:
        return Outcome(best["mean"], detail=detail)
    return Outcome(best["mean"], best["mean"] - NORMAL * best["se"], best["mean"] + NORMAL * best["se"], detail)


def _highest_of(measure: str, run: Run) -> Outcome:
    return _highest(_heads(run, measure), 0.5)


def _broadest(run: Run) -> Outcome:
    return _highest(_broadness(run), BROAD)


def _little_to_self(run: Run) -> Outcome:
    heads = _heads(run, "to_self")
    little = int((heads["mean"] < LITTLE).sum())
    return Outcome(little / len(heads), detail=f"{little} of {len(heads)} heads")


def _neighbour_depth(run: Run) -> Outcome:
    measures = ["to_previous"] if run.is_causal else ["to_previous", "to_next"]
    depths = [
        layer / run.described.layers
        for measure in measures
        for layer in _heads(run, measure).filter(pl.col("mean") > 0.5)["layer"]
    ]
    if not depths:
        raise NotApplicable("no head gives a neighbour more than half")
    if run.described.layers == 1:
        raise NotApplicable("one layer only")
    of_all = (run.described.layers + 1) / (2 * run.described.layers)
    return Outcome(sum(depths) / len(depths) - of_all, detail=f"{len(depths)} heads")


def _in_the_middle(measure: str, run: Run) -> Outcome:
    """Layers 6 to 10 of 12, by relative depth, both ends included."""
    layers, of_all = _layers(run, measure), run.described.layers
    twelfths = 12 * pl.col("layer").cast(pl.Int64)
    middle = layers.filter((twelfths >= 6 * of_all) & (twelfths <= 10 * of_all))
    if middle.is_empty():
        raise NotApplicable("no layer between relative depth 0.5 and 0.83")
    first, last = middle["layer"].min(), middle["layer"].max()
    return Outcome(middle["mean"].mean(), detail=f"layer {first}" if first == last else f"layers {first} to {last}")


def _centre(run: Run, measure: str) -> float:
    """Return the mean relative depth of layers, each weighted by its attention."""
    layers = _layers(run, measure)
    if not layers["mean"].sum():
        raise NotApplicable("no attention to full stop or comma" if measure == "to_punctuation" else "no attention")
    return float((layers["layer"] * layers["mean"]).sum() / layers["mean"].sum() / run.described.layers)


def _later(first: str, second: str, run: Run) -> Outcome:
    before, after = _centre(run, first), _centre(run, second)
    if run.described.layers == 1:
        raise NotApplicable("one layer only")
    return Outcome(after - before, detail=f"{before:.2f} and {after:.2f}")


def _broad_below(run: Run) -> Outcome:
    heads, layers = _broadness(run), run.described.layers
    if layers == 1:
        raise NotApplicable("one layer only")
    lowest = pl.col("layer") <= max(1, math.floor(layers / 3))
    below, others = heads.filter(lowest)["mean"].mean(), heads.filter(~lowest)["mean"].mean()
    return Outcome(below - others, detail=f"{below:.2f} and {others:.2f} of uniform")


def _broad_from_cls(run: Run) -> Outcome:
    means = _layers(run, "entropy_from_cls")["mean"]
    if len(means) == 1:
        raise NotApplicable("one layer only")
    return Outcome(means[-1] - means[:-1].mean(), detail=f"{means[-1]:.2f} nats in the last layer")


CLAIMS = (
    Claim(
        "little_to_self",
        "3.1",
        "Most heads put little attention on the current token",
        "share of heads that give a token itself less than 10 % of its attention, on average (the bound is ours)",
        "above 0.5",
        "most heads",
        "share",
        _little_to_self,
    ),
    Claim(
        "previous_token",
        "3.1",
        "Some heads give the previous token more than half of their attention",
        "mean attention to the previous token, of the head where it is highest",
        "above 0.5",
        "4 heads, in layers 2, 4, 7, 8",
        "share",
        partial(_highest_of, "to_previous"),
    ),
    Claim(
        "next_token",
        "3.1",
        "Some heads give the next token more than half of their attention",
        "mean attention to the next token, of the head where it is highest",
        "above 0.5",
        "5 heads, in layers 1, 2, 2, 3, 6",
        "share",
        partial(_highest_of, "to_next"),
    ),
    Claim(
        "neighbours_early",
        "3.1",
        "Heads that attend to a neighbour stand in earlier layers",
        "mean relative depth (layer ÷ layers) of those heads − that of all heads",
        "below -0.05",
        "−0.22",
        "number",
        _neighbour_depth,
    ),
    Claim(
        "sep_half",
        "3.2",
        "In layers 6 to 10 of 12, over half of the attention goes to [SEP]",
        "mean attention to the separator over the layers of relative depth 0.5 to 0.83",
        "above 0.5",
        "over half",
        "share",
        partial(_in_the_middle, "to_sep"),
    ),
    Claim(
        "cls_before_sep",
        "3.2",
        "Early heads attend to [CLS], middle ones to [SEP]",
        "mean relative depth of attention to [SEP] − that of attention to [CLS], layers weighted by the attention",
        "above 0.05",
        "figure 2",
        "number",
        partial(_later, "to_cls", "to_sep"),
    ),
    Claim(
        "sep_before_punctuation",
        "3.2",
        "Middle heads attend to [SEP], deep ones to full stops and commas",
        "mean relative depth of attention to full stops and commas − that of attention to [SEP], likewise",
        "above 0.05",
        "figure 2",
        "number",
        partial(_later, "to_sep", "to_punctuation"),
    ),
    Claim(
        "sep_to_sep",
        "3.2",
        "In those layers, [SEP] attends almost only to itself and the other [SEP]",
        "mean attention of separators to separators over the layers of relative depth 0.5 to 0.83",
        "above 0.9",
        "more than 90 %",
        "share",
        partial(_in_the_middle, "sep_to_sep"),
    ),
    Claim(
        "broad_heads",
        "3.3",
        "Some heads attend very broadly",
        "entropy ÷ that of uniform attention, of the broadest head (the bound: the 3.8 of ln 128 nats of figure 6)",
        f"above {BROAD}",
        "figure 4",
        "number",
        _broadest,
    ),
    Claim(
        "broad_in_lowest",
        "3.3",
        "Attention is broad above all in the lowest layers",
        "mean entropy ÷ that of uniform attention, in the lowest third of layers − that in the others",
        "above 0.05",
        "figure 4",
        "number",
        _broad_below,
    ),
    Claim(
        "cls_broad_in_last",
        "3.3",
        "From [CLS], attention is broad in the last layer",
        "mean entropy of attention from [CLS] in the last layer − its mean over the layers before",
        "above 0.5",
        "3.89 nats in the last layer",
        "nats",
        _broad_from_cls,
    ),
)
