"""
Seals: a digest inside a file that a bit which flips on the disk cannot pass.

Polars checks no checksums: of 3,666 flips of a bit in a small table, one in each byte, 2,735 gave other numbers and no
error. Parquet and Arrow files end with a footer that says where everything lies, so what stands right before it is read
by nobody: there goes the digest (BLAKE2b) of all other bytes, and any reader takes the file as before. The pages of a
shard carry checksums of their own, which are checked as they are read; there the digest is of the footer alone, so that
opening one costs nothing.
"""

import hashlib
import json
import os
import re
from pathlib import Path

from headscope.errors import InputError

WHOLE, FOOTER, MARK_BYTES, DIGEST_BYTES = b"headscope.sealed", b"headscope.footer", 16, 32
LENGTH_BYTES = 4  # of the footer's length, which stands between it and the magic bytes at the end
MAGIC = {".parquet": b"PAR1", ".arrow": b"ARROW1"}
FOOTER_AT_MOST = 2**20  # bytes in which a seal is looked for where the footer does not lead to it
BLOCK_BYTES = 2**20
KEY = "headscope.seal"  # of JSON
HEX = re.compile(rf"[0-9a-f]{{{2 * DIGEST_BYTES}}}")
TO_DO = "it was cut or damaged on the disk: delete it and run again"


def seal(path, kind: str = ".parquet", mark: bytes = WHOLE):
    """Seal a Parquet or Arrow file that was just written: the whole of it, or its footer (`mark`)."""
    with open(path, "r+b") as file:
        start = _footer_start(file, MAGIC[kind])
        digest = _digest_of(file, start if mark == WHOLE else 0, start)
        file.seek(start)
        footer = file.read()
        file.seek(start)
        file.write(mark + digest + footer)


def refuse_damaged(path, what: str = "file"):
    """
    Refuse a table that was cut, and a file that has a seal and is not what was sealed.

    All others are taken as they are: a JSON file without our seal is somebody else's, whatever it holds. What is ours
    and lost its seal is refused by who reads it (`unsealed_json`).

    Parameters
    ----------
    what
        What it is called in a message.

    Raises
    ------
    InputError
        With what to do.
    """
    kind = Path(path).suffix
    if kind == ".json":
        _refuse_damaged_json(path, what)
    elif kind in MAGIC:
        with open(path, "rb") as file:
            _refuse_damaged(file, path, MAGIC[kind], what)


def _digest():
    return hashlib.blake2b(digest_size=DIGEST_BYTES)


def _footer_start(file, magic: bytes) -> int | None:
    """Where the footer begins; None where the file has no end of this kind."""
    size = file.seek(0, os.SEEK_END)
    tail = LENGTH_BYTES + len(magic)
    file.seek(max(0, size - tail))
    length, found = file.read(LENGTH_BYTES), file.read()
    start = size - tail - int.from_bytes(length, "little")
    return start if found == magic and start >= len(magic) else None


def _refuse_damaged(file, path, magic, what):
    start = _footer_start(file, magic)
    if start is None:
        raise InputError(f"{path}: expected a whole {what}, found no end of one; {TO_DO}")
    sealed = max(0, start - MARK_BYTES - DIGEST_BYTES)
    file.seek(sealed)
    mark, wanted = file.read(MARK_BYTES), file.read(DIGEST_BYTES)
    if mark not in (WHOLE, FOOTER):
        file.seek(max(0, file.seek(0, os.SEEK_END) - FOOTER_AT_MOST))
        end = file.read()
        if WHOLE in end or FOOTER in end:
            raise InputError(f"{path}: expected a whole {what}, found another length of its footer; {TO_DO}")
    elif _digest_of(file, sealed if mark == WHOLE else 0, start) != wanted:
        raise InputError(f"{path}: expected a whole {what}, found other bytes than were written; {TO_DO}")


def _digest_of(file, stop: int, start: int) -> bytes:
    """Digest what stands before `stop`, and from `start` to the end."""
    digest = _digest()
    file.seek(0)
    while block := file.read(min(BLOCK_BYTES, stop - file.tell())):
        digest.update(block)
    file.seek(start)
    digest.update(file.read())
    return digest.digest()


def sealed_json(fields: dict) -> str:
    """Return JSON, one key a line, with a digest of the others as its last."""
    return json.dumps(sealed(fields), indent=2) + "\n"


def unsealed_json(path, what: str = "file") -> dict:
    """
    Return the keys of a JSON file of ours without its seal.

    Raises
    ------
    InputError
        If it was cut or damaged.
    """
    try:
        fields = json.loads(Path(path).read_text("utf-8"))
    except ValueError as error:
        raise InputError(f"{path}: expected a whole {what} of JSON, found: {error}; {TO_DO}") from error
    if not is_sealed(fields):
        raise InputError(f"{path}: expected a whole {what}, found no seal of ours in it; {TO_DO}")
    return unsealed(fields, path, what, TO_DO)


def sealed(fields: dict, *parts: bytes) -> dict:
    """Return these keys, for JSON, with a digest of them as the last; of other parts that they belong to as well."""
    return fields | {KEY: _digest_of_fields(fields, parts)}


def is_sealed(fields) -> bool:
    """Return whether what was read from JSON has a seal."""
    found = fields.get(KEY) if isinstance(fields, dict) else None
    return isinstance(found, str) and HEX.fullmatch(found) is not None


def unsealed(fields: dict, path, what: str, remedy: str, *parts: bytes) -> dict:
    """Return the keys that `sealed` was given; refuse them, or the parts, if they are others now."""
    kept = {name: value for name, value in fields.items() if name != KEY}
    if fields[KEY] != _digest_of_fields(kept, parts):
        raise InputError(
            f"{path}: expected a whole {what}, found other {'numbers' if parts else 'keys'} than were written; {remedy}"
        )
    return kept


def _digest_of_fields(fields: dict, parts) -> str:
    digest = _digest()
    for part in (json.dumps(fields).encode(), *parts):
        digest.update(part)
    return digest.hexdigest()


def _refuse_damaged_json(path, what):
    try:
        fields = json.loads(Path(path).read_text("utf-8"))
    except ValueError:
        return
    if is_sealed(fields):
        unsealed(fields, path, what, TO_DO)
