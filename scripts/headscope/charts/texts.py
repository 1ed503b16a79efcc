"""Words of any script as a drawing can hold them: right-to-left ones in one piece, no character that SVG forbids."""

import unicodedata

RIGHT_TO_LEFT = ("R", "AL")  # the bidirectional classes of Hebrew and of Arabic letters
ISOLATE, END_OF_ISOLATE = "\u2067", "\u2069"
# XML has no way to write control characters, and what draws ends the whole process on one. They have pictures.
DRAWN = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n\r"}
DRAWN |= {0x7F: "\u2421"} | dict.fromkeys((0xFFFE, 0xFFFF), "\ufffd")


def in_its_direction(text: str) -> str:
    """
    Return a word so that it is drawn in its own direction, wherever it stands.

    A word whose first letter is written from right to left is isolated (Unicode Standard Annex 9): without, a bracket,
    a stop or the ellipsis of a word that is cut would stand at its wrong end.
    """
    classes = map(unicodedata.bidirectional, text)
    first = next((kind for kind in classes if kind == "L" or kind in RIGHT_TO_LEFT), "L")
    return f"{ISOLATE}{text}{END_OF_ISOLATE}" if first in RIGHT_TO_LEFT else text


def drawable(value):
    """Return a specification, or a part of it, in which pictures stand for control characters."""
    match value:
        case str():
            return value.translate(DRAWN)
        case dict():
            return {key: drawable(part) for key, part in value.items()}
        case list():
            return [drawable(part) for part in value]
    return value
