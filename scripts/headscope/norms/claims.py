"""What is said of attention to [SEP] and [CLS], as tested rows: the table `norms/claims`."""

from typing import NamedTuple

import numpy as np
import polars as pl

from headscope.description import Description
from headscope.keys import KEYS
from headscope.norms.architectures import why_not
from headscope.norms.names import MEASURES
from headscope.norms.shares import magnitudes, token_numbers
from headscope.norms.tables import Shards, example_means, layer_means
from headscope.statistics import interval, mean_and_error, rank_correlation, resampled_means
from headscope.verdicts import verdict

COLUMNS = {
    "claim": pl.String,
    "measure": pl.String,
    "layer": pl.UInt16,
    "value": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
    "expected": pl.String,
    "supported": pl.String,
}
CLS, SEP, OTHER = (KEYS.index(key) for key in ("cls", "sep", "other"))
WEIGHT, NORM, VALUE = range(len(MEASURES))


class _Test(NamedTuple):
    """
    A row a layer, or one over all where `expected` is one string.

    `drawn` (1 + resample, row) begins with the values on the corpus itself.
    """

    claim: str
    measure: str
    drawn: np.ndarray
    expected: list[str | None] | str


def sep_claims(
    shards: Shards, described: Description, gradients: pl.DataFrame | None, resamples: int, seed: int
) -> pl.DataFrame:
    """
    Test what the literature says of attention to [SEP] on this model and corpus.

    Parameters
    ----------
    shards
        As for `headscope.norms.tables.merge_norms`.
    gradients
        The table `gradients/layers`, or None; its rows are then left out.
    resamples, seed
        Of the bootstrap over examples. Layers and heads are all that there are, so they are not drawn: an interval says
        how much a number rests on these texts.

    Returns
    -------
    claim, measure, layer (null: over all), value, ci_low, ci_high (95 %), expected (which values support the claim;
    null: it says nothing here), supported: `yes` where the whole interval is as expected, `no` where none of it is,
    `undecided` else. No rows where the examples have no [SEP] or no [CLS], or the norms
    cannot be computed. With means over examples, and those of a
    layer over its heads:

    cls_then_sep, "early layers attend to [CLS] and later ones to [SEP]" (Clark et al. 2019, section 3.2)
        `sep_minus_cls`: weight share of [SEP] − that of [CLS]. Below 0 in the first half of the layers, above 0 in the
        second; of the middle one of an odd number nothing is expected.
        `sep_minus_cls_by_layer`: Spearman's rank correlation of that difference with the layer. Above 0.
    sep_is_no_op, "where [SEP] gets much attention, its norm share and gradient are small" (Kobayashi et al. 2020,
    section 4; Clark et al. 2019, section 3.2)
        `norm_to_attention`: norm share of [SEP] ÷ its weight share. Below 1 where [SEP] gets much attention, that is,
        more than its share of the tokens; elsewhere nothing is expected.
        `value_norm_by_attention`: Spearman's correlation over all heads of the weight share of [SEP] and its value
        norm. Below 0.
        `relative_value_norm_by_attention`: the same with the value norm of [SEP] ÷ that of the key kind `other`, since
        the norms of unlike layers have unlike scales. Below 0.
        `gradient_to_other`: mean gradient magnitude of entries whose key is [SEP] ÷ that of the key kind `other`. Below
        1 where [SEP] gets much attention.
        `gradient_by_attention`: Spearman's correlation over layers of the weight share of [SEP] and
        `gradient_to_other`. Below 0. In both, gradients are drawn from normal distributions of the table's means and
        standard errors, each by itself, for the table does not hold examples.
    cls_is_no_op, the same of [CLS] (Kobayashi et al. 2020, section 4), on which some models rest as others do on [SEP]
    """
    if why_not(described.architecture):
        return pl.DataFrame(schema=COLUMNS)
    means = [example_means(shard, described) for shard in shards()]
    by_layer = np.concatenate([layer_means(part)[..., [WEIGHT, NORM], :] for part in means])
    if np.isnan(by_layer[..., [CLS, SEP]]).all((0, 1)).any():
        return pl.DataFrame(schema=COLUMNS)
    by_head = np.concatenate([part[..., [WEIGHT, VALUE], :] for part in means])
    by_head = by_head.reshape(len(by_head), -1, *by_head.shape[-2:])
    weight, norm = np.moveaxis(_drawn_means(by_layer, resamples, seed), -2, 0)  # (1 + resample, layer, key) each
    head_weight, head_value = np.moveaxis(_drawn_means(by_head, resamples, seed), -2, 0)
    gradient = _drawn_gradients(gradients, resamples, seed)
    numbers = np.concatenate(token_numbers(shards))
    token_share = (numbers[:, 1:] / numbers[:, :1]).mean(0)

    difference = weight[..., SEP] - weight[..., CLS]
    by_place = _correlation(np.arange(described.layers), difference)
    tests = [
        _Test("cls_then_sep", "sep_minus_cls", difference, _by_half(described.layers)),
        _Test("cls_then_sep", "sep_minus_cls_by_layer", by_place, "above 0"),
    ]
    for claim, key in (("sep_is_no_op", SEP), ("cls_is_no_op", CLS)):
        share, value, other = weight[..., key], head_value[..., key], head_value[..., OTHER]
        where_much = ["below 1" if much else None for much in share[0] > token_share[key]]
        ranks = _correlation(head_weight[..., key], value)
        relative_ranks = _correlation(head_weight[..., key], value / other)
        tests += [
            _Test(claim, "norm_to_attention", norm[..., key] / share, where_much),
            _Test(claim, "value_norm_by_attention", ranks, "below 0"),
            _Test(claim, "relative_value_norm_by_attention", relative_ranks, "below 0"),
        ]
        if gradient is not None:
            ratio = gradient[..., key] / gradient[..., OTHER]
            tests += [
                _Test(claim, "gradient_to_other", ratio, where_much),
                _Test(claim, "gradient_by_attention", _correlation(share, ratio), "below 0"),
            ]
    rows = [row for test in tests for row in _rows(test)]
    return pl.DataFrame(rows, COLUMNS, orient="row").fill_nan(None)


def _drawn_means(values: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """The means over examples (example, ...), then those of each resample: (1 + resample, ...)."""
    mean, _, _ = mean_and_error(lambda: [values])
    return np.concatenate([mean[None], resampled_means(values, resamples, seed)])


def _drawn_gradients(gradients: pl.DataFrame | None, resamples: int, seed: int) -> np.ndarray | None:
    """Mean magnitudes, then draws around them: (1 + resample, layer, kind); None where there are none."""
    if gradients is None or gradients.is_empty():
        return None
    mean, error = magnitudes(gradients)
    noise = np.random.default_rng(seed).standard_normal((resamples, *mean.shape))
    return np.concatenate([mean[None], mean + error * noise])


def _correlation(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Rank correlation of each draw: (1 + resample, 1)."""
    return rank_correlation(*np.broadcast_arrays(first, second))[:, None]


def _by_half(layers: int) -> list[str | None]:
    return ["below 0"] * (layers // 2) + [None] * (layers % 2) + ["above 0"] * (layers // 2)


def _rows(test: _Test):
    over_all = isinstance(test.expected, str)
    values, (lows, highs) = test.drawn[0], interval(test.drawn[1:])
    layers = [None] if over_all else range(1, len(values) + 1)
    expectations = [test.expected] if over_all else test.expected
    for layer, value, low, high, expected in zip(layers, values, lows, highs, expectations, strict=True):
        yield test.claim, test.measure, layer, value, low, high, expected, verdict(low, high, expected)
