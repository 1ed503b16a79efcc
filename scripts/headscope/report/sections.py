"""The report section by section: what each analysis shows of a run, in which order, with the paper's claims beside."""

from collections.abc import Callable
from typing import NamedTuple

import polars as pl

from headscope.comparison.accuracy_claims import COREFERENCE, PROBES, SYNTAX
from headscope.comparison.claims_page import answer
from headscope.comparison.structure_claims import CLAIMS as STRUCTURE
from headscope.comparison.surface_claims import CLAIMS as SURFACE
from headscope.coreference.table2 import table2_parts
from headscope.norms.claims_page import claims_parts
from headscope.pages import Column, Part
from headscope.probes.table3 import table3_part
from headscope.report.analyses import (
    find_clusters,
    find_coreference,
    find_norms,
    find_probes,
    find_surface,
    find_syntax,
    nothing,
    say_clusters,
    say_coreference,
    say_gradients,
    say_norms,
    say_probes,
    say_surface,
    say_syntax,
)
from headscope.report.results import Shown
from headscope.syntax.table1 import table1_parts


class Analysis(NamedTuple):
    """
    An analysis as the report shows it.

    `needs`: the table without which there is nothing to show; `figures`, `tables`: in their order; `claims`: the names
    of the paper's; `say`, `find`, `parts`: from a run to its sentences, to those among the findings at the top, and to
    the tables that are printed whole.
    """

    name: str
    title: str
    needs: str
    figures: tuple[str, ...]
    tables: tuple[str, ...]
    claims: tuple[str, ...]
    say: Callable[[Shown], list[str]]
    find: Callable[[Shown], list[str]]
    parts: Callable[[Shown], list[Part]] = lambda run: []


def _norms_parts(run: Shown) -> list[Part]:
    claims = run.table("norms/claims")
    return [] if claims is None else claims_parts(claims, run.described)


def _syntax_parts(run: Shown) -> list[Part]:
    return table1_parts(run.table("syntax/table1"), run.described.source, run.rare, run.described.causal)


def _coreference_parts(run: Shown) -> list[Part]:
    return table2_parts(run.table("coreference/table2"), run.described.source)


def _probe_parts(run: Shown) -> list[Part]:
    return [table3_part(run.table("probes/table3"))]


def _names(claims) -> tuple[str, ...]:
    return tuple(claim.name for claim in claims)


def _structure(*names: str) -> tuple[str, ...]:
    return tuple(claim.name for claim in STRUCTURE if claim.name in names)


ANALYSES = (
    Analysis(
        "surface",
        "What heads look at",
        "surface/heads",
        ("figure_2", "figure_4", "figure_1"),
        ("surface/heads", "surface/uniform", "surface/maps"),
        _names(SURFACE),
        say_surface,
        find_surface,
    ),
    Analysis(
        "gradients",
        "What the loss hangs on",
        "gradients/loss",
        ("figure_3",),
        ("gradients/layers", "gradients/heads", "gradients/loss"),
        _structure("sep_gradient_drops"),
        say_gradients,
        nothing,
    ),
    Analysis(
        "norms",
        "What attention to special tokens does",
        "",
        ("figure_sep",),
        ("norms/layers", "norms/heads", "norms/shares", "norms/claims"),
        _structure("sep_grows_with_layer", "sep_is_no_op"),
        say_norms,
        find_norms,
        _norms_parts,
    ),
    Analysis(
        "clusters",
        "Which heads are alike",
        "clusters/tests",
        ("figure_6", "divergence"),
        ("clusters/map", "clusters/tests", "clusters/divergence"),
        _structure("layer_alike"),
        say_clusters,
        find_clusters,
    ),
    Analysis(
        "syntax",
        "Heads that follow syntax",
        "syntax/table1",
        ("figure_5", "syntax_heads", "syntax_baseline"),
        ("syntax/table1", "syntax/heads", "syntax/examples"),
        _names(SYNTAX),
        say_syntax,
        find_syntax,
        _syntax_parts,
    ),
    Analysis(
        "coreference",
        "Heads that follow coreference",
        "coreference/table2",
        ("figure_5_coreference", "coreference_heads", "coreference_distances"),
        tuple(f"coreference/{name}" for name in ("table2", "heads", "distances", "mentions", "links", "passage")),
        _names(COREFERENCE),
        say_coreference,
        find_coreference,
        _coreference_parts,
    ),
    Analysis(
        "probes",
        "What all heads know together",
        "probes/table3",
        ("probe_weights", "probe_curve"),
        ("probes/table3", "probes/curve", "probes/weights", "probes/coverage"),
        _names(PROBES),
        say_probes,
        find_probes,
        _probe_parts,
    ),
)
OF_KIND = {
    "text": ("surface", "gradients", "norms", "clusters"),
    "treebank": ("syntax", "probes"),
    "coreference": ("coreference",),
}


def analyses_of(run: Shown) -> list[Analysis]:
    """Return the analyses of this kind of corpus that this run has anything of."""
    return [
        analysis
        for analysis in ANALYSES
        if analysis.name in OF_KIND[run.kind] and (not analysis.needs or run.table(analysis.needs) is not None)
    ]


def claims_part(claims: pl.DataFrame | None, analysis: Analysis, run: Shown) -> Part | None:
    """
    Return what the paper claims of an analysis beside what was found of it; None where nothing was judged.

    Parameters
    ----------
    claims
        The table `compare/claims`, or None.
    """
    if claims is None:
        return None
    rows = claims.filter(
        (pl.col("model") == run.described.name)
        & (pl.col("corpus") == run.corpus)
        & pl.col("claim").is_in(list(analysis.claims))
    ).to_dicts()
    if not rows:
        return None
    columns = (
        Column("The paper says", is_text=True),
        Column("Its number", is_text=True, is_paper=True),
        Column("Here", is_text=True),
    )
    cells = [[f"{row['statement']} (§ {row['section']})", row["paper"], answer(row)] for row in rows]
    return Part("Beside the paper", columns, cells, [])
