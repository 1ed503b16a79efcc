"""The exceptions whose message is written for the user and stands alone."""

CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"}
DIRECTIONS = {code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
ESCAPES = CONTROLS | DIRECTIONS


def printable(text: str) -> str:
    """
    Return text that a terminal shows as it is.

    Control characters, such as those that begin an ANSI code, and marks that turn the direction of writing around are
    written as escapes: a corpus must not recolour, rewrite or hide what a log says.
    """
    return text.translate(ESCAPES)


class InputError(ValueError):
    """
    Something the user gave is wrong: config, corpus, model or file.

    The message says what was expected, what was found, where (file and line), and what to do.
    """

    def __str__(self):
        return printable(super().__str__())


class MachineError(InputError):
    """Something is wrong with the machine, not with what the user gave: a disk is full, memory is short."""
