"""The names of tokens as people read them: letters of any script, not the signs that stand for their bytes."""

from functools import cache

from tokenizers import decoders

BLANK, LINE_BREAK = "Ġ", "Ċ"  # what byte-level tokenizers write for these, and people know from them


def _sign_of_bytes() -> dict[int, str]:
    """What byte-level vocabularies write for each byte: itself where it can be seen, else the next free sign."""
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(0x100) if byte not in seen]
    return {byte: chr(byte) for byte in seen} | {byte: chr(0x100 + number) for number, byte in enumerate(hidden)}


BYTE_OF = {sign: byte for byte, sign in _sign_of_bytes().items()}


def token_namer(tokenizer):
    r"""
    Return a function from the ids of an encoding to the name of each token.

    That of the vocabulary; of one that is made of bytes (GPT-2's and ByT5's kind) the text that they spell, a blank as
    Ġ, and bytes that are only a part of a character as \xe6.
    """
    decoder = getattr(getattr(tokenizer, "backend_tokenizer", None), "decoder", None)
    is_byte_level = isinstance(decoder, decoders.ByteLevel)
    added = set(tokenizer.added_tokens_decoder)

    @cache
    def name(token: int) -> str:
        (as_it_is,) = tokenizer.convert_ids_to_tokens([token])
        if token in added:
            return as_it_is
        return _spelled(as_it_is) if is_byte_level else _lone_byte(tokenizer, as_it_is, token)

    return lambda ids: list(map(name, ids))


def _spelled(name: str) -> str:
    if name.isascii() or not BYTE_OF.keys() >= set(name):
        return name
    text = bytes(map(BYTE_OF.get, name)).decode("utf-8", "backslashreplace")
    return text.replace(" ", BLANK).replace("\n", LINE_BREAK)


def _lone_byte(tokenizer, name: str, token: int) -> str:
    """The name of a byte that is no character by itself; any other name as it is."""
    is_byte = len(name) == 1 and "\x7f" < name < "\u0100" and not tokenizer.decode([token])
    return f"\\x{ord(name):02x}" if is_byte else name
