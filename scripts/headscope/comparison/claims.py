"""What a claim of the paper is to us: words, a definition to compute from result tables, and a verdict on each run."""

from collections.abc import Callable
from typing import NamedTuple

import polars as pl

from headscope.description import Description
from headscope.verdicts import verdict

COLUMNS = pl.Schema(
    {
        "claim": pl.String,
        "value": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "expected": pl.String,
        "verdict": pl.String,
        "detail": pl.String,
    }
)
VERDICTS = {"yes": "holds", "no": "does not hold", "undecided": "undecided"}
NOT_APPLICABLE = "not applicable"
MISSING_TABLES = {
    "surface": "the surface patterns were not computed",
    "uniform": "the surface patterns were not computed",
    "sep": "the norms were not computed",
    "clusters": "the divergence of heads was not computed",
    "table1": "syntax was not scored",
    "table3": "no probes over this model",
    "table2": "coreference was not scored",
}


class NotApplicable(Exception):
    """A claim says nothing of this model on this corpus; the message is the reason."""


class Run(NamedTuple):
    """
    One model on one corpus: its description and result tables.

    `tables`: by the keys of `MISSING_TABLES`; what was not computed is not there.
    `rare`: a relation of fewer dependents is not judged.
    """

    described: Description
    tables: dict[str, pl.DataFrame]
    rare: int

    def table(self, name: str) -> pl.DataFrame:
        """Return a result table; raise NotApplicable where it was not computed."""
        if name not in self.tables:
            raise NotApplicable(MISSING_TABLES[name])
        return self.tables[name]

    @property
    def is_causal(self) -> bool:
        """Whether no layer sees a later token."""
        return all(view.causal for view in self.described.views)


class Outcome(NamedTuple):
    """A value, its 95 % interval where the source has one, and what else a reader wants to see beside it."""

    value: float
    low: float | None = None
    high: float | None = None
    detail: str = ""


class Claim(NamedTuple):
    """
    One claim.

    `statement`: what the paper says; `definition`: what the value is; `expected`: which values support the claim, as
    `headscope.verdicts.verdict` reads it; `paper`: the paper's own number; `unit`: share, points (a difference
    of shares), nats, number, count or p (a p-value). `test` may raise NotApplicable.
    """

    name: str
    section: str
    statement: str
    definition: str
    expected: str
    paper: str
    unit: str
    test: Callable[[Run], Outcome]


def judge_claims(run: Run, claims: tuple[Claim, ...]) -> pl.DataFrame:
    """
    Judge claims on one run.

    Returns
    -------
    One row a claim: claim, value, ci_low, ci_high (95 %; null where the source has none), expected, verdict, detail.
    With an interval a claim `holds` where all of it is as expected, `does not hold` where none of it is, and is
    `undecided` else; without one, or with one of no width, the value alone says. `not applicable`: no value, and
    `detail` is the reason.
    """
    return pl.DataFrame([_row(run, claim) for claim in claims], COLUMNS, orient="row")


def _row(run: Run, claim: Claim) -> tuple:
    try:
        outcome = claim.test(run)
    except NotApplicable as reason:
        return claim.name, None, None, None, claim.expected, NOT_APPLICABLE, str(reason)
    value, low, high, detail = outcome
    return claim.name, value, low, high, claim.expected, _verdict(outcome, claim), detail


def _verdict(outcome: Outcome, claim: Claim) -> str:
    if outcome.low is None or outcome.low == outcome.high:
        surely = verdict(outcome.value, outcome.value, claim.expected)
        return VERDICTS["yes" if surely == "yes" else "no"]
    return VERDICTS[verdict(outcome.low, outcome.high, claim.expected)]


def difference(first: Outcome, second: Outcome, detail: str = "") -> Outcome:
    """
    Return the first minus the second.

    Its interval reaches from the ends of both, so it holds at least 95 %, however they hang together; a value without
    an interval of its own is taken as it is.
    """
    ends = [
        (outcome.value, outcome.value) if outcome.low is None else (outcome.low, outcome.high)
        for outcome in (first, second)
    ]
    value = first.value - second.value
    if first.low is None and second.low is None:
        return Outcome(value, detail=detail)
    return Outcome(value, ends[0][0] - ends[1][1], ends[0][1] - ends[1][0], detail)
