"""Several models side by side: tables by model, the paper's claims judged on each, the page and the figures."""

import subprocess
import sys

import polars as pl
import pytest
from checkpoints import REPOSITORY, save_bert
from workflow_runs import copy_workflow, planned, snakemake, tiny_config, write_inputs

from headscope.charts.compare_surface import compare_surface
from headscope.charts.compare_syntax import compare_syntax
from headscope.charts.models import colour_and_shape
from headscope.charts.theme import save
from headscope.comparison.catalogue import CLAIMS, CLAIMS_OF, SECTIONS
from headscope.comparison.claims import NOT_APPLICABLE, Outcome, Run, difference, judge_claims
from headscope.comparison.claims_page import render_paper_claims
from headscope.comparison.tables import by_model, claims_by_model, surface_by_depth
from headscope.description import Description, LayerView
from headscope.norms.claims import COLUMNS as SEP_COLUMNS
from headscope.probes.names import ATTENTION, ATTENTION_WORDS, RIGHT_BRANCHING, STRUCTURAL
from headscope.syntax.accuracy import TABLE1
from headscope.verdicts import verdict

MEASURES = (
    *("to_self", "to_previous", "to_next", "to_cls", "to_sep", "to_punctuation"),
    *("sep_to_sep", "other_to_sep", "entropy", "entropy_from_cls"),
)


def describe(layers, heads=2, causal=False, architecture="BertModel", name="m"):
    return Description(
        *(name, "s", None, None, architecture, layers, heads, 8, 1, None, True),
        *({}, [LayerView(causal, None)] * layers, "w", "t"),
    )


def surface(layers, heads=2, se=0.001, **values):
    """A table of heads: a measure that is not given is 0 everywhere, one that is None is null."""
    rows = [(layer, head) for layer in range(1, layers + 1) for head in range(1, heads + 1)]
    columns = {"layer": [layer for layer, _ in rows], "head": [head for _, head in rows]}
    for measure in MEASURES:
        given = values.get(measure, [0.0] * len(rows))
        columns[measure] = given if given is not None else [None] * len(rows)
        columns[f"{measure}_se"] = [None if value is None else se for value in columns[measure]]
    floats = {name: pl.Float64 for name in columns if name not in ("layer", "head")}
    return pl.DataFrame(columns, schema_overrides=floats | {"layer": pl.UInt16, "head": pl.UInt16})


def uniform(layers, entropy=4.0):
    columns = {"layer": list(range(1, layers + 1)), "entropy": entropy, "entropy_from_cls": entropy}
    return pl.DataFrame(columns, schema_overrides={"layer": pl.UInt16})


def relation(name, accuracy, low, high, baseline, total=50, direction="dependent_to_head"):
    row = ("stanford", name, total, 3, 1, direction, accuracy, low, high, accuracy - 0.02, 1, baseline)
    return dict(zip(TABLE1, row, strict=True))


def judged(kind, described, rare=20, **tables):
    """The claims of a kind of corpus by name."""
    table = judge_claims(Run(described, tables, rare), CLAIMS_OF[kind])
    return {row["claim"]: row for row in table.to_dicts()}


def judged_text(layers, described=None, **values):
    described = described or describe(layers)
    return judged("text", described, surface=surface(layers, **values), uniform=uniform(layers))


def test_a_layer_is_the_mean_of_its_heads_at_its_depth():
    heads = {"small": surface(2, to_self=[0.1, 0.3, 0.5, 0.9]), "large": surface(3, heads=1, entropy=[1.0, 2.0, 3.0])}
    table = surface_by_depth(heads, {"small": uniform(2), "large": uniform(3, 5.0)})
    small = table.filter(model="small", measure="to_self")
    assert small.select("layers", "layer", "depth", "heads").rows() == [(2, 1, 0.5, 2), (2, 2, 1.0, 2)]
    assert small["mean"].to_list() == pytest.approx([0.2, 0.7])
    assert small.select("lowest", "highest").rows() == [(0.1, 0.3), (0.5, 0.9)]
    assert small["uniform"].to_list() == [None, None]
    large = table.filter(model="large", measure="entropy")
    assert large["depth"].to_list() == pytest.approx([1 / 3, 2 / 3, 1])
    assert large.select("heads", "mean", "uniform").rows() == [(1, 1.0, 5.0), (1, 2.0, 5.0), (1, 3.0, 5.0)]
    assert len(table) == (2 + 3) * len(MEASURES)


def test_what_a_model_does_not_have_stays_unknown_and_a_new_measure_is_taken():
    heads = surface(2, to_sep=None).with_columns(to_first=0.25, to_first_se=0.0)
    table = surface_by_depth({"m": heads}, {"m": uniform(2)})
    assert table.filter(measure="to_sep")["mean"].to_list() == [None, None]
    assert table.filter(measure="to_first")["mean"].to_list() == [0.25, 0.25]


def test_tables_of_models_follow_each_other():
    tables = {name: pl.DataFrame({"relation": ["det", "dobj"], "accuracy": [a, a]}) for name, a in (("b", 1), ("a", 2))}
    assert by_model(tables).rows() == [("b", "det", 1), ("b", "dobj", 1), ("a", "det", 2), ("a", "dobj", 2)]


@pytest.mark.parametrize(
    ("best", "se", "answer", "detail"),
    [
        (0.7, 0.01, "holds", "1 head: 2-1"),
        (0.51, 0.01, "undecided", "1 head: 2-1"),
        (0.3, 0.01, "does not hold", "highest: 2-1"),
        (0.51, None, "holds", "1 head: 2-1"),
    ],
)
def test_heads_that_attend_to_the_previous_token_are_named(best, se, answer, detail):
    row = judged_text(2, to_previous=[0.1, 0.2, best, 0.0], se=se)["previous_token"]
    assert (row["verdict"], row["detail"], row["value"]) == (answer, detail, best)
    if se:
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((best - 1.96 * se, best + 1.96 * se))


def test_neighbours_are_early_where_their_heads_stand_below_the_mean_of_all():
    row = judged_text(4, to_previous=[0.9, 0, 0, 0, 0, 0, 0, 0], to_next=[0, 0, 0.6, 0, 0, 0, 0, 0])["neighbours_early"]
    assert row["value"] == pytest.approx((1 / 4 + 2 / 4) / 2 - (1 + 2 + 3 + 4) / 16)
    assert row["verdict"] == "holds"
    assert judged_text(4)["neighbours_early"]["detail"] == "no head gives a neighbour more than half"


@pytest.mark.parametrize(("layers", "middle"), [(12, (6, 10)), (6, (3, 5)), (24, (12, 20)), (3, (2, 2)), (2, (1, 1))])
def test_layers_6_to_10_of_12_are_found_by_depth(layers, middle):
    in_middle = [float(middle[0] <= layer <= middle[1]) for layer in range(1, layers + 1)]
    row = judged_text(layers, heads=1, described=describe(layers, 1), to_sep=in_middle)["sep_half"]
    assert (row["value"], row["verdict"]) == (1.0, "holds")
    one_less = [value if layer != middle[1] else 0.0 for layer, value in enumerate(in_middle, start=1)]
    row = judged_text(layers, heads=1, described=describe(layers, 1), to_sep=one_less)["sep_half"]
    assert row["value"] == pytest.approx(1 - 1 / (middle[1] - middle[0] + 1))


def test_a_single_layer_has_no_middle_and_no_order():
    rows = judged_text(1, to_cls=[0.5, 0.5], to_sep=[0.5, 0.5], to_punctuation=[0.1, 0.1], to_previous=[0.9, 0.9])
    assert rows["sep_half"]["detail"] == "no layer between relative depth 0.5 and 0.83"
    alone = ("cls_before_sep", "sep_before_punctuation", "broad_in_lowest", "cls_broad_in_last", "neighbours_early")
    assert {rows[claim]["detail"] for claim in alone} == {"one layer only"}


def test_attention_has_a_centre_of_depth():
    rows = judged_text(
        2, heads=1, described=describe(2, 1), to_cls=[0.6, 0.2], to_sep=[0.1, 0.4], to_punctuation=[0, 0]
    )
    cls, sep = (0.6 * 0.5 + 0.2 * 1) / 0.8, (0.1 * 0.5 + 0.4 * 1) / 0.5
    assert rows["cls_before_sep"]["value"] == pytest.approx(sep - cls)
    assert rows["cls_before_sep"]["verdict"] == "holds"
    assert rows["sep_before_punctuation"]["detail"] == "no attention to full stop or comma"


def test_broadness_is_a_share_of_the_entropy_that_a_layer_allows():
    """A windowed second layer sees fewer keys: 1.5 nats are much there, little in the others."""
    views = uniform(3).with_columns(entropy=pl.Series([4.0, 1.6, 4.0]))
    heads = surface(3, heads=1, entropy=[2.0, 1.5, 1.0], entropy_from_cls=[1.0, 2.0, 3.5])
    rows = judged("text", describe(3, 1), surface=heads, uniform=views)
    assert rows["broad_heads"]["value"] == pytest.approx(1.5 / 1.6)
    assert rows["broad_heads"]["detail"] == "1 head: 2-1"
    assert rows["broad_in_lowest"]["value"] == pytest.approx(2 / 4 - (1.5 / 1.6 + 1 / 4) / 2)
    assert rows["broad_in_lowest"]["verdict"] == "does not hold"
    assert rows["cls_broad_in_last"]["value"] == pytest.approx(3.5 - 1.5)
    assert rows["cls_broad_in_last"]["detail"] == "3.50 nats in the last layer"


def test_nearly_even_attention_makes_no_order_of_layers():
    little_more = [0.010, 0.011, 0.012, 0.013]
    rows = judged_text(
        *(4, describe(4, 1)),
        **{"heads": 1, "to_cls": little_more[::-1], "to_sep": [0.02] * 4, "to_punctuation": little_more},
        **{"entropy": [3.99, 3.98, 3.97, 3.96], "entropy_from_cls": [3.96, 3.97, 3.98, 3.99]},
    )
    compared = ("cls_before_sep", "sep_before_punctuation", "broad_in_lowest", "cls_broad_in_last")
    assert all(rows[claim]["value"] > 0 for claim in compared)
    assert {rows[claim]["verdict"] for claim in compared} == {"does not hold"}


def test_a_causal_model_without_special_tokens_is_excused_with_the_reason():
    lacking = dict.fromkeys(("to_cls", "to_sep", "sep_to_sep", "other_to_sep", "entropy_from_cls"))
    rows = judged_text(3, describe(3, causal=True), to_previous=[0.9, 0, 0, 0, 0, 0], **lacking)
    assert rows["next_token"]["detail"] == "causal: no token sees the next one"
    assert rows["sep_half"]["detail"] == rows["sep_to_sep"]["detail"] == "no separator"
    assert rows["cls_broad_in_last"]["detail"] == rows["cls_before_sep"]["detail"] == "no [CLS]"
    assert {rows[claim]["verdict"] for claim in ("next_token", "sep_half", "cls_before_sep")} == {NOT_APPLICABLE}
    assert rows["previous_token"]["verdict"] == rows["neighbours_early"]["verdict"] == "holds"


def sep_table(*rows):
    whole = [(claim, measure, None, value, value - 0.1, value + 0.1, None, None) for claim, measure, value in rows]
    return pl.DataFrame(whole, SEP_COLUMNS, orient="row")


def test_what_norms_claims_found_is_taken_as_it_is():
    found = sep_table(("cls_then_sep", "sep_minus_cls_by_layer", 0.4), ("sep_is_no_op", "gradient_by_attention", 0.05))
    rows = judged("text", describe(3), sep=found)
    assert rows["sep_grows_with_layer"]["verdict"] == "holds"
    row = rows["sep_gradient_drops"]
    assert (row["value"], row["ci_low"], row["ci_high"]) == (0.05, 0.05 - 0.1, 0.05 + 0.1)
    assert row["verdict"] == "undecided"
    assert rows["sep_is_no_op"]["detail"] == "too few values to test"
    none = judged("text", describe(3), sep=sep_table(("sep_is_no_op", "value_norm_by_attention", 0.05)))
    assert none["sep_gradient_drops"]["detail"] == "no gradients: no head for masked tokens"
    empty = judged("text", describe(3, architecture="GPT2Model"), sep=sep_table())
    assert "found GPT2Model" in empty["sep_grows_with_layer"]["detail"]
    assert judged("text", describe(3), sep=sep_table())["sep_is_no_op"]["detail"] == "no separator or no [CLS]"


@pytest.mark.parametrize(
    ("supported", "value", "high", "answer"),
    [
        (["yes"] * 3 + ["no"] * 7 + ["undecided"], 3 / 11, 4 / 11, "does not hold"),  # of 11, as in the demo
        (["yes"] * 3 + ["no"], 0.75, 0.75, "holds"),
        (["yes", "no"], 0.5, 0.5, "does not hold"),  # half are not most
        (["yes"] * 3 + ["undecided"] * 2, 0.6, 1, "holds"),
        (["yes"] * 2 + ["no"] + ["undecided"] * 2, 0.4, 0.8, "undecided"),
        (["undecided"] * 2, 0, 1, "undecided"),
    ],
)
def test_that_attention_to_sep_is_a_no_op_is_judged_by_all_tests(supported, value, high, answer):
    tested = [("sep_is_no_op", "norm_to_attention", 1, 0.5, 0.4, 0.6, "below 1", said) for said in [*supported, None]]
    other = ("cls_is_no_op", "norm_to_attention", 1, 0.5, 0.4, 0.6, "below 1", "yes")
    table = pl.DataFrame([*tested, other], SEP_COLUMNS, orient="row")
    row = judged("text", describe(3), sep=table)["sep_is_no_op"]
    assert (row["value"], row["ci_low"], row["ci_high"]) == (value, value, high)
    assert row["verdict"] == answer
    counts = [supported.count(verdict) for verdict in ("yes", "no", "undecided")]
    assert row["detail"] == f"{counts[0]} of {len(supported)} tests for it, {counts[1]} against, {counts[2]} undecided"


@pytest.mark.parametrize(("p_value", "answer"), [(0.001, "holds"), (0.3, "does not hold"), (None, NOT_APPLICABLE)])
def test_layers_are_alike_by_the_permutation_test(p_value, answer):
    tests = pl.DataFrame({"within": [0.2], "between": [0.3], "p_value": [p_value]}, schema_overrides={"p_value": float})
    assert judged("text", describe(3), clusters=tests)["layer_alike"]["verdict"] == answer


def test_the_best_head_is_set_against_the_offset():
    table = pl.DataFrame(
        [
            relation("all", 0.45, 0.43, 0.47, 0.3, total=900),
            relation("dobj", 0.8, 0.7, 0.9, 0.4),
            relation("det", 0.85, 0.8, 0.9, 0.82),
            relation("pobj", 0.5, 0.4, 0.6, 0.7, direction="head_to_dependent"),
            relation("poss", 0.9, 0.8, 1.0, 0.1, total=19),
            relation("nn", 1.0, 1.0, 1.0, 1.0),
            relation("mark", 0.5, 0.4, 0.6, 0.1, direction="head_to_dependent"),
        ],
        TABLE1,
    )
    rows = judged("treebank", describe(3), table1=table)
    dobj = rows["gain_dobj"]
    assert (dobj["value"], dobj["ci_low"], dobj["ci_high"]) == pytest.approx((0.4, 0.3, 0.5))
    assert dobj["detail"] == "3-1 80.0 %, held out 78.0 %, offset 40.0 %"
    answers = {
        claim: rows[claim]["verdict"] for claim in ("gain_dobj", "gain_det", "gain_pobj", "gain_nn", "high_dobj")
    }
    assert answers == {
        "gain_dobj": "holds",
        "gain_det": "undecided",
        "gain_pobj": "does not hold",
        "gain_nn": "does not hold",
        "high_dobj": "undecided",
    }
    assert rows["gain_poss"]["detail"] == rows["high_poss"]["detail"] == "19 dependents, fewer than 20"
    assert rows["gain_ccomp"]["detail"] == "no such relation in these trees"
    assert rows["no_head_for_all"]["verdict"] == "holds"
    assert (rows["from_dependent"]["value"], rows["from_dependent"]["detail"]) == (1, "of 4: mark")
    causal = judged("treebank", describe(3, causal=True), table1=table)
    assert causal["from_dependent"]["detail"].startswith("causal")
    assert rows["probe_words"]["detail"] == "no probes over this model"


def test_a_difference_has_the_widest_interval_that_both_allow():
    value, low, high, _ = difference(Outcome(0.6, 0.5, 0.7), Outcome(0.2, 0.1, 0.4))
    assert (value, low, high) == pytest.approx((0.4, 0.5 - 0.4, 0.7 - 0.1))
    value, low, high, _ = difference(Outcome(0.6), Outcome(0.2, 0.1, 0.4))
    assert (value, low, high) == pytest.approx((0.4, 0.2, 0.5))
    assert difference(Outcome(0.6), Outcome(0.2)).low is None


def mentions(**accuracies):
    """Table 2 of one candidate set: per predictor the accuracy on all and on nominal mentions, ± 0.02."""
    rows = []
    for predictor, (every, nominal) in accuracies.items():
        row = {"candidates": "mentions", "predictor": predictor}
        for kind, accuracy in (("all", every), ("nominal", nominal)):
            known = accuracy is not None
            row |= {f"{kind}_accuracy": accuracy, f"{kind}_ci_low": accuracy - 0.02 if known else None}
            row |= {f"{kind}_ci_high": accuracy + 0.02 if known else None}
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def test_coreference_is_set_against_each_rival():
    table = mentions(nearest=(0.3, 0.2), head_match=(0.5, 0.4), rules=(0.66, 0.6), head=(0.62, 0.6))
    rows = judged("coreference", describe(3), table2=table)
    assert rows["coreference_nearest"]["value"] == pytest.approx(0.32)
    assert rows["coreference_nearest"]["ci_low"] == pytest.approx(0.28)
    assert rows["coreference_string"]["verdict"] == "undecided"
    assert rows["coreference_rules"]["value"] == pytest.approx(-0.04)
    assert rows["coreference_rules"]["detail"] == "62.0 % against 66.0 %"
    assert rows["coreference_nominal"]["value"] == pytest.approx(0.04)
    without = judged("coreference", describe(3), table2=mentions(rules=(0.7, None), head=(0.6, None)))
    assert without["coreference_nominal"]["detail"] == "no such mention"


def test_probes_are_set_against_each_other():
    scores = [(ATTENTION, 0.6, 0.5), (ATTENTION_WORDS, 0.7, 0.72), (RIGHT_BRANCHING, 0.3, 0.4), (STRUCTURAL, None, 0.8)]
    rows = []
    for probe, uas, uuas in scores:
        row = {"probe": probe}
        for name, score in (("uas", uas), ("uuas", uuas)):
            row |= {name: score, f"{name}_low": score and score - 0.01, f"{name}_high": score and score + 0.01}
        rows.append(row)
    found = judged("treebank", describe(3), table1=pl.DataFrame(schema=TABLE1), table3=pl.DataFrame(rows))
    assert found["probe_attention"]["value"] == pytest.approx(0.3)
    assert (found["probe_attention"]["ci_low"], found["probe_attention"]["ci_high"]) == pytest.approx((0.28, 0.32))
    assert found["probe_structural"]["value"] == pytest.approx(-0.08), "of UUAS"
    assert found["probe_structural"]["verdict"] == "does not hold"
    assert found["probe_random"]["detail"] == "no such probe: attention + words, random init"


@pytest.mark.parametrize("kind", CLAIMS_OF)
def test_without_results_no_claim_says_anything_and_each_says_why(kind):
    table = judge_claims(Run(describe(3), {}, 20), CLAIMS_OF[kind])
    assert table["verdict"].unique().to_list() == [NOT_APPLICABLE]
    assert table["value"].null_count() == len(table)
    assert not (table["detail"] == "").any()


def test_claims_have_names_of_their_own_sections_and_bounds():
    assert len(CLAIMS) == sum(map(len, CLAIMS_OF.values()))
    assert {claim.section for claim in CLAIMS.values()} == set(SECTIONS)
    assert {verdict(-9, -9, claim.expected) for claim in CLAIMS.values()} == {"yes", "no"}
    papers = {name: CLAIMS[name].paper for name in ("gain_dobj", "coreference_nominal", "probe_attention", "high_det")}
    assert papers == {
        "gain_dobj": "+46.8 points",
        "coreference_nominal": "+2 points",
        "probe_attention": "+35 points",
        "high_det": "94.3 %",
    }


@pytest.fixture
def compared():
    text = judge_claims(
        Run(describe(2), {"surface": surface(2, to_previous=[0.9, 0, 0, 0]), "uniform": uniform(2)}, 20),
        CLAIMS_OF["text"],
    )
    trees = judge_claims(Run(describe(2), {"table1": pl.DataFrame(schema=TABLE1)}, 20), CLAIMS_OF["treebank"])
    runs = [("b<i>", "news"), ("a", "news"), ("b<i>", "trees")]
    return claims_by_model(runs, [text, text, trees])


def test_claims_of_all_runs_stand_by_section_claim_corpus_and_model(compared):
    assert compared.columns[:3] == ["section", "claim", "statement"]
    assert len(compared) == 2 * len(CLAIMS_OF["text"]) + len(CLAIMS_OF["treebank"])
    assert compared["section"].unique(maintain_order=True).to_list() == ["3.1", "3.2", "3.3", "4.2", "5", "6"]
    assert compared.filter(claim="previous_token").select("corpus", "model").rows() == [("news", "b<i>"), ("news", "a")]
    assert compared.null_count().select("statement", "definition", "paper", "unit").row(0) == (0, 0, 0, 0)


def test_the_page_says_claim_definition_paper_and_every_model(compared):
    titles = {"b<i>": "b<i> (random weights, seed 0)", "a": "a"}
    page = render_paper_claims(compared, titles, as_html=True)
    assert "<i>" not in page
    assert "b&lt;i&gt; <small>(random weights, seed 0)</small>" in page
    assert "holds: 90.0\N{NO-BREAK SPACE}% <small>[89.8, 90.2] (1 head: 1-1)</small>" in page
    assert "Section 3.1, relative position: news" in page
    plain = render_paper_claims(compared, titles, as_html=False)
    row = next(line for line in plain.splitlines() if "give the previous token" in line)
    assert [cell.strip() for cell in row.strip("|").split("|")][1:3] == [
        "mean attention to the previous token, of the head where it is highest. Holds if above 0.5",
        "4 heads, in layers 2, 4, 7, 8",
    ]
    headers = [line for line in plain.splitlines() if line.startswith("| Claim |")]
    assert headers[0] == "| Claim | Measured | Paper | b\\<i\\> (random weights, seed 0) | a |"
    in_trees = plain[plain.index("Section 4.2") :]
    assert "| Claim | Measured | Paper | b\\<i\\> (random weights, seed 0) |\n" in in_trees, "a was not run on trees"


def test_a_page_of_one_model_counts_its_answers(compared):
    only = compared.filter(model="a")
    counts = only["verdict"].value_counts()
    holds = counts.filter(verdict="holds")["count"].item()
    assert f"| a | {holds} |" in render_paper_claims(only, {"a": "a"}, as_html=False)


def test_sixty_four_models_differ_in_colour_or_shape():
    titles = [f"model {number}" for number in range(64)]
    colour, shape = (encoding.to_dict()["scale"]["range"] for encoding in colour_and_shape(titles))
    assert len(set(zip(colour, shape, strict=True))) == 64
    assert len(set(colour[:8])) == len(set(shape[:8])) == 8


def test_the_profile_draws_a_panel_a_measure_that_some_model_has(tmp_path):
    heads = {"a": surface(2, to_cls=None, entropy_from_cls=None), "b": surface(3, to_cls=None, entropy_from_cls=None)}
    heads["a"] = heads["a"].with_columns(pl.lit(None, pl.Float64).alias("to_sep"))
    table = surface_by_depth(heads, {"a": uniform(2), "b": uniform(3)})
    chart = compare_surface(table, {"a": "A", "b": "B"}, "news")
    spec = chart.to_dict()
    assert [panel["title"] for panel in spec["concat"]] == [
        *("To the token itself", "To the previous token", "To the next token", "To [SEP]", "To full stops and commas"),
        *("From [SEP] to [SEP]", "From other tokens to [SEP]", "Entropy"),
    ]
    assert any("has no line" in line for line in spec["title"]["subtitle"])
    files = [tmp_path / f"f.{ending}" for ending in ("html", "svg", "png")]
    library = tmp_path / "library.js"
    library.write_text("")
    save(chart, *files, library)
    drawn = files[1].read_text("utf-8")
    assert drawn.count(">A<") == drawn.count(">B<") == 1, "one legend for all panels"


def test_dots_have_a_lane_a_model_and_rare_relations_are_counted():
    rows = [relation("all", 0.4, 0.3, 0.5, 0.3, total=900), relation("det", 0.8, 0.7, 0.9, 0.5)]
    tables = {
        "a": pl.DataFrame([*rows, relation("prt", 0.9, 0.8, 1, 0.9, total=5)], TABLE1),
        "b": pl.DataFrame([*rows, relation("dobj", 0.8, 0.7, 0.9, 0.5, total=25)], TABLE1),
    }
    spec = compare_syntax(by_model(tables), {"a": "A", "b": "B"}, "news", "stanford", 20).to_dict()
    dots = spec["layer"][-1]
    assert dots["encoding"]["yOffset"]["scale"]["domain"] == ["A", "B"]
    assert dots["encoding"]["y"]["sort"] == ["all", "det", "dobj"]
    assert "Left out: 1 relation with fewer than 20 dependents." in spec["title"]["subtitle"]
    data = spec["datasets"][dots["data"]["name"] if "data" in dots else spec["data"]["name"]]
    assert sorted((row["relation"], row["title"]) for row in data) == [
        *(("all", "A"), ("all", "B"), ("det", "A"), ("det", "B"), ("dobj", "B"))
    ]


def test_models_on_a_treebank_without_stanford_labels_are_compared_in_its_own():
    rows = [relation("all", 0.4, 0.3, 0.5, 0.3, total=900), relation("det", 0.8, 0.7, 0.9, 0.5)]
    table = by_model({name: pl.DataFrame(rows, TABLE1).with_columns(scheme=pl.lit("ud")) for name in "ab"})
    spec = compare_syntax(table, {"a": "A", "b": "B"}, "nachrichten", "stanford", 20).to_dict()
    assert spec["layer"][-1]["encoding"]["y"]["sort"] == ["all", "det"]
    assert spec["title"]["subtitle"][0] == "nachrichten, Universal Dependencies"


def test_neither_claims_nor_charts_need_torch():
    code = (
        "import sys, headscope.comparison.catalogue, headscope.comparison.claims_page, headscope.comparison.tables, "
        "headscope.charts.compare_surface, headscope.charts.compare_syntax; sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY / "scripts", check=True)


@pytest.fixture
def workflow(tmp_path, bert_folder):
    return write_inputs(copy_workflow(tmp_path), tiny_config(bert_folder, shards=1))


def jobs_of(folder, *targets):
    jobs = planned(folder, *targets)
    jobs.pop("compare", None)
    return jobs


def test_one_model_gets_the_page_of_claims_and_no_comparison(workflow):
    jobs = jobs_of(workflow, "compare")
    assert (jobs["judge_claims"], jobs["compare_claims"]) == (1, 1)
    assert not [name for name in jobs if name in ("compare_surface", "compare_tables", "draw_compare_surface")]
    assert jobs == {name: count for name, count in jobs_of(workflow).items() if name in jobs}, "all has it too"


def test_a_twin_is_compared_only_where_a_corpus_names_it(workflow, bert_folder):
    config = tiny_config(bert_folder, shards=1)
    config["models"].append(config["models"][0] | {"name": "twin", "random_init": True})
    write_inputs(workflow, config)
    assert "compare_surface" not in jobs_of(workflow, "compare")
    config["corpora"][0]["models"] = ["tiny", "twin"]
    write_inputs(workflow, config)
    assert jobs_of(workflow, "compare")["compare_surface"] == 1


def test_each_kind_of_corpus_has_its_tables(workflow, bert_folder):
    config = tiny_config(bert_folder, shards=1)
    config["models"].append(config["models"][0] | {"name": "other"})
    trees = {"kind": "treebank", "path": "config/demo/treebank.conllu", "shards": 1}
    documents = {"kind": "coreference", "path": "config/demo/coreference.conllu", "shards": 1}
    names = {"learned": trees, "scored": trees, "stories": documents}
    config["corpora"] += [entry | {"name": name} for name, entry in names.items()]
    config["probes"] = {"train": "learned"}
    write_inputs(workflow, config)
    jobs = jobs_of(workflow, "compare")
    assert (jobs["judge_claims"], jobs["compare_claims"]) == (6, 1)
    assert (jobs["compare_surface"], jobs["compare_tables"]) == (1, 3), "syntax, coreference and probes"
    assert (jobs["draw_compare_surface"], jobs["draw_compare_syntax"]) == (1, 1)


def test_another_model_runs_itself_and_the_small_tables(workflow, bert_folder, tmp_path_factory):
    config = tiny_config(bert_folder, shards=1)
    config["models"].append({"name": "other", "source": str(save_bert(tmp_path_factory.mktemp("other"), seed=1))})
    write_inputs(workflow, config)
    target = "results/compare/few/surface.csv"
    run = snakemake(workflow, target)
    assert run.returncode == 0, run.stdout
    assert pl.read_csv(workflow / target)["model"].unique(maintain_order=True).to_list() == ["tiny", "other"]
    assert jobs_of(workflow, target) == {}
    config["models"].append({"name": "third", "source": str(save_bert(tmp_path_factory.mktemp("third"), seed=2))})
    write_inputs(workflow, config)
    of_third = ("describe_model", "encode_text", "extract_attention", "count_surface", "merge_surface")
    assert jobs_of(workflow, target) == dict.fromkeys((*of_third, "compare_surface"), 1)


def test_no_model_is_called_compare(workflow, bert_folder):
    config = tiny_config(bert_folder)
    config["models"][0]["name"] = "compare"
    write_inputs(workflow, config)
    run = snakemake(workflow, "--dry-run")
    assert run.returncode != 0
    assert "models[0].name: expected another name, for compare holds what compares models; rename it" in run.stdout
