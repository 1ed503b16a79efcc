"""Each word has its tokens, for every kind of tokenizer and every kind of string."""

import random
from functools import cache, partial

import polars as pl
import pytest
import transformers
from checkpoints import SIZES, save_checkpoint
from tokenizer_kinds import FAST, SLOW, WRONG_WORD_IDS, framed
from tokenizers import Tokenizer, models

from headscope.corpora.text import PAIRS
from headscope.encoding import Kind
from headscope.errors import InputError
from headscope.models.describing import describe
from headscope.models.loading import load
from headscope.tokenizing import encode_pairs, encode_words, special_tokens_around
from headscope.word_tokens import NEIGHBOURS, Place, WordTokens, places, special_ids

ALL = [*FAST, *SLOW, *WRONG_WORD_IDS]
LOSSLESS = ("GPT-2", "RoBERTa", "RoBERTa with prefix", "Llama", "Llama, legacy", "CANINE", "ByT5")
LITERALS = ["[SEP]", "[CLS]", "[MASK]", "[PAD]", "[UNK]", "<s>", "</s>", "<pad>", "<mask>", "<cls>", "<|endoftext|>"]
READ_AS_SPECIAL = {
    "XLM-R": {"<s>", "</s>", "<pad>", "<mask>"},
    "ALBERT": {"<pad>"},  # it lower-cases the others
    "T5": {"</s>", "<pad>"},
    "DeBERTa-v2": {"[CLS]", "[SEP]", "[MASK]", "[PAD]"},
    "XLNet": {"<s>", "</s>", "<pad>", "<mask>", "<cls>"},
    "Unigram with NMT's map": {"[CLS]", "[SEP]", "[MASK]", "[PAD]"},
    "merging Metaspace": {"[CLS]", "[SEP]", "[MASK]", "[PAD]"},
    "WordPiece at blanks": {"[CLS]", "[SEP]", "[MASK]", "[PAD]"},
    "BERT in Python": {"[CLS]", "[SEP]", "[MASK]", "[PAD]"},
}
"""What a tokenizer reads as a special token though asked not to: the vocabulary has it as a piece."""
WORDS = [
    "The",
    "the",
    "sea",
    "lighthouses",
    "don't",
    "n't",
    ".",
    ",",
    "...",
    "10,000",
    "x" * 40,
    "antidisestablishment",
]
HIDDEN = ["\u200b", "\u200d", "\ufeff", "\u00ad", "\ufe0f", "\u0301", "\x07", "\u2028", "\u00a0", "\u3000"]
INSIDE = ["sea\u200bside", "\u200bsea", "sea\u200d", "\ufeffsea", "light\u00adhouse", "a\x07b"]
MARKS = ["e\u0301te\u0301", "été", "Å", "A\u030a", "\u1112\u1161\u11ab", "한국어", "ﬁsh", "Ⅳ", "İstanbul", "ılık", "ß"]
EMOJI = ["👍", "👍🏽", "👩🏽‍🚀", "🇩🇪", "☃️"]
SCRIPTS = ["東京", "大都市", "我喜歡你", "。", "،", "وكتابه", "שָׁלוֹם", "ירושלים", "नमस्ते", "ไทย"]
BLANKS = ["New York", "nhà nước", "a  b", "tab\tbed", " lead", "trail "]
POOL = [
    *WORDS,
    *HIDDEN,
    *INSIDE,
    *MARKS,
    *EMOJI,
    *SCRIPTS,
    *BLANKS,
    *LITERALS,
    "a</s>b",
    "##ing",
    "▁",
    "Ġthe",
    "<0x41>",
]


@cache
def made(name, folder=None):
    return SLOW[name](folder) if name in SLOW else (FAST | WRONG_WORD_IDS)[name]()


@pytest.fixture(scope="module")
def tokenizer_of(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vocabulary")
    return lambda name: made(name, folder if name in SLOW else None)


def table(*sentences):
    """Sentences as (words, space_after)."""
    return pl.DataFrame(
        [(number, f"file:{number}", *sentence) for number, sentence in enumerate(sentences, 1)],
        {"example": pl.UInt32, "where": pl.String, "words": pl.List(pl.String), "space_after": pl.List(pl.Boolean)},
        orient="row",
    )


def drawn_sentences(seed, pool, count=300, glued=0.5):
    draw = random.Random(seed)
    sentences = []
    for _ in range(count):
        words = draw.choices(pool, k=draw.randint(1, 9))
        sentences.append((words, [draw.random() >= glued for _ in words]))
    return sentences


def text_of(words, spaces):
    return "".join(word + " " * blank for word, blank in zip(words, [*spaces[:-1], False], strict=True))


def words_and_tokens(tokenizer, words, spaces=None):
    """Of one sentence: the ids of each word, special tokens left off."""
    encoded, _ = encode_words(table((words, spaces or [True] * len(words))), tokenizer, None)
    row = encoded.row(0, named=True)
    is_word = [kind in (Kind.TEXT, Kind.PUNCTUATION) for kind in row["kinds"]]
    return [
        [token for token, of in zip(row["ids"], row["words"], strict=True) if of == number]
        for number, inside in enumerate(is_word)
        if inside
    ]


@pytest.mark.parametrize("name", ALL)
def test_every_word_has_its_tokens_or_the_sentence_is_skipped_by_name(name, tokenizer_of):
    tokenizer = tokenizer_of(name)
    before, after = special_tokens_around(tokenizer)
    special = special_ids(tokenizer)
    sentences = drawn_sentences(0, POOL)
    encoded, skipped = encode_words(table(*sentences), tokenizer, None)
    assert sorted([*encoded["example"], *skipped["example"]]) == list(range(1, len(sentences) + 1))
    for row in encoded.iter_rows(named=True):
        words, _ = sentences[row["example"] - 1]
        first, last = len(before), len(before) + len(words)
        steps = [after - before for before, after in zip([-1, *row["words"]], row["words"], strict=False)]
        assert set(steps) <= {0, 1}, "every row of the map has a token, and its tokens stand together"
        assert steps[0] == 1
        assert row["words"][-1] + 1 == len(row["kinds"]) == last + len(after)
        assert row["tokens"][first:last] == words
        inside = [token for token, of in zip(row["ids"], row["words"], strict=True) if first <= of < last]
        assert row["ids"] == [*before, *inside, *after]
        assert special.isdisjoint(inside)
        marks = [Kind.PUNCTUATION if word in (".", ",") else Kind.TEXT for word in words]
        assert row["kinds"][first:last] == marks
    for example, _, reason in skipped.iter_rows():
        assert any(repr(word) in reason and "yields" in reason for word in sentences[example - 1][0])


@pytest.mark.parametrize("name", ALL)
def test_words_do_not_hang_on_the_sentence_that_they_stand_in(name, tokenizer_of):
    tokenizer = tokenizer_of(name)
    words = [(word, place) for word in POOL for place in Place]
    together = WordTokens(tokenizer).of(words)
    assert together == [WordTokens(tokenizer).of([word])[0] for word in words]


def parts_at_words(tokenizer, text, words, spaces):
    """Whether no part into which a fast tokenizer cuts the text before it looks into its vocabulary has two words."""
    spans, at = [], 0
    for word, blank in zip(words, spaces, strict=True):
        spans.append((at, at + len(word)))
        at += len(word) + blank
    encoding = tokenizer(text, add_special_tokens=False, split_special_tokens=True, return_offsets_mapping=True)
    parts = {}
    for part, (start, stop) in zip(encoding.word_ids(), encoding["offset_mapping"], strict=True):
        parts.setdefault(part, []).append((start, stop))
    for offsets in parts.values():
        start, stop = min(start for start, _ in offsets), max(stop for _, stop in offsets)
        touched = sum(first < stop and start < last for first, last in spans)
        if touched > 1:
            return False
    return True


PLAIN = [*WORDS, *EMOJI, *SCRIPTS, *MARKS]


@pytest.mark.parametrize("name", FAST)
def test_ids_are_those_of_the_running_text_where_the_tokenizer_parts_it_at_the_words(name, tokenizer_of):
    tokenizer = tokenizer_of(name)
    plain = partial(tokenizer, split_special_tokens=True)
    sentences = drawn_sentences(1, PLAIN, 200, glued=0.3) + drawn_sentences(2, PLAIN, 200, glued=0)
    encoded, skipped = encode_words(table(*sentences), tokenizer, None)
    compared = {0: 0, 1: 0}
    for example, ids in encoded.select("example", "ids").iter_rows():
        words, spaces = sentences[example - 1]
        text = text_of(words, spaces)
        if all(spaces[:-1]) or parts_at_words(tokenizer, text, words, spaces):
            assert ids == plain(text)["input_ids"], text
            compared[int(example > 200)] += 1
    assert skipped.is_empty()
    assert compared[0] >= 20, "some words that are written together are parted by the tokenizer"
    assert compared[1] == 200, "words between blanks always are"


@pytest.mark.parametrize("name", LOSSLESS)
def test_the_tokens_of_lossless_tokenizers_spell_the_text(name, tokenizer_of):
    tokenizer = tokenizer_of(name)
    before, after = special_tokens_around(tokenizer)
    sentences = drawn_sentences(3, [word for word in POOL if word != "▁" or "Llama" not in name])
    encoded, skipped = encode_words(table(*sentences), tokenizer, None)
    for example, ids in encoded.select("example", "ids").iter_rows():
        text = text_of(*sentences[example - 1])
        spelled = tokenizer.decode(ids[len(before) : len(ids) - len(after)], clean_up_tokenization_spaces=False)
        adds_blank = name in ("RoBERTa with prefix", "Llama")  # but not before one
        assert spelled.removeprefix(" ") == text.removeprefix(" ") if adds_blank else spelled == text
    assert skipped.is_empty()


@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        ("WordPiece uncased", [["the"], ["sea"], ["."]]),
        ("WordPiece cased", [["The"], ["sea"], ["."]]),
        ("GPT-2", [["The"], ["Ġse", "a"], ["."]]),
        ("RoBERTa", [["The"], ["Ġse", "a"], ["."]]),
        ("RoBERTa with prefix", [["ĠThe"], ["Ġse", "a"], ["."]]),
        ("ModernBERT", [["The"], ["Ġse", "a"], ["."]]),
        ("Qwen", [["The"], ["Ġse", "a"], ["."]]),
        ("XLM-R", [["▁The"], ["▁sea"], ["."]]),
        ("ALBERT", [["▁the"], ["▁sea"], ["."]]),
        ("T5", [["▁The"], ["▁sea"], ["."]]),
        ("DeBERTa-v2", [["▁The"], ["▁sea"], ["."]]),
        ("XLNet", [["▁The"], ["▁sea"], ["."]]),
        ("Llama", [["▁The"], ["▁se", "a"], ["."]]),
        ("Llama, legacy", [["▁The"], ["▁se", "a"], ["."]]),
    ],
)
def test_a_word_has_the_blank_that_the_text_has(name, tokens, tokenizer_of):
    tokenizer = tokenizer_of(name)
    found = words_and_tokens(tokenizer, ["The", "sea", "."], [True, False, False])
    assert [tokenizer.convert_ids_to_tokens(ids) for ids in found] == tokens


@pytest.mark.parametrize("name", ALL)
def test_a_word_that_spells_a_special_token_is_ordinary(name, tokenizer_of):
    tokenizer = tokenizer_of(name)
    before, after = special_tokens_around(tokenizer)
    encoded, skipped = encode_words(table((LITERALS, [True] * len(LITERALS))), tokenizer, None)
    assert skipped.is_empty()
    row = encoded.row(0, named=True)
    assert row["kinds"][len(before) : len(row["kinds"]) - len(after)] == [Kind.TEXT] * len(LITERALS)
    assert row["tokens"][len(before) : len(row["kinds"]) - len(after)] == LITERALS
    found = words_and_tokens(tokenizer, LITERALS)
    assert all(special_ids(tokenizer).isdisjoint(ids) for ids in found)
    if name in LOSSLESS:
        spelled = [tokenizer.decode(ids).strip() for ids in found]
        assert spelled == LITERALS


def test_only_the_special_token_of_a_word_is_cut(tokenizer_of):
    tokenizer = tokenizer_of("XLM-R")
    (ids,) = words_and_tokens(tokenizer, ["sea</s>side"])
    assert tokenizer.convert_ids_to_tokens(ids) == ["▁sea", "<", "/", "s", ">", "s", "ide"]


def test_a_word_that_is_a_special_token_however_it_is_cut_is_skipped_by_name(tokenizer_of):
    canine = tokenizer_of("CANINE")
    encoded, skipped = encode_words(table((["a"], [True]), (["b", canine.sep_token], [True, True])), canine, None)
    assert encoded["example"].to_list() == [1]
    assert skipped.rows() == [(2, "file:2", f"the word {canine.sep_token!r} yields a special token of this model")]


@pytest.mark.parametrize("name", ["WordPiece uncased", "WordPiece cased", "MPNet", "BERT in Python", "ModernBERT"])
def test_words_that_normalise_to_nothing_are_named(name, tokenizer_of):
    tokenizer = tokenizer_of(name)
    gone = {
        word
        for word in HIDDEN
        if not encode_words(table((["a"], [True]), (["a", word], [True, True])), tokenizer, None)[1].is_empty()
    }
    kept = {"ModernBERT": set(HIDDEN), "WordPiece cased": {"\ufe0f", "\u0301"}}.get(name, set())
    assert gone == set(HIDDEN) - kept


def test_a_word_of_which_only_its_blank_is_kept_has_no_token(tokenizer_of):
    tokenizer = tokenizer_of("Unigram with NMT's map")
    assert tokenizer.tokenize("the \u200b sea") == tokenizer.tokenize("the sea")
    tokens = WordTokens(tokenizer)
    assert tokens.of([("\u200b", place) for place in Place]) == [[], [], []]
    assert tokens.of([("sea", Place.SPACED)])[0]


def test_words_of_many_pieces_keep_all_of_them(tokenizer_of):
    for name in ("WordPiece uncased", "GPT-2", "XLM-R", "ByT5"):
        word = "qxzj" * 10
        found = words_and_tokens(tokenizer_of(name), ["a", word, "b"])
        assert len(found[1]) >= 40, name
        assert len(found) == 3


def test_a_sentence_at_the_limit_is_kept_and_one_beyond_is_skipped(tokenizer_of):
    for name in ALL:
        tokenizer = tokenizer_of(name)
        words = ["the", "sea"] * 2000
        count = encode_words(table((words, [True] * 4000)), tokenizer, None)[0]["ids"].list.len().item()
        assert encode_words(table((words, [True] * 4000)), tokenizer, count)[1].is_empty()
        two = table((words, [True] * 4000), (["a"], [True]))
        encoded, skipped = encode_words(two, tokenizer, count - 1)
        assert encoded["example"].to_list() == [2]
        assert skipped["reason"].to_list() == [f"{count} tokens, more than the limit of {count - 1}"]
        cut, _ = encode_words(two, tokenizer, count - 1, cut=True)
        assert cut["ids"].list.len()[0] < count
        assert cut["truncated"].to_list() == [True, False]


def test_a_python_tokenizer_reads_words_as_its_fast_twin(tokenizer_of):
    words = [word for word in POOL if word != "[UNK]"]  # which the one in Python reads as unknown, the other as text
    read = [WordTokens(tokenizer_of(name)).of([(word, place) for word in words for place in Place]) for name in TWINS]
    assert read[0] == read[1]


TWINS = ("BERT in Python", "WordPiece uncased")


@pytest.mark.parametrize("name", WRONG_WORD_IDS)
def test_words_are_read_one_by_one_where_the_tokenizer_runs_across_them(name, tokenizer_of):
    tokenizer = tokenizer_of(name)
    words = ["of", "the", "sea", "1890", "light-house"]
    whole = tokenizer(" ".join(words), add_special_tokens=False)
    assert len(set(whole.word_ids())) != len(words), "the tokenizer's own word_ids are no words"
    found = words_and_tokens(tokenizer, words)
    assert len(found) == len(words)
    assert all(found)


def test_a_tokenizer_without_any_token_is_refused():
    nothing = transformers.PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()))
    with pytest.raises(InputError, match=r"expected a token for one of .* found none"):
        special_tokens_around(nothing)


def test_special_tokens_are_found_where_a_vocabulary_has_no_latin_letter():
    tokenizer = framed(Tokenizer(models.BPE({"一": 0, "東": 1}, [])))
    assert special_tokens_around(tokenizer) == ([tokenizer.cls_token_id], [tokenizer.sep_token_id])
    assert "一" in NEIGHBOURS


def test_places_of_words():
    assert places([True, False, True]) == [Place.FIRST, Place.SPACED, Place.GLUED]
    assert places([]) == []


def pairs(*sides):
    return pl.DataFrame([(n, f"file:{n}", *texts) for n, texts in enumerate(sides, 1)], PAIRS, orient="row")


@pytest.mark.parametrize("name", ALL)
def test_a_paragraph_that_spells_a_special_token_is_ordinary_text_or_skipped(name, tokenizer_of):
    tokenizer = tokenizer_of(name)
    sides = [("the sea", "a sea"), *((f"the {literal} sea", f"a {literal}") for literal in LITERALS)]
    encoded, skipped = encode_pairs(pairs(*sides), tokenizer, 200)
    refused = [LITERALS[example - 2] for example in skipped["example"]]
    assert set(refused) == READ_AS_SPECIAL.get(name, set())
    for literal, reason in zip(refused, skipped["reason"], strict=True):
        assert reason == f"a paragraph of the pair spells {literal!r}, which this tokenizer takes for its special token"
    plain = [kind for kind in encoded["kinds"][0] if kind not in (Kind.TEXT, Kind.PUNCTUATION)]
    assert len(plain) == tokenizer.num_special_tokens_to_add(pair=True)
    for ids, kinds in encoded.select("ids", "kinds").iter_rows():
        assert [kind for kind in kinds if kind not in (Kind.TEXT, Kind.PUNCTUATION)] == plain
        text = [token for token, kind in zip(ids, kinds, strict=True) if kind in (Kind.TEXT, Kind.PUNCTUATION)]
        assert special_ids(tokenizer).isdisjoint(text)


@pytest.mark.parametrize("name", ALL)
def test_pairs_of_hard_paragraphs_are_framed_by_position(name, tokenizer_of):
    tokenizer = tokenizer_of(name)
    draw = random.Random(4)
    sides = [tuple(" ".join(draw.choices(POOL, k=6)) for _ in range(2)) for _ in range(150)]
    encoded, skipped = encode_pairs(pairs(("the sea", "a sea"), *sides), tokenizer, 60)
    assert sorted([*encoded["example"], *skipped["example"]]) == list(range(1, 152))
    frame = [kind for kind in encoded["kinds"][0] if kind not in (Kind.TEXT, Kind.PUNCTUATION)]
    for kinds, ids in encoded.select("kinds", "ids").iter_rows():
        assert [kind for kind in kinds if kind not in (Kind.TEXT, Kind.PUNCTUATION)] == frame
        assert len(ids) == len(kinds) <= 60


def test_a_model_of_bytes_runs_and_one_that_shortens_its_sequence_is_refused_by_name(tmp_path):
    byt5 = transformers.T5Config(
        vocab_size=384, d_model=32, d_ff=48, num_layers=2, num_heads=4, d_kv=8, tokenizer_class="ByT5Tokenizer"
    )
    folder = save_checkpoint(tmp_path / "byt5", byt5, transformers.ByT5Tokenizer())
    assert describe(load(folder, "byt5"), "byt5", "tiny", None).layers == 2
    canine = transformers.CanineConfig(**SIZES, local_transformer_stride=16)
    folder = save_checkpoint(tmp_path / "canine", canine, transformers.CanineTokenizer())
    with pytest.raises(InputError, match="found canine: it pools tokens between its layers"):
        describe(load(folder, "canine"), "canine", "tiny", None)
