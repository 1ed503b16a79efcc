import numpy as np
import pytest

from headscope.probes.edges import edges_found, gold_edges, is_punctuation, joined_pairs

#         1 the  2 cat  3 sat  4 ,  5 purring  6 .
HEADS = np.array([2, 3, 0, 5, 3, 3], np.uint16)
RELATIONS = ["det", "nsubj", "root", "punct", "advcl", "punct"]


def test_each_word_is_joined_with_its_head_and_the_root_with_nothing():
    assert joined_pairs(HEADS).tolist() == [[1, 2], [2, 3], [4, 5], [3, 5], [3, 6]]


def test_edges_of_punctuation_do_not_count():
    assert gold_edges(HEADS, is_punctuation(RELATIONS)).tolist() == [[1, 2], [2, 3], [3, 5]]


def test_an_edge_whose_head_is_punctuation_does_not_count():
    # "!" is wrongly the head of "well": a chain well -> ! -> said, of which nothing is left
    assert gold_edges([2, 3, 0], is_punctuation(["discourse", "punct", "root"])).tolist() == []


def test_a_gold_edge_is_found_whichever_word_is_the_head():
    gold = gold_edges(HEADS, is_punctuation(RELATIONS))
    turned = np.array([0, 1, 2, 5, 4, 5])  # 1-2 and 2-3 the other way round, 4-5, 5-6 for 3-6
    assert edges_found(joined_pairs(turned), gold) == 2


def test_words_that_are_each_others_head_find_their_edge_once():
    predicted = joined_pairs([2, 1, 2])
    assert predicted.tolist() == [[1, 2], [1, 2], [2, 3]]
    assert edges_found(predicted, gold_edges([2, 3, 0], np.zeros(3, bool))) == 2
    assert edges_found(predicted[:2], gold_edges([2, 3, 0], np.zeros(3, bool))) == 1


@pytest.mark.parametrize("heads", [[0], []])
def test_a_sentence_without_a_second_word_has_no_edge(heads):
    gold = gold_edges(np.array(heads, np.int64), np.zeros(len(heads), bool))
    assert gold.shape == (0, 2)
    assert edges_found(joined_pairs(heads), gold) == 0
