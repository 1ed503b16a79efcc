"""What tokens are called in tables and figures."""

import transformers
from checkpoints import byte_level
from tokenizer_kinds import FAST
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from headscope.token_names import BYTE_OF, token_namer


def named(tokenizer, text):
    return token_namer(tokenizer)(tokenizer(text, add_special_tokens=False)["input_ids"])


def with_merges(*merges):
    """A byte-level tokenizer with these merges, and each byte."""
    pieces = [*sorted(BYTE_OF), *("".join(pair) for pair in merges)]
    tokenizer = Tokenizer(models.BPE({piece: number for number, piece in enumerate(pieces)}, list(merges)))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def test_the_signs_of_bytes_are_those_of_the_tokenizer():
    assert set(BYTE_OF) == set(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = with_merges()
    for byte in range(0x80):
        (token,) = tokenizer(chr(byte))["input_ids"]
        assert BYTE_OF[tokenizer.convert_ids_to_tokens(token)] == byte


def test_letters_of_any_script_are_spelled_and_parts_of_letters_are_bytes():
    tokenizer = with_merges(("Ã", "©"), ("Ġ", "Ã©"), ("×", "©"), ("æ", "Ŀ"), ("æĿ", "±"))
    assert named(tokenizer, "é é") == ["é", "Ġé"]
    assert named(tokenizer, "ש東京") == ["ש", "東", r"\xe4", r"\xba", r"\xac"]
    assert named(tokenizer, "a b\n") == ["a", "Ġ", "b", "Ċ"]


def test_ascii_and_special_tokens_keep_their_names():
    tokenizer = byte_level(additional_special_tokens=["<é>"])
    assert named(tokenizer, "The sea.") == tokenizer.tokenize("The sea.") == ["The", "Ġse", "a", "."]
    assert token_namer(tokenizer)([0, tokenizer.convert_tokens_to_ids("<é>")]) == ["<|endoftext|>", "<é>"]


def test_other_vocabularies_are_left_alone():
    assert named(FAST["XLM-R"](), "東é sea") == ["▁", "東", "é", "▁sea"]
    assert named(FAST["WordPiece cased"](), "don't") == ["do", "##n", "'", "t"]
    assert named(transformers.CanineTokenizer(), "é") == ["é"]


def test_the_bytes_of_byt5_are_bytes():
    assert named(transformers.ByT5Tokenizer(), "aé") == ["a", r"\xc3", r"\xa9"]
