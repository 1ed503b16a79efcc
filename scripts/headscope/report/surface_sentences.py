"""What the tables of surface patterns, gradients, norms and clusters say, as sentences: a table in, sentences out."""

import polars as pl

from headscope.description import Description
from headscope.norms.architectures import why_not
from headscope.report.words import capitalised, count, head, listed, percent, that

HALF = 0.5
SURE = 0.05  # a p-value below it tells a difference
TARGETS = {
    "to_previous": "the previous token",
    "to_next": "the next token",
    "to_cls": "{cls}",
    "to_sep": "{sep}",
    "to_punctuation": "full stops and commas",
    "to_self": "the token itself",
}
NAMES = {measure: name.format(cls="[CLS]", sep="[SEP]") for measure, name in TARGETS.items()}
"""Of several models, which may call them otherwise."""


def surface_sentences(heads: pl.DataFrame, uniform: pl.DataFrame, described: Description) -> list[str]:
    """
    Say what the heads look at.

    Parameters
    ----------
    heads, uniform
        The tables `surface/heads` and `surface/uniform`.
    """
    names = {measure: _named(name, described) for measure, name in TARGETS.items()}
    known = {measure: name for measure, name in names.items() if heads[measure].count()}
    return [*_attention(heads, known), *_breadth(heads, uniform), *_absent(heads, names, described)]


def _attention(heads: pl.DataFrame, known: dict[str, str]) -> list[str]:
    sentences = []
    for measure, name in known.items():
        ranked = heads.drop_nulls(measure).sort(measure, "layer", "head", descending=[True, False, False])
        best = ranked.row(0, named=True)
        above = ranked.filter(pl.col(measure) > HALF)
        if above.is_empty():
            most = f"no head gives {name} more than half of its attention; head {head(best)} gives most"
            sentences.append(f"{capitalised(most)}, {percent(best[measure], 1)} on average.")
            continue
        heads_above = listed(map(head, above.to_dicts()))
        verb = "gives" if above.height == 1 else "give"
        most = f"{count(above.height, 'head')} of {heads.height} {verb} {name} more than half of their attention"
        if above.height == 1:
            most = most.replace("their attention", "its attention")
        sentences.append(
            f"{capitalised(most)} on average ({heads_above}); head {head(best)} gives {percent(best[measure], 1)}."
        )
    return sentences


def _breadth(heads: pl.DataFrame, uniform: pl.DataFrame) -> list[str]:
    ranked = heads.drop_nulls("entropy").sort("entropy", "layer", "head", descending=[True, False, False]).to_dicts()
    if not ranked:
        return []
    broadest, narrowest = ranked[0], ranked[-1]
    even = uniform.filter(layer=broadest["layer"])["entropy"].item()
    said = f"Head {head(broadest)} attends most broadly, with an entropy of {broadest['entropy']:.2f} nats"
    said += f" (spread evenly it would be {even:.2f})"
    if len(ranked) == 1:
        return [f"{said}."]
    return [f"{said}; head {head(narrowest)} most narrowly, with {narrowest['entropy']:.2f} nats."]


def strongest_sentences(heads: pl.DataFrame, described: Description) -> list[str]:
    """Say which head gives one thing most of its attention, the token itself left out; the table `surface/heads`."""
    others = [measure for measure in TARGETS if measure != "to_self"]
    every = heads.unpivot(others, index=["layer", "head"], variable_name="measure", value_name="share")
    ranked = every.drop_nulls("share").sort(
        "share", "layer", "head", descending=[True, False, False], maintain_order=True
    )
    return [
        f"Head {head(row)} gives {_named(TARGETS[row['measure']], described)} {percent(row['share'], 1)} of its "
        "attention, the most that any head gives one thing."
        for row in ranked.head(1).to_dicts()
    ]


def maps_sentences(maps: pl.DataFrame) -> list[str]:
    """Say which heads figure 1 shows, and as what; the table `surface/maps`."""
    if maps.is_empty():
        return []
    panels = maps["panel"].unique(maintain_order=True).str.replace(r"(\d)%", "$1 %").to_list()
    see = f"{count(len(panels), 'head')} {'sees' if len(panels) == 1 else 'see'}"
    return [f"Figure 1 shows example {maps['example'][0]} as {see} it: {'; '.join(panels)}."]


def _absent(heads: pl.DataFrame, names: dict[str, str], described: Description) -> list[str]:
    absent = [name for measure, name in names.items() if not heads[measure].count()]
    if not absent:
        return []
    causal = " (it is causal)" if described.causal and not heads["to_next"].count() else ""
    return [f"Nothing is said of attention to {listed(absent, len(absent))}: this model sees none{causal}."]


def gradient_sentences(loss: pl.DataFrame, layers: pl.DataFrame | None, described: Description) -> list[str]:
    """Say what the loss hangs on; the tables `gradients/loss` and `gradients/layers`."""
    row = loss.row(0, named=True)
    if row["refused"] is not None:
        return [f"There are no gradients: {row['refused']}."]
    sentences = [
        f"The loss of {count(row['masked'], 'masked token')} in {count(row['examples'], 'example')} is "
        f"{row['loss']:.2f} nats{_error(row['loss_se'])}."
    ]
    means = {} if layers is None else dict(layers.group_by("key").agg(pl.mean("magnitude")).drop_nulls().iter_rows())
    if means.get("other"):
        shares = [
            f"{means[key] / means['other']:.2g} times as much with a weight on {described.token(key)}"
            for key in ("sep", "cls")
            if key in means
        ]
        if shares:
            sentences.append(
                f"It changes {' and '.join(shares)} as with one on an ordinary token, on average over layers."
            )
    return sentences


def norm_sentences(layers: pl.DataFrame | None, claims: pl.DataFrame | None, described: Description) -> list[str]:
    """Say what attention to special tokens adds to the output; the tables `norms/layers` and `norms/claims`."""
    if layers is None:
        return [f"There are no norms: {why_not(described.architecture) or 'nothing was counted'}."]
    sentences = []
    for key in ("sep", "cls"):
        rows = layers.filter(key=key).drop_nulls(["weight_share", "norm_share"])
        if not rows.is_empty() and rows["weight_share"].mean():
            sentences.append(
                f"{described.token(key)} gets {percent(rows['weight_share'].mean(), 1)} of the attention and "
                f"{percent(rows['norm_share'].mean(), 1)} of what is added to the output, on average over layers."
            )
    for claim, name in (("sep_is_no_op", "sep"), ("cls_is_no_op", "cls")):
        tested = [] if claims is None else claims.filter(claim=claim)["supported"].drop_nulls().to_list()
        if tested:
            sentences.append(
                f"That attention to {described.token(name)} does little is supported by {tested.count('yes')} of "
                f"{count(len(tested), 'test')}; {that(tested.count('no'), 'speaks', 'speak')} against it."
            )
    return sentences


def cluster_sentences(tests: pl.DataFrame, mapped: pl.DataFrame | None) -> list[str]:
    """Say whether heads of a layer are alike; the tables `clusters/tests` and `clusters/map`."""
    row = tests.row(0, named=True)
    sentences = []
    if row["p_value"] is not None:
        if row["p_value"] < SURE:
            said = "Two heads of one layer are more alike than heads of different layers"
        else:
            said = "No difference can be told between two heads of one layer and heads of different layers"
        sentences.append(
            f"{said}: {row['within']:.3f} nats of divergence against {row['between']:.3f} (permutation test, "
            f"one-sided, p = {row['p_value']:.2g})."
        )
    else:
        sentences.append("There are too few heads to ask whether those of one layer are alike.")
    if mapped is not None:
        kinds = mapped.filter(pl.col("behaviour") != "other")
        sentences.append(
            f"{capitalised(count(kinds.height, 'head'))} of {mapped.height} "
            f"{'does' if kinds.height == 1 else 'do'} one of the things that the map is coloured by."
        )
    return sentences


def divergence_sentences(divergence: pl.DataFrame) -> list[str]:
    """Name the two heads that are most alike and the two that are least; the table `clusters/divergence`."""
    first = (pl.col("layer") < pl.col("other_layer")) | (
        (pl.col("layer") == pl.col("other_layer")) & (pl.col("head") < pl.col("other_head"))
    )
    pairs = divergence.filter(first).drop_nulls("divergence").drop_nans("divergence")
    ranked = pairs.sort("divergence", "layer", "head", "other_layer", "other_head").to_dicts()
    if not ranked:
        return []
    closest, farthest = ranked[0], next(row for row in ranked if row["divergence"] == ranked[-1]["divergence"])
    if closest == farthest:
        return [f"{_pair(closest).capitalize()} diverge by {closest['divergence']:.3f} nats; there is no other pair."]
    return [
        f"Of all pairs, {_pair(closest)} are most alike ({closest['divergence']:.3f} nats), {_pair(farthest)} least "
        f"({farthest['divergence']:.3f})."
    ]


def _pair(row: dict) -> str:
    return f"heads {head(row)} and {row['other_layer']}-{row['other_head']}"


def skipped_sentence(skipped: pl.DataFrame | None) -> str:
    """Say what was passed over, and why; the table `skipped`, None where it has no rows."""
    if skipped is None:
        return "Nothing was passed over."
    reasons = skipped["reason"].str.replace_all(r"\d+", "…").value_counts(sort=True).rows()
    ordered = sorted(reasons, key=lambda row: (-row[1], row[0]))
    return f"{skipped.height:,}: " + "; ".join(f"{number:,} × {reason}" for reason, number in ordered)


def _named(name: str, described: Description) -> str:
    return name.format(cls=described.token("cls"), sep=described.token("sep"))


def _error(error: float | None) -> str:
    return "" if error is None else f" ± {error:.2f}"
