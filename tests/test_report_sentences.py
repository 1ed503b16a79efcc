"""What the report says of tables, on tables that can be read by eye."""

import polars as pl
import pytest
from checkpoints import REPOSITORY

from headscope.description import Description, LayerView
from headscope.report.accuracy_sentences import (
    claims_sentences,
    coreference_sentences,
    probe_sentences,
    relation_sentence,
    syntax_sentences,
)
from headscope.report.surface_sentences import (
    cluster_sentences,
    gradient_sentences,
    norm_sentences,
    skipped_sentence,
    surface_sentences,
)
from headscope.report.words import RELATIONS, count, listed
from headscope.syntax.table1 import PAPER

MEASURES = ("to_previous", "to_next", "to_cls", "to_sep", "to_punctuation", "to_self", "entropy")
BOTH_SIDES, CAUSAL = LayerView(False, None), LayerView(True, None)


def described(view=BOTH_SIDES, architecture="BertModel", tokens=("[CLS]", "[SEP]")):
    special = dict(zip(("cls", "sep"), ((token, 1) for token in tokens), strict=False))
    return Description(
        *("tiny", "tiny", None, None, architecture, 1, 2, 8, 100, 64, True, special, [view], "w", "t"),
    )


def heads(**columns):
    """Heads of one layer; a measure that is not named is 0.1 everywhere."""
    number = len(next(iter(columns.values())))
    every = {measure: [0.1] * number for measure in MEASURES} | columns
    return pl.DataFrame({"layer": [1] * number, "head": range(1, number + 1)} | every, strict=False).cast(
        dict.fromkeys(MEASURES, pl.Float64)
    )


UNIFORM = pl.DataFrame({"layer": [1], "entropy": [2.0], "examples": [3], "tokens": [60]})


def relation_row(**changes):
    row = {
        "scheme": "stanford",
        "relation": "dobj",
        "total": 786,
        "layer": 3,
        "head": 1,
        "direction": "dependent_to_head",
        "accuracy": 0.72,
        "ci_low": 0.69,
        "ci_high": 0.75,
        "held_out_accuracy": 0.71,
        "baseline_offset": -2,
        "baseline_accuracy": 0.35,
    }
    return row | changes


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {},
            "Head 3-1 finds the head word of a direct object (dobj) in 72 % of 786 cases [69, 75]; always guessing two "
            "words back finds 35 %.",
        ),
        (  # seen from the head, the dependent stands on the other side
            {"direction": "head_to_dependent", "baseline_offset": -1},
            "Head 3-1 finds the direct object (dobj) of a word in 72 % of 786 cases [69, 75]; always guessing the next "
            "word finds 35 %.",
        ),
        (
            {"relation": "all", "direction": "head_to_dependent", "baseline_offset": 1},
            "Head 3-1 finds the head word of any dependent in 72 % of 786 cases [69, 75]; always guessing the next "
            "word finds 35 %.",
        ),
        (
            {"relation": "obl:npmod", "total": 1, "ci_low": None, "ci_high": None, "baseline_accuracy": None},
            "Head 3-1 finds the head word of a dependent (obl:npmod) in 72 % of one case.",
        ),
        (
            {"relation": "advmod", "accuracy": 0.0, "ci_low": float("nan"), "baseline_offset": 5},
            "Head 3-1 finds the head word of an adverb (advmod) in 0 % of 786 cases; always guessing five words ahead "
            "finds 35 %.",
        ),
        (
            {"accuracy": None},
            "No case of the head word of a direct object (dobj) was scored.",
        ),
    ],
)
def test_a_relation_is_said_with_its_interval_and_baseline(changes, said):
    assert relation_sentence(relation_row(**changes)) == said


def test_relations_that_gain_most_come_first_and_all_of_them_last():
    rows = [
        relation_row(relation="all", accuracy=0.4),
        relation_row(relation="det", ci_low=0.9, baseline_accuracy=0.2),
        relation_row(),
        relation_row(relation="prt", total=3),
    ]
    said = syntax_sentences(pl.DataFrame(rows), "stanford", rare=20)
    assert [sentence.split(" in ")[0] for sentence in said] == [
        "Head 3-1 finds the head word of a determiner (det)",
        "Head 3-1 finds the head word of a direct object (dobj)",
        "Head 3-1 finds the head word of any dependent",
    ]
    assert syntax_sentences(pl.DataFrame(rows), "stanford", rare=1000)[1] == "No relation has 1,000 dependents or more."


def test_heads_above_half_are_counted_and_named():
    said = surface_sentences(heads(to_previous=[0.9, 0.6, 0.1]), UNIFORM, described())
    assert said[0] == (
        "Two heads of 3 give the previous token more than half of their attention on average (1-1 and 1-2); "
        "head 1-1 gives 90.0 %."
    )
    assert said[1] == (
        "No head gives the next token more than half of its attention; head 1-1 gives most, 10.0 % on average."
    )
    said = surface_sentences(heads(to_sep=[0.2, 0.7]), UNIFORM, described(tokens=("<s>", "</s>")))
    assert said[3] == (
        "One head of 2 gives </s> more than half of its attention on average (1-2); head 1-2 gives 70.0 %."
    )


def test_a_model_without_separator_or_with_one_head_or_causal_is_said_so():
    none = {"to_sep": [None], "to_cls": [None], "to_next": [None], "entropy": [1.5]}
    said = surface_sentences(heads(**none), UNIFORM, described(CAUSAL, tokens=()))
    assert said[-2:] == [
        "Head 1-1 attends most broadly, with an entropy of 1.50 nats (spread evenly it would be 2.00).",
        "Nothing is said of attention to the next token, [CLS] and [SEP]: this model sees none (it is causal).",
    ]
    assert len(said) == 3 + 2


def test_breadth_is_said_of_both_ends_ties_by_number():
    said = surface_sentences(heads(entropy=[1.0, 1.5, 1.5, 0.25]), UNIFORM, described())
    assert said[-1] == (
        "Head 1-2 attends most broadly, with an entropy of 1.50 nats (spread evenly it would be 2.00); head 1-4 most "
        "narrowly, with 0.25 nats."
    )


def test_gradients_or_why_there_are_none():
    loss = pl.DataFrame({"examples": [6], "masked": [40], "loss": [2.5], "loss_se": [0.25], "refused": [None]})
    layers = pl.DataFrame(
        {"layer": [1, 2, 1, 2, 1, 2], "key": ["sep", "sep", "cls", "cls", "other", "other"],
         "magnitude": [1.0, 3.0, None, None, 2.0, 6.0]}
    )  # fmt: skip
    assert gradient_sentences(loss, layers, described()) == [
        "The loss of 40 masked tokens in six examples is 2.50 nats ± 0.25.",
        "It changes 0.5 times as much with a weight on [SEP] as with one on an ordinary token, on average over layers.",
    ]
    refused = loss.with_columns(refused=pl.lit("the model is causal"))
    assert gradient_sentences(refused, None, described()) == ["There are no gradients: the model is causal."]


def test_norms_or_why_there_are_none():
    layers = pl.DataFrame({"key": ["sep", "sep"], "weight_share": [0.2, 0.4], "norm_share": [0.1, 0.1]})
    claims = pl.DataFrame({"claim": ["sep_is_no_op"] * 3, "supported": ["yes", "no", None]})
    assert norm_sentences(layers, claims, described()) == [
        "[SEP] gets 30.0 % of the attention and 10.0 % of what is added to the output, on average over layers.",
        "That attention to [SEP] does little is supported by 1 of two tests; 1 speaks against it.",
    ]
    said = norm_sentences(None, None, described(architecture="GPT2Model"))
    assert said[0].startswith("There are no norms: ")
    assert "GPT2Model" in said[0]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ((0.24, 0.31, 0.0001), "Two heads of one layer are more alike than heads of different layers: 0.240 nats of "
         "divergence against 0.310 (permutation test, one-sided, p = 0.0001)."),
        ((0.24, 0.31, 0.05), "No difference can be told between two heads of one layer and heads of different layers: "
         "0.240 nats of divergence against 0.310 (permutation test, one-sided, p = 0.05)."),
        ((0.31, 0.24, 0.99), "No difference can be told between two heads of one layer and heads of different layers: "
         "0.310 nats of divergence against 0.240 (permutation test, one-sided, p = 0.99)."),
        ((None, 0.3, None), "There are too few heads to ask whether those of one layer are alike."),
    ],
)  # fmt: skip
def test_clusters_say_whether_layers_are_alike(row, said):
    tests = pl.DataFrame([row], ["within", "between", "p_value"], orient="row")
    mapped = pl.DataFrame({"behaviour": ["other", "broad"]})
    assert cluster_sentences(tests, mapped) == [
        said,
        "One head of 2 does one of the things that the map is coloured by.",
    ]


def table2(**changes):
    kinds = {"all": (0.6, 717), "pronoun": (0.7, 499), "proper": (None, 0), "nominal": (0.5, 1)}
    rows = []
    for predictor in ("nearest", "rules", "head"):
        row = {"candidates": "mentions", "predictor": predictor, "layer": 3, "head": 5}
        row["direction"] = "anaphor_to_antecedent"
        for kind, (accuracy, total) in kinds.items():
            shown = None if accuracy is None else accuracy if predictor == "head" else 0.2
            row |= {f"{kind}_accuracy": shown, f"{kind}_total": total, f"{kind}_ci_low": 0.5, f"{kind}_ci_high": 0.65}
        rows.append(row | changes)
    return pl.DataFrame(rows, infer_schema_length=None)


def test_coreference_is_said_with_baselines_and_types():
    assert coreference_sentences(table2(), "mentions") == [
        "Head 3-5 finds an antecedent of a mention among earlier mentions in 60 % of 717 cases [50, 65]; taking the "
        "nearest finds 20 % and a resolver of four rules finds 20 %.",
        "It is right about 70 % of 499 pronouns and 50 % of one other noun.",
    ]
    nothing = ["No mention has an antecedent, so there is nothing to score."]
    assert coreference_sentences(table2(all_accuracy=None), "mentions") == nothing
    assert coreference_sentences(table2(), "words") == nothing


def test_probes_are_said_beside_what_reads_no_attention():
    columns = ["probe", "uas", "uas_low", "uas_high", "uuas", "uuas_low", "uuas_high", "selectivity"]
    rows = [
        ("attention", 0.6, 0.58, 0.62, 0.5, 0.4, 0.6, -0.021),
        ("right-branching", 0.3, None, None, None, None, None, None),
        ("structural", None, None, None, 0.8, 0.75, 0.85, None),
    ]
    assert probe_sentences(pl.DataFrame(rows, columns, orient="row")) == [
        "The head word is found by: Attention: 60 % [58, 62], Right-branching: 30 %.",
        "On permuted trees the probe over attention alone finds 2 points more.",
        "The structural probe over hidden states finds 80 % of the edges [75, 85].",
    ]
    assert probe_sentences(pl.DataFrame(schema=columns)) == ["Nothing was scored."]


def test_claims_are_counted_for_each_model():
    verdicts = {"a": ["holds", "does not hold", "not applicable"], "b": ["not applicable"]}
    rows = [(model, verdict) for model, said in verdicts.items() for verdict in said]
    assert claims_sentences(pl.DataFrame(rows, ["model", "verdict"], orient="row")) == [
        "a: of 3 of the paper's claims 1 holds, 1 does not, 0 are undecided and 1 says nothing of it.",
        "b: none of the paper's claims says anything of it.",
    ]


def test_what_was_passed_over_is_counted_by_reason():
    reasons = pl.DataFrame({"reason": ["93 tokens, too many", "70 tokens, too many", "no tree"]})
    assert skipped_sentence(reasons) == "3: 2 × … tokens, too many; 1 × no tree"
    assert skipped_sentence(None) == "Nothing was passed over."


def test_counts_and_lists_read_as_words():
    assert [count(number, "head") for number in (0, 1, 2, 11, 1254)] == [
        *("no heads", "one head", "two heads", "11 heads", "1,254 heads"),
    ]
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed("abcdef") == "a, b, c, d and 2 more"


def test_every_relation_of_the_demo_has_a_name():
    assert {name for name in PAPER if name != "all"} <= RELATIONS.keys()
    lines = (REPOSITORY / "config" / "demo" / "treebank.conllu").read_text("utf-8").splitlines()
    used = {line.split("\t")[7] for line in lines if line and line[0].isdigit()}
    assert {name for name in used if ":" not in name and name != "_"} <= RELATIONS.keys()
