"""Data inside a page: packed, so that nothing of it is read as markup, and each thing once."""

import base64
import gzip


def packed(text: str) -> str:
    """
    Return a text as a page carries it: gzip in base64, the same bytes each time.

    None of its characters means anything in HTML, whatever the text says.
    """
    return base64.b64encode(gzip.compress(text.encode("utf-8"), mtime=0)).decode("ascii")
