"""The one exception for bad input: its message is written for the user and stands alone."""


class InputError(ValueError):
    """
    Something the user gave is wrong: config, corpus, model or file.

    The message says what was expected, what was found, where (file and line), and what to do.
    """
