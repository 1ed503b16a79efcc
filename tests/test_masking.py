import numpy as np
import pytest

from headscope.encoding import Kind
from headscope.mlm.masking import Vocabulary, mask_tokens

MASK = 4
VOCABULARY = Vocabulary(MASK, np.arange(10, 20))
CLS, TEXT, DOT, SEP = Kind.CLS, Kind.TEXT, Kind.PUNCTUATION, Kind.SEP


def example(size):
    """Ids from 100, so that a random token (10 to 19) and the mask are told from a kept one."""
    kinds = np.full(size, TEXT, np.uint8)
    kinds[[0, -1]] = CLS, SEP
    return np.arange(100, 100 + size), kinds


@pytest.mark.parametrize(("size", "chosen"), [(3, 1), (5, 1), (12, 2), (102, 15), (202, 30)])
def test_fifteen_percent_of_the_ordinary_tokens_are_chosen_and_at_least_one(size, chosen):
    ids, kinds = example(size)
    masked = mask_tokens(ids, kinds, VOCABULARY, (0, 1))
    assert len(masked.positions) == len(set(masked.positions.tolist())) == chosen
    assert masked.positions.min() > 0 and masked.positions.max() < size - 1
    assert masked.targets.tolist() == ids[masked.positions].tolist()


def test_only_chosen_tokens_change_in_the_shares_of_bert():
    ids, kinds = example(202)
    fates = []
    for number in range(400):
        masked = mask_tokens(ids, kinds, VOCABULARY, (0, number))
        untouched = np.setdiff1d(np.arange(202), masked.positions)
        assert masked.ids[untouched].tolist() == ids[untouched].tolist()
        fates += masked.ids[masked.positions].tolist()
    fates = np.array(fates)
    shares = [(fates == MASK).mean(), np.isin(fates, VOCABULARY.ordinary).mean(), (fates >= 100).mean()]
    np.testing.assert_allclose(shares, [0.8, 0.1, 0.1], atol=0.015)
    assert set(fates[fates < 100]) == {MASK, *VOCABULARY.ordinary}


def test_the_draw_hangs_on_seed_and_example_and_nothing_else():
    ids, kinds = example(80)
    before = ids.copy(), kinds.copy()
    first = mask_tokens(ids, kinds, VOCABULARY, (0, 7))
    mask_tokens(ids, kinds, VOCABULARY, (0, 8))
    again = mask_tokens(ids, kinds, VOCABULARY, (0, 7))
    assert all(np.array_equal(one, other) for one, other in zip(first, again, strict=True))
    for seed in ((0, 8), (1, 7)):
        assert mask_tokens(ids, kinds, VOCABULARY, seed).positions.tolist() != first.positions.tolist()
    assert np.array_equal(ids, before[0]) and np.array_equal(kinds, before[1]), "the example itself is left alone"


def test_a_point_that_is_hidden_is_no_punctuation_to_the_model():
    kinds = np.array([CLS, DOT, SEP], np.uint8)
    seen = {}
    for number in range(60):
        masked = mask_tokens(np.array([1, 100, 2]), kinds, VOCABULARY, (0, number))
        seen.setdefault("kept" if masked.ids[1] == 100 else "replaced", set()).add(int(masked.kinds[1]))
        assert masked.kinds[[0, 2]].tolist() == [CLS, SEP]
    assert seen == {"kept": {DOT}, "replaced": {TEXT}}


def test_special_tokens_alone_cannot_be_masked():
    with pytest.raises(ValueError, match="no token to mask"):
        mask_tokens(np.array([1, 2]), np.array([CLS, SEP], np.uint8), VOCABULARY, (0, 1))
