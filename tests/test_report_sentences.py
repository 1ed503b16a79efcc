"""What the report says of tables, on tables that can be read by eye."""

import polars as pl
import pytest
from checkpoints import REPOSITORY

from headscope.description import Description, LayerView
from headscope.report.accuracy_sentences import claims_sentences, relation_sentence, syntax_sentences
from headscope.report.coreference_sentences import (
    coreference_sentences,
    distance_sentences,
    passage_sentences,
    type_sentences,
)
from headscope.report.probe_sentences import coverage_sentences, curve_sentences, probe_sentences, weight_sentences
from headscope.report.surface_sentences import (
    cluster_sentences,
    divergence_sentences,
    gradient_sentences,
    maps_sentences,
    norm_sentences,
    skipped_sentence,
    strongest_sentences,
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
            "Head 3-1 finds the head word of a direct object (dobj) in 72 % of 786 cases [69, 75] (71 % when "
            "chosen on other sentences); always guessing two words back finds 35 %.",
        ),
        (  # seen from the head, the dependent stands on the other side
            {"direction": "head_to_dependent", "baseline_offset": -1},
            "Head 3-1 finds the direct object (dobj) of a word in 72 % of 786 cases [69, 75] (71 % "
            "when chosen on other sentences); always guessing the next "
            "word finds 35 %.",
        ),
        (
            {"relation": "all", "direction": "head_to_dependent", "baseline_offset": 1},
            "Head 3-1 finds the head word of any dependent in 72 % of 786 cases [69, 75] (71 % "
            "when chosen on other sentences); always guessing the next "
            "word finds 35 %.",
        ),
        (
            {
                "relation": "obl:npmod",
                "total": 1,
                "ci_low": None,
                "ci_high": None,
                "held_out_accuracy": None,
                "baseline_accuracy": None,
            },
            "Head 3-1 finds the head word of a dependent (obl:npmod) in 72 % of one case.",
        ),
        (
            {"relation": "advmod", "accuracy": 0.0, "ci_low": float("nan"), "baseline_offset": 5},
            "Head 3-1 finds the head word of an adverb (advmod) in 0 % of 786 cases (71 % when "
            "chosen on other sentences); always guessing five words ahead "
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


def test_relations_that_gain_most_come_first_then_the_worst_and_all_of_them_last():
    rows = [
        relation_row(relation="all", accuracy=0.4),
        relation_row(relation="det", ci_low=0.9, baseline_accuracy=0.2),
        relation_row(),
        relation_row(relation="prt", total=3),
        relation_row(relation="nmod", accuracy=0.43, ci_low=0.4, baseline_accuracy=0.62, total=60, layer=2),
        relation_row(relation="amod", accuracy=0.43, ci_low=0.41, baseline_accuracy=0.62, total=50),
        *(relation_row(relation=name, ci_low=0.5) for name in ("aux", "neg", "cop")),
    ]
    said = syntax_sentences(pl.DataFrame(rows), "stanford", rare=20)
    assert said[0] == (
        "Five relations of 7 with 20 dependents or more are listed: where the best head gains most over always "
        "guessing one place, by the lower end of its interval."
    )
    assert [sentence.split(" in ")[0] for sentence in said[1:3]] == [
        "Head 3-1 finds the head word of a determiner (det)",
        "Head 3-1 finds the head word of a direct object (dobj)",
    ]
    assert said[-2:-1] == [  # of amod and nmod, which lose as much, the first by name
        "Heads do worst against such a guess with the adjective (amod): head 3-1 finds 43 % of 50 cases, the guess "
        "62 %."
    ]
    assert said[-1].startswith("Head 3-1 finds the head word of any dependent")
    assert syntax_sentences(pl.DataFrame(rows), "stanford", rare=1000)[1] == "No relation has 1,000 dependents or more."
    few = syntax_sentences(pl.DataFrame(rows[1:3]), "stanford", rare=20)
    assert few[2:] == [
        "Heads gain least over such a guess with the direct object (dobj): head 3-1 finds 72 % of 786 cases, the guess "
        "35 %."
    ]
    assert len(syntax_sentences(pl.DataFrame(rows[2:3]), "stanford", rare=20)) == 1, "one relation is not compared"


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
    for predictor in ("nearest", "rules", "head", "held_out"):
        row = {"candidates": "mentions", "predictor": predictor, "layer": 3, "head": 5}
        row["direction"] = "anaphor_to_antecedent"
        for kind, (accuracy, total) in kinds.items():
            shown = None if accuracy is None else {"head": accuracy, "held_out": 0.4}.get(predictor, 0.2)
            row |= {f"{kind}_accuracy": shown, f"{kind}_total": total, f"{kind}_ci_low": 0.5, f"{kind}_ci_high": 0.65}
        rows.append(row | changes)
    return pl.DataFrame(rows, infer_schema_length=None)


def test_coreference_is_said_with_baselines_and_types():
    assert coreference_sentences(table2(), "mentions") == [
        "Head 3-5 finds an antecedent of a mention among earlier mentions in 60 % of 717 cases [50, 65] (40 % when "
        "chosen on other documents); taking the nearest finds 20 % and a resolver of four rules finds 20 %.",
        "It is right about 70 % of 499 pronouns and 50 % of one other noun.",
    ]
    nothing = ["No mention has an antecedent, so there is nothing to score."]
    assert coreference_sentences(table2(all_accuracy=None), "mentions") == nothing
    assert coreference_sentences(table2(), "words") == nothing


def test_the_best_head_of_each_type_of_mention_is_said_beside_the_nearest():
    columns = ["candidates", "mention_type", "layer", "head", "direction", "total", "accuracy"]
    forth, back = "anaphor_to_antecedent", "antecedent_to_anaphor"
    rows = [
        ("mentions", "all", 1, 1, forth, 500, 0.9),
        ("mentions", "pronoun", 3, 5, forth, 499, 0.6),
        ("mentions", "pronoun", 2, 2, back, 499, 0.6),  # as good, and of a lower layer
        ("words", "pronoun", 1, 1, forth, 499, 0.8),
        ("mentions", "proper", 1, 1, forth, 0, None),
        ("mentions", "nominal", 1, 4, forth, 1, 1.0),
    ]
    heads = pl.DataFrame(rows, columns, orient="row")
    assert type_sentences(heads, table2(proper_accuracy=None), "mentions") == [
        "Of 499 pronouns head 2-2 finds 60 % (the nearest: 20 %); of one other noun head 1-4 finds 100 % (the nearest: "
        "20 %); each head was chosen on these same mentions.",
    ]
    assert type_sentences(heads, table2(), "all_mentions") == []
    without = table2().filter(predictor="head")
    assert type_sentences(heads.head(2), without, "mentions")[0].startswith("Of 499 pronouns head 3-5 finds 60 %; each")


def test_the_distances_of_most_and_least_are_said():
    columns = ["candidates", "predictor", "distance_low", "distance_high", "total", "accuracy"]
    rows = [
        ("mentions", "head", 1, 2, 54, 0.5),
        ("mentions", "head", 3, 5, 10, 0.7),
        ("mentions", "head", 6, 10, 20, 0.7),
        ("mentions", "head", 11, None, 1, 0.0),
        ("mentions", "head", 81, 160, 0, None),
        ("mentions", "nearest", 1, 2, 54, 1.0),
    ]
    table = pl.DataFrame(rows, columns, orient="row")
    assert distance_sentences(table, "mentions") == [
        "The best head finds most where the nearest antecedent is 3 to 5 words away (70 % of ten cases), least where "
        "it is 11 words away or more (0 % of one case).",
    ]
    assert distance_sentences(table[1:3], "mentions") == [
        "Where the nearest antecedent is at every distance, the best head finds 70 %."
    ]
    assert distance_sentences(table[:1], "mentions") == [
        "Where the nearest antecedent is 1 to 2 words away, the best head finds 50 %."
    ]
    assert distance_sentences(table, "words") == distance_sentences(table[4:], "mentions") == []


def test_the_passage_that_is_drawn_says_how_often_the_head_is_right():
    columns = ["document", "layer", "head", "anaphor", "antecedent", "picked"]
    rows = [("d", 3, 5, 2, True, True), ("d", 3, 5, 2, False, False), ("d", 3, 5, 4, True, False)]
    rows += [("d", 3, 5, 4, False, True)]
    links = pl.DataFrame(rows, columns, orient="row")
    assert passage_sentences(links) == ["In the passage that is drawn, of d, head 3-5 is right in 1 of two cases."]
    assert passage_sentences(links.clear()) == []


def test_figure_1_says_which_heads_it_shows():
    panels = ["1-2 broad (4.7 nats)", "1-2 broad (4.7 nats)", "2-9 to the next token (62%)"]
    maps = pl.DataFrame({"example": [3] * 3, "panel": panels})
    assert maps_sentences(maps) == [
        "Figure 1 shows example 3 as two heads see it: 1-2 broad (4.7 nats); 2-9 to the next token (62 %).",
    ]
    assert maps_sentences(maps[:1]) == ["Figure 1 shows example 3 as one head sees it: 1-2 broad (4.7 nats)."]
    assert maps_sentences(maps.clear()) == []


def test_the_strongest_head_is_named_with_what_it_looks_at():
    table = heads(to_sep=[0.7, 0.2], to_previous=[0.1, 0.7], to_self=[0.9, 0.9])
    assert strongest_sentences(table, described()) == [  # a tie: the lower head
        "Head 1-1 gives [SEP] 70.0 % of its attention, the most that any head gives one thing.",
    ]
    none = {measure: [None] for measure in ("to_previous", "to_next", "to_cls", "to_sep", "to_punctuation")}
    assert strongest_sentences(heads(**none), described()) == []


def test_the_closest_and_the_farthest_heads_are_named_once_each_way():
    columns = ["layer", "head", "other_layer", "other_head", "divergence"]
    rows = [(1, 1, 1, 1, 0.0), (1, 1, 1, 2, 0.2), (1, 2, 1, 1, 0.2), (1, 1, 2, 1, 0.6), (1, 2, 2, 1, 0.6)]
    table = pl.DataFrame(rows, columns, orient="row")
    assert divergence_sentences(table) == [
        "Of all pairs, heads 1-1 and 1-2 are most alike (0.200 nats), heads 1-1 and 2-1 least (0.600).",
    ]
    assert divergence_sentences(table[:3]) == ["Heads 1-1 and 1-2 diverge by 0.200 nats; there is no other pair."]
    assert divergence_sentences(table[:1]) == []
    assert divergence_sentences(table.with_columns(divergence=pl.lit(None, pl.Float64))) == []


def test_probes_say_which_heads_they_read_most():
    columns = ["probe", "layer", "head", "direction", "weight"]
    to, fro = "dependent_to_head", "head_to_dependent"
    rows = [("attention", 1, 1, to, 0.5), ("attention", 1, 2, fro, -5.854), ("attention", 1, 3, to, -0.5)]
    rows += [("attention", 2, 1, to, 0.25), ("attention+words", 1, 1, to, 1.0), ("other", 1, 1, to, 0.0)]
    assert weight_sentences(pl.DataFrame(rows, columns, orient="row")) == [
        "The probe “Attention” weighs most heads 1-2 (head to dependent, −5.85), 1-1 (dependent to head, +0.50) and "
        "1-3 (dependent to head, −0.50).",
        "The probe “Attention + words” weighs most head 1-1 (dependent to head, +1.00).",
    ]


def test_a_learning_curve_says_what_more_sentences_bring():
    rows = [("attention", 207, 0.61), ("attention", 100, 0.592), ("attention+words", 207, 0.7)]
    rows += [("attention", 10, None)]
    assert curve_sentences(pl.DataFrame(rows, ["probe", "trained", "uas"], orient="row")) == [
        "With 207 sentences instead of 100 to learn from, “Attention” finds 61.0 % instead of 59.2 %, +1.8 points.",
        "“Attention + words” was trained on 207 sentences alone: 70.0 %.",
    ]
    row = {"vectors": "glove", "types": 7, "known_types": 5, "tokens": 20, "known_tokens": 18}
    assert coverage_sentences(pl.DataFrame([row])) == [
        "Of 20 words 18 have a vector (glove), and of seven different words 5.",
    ]


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
