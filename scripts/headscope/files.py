"""Files in and out: text of any wrapping read line by line, results that are whole or not there."""

import errno
import glob
import gzip
import hashlib
import os
import re
import socket
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from headscope.errors import InputError, MachineError

GZIP_MAGIC = b"\x1f\x8b"
Item, Read = TypeVar("Item"), TypeVar("Read")
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
REMEDIES = {
    errno.ENOSPC: "free space there",
    errno.EDQUOT: "free space there, or have your quota raised",
    errno.EROFS: "make it writable",
    errno.EACCES: "make it readable and writable for you",
    errno.EPERM: "make it readable and writable for you",
    errno.EIO: "the disk fails: check it",
    errno.ENODEV: "the disk is gone: check it",
    errno.ESTALE: "the network disk is gone: check it",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
}
ERROR_NUMBER = re.compile(r"\(os error (\d+)\)")  # as Polars says it
DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error)
BYTES_TO_TELL_BINARY = 2**16


def open_unpacked(path):
    """Open a file, plain or gzip (told by content, not by name), to read its bytes."""
    with open(path, "rb") as probe:
        packed = probe.read(2) == GZIP_MAGIC
    return gzip.open(path, "rb") if packed else open(path, "rb")


def sha256_of(path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_binary(path) -> bool:
    """Return whether there is a NUL byte near the beginning of a file that is not UTF-16; not so if it is damaged."""
    try:
        with open_unpacked(path) as file:
            start = file.read(BYTES_TO_TELL_BINARY)
    except DAMAGE:
        return False
    return b"\0" in start and not start.startswith(UTF16_MARKS)


def numbered_lines(path, shown_as=None):
    """
    Yield (number from 1, text without its line end) for each line of a text file.

    UTF-8 with or without byte order mark, LF or CRLF, plain or gzip (told by content, not by name). A line
    ends at LF only: a Unicode line separator or form feed inside a paragraph does not break it.

    Raises
    ------
    InputError
        If the file is cut short (gzip) or a line is not UTF-8, with file and line.
    """
    shown_as = shown_as or path
    number = 0
    try:
        with open_unpacked(path) as lines:
            for number, line in enumerate(lines, start=1):
                yield number, _decoded(line, number, shown_as)
    except DAMAGE as error:
        raise InputError(
            f"{shown_as}: expected a whole gzip file, found it damaged after line {number} ({error}); "
            "copy or download it again"
        ) from error


def _decoded(line, number, shown_as):
    if number == 1 and line.startswith(UTF16_MARKS):
        raise InputError(f"{shown_as}: expected UTF-8, found UTF-16; save it as UTF-8")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{shown_as}:{number}: expected UTF-8, found byte 0x{line[error.start]:02x} at byte {error.start + 1} "
            "of the line; save the file as UTF-8"
        ) from error
    if number == 1:
        text = text.removeprefix("\ufeff")
    return text.removesuffix("\n").removesuffix("\r")


def find_files(path: str, base: Path) -> dict[str, Path]:
    """
    Find what a config names as a file or files: from the working directory, else from the workflow's own folder.

    Parameters
    ----------
    path
        Of a file, of a folder (all files in it, hidden ones left out), or a pattern with `*`, `?` or `**`.

    Returns
    -------
    In order, what each is called (the same on every machine as far as `path` is relative), and where it is.
    """
    for place in (Path(), base):
        whole = place / path
        matches = [whole] if whole.is_file() else whole.rglob("*") if whole.is_dir() else _matching(whole)
        found = sorted(match for match in matches if match.is_file() and not match.name.startswith("."))
        if found:
            return {str(match if Path(path).is_absolute() else match.relative_to(place)): match for match in found}
    return {}


def _matching(pattern: Path) -> Iterator[Path]:
    return Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor)))


@contextmanager
def replacing(path):
    """
    Yield a temporary path beside `path`; on success fsync it and rename it to `path`.

    So a file under its final name is whole, whatever was killed and however many processes wrote it at once:
    the temporary name carries host and process, and what a dead process of this host left is cleared away.

    Raises
    ------
    MachineError
        If the disk is full or cannot be written.
    """
    path = Path(path)
    host = socket.gethostname()
    temporary = path.with_name(f".{path.name}.{host}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _clear_leftovers(path, host)
        yield temporary
        _fsync(temporary)
        temporary.replace(path)
        _fsync(path.parent)
    except Exception as error:
        reason = why_disk(error, path)
        if reason is None or isinstance(error, InputError):
            raise
        raise MachineError(reason) from error
    finally:
        with suppress(OSError):  # where nothing can be written, nothing was
            temporary.unlink(missing_ok=True)


def _fsync(path):
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def why_disk(error: Exception, path=None) -> str | None:
    """
    Return one line for an error of the disk: what failed, where, and what to do; None where it is another error.

    Parameters
    ----------
    path
        What was being read or written; if it is not given, what the error names.
    """
    number = error.errno if isinstance(error, OSError) else None
    named = ERROR_NUMBER.search(str(error))
    if number is None and named:
        number = int(named[1])
    if number not in REMEDIES:
        return None
    path = path or getattr(error, "filename", None) or "a file"
    what = f"{path}: could not be read or written ({os.strerror(number)})"
    return f"{what}; {REMEDIES[number]} and run the same command again"


def refuse_unwritable(folders: Iterable[str]):
    """
    Refuse folders that are there and cannot be written, before anything starts: Snakemake itself would fail in them.

    Raises
    ------
    MachineError
        With the first of them.
    """
    for folder in sorted(folders):
        if Path(folder).is_dir() and not os.access(folder, os.W_OK | os.X_OK):
            raise MachineError(
                f"{folder}: expected a folder that can be written, found that it cannot; make it writable for you and "
                "run the same command again"
            )


def settle_on_disk(path):
    """
    Bring what was written so far to the disk and give its memory back.

    A stream of maps larger than the memory would otherwise push everything else out of the page cache, and
    fresh pages cost more than the disk: this makes writing a shard about a third faster on a virtual machine.
    """
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(file)


def read_ahead(read: Callable[[Item], Read], items: Iterable[Item], ahead: int = 1) -> Iterator[Read]:
    """Yield what `read` makes of each item, in order; the next, or so many, are read meanwhile."""
    with ThreadPoolExecutor(max_workers=1) as disk:
        waiting = deque()
        for item in items:
            waiting.append(disk.submit(read, item))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _clear_leftovers(path, host):
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.{glob.escape(host)}.*.part"):
        process = leftover.name.removesuffix(".part").rpartition(".")[2]
        if process.isdigit() and not _is_running(int(process)):
            leftover.unlink(missing_ok=True)


def _is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
