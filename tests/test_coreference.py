"""Scoring coreference: hand-worked documents, laws, and agreement with a plain loop over everything."""

import numpy as np
import polars as pl
import pytest

from headscope.coreference.accuracy import merge_coreference, read_scored
from headscope.coreference.baselines import Entries, entries_of, predict
from headscope.coreference.cut import cut_mentions
from headscope.coreference.names import BASELINES, CANDIDATES, DIRECTIONS, TYPES
from headscope.coreference.passages import passage_to_show, shown_passage
from headscope.coreference.scoring import HITS, Task, count_coreference, predicted_words
from headscope.corpora.documents import DOCUMENTS, MENTIONS
from headscope.description import Description
from headscope.encoding import ENCODED, Encoded, Kind
from headscope.errors import InputError
from headscope.store import Maps

WORDS = ["Ann", "met", "Bob", ".", "She", "greeted", "him", "and", "his", "dog", "."]
# entity, first, last, head, type, number, gender
STORY = [
    (1, 1, 1, 1, "proper", "singular", "feminine"),
    (2, 3, 3, 3, "proper", "singular", "masculine"),
    (1, 5, 5, 5, "pronoun", "singular", "feminine"),
    (2, 7, 7, 7, "pronoun", "singular", "masculine"),
    (3, 9, 10, 10, "nominal", "singular", None),
    (2, 9, 9, 9, "pronoun", "singular", "masculine"),
]


def documents_of(*texts):
    """Documents of words, a sentence up to each full stop; no features of words."""
    rows = []
    for number, words in enumerate(texts, start=1):
        sentences = np.cumsum([0, *(word == "." for word in words)])[:-1] + 1
        unknown = [None] * len(words)
        rows.append(
            (number, f"file:{number}", f"d{number}", words, [True] * len(words), sentences.tolist(), *[unknown] * 3)
        )
    return pl.DataFrame(rows, DOCUMENTS, orient="row")


def mentions_of(words, rows, example=1):
    """The mentions of one document."""
    return pl.DataFrame(
        [
            {
                "example": example,
                "mention": number,
                "where": "file:1",
                "entity": entity,
                "chain": str(entity),
                "first": first,
                "last": last,
                "discontinuous": False,
                "text": " ".join(words[first - 1 : last]),
                "head": head,
                "head_word": words[head - 1],
                "head_by": "gold",
                "mention_type": kind,
                "number": count,
                "gender": gender,
                "person": "3",
            }
            for number, (entity, first, last, head, kind, count, gender) in enumerate(rows, start=1)
        ],
        MENTIONS,
    )


def encoded_of(documents, kept=None):
    """The first words of documents between two special tokens, one token a word."""
    rows = []
    for row in documents.iter_rows(named=True):
        words = row["words"][: kept or len(row["words"])]
        kinds = [Kind.CLS, *[Kind.TEXT] * len(words), Kind.SEP]
        names = ["[CLS]", *words, "[SEP]"]
        size = len(names)
        is_cut = len(words) < len(row["words"])
        rows.append((row["example"], row["where"], is_cut, [0] * size, [0] * size, list(range(size)), names, kinds))
    return Encoded(pl.DataFrame(rows, ENCODED, orient="row"), "corpus", "tokenizer")


def described(layers=1, heads=1):
    fields = {name: None for name in Description.__dataclass_fields__}
    return Description(**fields | {"layers": layers, "heads": heads})


def random_maps(generator, layers, heads, size, dtype=np.float16):
    weights = generator.random((layers, heads, size, size))
    return (weights / weights.sum(-1, keepdims=True)).astype(dtype)


def test_a_mention_is_scored_when_its_entity_has_an_earlier_head():
    task = Task.of(mentions_of(WORDS, STORY), len(WORDS))
    assert task.rows.tolist() == [2, 3, 5]
    assert (task.queries + 1).tolist() == [5, 7, 9]
    assert task.distances.tolist() == [4, 4, 2]
    assert {name: [(np.flatnonzero(row) + 1).tolist() for row in task.allowed[name]] for name in CANDIDATES} == {
        "mentions": [[1, 3], [1, 3, 5], [1, 3, 5, 7]],
        "words": [[n for n in range(1, 12) if n != query] for query in (5, 7, 9)],
        "all_mentions": [[1, 3, 7, 9, 10], [1, 3, 5, 9, 10], [1, 3, 5, 7, 10]],
    }
    assert {name: [(np.flatnonzero(row) + 1).tolist() for row in task.right[name]] for name in CANDIDATES} == {
        "mentions": [[1], [3], [3, 7]],
        "words": [[1], [3, 9], [3, 7]],
        "all_mentions": [[1], [3, 9], [3, 7]],
    }


def test_mentions_with_one_head_are_one_candidate_and_never_their_own():
    # [[Ann] and Bob] ... They: Ann heads her own mention and the pair's.
    words = ["Ann", "and", "Bob", "ran", ".", "They", "won"]
    rows = [(2, 1, 3, 1, "proper", "plural", None), (1, 1, 1, 1, "proper", "singular", None)]
    rows += [(3, 3, 3, 3, "proper", "singular", None), (2, 6, 6, 6, "pronoun", "plural", None)]
    task = Task.of(mentions_of(words, rows), len(words))
    assert task.rows.tolist() == [3]
    assert (np.flatnonzero(task.allowed["mentions"][0]) + 1).tolist() == [1, 3]
    assert (np.flatnonzero(task.right["mentions"][0]) + 1).tolist() == [1]


def test_the_candidate_with_most_attention_is_picked_in_either_direction():
    size = len(WORDS)
    weights = np.zeros((1, 1, size, size), np.float16)
    she, him, his = 4, 6, 8
    weights[0, 0, she, [0, 2, 9]] = (
        0.2,
        0.3,
        0.4,
    )  # she looks at Bob most among earlier mentions, at the dog most of all
    weights[0, 0, [0, 2, 9], he := him] = 0.1, 0.6, 0.2  # Bob looks at him
    weights[0, 0, his, [3, 6]] = 0.9, 0.1  # his looks at the full stop most
    picked = predicted_words(weights, Task.of(mentions_of(WORDS, STORY), size))
    # He (7) looks at nobody, nobody looks at she (5) and his (9): they pick themselves.
    assert (picked["mentions"][0, 0] + 1).tolist() == [3, 7, 7]
    assert (picked["all_mentions"][0, 0] + 1).tolist() == [10, 7, 7]
    assert (picked["words"][0, 0] + 1).tolist() == [10, 7, 4]
    assert (picked["mentions"][1, 0] + 1).tolist() == [5, 3, 9]
    assert (picked["words"][1, 0] + 1).tolist() == [5, 3, 9]
    assert he == him


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_no_earlier_word_of_a_causal_head_attends_to_an_anaphor(dtype):
    task = Task.of(mentions_of(WORDS, STORY), len(WORDS))
    weights = np.tril(np.random.default_rng(0).random((2, 3, len(WORDS), len(WORDS)))).astype(dtype)
    picked = predicted_words(weights, task)
    number = np.arange(len(task.queries))
    assert (picked["mentions"][1] == task.queries).all()
    assert not task.right["mentions"][number, picked["mentions"][1]].any()
    for name in ("words", "all_mentions"):
        assert (picked[name][1] >= task.queries).all(), "only later words attend to it"
        assert (picked[name][0] < task.queries).all(), "and it attends to earlier ones"


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_every_head_is_scored_as_a_plain_loop_scores_it(dtype):
    generator = np.random.default_rng(0)
    documents, rows = documents_of(WORDS), STORY
    mentions = mentions_of(WORDS, rows)
    weights = random_maps(generator, 3, 5, len(WORDS) + 2, dtype)
    weights[..., 3] = weights[..., 1]  # ties
    hits = count_coreference([Maps(np.array([1]), weights[None])], encoded_of(documents), documents, mentions)
    heads = [head for _, _, _, head, *_ in rows]
    for row in hits.iter_rows(named=True):
        bits = np.unpackbits(np.frombuffer(row["hits"], np.uint8), count=2 * 15).reshape(2, 3, 5)
        entity, _, _, query, *_ = rows[row["mention"] - 1]
        same = {other for number, _, _, other, *_ in rows if number == entity and other != query}
        earlier = sorted(head for head in heads if head < query)
        candidates = {
            "mentions": earlier,
            "words": [word for word in range(1, len(WORDS) + 1) if word != query],
            "all_mentions": sorted(head for head in heads if head != query),
        }[row["candidates"]]
        for direction in range(2):
            for layer in range(3):
                for head in range(5):
                    table = weights[layer, head] if direction == 0 else weights[layer, head].T
                    best = max(candidates, key=lambda word: table[query, word])  # the first of the best
                    right = best in same and (row["candidates"] != "mentions" or best < query)
                    assert bits[direction, layer, head] == right, row
    assert hits.height == 3 * len(CANDIDATES)


def test_baselines_on_a_document_worked_by_hand():
    documents, mentions = documents_of(WORDS), mentions_of(WORDS, STORY)
    row = documents.row(0, named=True)
    by_mention, _ = entries_of(mentions, row, len(WORDS))
    task = Task.of(mentions, len(WORDS))
    picked = predict(by_mention.take(task.rows), by_mention, task.allowed["mentions"])
    # she: nearest Bob, agrees with Ann; him: nearest she, agrees with Bob; his: nearest him, which agrees
    assert {name: (words + 1).tolist() for name, words in picked.items()} == {
        "nearest": [3, 5, 7],
        "head_match": [3, 5, 7],
        "rules": [1, 3, 7],
    }


@pytest.mark.parametrize(
    ("strings", "head_words", "numbers", "rules", "head_match"),
    [
        ([5, 6, 9, 5], [1, 1, 2, 1], [0, 0, 0, 0], 0, 1),  # same string far away goes before same head nearer
        ([5, 6, 9, 8], [1, 1, 2, 1], [0, 0, 0, 0], 1, 1),  # then the nearest same head
        ([5, 6, 9, 8], [1, 1, 2, 3], [1, 0, 1, 0], 1, 2),  # then the nearest that agrees; head match falls to nearest
        ([5, 6, 9, 8], [1, 1, 2, 3], [1, -1, 1, 0], 1, 2),  # unknown agrees
        ([5, 6, 9, 8], [1, 1, 2, 3], [1, 1, 1, 0], 2, 2),  # then any
    ],
)
def test_the_sieves_come_in_their_order(strings, head_words, numbers, rules, head_match):
    features = np.array([[number, -1, -1] for number in numbers])
    entries = Entries(np.arange(4), np.array(strings), np.array(head_words), features)
    allowed = np.array([[True, True, True, False]])
    picked = predict(entries.take(np.array([3])), entries, allowed)
    assert {name: words.tolist() for name, words in picked.items()} == {
        "nearest": [2],
        "head_match": [head_match],
        "rules": [rules],
    }


def test_of_two_as_near_the_one_before_is_nearest():
    entries = Entries(np.array([1, 2, 3]), np.arange(3), np.arange(3), np.full((3, 3), -1))
    picked = predict(entries.take(np.array([1])), entries, np.array([[False, True, False, True]]))
    assert picked["nearest"].tolist() == [1]


def test_mentions_at_and_behind_a_cut_are_dropped_and_counted():
    documents, mentions = documents_of(WORDS), mentions_of(WORDS, STORY)
    kept, skipped = cut_mentions(mentions, encoded_of(documents, kept=9))
    assert kept["mention"].to_list() == [1, 2, 3, 4, 6]
    assert skipped.rows() == [
        (1, "file:1", "document cut after 9 words: 1 mentions cross the cut and 0 stand behind it; they are dropped")
    ]
    kept, skipped = cut_mentions(mentions, encoded_of(documents, kept=6))
    assert kept["mention"].to_list() == [1, 2, 3]
    assert "0 mentions cross the cut and 3 stand behind it" in skipped["reason"].item()
    assert cut_mentions(mentions, encoded_of(documents))[1].is_empty()


def many(generator, documents=7, size=30, mentions=12, entities=4):
    """Random documents of random mentions, and their maps."""
    texts = [[f"w{word}" for word in generator.integers(0, 9, size)] for _ in range(documents)]
    table = documents_of(*texts)
    rows = []
    for example, words in enumerate(texts, start=1):
        heads = np.sort(generator.choice(size, mentions, replace=False)) + 1
        kinds = generator.choice(TYPES[1:], mentions)
        drawn = generator.integers(1, entities + 1, mentions)
        described = [
            (int(e), int(h), int(h), int(h), str(k), None, None) for e, h, k in zip(drawn, heads, kinds, strict=True)
        ]
        rows.append(mentions_of(words, described, example))
    maps = Maps(np.arange(1, documents + 1), np.stack([random_maps(generator, 2, 3, size + 2) for _ in texts]))
    return table, pl.concat(rows), maps


def merged(tmp_path, shards, encoded, documents, mentions):
    paths = []
    for number, maps in enumerate(shards):
        part = encoded._replace(table=encoded.table.filter(pl.col("example").is_in(maps.examples.tolist())))
        paths.append(tmp_path / f"{number}-of-{len(shards)}")
        count_coreference([maps], part, documents, mentions).write_parquet(paths[-1])
    scored = {name: read_scored(paths, name, described(2, 3), encoded) for name in CANDIDATES}
    return merge_coreference(scored, 300, 0)


def test_sharding_and_the_order_of_maps_change_nothing(tmp_path):
    documents, mentions, maps = many(np.random.default_rng(1))
    encoded = encoded_of(documents)
    whole = merged(tmp_path, [maps], encoded, documents, mentions)
    backwards = Maps(maps.examples[::-1], maps.weights[::-1])
    shards = [Maps(maps.examples[part], maps.weights[part]) for part in (slice(0, 3), slice(3, 7))]
    for other in (
        merged(tmp_path, [backwards], encoded, documents, mentions),
        merged(tmp_path, shards, encoded, documents, mentions),
    ):
        for table, same in zip(whole, other, strict=True):
            assert table.equals(same)


def test_permuting_heads_permutes_the_table(tmp_path):
    documents, mentions, maps = many(np.random.default_rng(2))
    encoded = encoded_of(documents)
    heads, *_ = merged(tmp_path, [maps], encoded, documents, mentions)
    turned = Maps(maps.examples, np.roll(maps.weights, 1, axis=2))
    rolled, *_ = merged(tmp_path, [turned], encoded, documents, mentions)
    expected = heads.with_columns(head=(pl.col("head") % 3 + 1).cast(pl.UInt16)).sort(heads.columns[:5])
    assert rolled.sort(heads.columns[:5]).equals(expected)


def test_types_add_up_and_accuracies_are_shares(tmp_path):
    documents, mentions, maps = many(np.random.default_rng(3))
    heads, table2, distances = merged(tmp_path, [maps], encoded_of(documents), documents, mentions)
    key = ["candidates", "layer", "head", "direction"]
    by_type = heads.filter(pl.col("mention_type") != "all").group_by(key).agg(pl.sum("correct", "total"))
    every = heads.filter(mention_type="all").select(*key, "correct", "total")
    assert by_type.sort(key).equals(every.sort(key), null_equal=True)
    assert heads.select((pl.col("correct") / pl.col("total") == pl.col("accuracy")).all()).item()
    best = heads.filter(mention_type="all").group_by("candidates").agg(pl.max("accuracy"))
    shown = table2.filter(predictor="head").select("candidates", accuracy="all_accuracy")
    assert best.sort("candidates").equals(shown.sort("candidates"))
    totals = distances.group_by("candidates", "predictor").agg(pl.sum("correct", "total"))
    reached = table2.join(totals, on=["candidates", "predictor"])
    assert reached.height == 3 * 4
    assert reached.select((pl.col("total") == pl.col("all_total")).all()).item()
    assert reached.select(((pl.col("correct") / pl.col("total") - pl.col("all_accuracy")).abs() < 1e-12).all()).item()
    for name in TYPES:
        inside = table2.filter(pl.col(f"{name}_ci_low") > pl.col(f"{name}_ci_high"))
        assert inside.is_empty()


def table_of_hits(*rows):
    """Rows (example, mention, type, bits): the other columns say no."""
    return pl.DataFrame(
        [
            {"candidates": "mentions", "example": example, "mention": mention, "mention_type": kind, "distance": 1}
            | dict.fromkeys(BASELINES, False)
            | {"hits": bytes([bits << 6])}
            for example, mention, kind, bits in rows
        ],
        HITS,
    )


def test_the_held_out_head_is_chosen_on_the_other_half(tmp_path):
    # Two head-directions (one head). Odd documents: the first direction is right twice, the second once;
    # even ones: the first never, the second always.
    table = table_of_hits(
        (1, 1, "pronoun", 0b11),
        (1, 2, "nominal", 0b10),
        (2, 1, "pronoun", 0b01),
        (2, 2, "pronoun", 0b01),
        (2, 3, "nominal", 0b01),
    )
    table.write_parquet(tmp_path / "hits")
    encoded = encoded_of(documents_of(["a"], ["b"]))
    scored = read_scored([tmp_path / "hits"], "mentions", described(), encoded)
    _, table2, _ = merge_coreference({"mentions": scored}, 200, 0)
    rows = {row["predictor"]: row for row in table2.iter_rows(named=True)}
    # Best over all: the second direction, 4 of 5. Held out: odd documents by the second (1 of 2), even by the first
    # (0 of 3).
    assert (rows["head"]["direction"], rows["head"]["all_accuracy"]) == (DIRECTIONS[1], 0.8)
    assert rows["held_out"]["all_accuracy"] == pytest.approx((1 / 2 + 0 / 3) / 2)
    assert rows["held_out"]["pronoun_accuracy"] == pytest.approx((1 / 1 + 0 / 2) / 2)
    assert rows["held_out"]["proper_accuracy"] is None
    assert rows["nearest"]["all_accuracy"] == 0
    assert [rows["head"][f"{name}_total"] for name in TYPES] == [5, 3, 0, 2]


def test_a_document_without_anaphors_is_there_all_the_same(tmp_path):
    documents = documents_of(WORDS, ["Nothing", "refers", "."])
    mentions = pl.concat(
        [mentions_of(WORDS, STORY), mentions_of(["Nothing"], [(1, 1, 1, 1, "pronoun", None, None)], 2)]
    )
    encoded = encoded_of(documents)
    maps = [
        Maps(np.array([number]), np.full((1, 1, 1, size, size), 0.1, np.float16)) for number, size in ((2, 5), (1, 13))
    ]
    hits = count_coreference(maps, encoded, documents, mentions)
    assert hits.filter(example=2).select("candidates", "mention").rows() == [(name, None) for name in CANDIDATES]
    hits.write_parquet(tmp_path / "hits")
    scored = read_scored([tmp_path / "hits"], "mentions", described(), encoded)
    assert scored.documents.tolist() == [1, 2]
    assert len(scored.types) == 3
    hits.filter(example=1).write_parquet(tmp_path / "fewer")
    with pytest.raises(InputError, match="expected each of 2 documents once and in order, found 1 with 1 missing"):
        read_scored([tmp_path / "fewer"], "mentions", described(), encoded)


def test_a_corpus_without_anaphors_is_refused(tmp_path):
    documents = documents_of(["Nothing", "refers"])
    mentions = mentions_of(["Nothing"], [(1, 1, 1, 1, "pronoun", None, None)])
    encoded = encoded_of(documents)
    maps = [Maps(np.array([1]), np.full((1, 1, 1, 4, 4), 0.1, np.float16))]
    count_coreference(maps, encoded, documents, mentions).write_parquet(tmp_path / "hits")
    with pytest.raises(InputError, match="expected mentions with an antecedent in 1 documents, found none"):
        read_scored([tmp_path / "hits"], "mentions", described(), encoded)


def test_maps_of_other_documents_are_refused():
    documents, mentions = documents_of(WORDS), mentions_of(WORDS, STORY)
    maps = [Maps(np.array([1]), np.full((1, 1, 1, 9, 9), 0.1, np.float16))]
    with pytest.raises(InputError, match="example 1: expected maps of 13 rows, found 9"):
        count_coreference(maps, encoded_of(documents), documents, mentions)
    maps = [Maps(np.array([5]), np.full((1, 1, 1, 13, 13), 0.1, np.float16))]
    with pytest.raises(InputError, match="example 5: expected a document of this corpus, found none"):
        count_coreference(maps, encoded_of(documents), documents, mentions)


def test_the_passage_is_whole_sentences_of_the_document_with_most_anaphors():
    filler = ["word"] * 40 + ["."]
    texts = [["Nobody", "."], [*WORDS, *filler, *filler]]
    documents = documents_of(*texts)
    mentions = pl.concat(
        [mentions_of(WORDS, STORY, 2), mentions_of(texts[0], [(1, 1, 1, 1, "pronoun", None, None)], 1)]
    )
    assert passage_to_show(documents, mentions, encoded_of(documents), None) == (2, 11 + 41)
    assert passage_to_show(documents, mentions, encoded_of(documents), 2) == (2, 11 + 41)
    with pytest.raises(InputError, match="expected a mention with an antecedent in the first 60 words of document 1"):
        passage_to_show(documents, mentions, encoded_of(documents), 1)
    long = documents_of([*WORDS[:3], *["word"] * 70])
    assert passage_to_show(
        long, mentions_of(WORDS, [STORY[0], (1, 3, 3, 3, *STORY[0][4:])]), encoded_of(long), None
    ) == (1, 60)


def test_links_join_anaphors_to_their_candidates():
    documents, mentions = documents_of(WORDS), mentions_of(WORDS, STORY)
    weights = random_maps(np.random.default_rng(4), 2, 2, len(WORDS))
    best = {"layer": 2, "head": 1, "direction": DIRECTIONS[1], "all_accuracy": 0.5}
    links, passage = shown_passage(best, documents.row(0, named=True), mentions, weights, len(WORDS))
    assert links.select("query_word", "key_word").rows() == [
        *(("She", "Ann"), ("She", "Bob"), ("him", "Ann"), ("him", "Bob"), ("him", "She")),
        *(("his", "Ann"), ("his", "Bob"), ("his", "She"), ("his", "him")),
    ]
    assert links.filter("antecedent").select("query", "key").rows() == [(5, 1), (7, 3), (9, 3), (9, 7)]
    assert links.group_by("anaphor").agg(pl.sum("picked")).select((pl.col("picked") == 1).all()).item()
    for row in links.iter_rows(named=True):
        assert row["weight"] == weights[1, 0, row["key"] - 1, row["query"] - 1]
    strongest = links.filter(pl.col("weight") == pl.col("weight").max().over("anaphor"))
    assert strongest["picked"].all()
    assert passage.filter("anaphor")["text"].to_list() == ["She", "him", "his"]
    assert passage.filter("mention_head").select("text", "entity").rows() == [
        *(("Ann", 1), ("Bob", 2), ("She", 1), ("him", 2), ("his", 2), ("dog", 3)),
    ]
