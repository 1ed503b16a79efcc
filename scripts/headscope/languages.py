"""What holds of some languages only, told by their codes."""

ENGLISH = ("en", "eng", "english")


def has_stanford(language: str) -> bool:
    """Return whether the paper's labels are defined for a language, by its code: they are those of English."""
    return language.lower().partition("-")[0] in ENGLISH
