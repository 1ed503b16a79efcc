"""The [SEP] page: shares side by side, tested claims, the figure and the page."""

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from checkpoints import REPOSITORY

from headscope.charts.figure_sep import figure_sep
from headscope.description import Description, LayerView
from headscope.keys import KEYS
from headscope.norms.claims import sep_claims
from headscope.norms.claims_page import render_claims
from headscope.norms.counts import COUNTS, SUMS, no_counts
from headscope.norms.shares import key_shares
from headscope.norms.tables import merge_norms
from headscope.sums import table_of_sums
from headscope.verdicts import verdict

TOKENS, LAYERS, HEADS, EXAMPLES = 100, 4, 3, 40
NUMBERS = {"cls": 1, "sep": 2, "punctuation": 0, "other": 97}


def describe(architecture="BertModel", layers=LAYERS, cls="[CLS]", sep="[SEP]"):
    return Description(
        *("my-model", "s", None, None, architecture, layers, HEADS, 8, 1, None, True),
        *({"cls": [cls, 1], "sep": [sep, 2]}, [LayerView(False, None)] * layers, "w", "t"),
    )


class Everything:
    """Examples that refuse no shards."""

    def refuse_other_shards(self, shards):
        pass


def sums(weights, norms, values, noise=0.0, examples=EXAMPLES):
    """A shard's sums of examples with these shares and value norms, arrays (layer, head, key); shares with noise."""
    generator = np.random.default_rng(0)
    parts = []
    for example in range(1, examples + 1):
        weight, norm = (array * (1 + noise * generator.standard_normal(array.shape)) for array in (weights, norms))
        parts_of_sums = [TOKENS * weight, TOKENS * norm, values * np.array(list(NUMBERS.values()))]
        queries = np.full((*weights.shape[:2], 1), TOKENS)
        parts.append((example, TOKENS, *NUMBERS.values(), np.concatenate([*parts_of_sums, queries], -1)))
    return table_of_sums(parts, COUNTS, SUMS)


def as_claimed():
    """Weight shares of [CLS] fall and those of [SEP] rise with the layer; where they are high, norms are low."""
    rank = np.linspace(0, 1, LAYERS * HEADS).reshape(LAYERS, HEADS)
    cls, sep = 0.6 - 0.5 * rank, 0.1 + 0.5 * rank
    weights = np.stack([cls, sep, 0 * rank, 1 - cls - sep], -1)
    norms = np.stack([cls / 4, sep / 4, 0 * rank, 1 - (cls + sep) / 4], -1)
    return weights, norms, np.stack([1.0 + rank, 2.0 - rank, 0 * rank, 3 + 0 * rank], -1)


def claims_of(shard, gradients=None, described=None, seed=0):
    return sep_claims(lambda: iter([shard]), described or describe(), gradients, 200, seed)


def rows_of(claims, claim, measure):
    return claims.filter(claim=claim, measure=measure)


@pytest.fixture(scope="module")
def claimed():
    return claims_of(sums(*as_claimed(), noise=0.01))


def test_a_model_that_does_what_is_claimed_supports_every_row(claimed):
    assert claimed.filter(pl.col("expected").is_not_null())["supported"].unique().to_list() == ["yes"]
    difference = rows_of(claimed, "cls_then_sep", "sep_minus_cls")
    assert difference["layer"].to_list() == [1, 2, 3, 4]
    assert difference["expected"].to_list() == ["below 0", "below 0", "above 0", "above 0"]
    weights, _, _ = as_claimed()
    np.testing.assert_allclose(difference["value"], (weights[..., 1] - weights[..., 0]).mean(1), atol=0.01)
    trend = rows_of(claimed, "cls_then_sep", "sep_minus_cls_by_layer")
    assert trend.select("layer", "value", "ci_low", "supported").row(0) == (None, 1, 1, "yes")


def test_norm_to_attention_is_the_ratio_of_the_means(claimed):
    for claim in ("sep_is_no_op", "cls_is_no_op"):
        np.testing.assert_allclose(rows_of(claimed, claim, "norm_to_attention")["value"], 0.25, atol=0.005)


def test_value_norms_are_ranked_against_attention_over_all_heads(claimed):
    for measure in ("value_norm_by_attention", "relative_value_norm_by_attention"):
        for claim in ("sep_is_no_op", "cls_is_no_op"):
            assert rows_of(claimed, claim, measure)["value"].item() == pytest.approx(-1)


def test_a_model_that_does_the_opposite_supports_none():
    weights, norms, values = (array[:, :, [1, 0, 2, 3]] for array in as_claimed())
    values[..., :2] = values[..., 1::-1]
    claims = claims_of(sums(weights, np.minimum(8 * norms, 1), values, noise=0.01))
    assert claims.filter(pl.col("expected").is_not_null())["supported"].unique().to_list() == ["no"]


def test_intervals_hold_the_value_and_narrow_with_more_examples():
    few, many = (claims_of(sums(*as_claimed(), noise=0.2, examples=examples)) for examples in (10, 160))
    per_layer = pl.col("measure") == "sep_minus_cls"
    for claims in (few, many):
        assert claims.filter(per_layer).select((pl.col("value").is_between("ci_low", "ci_high")).all()).item()
    width = (pl.col("ci_high") - pl.col("ci_low")).mean()
    ratio = few.filter(per_layer).select(width).item() / many.filter(per_layer).select(width).item()
    assert 2.5 < ratio < 6  # the square root of 16


def test_a_seed_gives_the_same_rows_again(claimed):
    shard = sums(*as_claimed(), noise=0.01)
    assert claims_of(shard).equals(claimed)
    assert not claims_of(shard, seed=1).equals(claimed)


def test_nothing_is_expected_where_a_token_gets_little_attention_nor_of_a_middle_layer():
    weights, norms, values = (array[:3] for array in as_claimed())
    weights[1, :, 1] = 0.019  # two of 100 tokens
    claims = claims_of(sums(weights, norms, values), described=describe(layers=3))
    assert rows_of(claims, "sep_is_no_op", "norm_to_attention")["expected"].to_list() == ["below 1", None, "below 1"]
    assert rows_of(claims, "cls_then_sep", "sep_minus_cls")["expected"].to_list() == ["below 0", None, "above 0"]
    assert claims.filter(pl.col("expected").is_null())["supported"].null_count() == 2


@pytest.mark.parametrize(
    ("low", "high", "expected", "supported"),
    [
        (0.1, 0.2, "above 0", "yes"),
        (-0.1, 0.2, "above 0", "undecided"),
        (-0.2, -0.1, "above 0", "no"),
        (-0.2, -0.1, "below 0", "yes"),
        (0.9, 0.99, "below 1", "yes"),
        (0.9, 1.01, "below 1", "undecided"),
        (1.01, 2, "below 1", "no"),
        (0, 1, "above 0", "undecided"),
        (np.nan, np.nan, "above 0", None),
        (0.1, 0.2, None, None),
    ],
)
def test_a_claim_is_supported_where_the_whole_interval_is_as_expected(low, high, expected, supported):
    assert verdict(low, high, expected) == supported


def gradient_table(error=0.001):
    """Gradients of [SEP] fall with the layer: 0.4 to 0.1 of those of other tokens."""
    rows = [
        (layer, key, magnitude, error)
        for layer in range(1, LAYERS + 1)
        for key, magnitude in (("other", 1.0), ("sep", 0.5 - layer / 10), ("cls", 0.2), ("punctuation", None))
    ]
    schema = {"layer": pl.UInt16, "key": pl.String, "magnitude": pl.Float64, "magnitude_se": pl.Float64}
    return pl.DataFrame(rows, schema, orient="row")


def test_gradients_add_their_rows():
    shard = sums(*as_claimed(), noise=0.01)
    claims = claims_of(shard, gradient_table())
    ratio = rows_of(claims, "sep_is_no_op", "gradient_to_other")
    np.testing.assert_allclose(ratio["value"], [0.4, 0.3, 0.2, 0.1])
    half = 1.96 * 0.001 * np.sqrt(1 + ratio["value"].to_numpy() ** 2)  # of first order
    np.testing.assert_allclose(ratio["ci_high"] - ratio["value"], half, rtol=0.3)
    by_attention = rows_of(claims, "sep_is_no_op", "gradient_by_attention")
    assert by_attention.select("layer", "value", "supported").row(0) == (None, -1, "yes")
    without = claims.filter(~pl.col("measure").str.starts_with("gradient"))
    assert without.equals(claims_of(shard)), "and change no other"


def test_an_empty_table_of_gradients_is_none():
    shard = sums(*as_claimed())
    assert claims_of(shard, gradient_table().clear()).equals(claims_of(shard))


def layers_of(shard, described=None):
    return merge_norms(lambda: iter([shard]), Everything(), described or describe())


def test_shares_stand_side_by_side():
    shard = sums(*as_claimed())
    layers, _ = layers_of(shard)
    shares = key_shares(layers, gradient_table(), lambda: iter([shard]))
    assert shares["measure"].unique(maintain_order=True).to_list() == ["attention", "norm", "gradient", "tokens"]
    assert shares.filter(measure="norm")["share"].to_list() == layers["norm_share"].to_list()
    tokens = dict(shares.filter(measure="tokens").select("key", "share").iter_rows())
    assert tokens == pytest.approx({"cls": 0.01, "sep": 0.02, "punctuation": 0, "other": 0.97})
    assert shares.filter(measure="tokens")["layer"].null_count() == len(KEYS)


def test_the_gradient_share_is_of_the_sum_over_keys_by_hand():
    shard = sums(*as_claimed())
    shares = key_shares(layers_of(shard)[0], gradient_table(0.1), lambda: iter([shard])).filter(
        measure="gradient", layer=1
    )
    total = 97 * 1.0 + 2 * 0.4 + 1 * 0.2
    found = dict(shares.select("key", "share").iter_rows())
    assert found["sep"] == pytest.approx(0.8 / total)
    assert found["other"] == pytest.approx(97 / total)
    assert found["punctuation"] is None
    share_se = dict(shares.select("key", "share_se").iter_rows())["sep"]
    # Its own 2 · 0.1, and those of the 97 others and of [CLS], which move the total only.
    share = 0.8 / total
    expected = np.hypot((1 - share) * 0.2, share * np.hypot(9.7, 0.1)) / total
    assert share_se == pytest.approx(expected)


def test_gradients_that_are_alike_share_as_the_tokens_do_whatever_the_lengths():
    shard = sums(*as_claimed())
    longer = pl.when(pl.col("example") % 2 == 0)
    shard = shard.with_columns(longer.then(200).otherwise(100).alias("tokens"), other=longer.then(197).otherwise(97))
    alike = gradient_table().with_columns(magnitude=pl.when(pl.col("key") != "punctuation").then(0.3))
    shares = key_shares(layers_of(shard)[0], alike, lambda: iter([shard])).filter(pl.col("key").is_in(["cls", "sep"]))
    tokens = shares.filter(measure="tokens")["share"].to_numpy()
    gradient = shares.filter(measure="gradient", layer=1)["share"].to_numpy()
    np.testing.assert_allclose(gradient, tokens)
    np.testing.assert_allclose(tokens, [0.0075, 0.015])


def test_a_model_whose_norms_cannot_be_computed_has_empty_tables():
    gpt2 = describe("GPT2Model")
    layers, heads = layers_of(no_counts(), gpt2)
    assert (layers.height, heads.height) == (0, 0)
    assert layers.schema == layers_of(sums(*as_claimed()))[0].schema
    shares = key_shares(layers, None, lambda: iter([no_counts()]))
    claims = claims_of(no_counts(), described=gpt2)
    assert (shares.height, claims.height) == (0, 0)
    assert "found GPT2Model" in render_claims(claims, gpt2, "c", as_html=False)
    assert any("found GPT2Model" in str(row) for row in drawn(figure_sep(shares, heads, gpt2, "c", 2, 3)))


def drawn(chart):
    """The rows that a chart draws, all its data sets together."""
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def page(gradients=None, **tokens):
    """The figure of the model that does what is claimed."""
    described, shard = describe(**tokens), sums(*as_claimed(), noise=0.01)
    layers, heads = layers_of(shard, described)
    return figure_sep(key_shares(layers, gradients, lambda: iter([shard])), heads, described, "my-corpus", 40, 4000)


def test_the_figure_has_a_panel_each_for_attention_norms_and_gradients():
    chart = page(gradient_table())
    assert [panel.title for panel in chart.hconcat] == [
        *("Attention", "Norm of what is added to the output", "Gradient of the loss")
    ]
    rows = drawn(chart)
    means = {(row["measure"], row["layer"], row["token"]): row for row in rows if row["layer"] and "head" not in row}
    assert len(means) == 3 * LAYERS * 2
    row = means["norm", 4, "[SEP]"]
    assert row["high"] - row["share"] == pytest.approx(row["share_se"])
    assert len([row for row in rows if "head" in row]) == 2 * LAYERS * HEADS * 2
    subtitle = chart.to_dict()["title"]["subtitle"]
    assert subtitle[0] == "my-model on my-corpus: 40 examples, 4,000 tokens"
    assert "gradient" not in " ".join(subtitle)


def test_without_gradients_the_figure_has_two_panels_and_says_why():
    chart = page()
    assert len(chart.hconcat) == 2
    assert "No panel of gradients" in chart.to_dict()["title"]["subtitle"][-1]


def test_the_page_and_figure_name_the_models_own_tokens():
    tokens = {"cls": "<s>", "sep": "</s>"}
    assert {row["token"] for row in drawn(page(**tokens)) if "token" in row} == {"<s>", "</s>"}
    claims, described = claims_of(sums(*as_claimed())), describe(**tokens)
    html, markdown = (render_claims(claims, described, "c", as_html) for as_html in (True, False))
    assert "Where &lt;/s&gt; gets much attention" in html
    assert "Where \\</s\\> gets much attention" in markdown
    assert "<s>" not in html
    assert "{" not in markdown


def test_the_page_shows_every_row_with_its_interval(claimed):
    markdown = render_claims(claimed, describe(), "my-corpus", as_html=False)
    assert "my-model on my-corpus" in markdown
    lines = [line for line in markdown.splitlines() if line.startswith("| ") and "Measure" not in line]
    assert len([line for line in lines if ":--" not in line]) == claimed.height
    assert "There are no rows of gradients" in markdown
    html = render_claims(claims_of(sums(*as_claimed()), gradient_table()), describe(), "c", as_html=True)
    assert "There are no rows of gradients" not in html
    assert html.count("<table") == 3


def test_examples_without_special_tokens_have_no_claims_and_a_notice():
    shard = sums(*as_claimed()).with_columns(pl.lit(0, pl.UInt32).alias(key) for key in ("cls", "sep"))
    claims = claims_of(shard)
    assert claims.is_empty()
    assert "nothing to test" in render_claims(claims, describe(), "c", as_html=False)
    layers, heads = layers_of(shard)
    shares = key_shares(layers, None, lambda: iter([shard]))
    notice = drawn(figure_sep(shares, heads, describe(), "c", 1, 1))
    assert any("have no [SEP]" in str(row) for row in notice)


def test_the_chart_of_one_layer_and_no_standard_error_can_be_drawn():
    shard = sums(*(array[:1] for array in as_claimed()), examples=1)
    described = describe(layers=1)
    layers, heads = layers_of(shard, described)
    chart = figure_sep(key_shares(layers, None, lambda: iter([shard])), heads, described, "c", 1, 100)
    json.dumps(chart.to_dict())
    claims = claims_of(shard, described=described)
    assert rows_of(claims, "sep_is_no_op", "norm_to_attention")["layer"].to_list() == [1]
    assert rows_of(claims, "cls_then_sep", "sep_minus_cls_by_layer")["value"].to_list() == [None]


def test_the_chart_imports_no_torch():
    code = "import sys, headscope.charts.figure_sep, headscope.norms.claims_page; sys.exit('torch' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY / "scripts", check=False)
    assert run.returncode == 0
