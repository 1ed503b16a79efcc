import numpy as np
import polars as pl
import pytest

from headscope.description import Description, LayerView
from headscope.encoding import Encoded
from headscope.errors import InputError
from headscope.probes.files import LearnedProbe, Run
from headscope.probes.merging import all_counts, learning_curve, table_3, weights_of_heads
from headscope.probes.names import ATTENTION, ATTENTION_WORDS, CONTROL, DISTANCES_WORDS, RANDOM, RIGHT_BRANCHING
from headscope.probes.tables import COUNTS, CURVE, TABLE3, WEIGHTS
from headscope.statistics import bootstrap_intervals


def counts(probe, trained, *runs, words=(4, 2), tree=True):
    """A run's right heads in two sentences of four and two words; of joins, of which there is one less, one less."""
    return pl.DataFrame(
        [
            (
                probe,
                f"what {probe} reads",
                trained,
                seed,
                example,
                size,
                right,
                right if tree else None,
                size - 1,
                max(right - 1, 0),
            )
            for seed, run in enumerate(runs)
            for example, size, right in zip((3, 8), words, run, strict=True)
        ],
        COUNTS,
        orient="row",
    )


ENCODED_TEST = Encoded(pl.DataFrame({"example": [3, 8]}, {"example": pl.UInt32}), "corpus", "tokenizer")
OWN = [
    counts(RIGHT_BRANCHING, None, (2, 1), tree=False),
    counts(ATTENTION, 100, (1, 1), (2, 1)),
    counts(ATTENTION, 900, (3, 1), (4, 1)),
    counts(ATTENTION + CONTROL, 900, (1, 1), (1, 2), tree=False),
]


def together(of_twins=()):
    return all_counts(OWN, of_twins, ENCODED_TEST)


def test_table_3_by_hand():
    table = table_3(together(), resamples=200)
    assert table.schema == TABLE3
    assert table["probe"].to_list() == [RIGHT_BRANCHING, ATTENTION, ATTENTION + CONTROL], "those of 100 are not there"
    rows = {row["probe"]: row for row in table.iter_rows(named=True)}
    attention = rows[ATTENTION]
    assert attention["uas"] == pytest.approx((4 / 6 + 5 / 6) / 2)
    assert attention["uas_sd"] == pytest.approx(np.std([4 / 6, 5 / 6], ddof=1))
    assert attention["uuas"] == pytest.approx((2 / 4 + 3 / 4) / 2)
    assert attention["tree_uas"] == attention["uas"]
    assert attention["selectivity"] == pytest.approx(0.75 - (2 / 6 + 3 / 6) / 2)
    assert {name: attention[name] for name in ("seeds", "trained", "sentences", "words", "edges")} == {
        "seeds": 2, "trained": 900, "sentences": 2, "words": 6, "edges": 4,
    }  # fmt: skip
    low, high = bootstrap_intervals(np.array([[7], [2]]), np.array([[8], [4]]), 200, 0)
    assert (attention["uas_low"], attention["uas_high"]) == (low[0], high[0]), "over sentences, all runs together"
    assert low[0] == 0.5 and high[0] == 0.875
    alone = rows[RIGHT_BRANCHING]
    assert (
        alone["uas"] == 0.5 and alone["uas_sd"] is None and alone["tree_uas"] is None and alone["selectivity"] is None
    )


def test_twins_stand_beside_their_original_without_what_needs_no_model():
    twins = [
        pl.concat([counts(RIGHT_BRANCHING, None, (2, 1)), counts(ATTENTION, 900, (1, 0))]),
        counts(ATTENTION, 900, (0, 1)).with_columns(features=pl.lit("another")),
    ]
    table = table_3(together(twins), resamples=100)
    random = table.filter(probe=ATTENTION + RANDOM)
    assert random.rows_by_key("features", named=True, unique=True)["another"]["uas"] == pytest.approx(1 / 6)
    assert random.height == 2 and table.filter(probe=RIGHT_BRANCHING).height == 1


def test_a_run_that_lacks_a_sentence_is_refused():
    with pytest.raises(InputError, match="expected each of 2 sentences once and in order, found 1 with 1 missing"):
        all_counts([counts(ATTENTION, 900, (3, 1)).head(1)], [], ENCODED_TEST)


def test_the_curve_by_hand():
    table = learning_curve(together(), resamples=100)
    assert table.schema == CURVE
    assert table.select("probe", "trained", "seeds").rows() == [(ATTENTION, 100, 2), (ATTENTION, 900, 2)]
    assert table["uas"].to_list() == [pytest.approx(5 / 12), pytest.approx(0.75)]
    assert learning_curve(OWN[0], resamples=100).equals(CURVE.to_frame())


def test_weights_by_hand():
    views = [LayerView(False, None)] * 2
    described = Description("m", "m", None, None, "M", 2, 2, 8, 1, None, True, {}, views, weights="w", tokenizer="t")
    torch = pytest.importorskip("torch")
    runs = [
        Run(trained, seed, {"weights": torch.arange(8.0).view(2, 4) * scale, "root": torch.zeros(2)})
        for trained, seed, scale in ((50, 0, 100), (90, 0, 1), (90, 1, 3))
    ]
    probes = [
        LearnedProbe(ATTENTION, runs, None, "w", "c", ""),
        LearnedProbe(DISTANCES_WORDS, [], None, "w", "c", ""),
        LearnedProbe(ATTENTION_WORDS, runs[1:2], None, "w", "c", ""),
    ]
    table = weights_of_heads(probes, described)
    assert table.schema == WEIGHTS
    several = table.filter(probe=ATTENTION)
    assert several["weight"].to_list() == [2.0 * number for number in range(8)], "runs on fewer sentences left out"
    assert several["weight_sd"].to_list() == [pytest.approx(number * 2**0.5) for number in range(8)]
    assert several.row(6, named=True)["direction"] == "head_to_dependent"
    assert several.select("layer", "head").row(6) == (2, 1)
    single = table.filter(probe=ATTENTION_WORDS)
    assert single.height == 8 and single["weight_sd"].null_count() == 8
