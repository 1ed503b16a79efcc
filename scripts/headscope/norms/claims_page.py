"""The claims about [SEP] for readers: as Markdown and as a page that needs nothing else."""

import polars as pl

from headscope.description import Description
from headscope.norms.architectures import why_not
from headscope.norms.names import CLAIM_NAMES, MEASURE_NAMES
from headscope.pages import MISSING, Column, Part, as_markdown, as_page, is_missing, plain

TITLE = "What is attention to the separator for?"
COLUMNS = (
    Column("Measure", is_text=True),
    Column("Layer"),
    Column("Value [95 % interval]"),
    Column("Supports the claim if", is_text=True),
    Column("Supported", is_text=True),
)
NOTES = (
    "Attention share: of a query's attention, the part that goes to tokens of this kind, averaged over queries, heads "
    "and examples. Norm share: the same part of the sum over all keys of α‖f(x)‖, the norm of what a key adds to the "
    "head's output (Kobayashi et al. 2020). Value norm: ‖f(x)‖ alone.",
    "Intervals by bootstrap over examples. Supported: the whole interval is as expected; undecided: part of it is.",
    "Much attention: more than the token's share of all tokens, which it would get if all got alike. Nothing is said "
    "of norm share and gradient in other layers, nor of the difference in the middle one of an odd number of layers.",
    "Others: tokens that are not {cls}, {sep}, full stop or comma.",
)
GRADIENT_NOTE = (
    "Gradient: mean magnitude of ∂L/∂α over the weights of a kind of key, intervals from its standard errors."
)
NO_GRADIENTS = (
    "There are no rows of gradients: they were not computed for this model, which may have no language-model head."
)
NO_SPECIAL = "The examples of this model have no {sep} or no {cls}, so there is nothing to test."


def render_claims(claims: pl.DataFrame, described: Description, corpus: str, as_html: bool) -> str:
    """
    Return the table `norms/claims`, one table a claim.

    Parameters
    ----------
    as_html
        A whole page instead of Markdown.
    """
    tokens = {role: described.token(role) for role in ("cls", "sep")}
    parts = claims_parts(claims, described)
    if parts:
        has_gradients = "gradient_to_other" in claims["measure"]
        notes = [*NOTES, GRADIENT_NOTE if has_gradients else NO_GRADIENTS]
    else:
        notes = [why_not(described.architecture) or NO_SPECIAL]
    run = f"{described.title} on {corpus}"
    if as_html:
        return as_page(TITLE, run, parts, "claim", tuple(note.format(**tokens) for note in notes))
    plain_tokens = {role: plain(token) for role, token in tokens.items()}
    return as_markdown(TITLE, run, parts, tuple(note.format(**plain_tokens) for note in notes))


def claims_parts(claims: pl.DataFrame, described: Description) -> list[Part]:
    """Return the tables that `render_claims` prints; none where there is nothing to test."""
    tokens = {role: described.token(role) for role in ("cls", "sep")}
    return [
        Part(name.format(**tokens), COLUMNS, [_cells(row, tokens) for row in claims.filter(claim=claim).to_dicts()], [])
        for claim, name in CLAIM_NAMES.items()
        if claim in claims["claim"]
    ]


def _cells(row: dict, tokens: dict[str, str]) -> list[str]:
    value = _number(row["value"])
    if not is_missing(row["ci_low"]):
        value += f" [{_number(row['ci_low'])}, {_number(row['ci_high'])}]"
    return [
        MEASURE_NAMES[row["measure"]].format(**tokens),
        "all" if row["layer"] is None else str(row["layer"]),
        value,
        row["expected"] or MISSING,
        row["supported"] or MISSING,
    ]


def _number(value: float | None) -> str:
    return MISSING if is_missing(value) else f"{value:.3f}".replace("-", "−")
