"""
Jobs end with the Snakemake that started them.

Where only Snakemake is killed, its jobs would run on, and after the config was changed and the run started again, one
could put its result in the place of a newer one. Nothing is lost by ending it: a job whose end no Snakemake saw is done
again. On a cluster it is the cluster that starts jobs, and they live on.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

STARTER = "HEADSCOPE_SNAKEMAKE"  # in the environment of jobs: the process that started them
SECONDS_BETWEEN_LOOKS = 0.5


def name_starter(is_main: bool, is_remote: bool):
    """Tell the jobs of this process that it is their Snakemake; where a cluster has started it, that nobody is."""
    if is_main:
        os.environ[STARTER] = str(os.getpid())
    elif is_remote:
        os.environ.pop(STARTER, None)


@contextmanager
def ending_with_starter(say: Callable[[], None]):
    """
    Send this process SIGTERM when the Snakemake that started it is gone; on Linux, elsewhere it lives on.

    Parameters
    ----------
    say
        Called before that.
    """
    starter = os.environ.get(STARTER, "")
    over = threading.Event()

    def watch():
        while starter in _ancestors():
            if over.wait(SECONDS_BETWEEN_LOOKS):
                return
        say()
        os.kill(os.getpid(), signal.SIGTERM)

    if starter and Path("/proc/self/stat").exists():
        threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _ancestors() -> Iterator[str]:
    """The process that started this one, the one that started that, and so on."""
    process = str(os.getppid())
    while process not in ("0", ""):
        yield process
        try:
            said = Path(f"/proc/{process}/stat").read_text("utf-8", errors="replace")
        except OSError:
            return
        process = said.rpartition(")")[2].split()[1]  # state, parent, ...
