"""
Which of Snakemake's locks are stale: those of a process that was killed, which Snakemake itself cannot tell.

Snakemake locks a folder by files that stay when it is killed (SIGKILL, lost power, a cluster job out of time), and then
refuses to start. So each run also holds a lock of the operating system on a file beside them, which ends with the
process however it ends. Who can get it alone knows that nobody else is at work.
"""

import fcntl
import os
import shutil
import socket
from pathlib import Path

from headscope.errors import MachineError
from headscope.files import why_disk

LOCKS, HELD = Path(".snakemake") / "locks", Path(".snakemake") / "headscope.lock"
_kept = []  # the open file of this process: closed, it would be no lock


def clear_stale_locks() -> str | None:
    """
    Remove the locks that a killed Snakemake left in the working directory; hold a lock until this process ends.

    Locks are left to Snakemake where the last run was on another machine, or the file system knows no locks.

    Returns
    -------
    Who else is at work here, in words; None where nobody is, or nobody can tell.

    Raises
    ------
    MachineError
        If nothing can be written here.
    """
    try:
        HELD.parent.mkdir(exist_ok=True)
        file = open(HELD, "a+", encoding="utf-8")  # noqa: SIM115 (open as long as this process)
    except OSError as error:
        raise MachineError(why_disk(error, error.filename and Path(error.filename).absolute()) or str(error)) from error
    _kept.append(file)
    try:
        is_alone = _locked(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        file.seek(0)
        last = file.read().split()
        me = [socket.gethostname(), str(os.getpid())]
        if is_alone:
            if last[:1] == me[:1]:
                shutil.rmtree(LOCKS, ignore_errors=True)
            if not any(LOCKS.glob("*")):
                file.truncate(0)
                file.write(" ".join(me))
                file.flush()
        fcntl.flock(file, fcntl.LOCK_SH)
    except OSError:
        return None
    return None if is_alone else f"process {last[1]} on {last[0]}" if len(last) == 2 else "another process"


def _locked(file, how) -> bool:
    try:
        fcntl.flock(file, how)
    except BlockingIOError:
        return False
    return True
