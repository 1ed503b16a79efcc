"""The paper's claims about syntax (section 4.2), coreference (4.3) and probes (5), tested on Tables 1, 2 and 3."""

from functools import partial

import polars as pl

from headscope.comparison.claims import Claim, NotApplicable, Outcome, Run, difference
from headscope.coreference.names import ALL as ALL_TYPES
from headscope.coreference.names import TYPES
from headscope.coreference.table2 import PAPER as TABLE2
from headscope.pages import percent
from headscope.probes.names import (
    ATTENTION,
    ATTENTION_WORDS,
    DISTANCES_WORDS,
    PAPER_UAS,
    PAPER_UUAS,
    PRINTED,
    RANDOM,
    RIGHT_BRANCHING,
    STRUCTURAL,
)
from headscope.syntax.names import ALL
from headscope.syntax.table1 import PAPER as TABLE1
from headscope.syntax.table1 import PAPER_SCHEME

FAMOUS = ("dobj", "det", "pobj", "poss")  # of the paper's introduction: more than 75 %
FROM_HEAD = "pobj"  # the one relation that the paper finds in the other direction


def _relation(run: Run, relation: str) -> dict:
    rows = run.table("table1").filter(scheme=PAPER_SCHEME, relation=relation).to_dicts()
    if not rows:
        raise NotApplicable("no such relation in these trees")
    if rows[0]["total"] < run.rare and relation != ALL:
        raise NotApplicable(f"{rows[0]['total']} dependents, fewer than {run.rare}")
    return rows[0]


def _accuracy(row: dict) -> Outcome:
    return Outcome(row["accuracy"], row["ci_low"], row["ci_high"], _beside(row))


def _beside(row: dict) -> str:
    parts = {
        f"{row['layer']}-{row['head']}": "accuracy",
        "held out": "held_out_accuracy",
        "offset": "baseline_accuracy",
    }
    return ", ".join(f"{name} {percent(row[column])} %" for name, column in parts.items())


def _accuracy_of(relation: str, run: Run) -> Outcome:
    return _accuracy(_relation(run, relation))


def _gain_of(relation: str, run: Run) -> Outcome:
    row = _relation(run, relation)
    return difference(_accuracy(row), Outcome(row["baseline_accuracy"]), _beside(row))


def _from_dependent(run: Run) -> Outcome:
    if run.is_causal:
        raise NotApplicable("causal: who can look at whom follows from the order of words")
    scored = run.table("table1").filter(
        (pl.col("scheme") == PAPER_SCHEME)
        & (pl.col("total") >= run.rare)
        & pl.col("relation").is_in([name for name in TABLE1 if name not in (ALL, FROM_HEAD)])
    )
    if scored.is_empty():
        raise NotApplicable("none of the paper's relations is frequent enough")
    other = scored.filter(pl.col("direction") != "dependent_to_head")["relation"].to_list()
    return Outcome(len(other), detail=f"of {len(scored)}" + (f": {', '.join(other)}" if other else ""))


def _mentions(run: Run, predictor: str, kind: str = ALL_TYPES) -> Outcome:
    rows = run.table("table2").filter(candidates="mentions", predictor=predictor).to_dicts()
    if not rows or rows[0][f"{kind}_accuracy"] is None:
        raise NotApplicable("no such mention")
    return Outcome(*(rows[0][f"{kind}_{column}"] for column in ("accuracy", "ci_low", "ci_high")))


def _against(rival: str, run: Run) -> Outcome:
    head, other = _mentions(run, "head"), _mentions(run, rival)
    return difference(head, other, f"{percent(head.value)} % against {percent(other.value)} %")


def _nominal(run: Run) -> Outcome:
    gaps = [_mentions(run, "head", kind).value - _mentions(run, "rules", kind).value for kind in ("nominal", ALL_TYPES)]
    return Outcome(gaps[0] - gaps[1])


def _probe(run: Run, probe: str, score: str) -> Outcome:
    rows = run.table("table3").filter(probe=probe).to_dicts()
    if not rows or rows[0][score] is None:
        raise NotApplicable(f"no such probe: {PRINTED[probe].lower()}")
    return Outcome(*(rows[0][name] for name in (score, f"{score}_low", f"{score}_high")))


def _probe_against(probe: str, rival: str, score: str, run: Run) -> Outcome:
    first, second = _probe(run, probe, score), _probe(run, rival, score)
    return difference(first, second, f"{percent(first.value)} % against {percent(second.value)} %")


def _points(difference: float) -> str:
    return f"{difference:+.1f} points".replace("-", "−").replace(".0 ", " ")


def _paper_gap(first: str, second: str, kind: str = ALL_TYPES) -> float:
    place = TYPES.index(kind)
    return TABLE2[first][place] - TABLE2[second][place]


SYNTAX = (
    Claim(
        "no_head_for_all",
        "4.2",
        "No single head does well on all relations",
        "accuracy of the best head on all dependents (that half is “well” is our bound)",
        "below 0.5",
        "34.5 %, offset 26.3 %",
        "share",
        partial(_accuracy_of, ALL),
    ),
    *(
        Claim(
            f"high_{relation}",
            "4.2",
            f"A head finds {relation} in more than 75 %",
            "accuracy of the best head",
            "above 0.75",
            f"{TABLE1[relation][1]} %",
            "share",
            partial(_accuracy_of, relation),
        )
        for relation in FAMOUS
    ),
    *(
        Claim(
            f"gain_{relation}",
            "4.2",
            f"A head beats the best fixed offset on {relation}",
            "accuracy of the best head − that of the best fixed offset",
            "above 0",
            _points(accuracy - baseline),
            "points",
            partial(_gain_of, relation),
        )
        for relation, (_, accuracy, baseline, _) in TABLE1.items()
        if relation != ALL
    ),
    Claim(
        "from_dependent",
        "4.2",
        f"In every relation but {FROM_HEAD}, it is the dependent that attends to its head",
        f"number of the paper's relations but {FROM_HEAD} whose best head looks from head to dependent",
        "below 1",
        "0",
        "count",
        _from_dependent,
    ),
)
COREFERENCE = (
    Claim(
        "coreference_nearest",
        "4.3",
        "A head finds antecedents better than the nearest mention does",
        "accuracy of the best head − that of the nearest mention, of earlier mentions",
        "above 0",
        _points(_paper_gap("head", "nearest")),
        "points",
        partial(_against, "nearest"),
    ),
    Claim(
        "coreference_string",
        "4.3",
        "It beats the matching of head words by over 10 points",
        "accuracy of the best head − that of the nearest mention with the same head word",
        "above 0.1",
        _points(_paper_gap("head", "head_match")),
        "points",
        partial(_against, "head_match"),
    ),
    Claim(
        "coreference_rules",
        "4.3",
        "It comes close to the rule-based system",
        "accuracy of the best head − that of the four-sieve rules (that 5 points are close is our bound)",
        "above -0.05",
        _points(_paper_gap("head", "rules")),
        "points",
        partial(_against, "rules"),
    ),
    Claim(
        "coreference_nominal",
        "4.3",
        "It is particularly good with nominal mentions",
        "accuracy − that of the rules, on nominal mentions, less the same on all mentions",
        "above 0",
        _points(_paper_gap("head", "rules", "nominal") - _paper_gap("head", "rules")),
        "points",
        _nominal,
    ),
)


def _probe_claim(name: str, statement: str, probe: str, rival: str, expected: str = "above 0", note: str = "") -> Claim:
    score = "uuas" if rival == STRUCTURAL else "uas"
    return Claim(
        name,
        "5",
        statement,
        f"{score.upper()} of “{PRINTED[probe]}” − that of “{PRINTED[rival]}”{note}",
        expected,
        _points(PAPER_UAS[probe] - (PAPER_UAS | PAPER_UUAS)[rival]) + (" (UAS and UUAS)" if score == "uuas" else ""),
        "points",
        partial(_probe_against, probe, rival, score),
    )


PROBES = (
    _probe_claim(
        "probe_attention", "All heads together know more of trees than right-branching", ATTENTION, RIGHT_BRANCHING
    ),
    _probe_claim(
        "probe_words", "Attention adds much to what words and distances tell", ATTENTION_WORDS, DISTANCES_WORDS
    ),
    _probe_claim(
        "probe_random",
        "What the probe finds was learned by the model",
        ATTENTION_WORDS,
        ATTENTION_WORDS + RANDOM,
    ),
    _probe_claim(
        "probe_structural",
        "Attention holds about as much of trees as the vectors do",
        ATTENTION_WORDS,
        STRUCTURAL,
        "above -0.05",
        " (that 5 points are about as much is our bound)",
    ),
)
