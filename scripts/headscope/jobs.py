"""How a script runs as a Snakemake job: arguments, log, progress, and one clear line for bad input."""

import logging
import signal
import sys
import time
from contextlib import contextmanager, suppress

from headscope.errors import InputError, printable
from headscope.files import why_disk
from headscope.orphans import ending_with_starter
from headscope.seals import refuse_damaged

LOG = logging.getLogger("headscope")
SECONDS_BETWEEN_LOG_LINES = 15
STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Stopped(BaseException):
    """Somebody ended the job by a signal; what it had begun to write is cleared away on the way out."""


def run(main, snakemake, *resources):
    """
    Call `main` with the job's inputs, outputs, params (all by name) and the named resources.

    Everything logged goes to stderr and into the job's log. Bad input, a disk that cannot be written, memory that is
    short and a signal become one line and an exit code; any other error keeps its traceback, in the log too. Inputs
    that were damaged on the disk are refused before anything is computed.
    """
    params = {name: value for name, value in snakemake.params.items() if name != "code"}
    chosen = {name: getattr(snakemake.resources, name) for name in resources}
    with logging_to(snakemake.log[0]), stoppable():
        try:
            for path in snakemake.input:
                refuse_damaged(path)
            with ending_with_starter(lambda: LOG.warning("the Snakemake that started this job is gone")):
                main(**snakemake.input, **snakemake.output, **params, **chosen)
        except InputError as error:
            LOG.error("%s", error)
        except Stopped as stopped:
            name = signal.Signals(stopped.args[0]).name
            LOG.error("stopped by %s: nothing half written is kept; run the same command to go on", name)
            sys.exit(128 + stopped.args[0])
        except Exception as error:
            reason = why_disk(error)
            if reason:
                LOG.error("%s", reason)
            elif is_out_of_memory(error):
                LOG.error(
                    "%s: expected to fit into memory, found too little (%s); run fewer jobs at once, or on a larger "
                    "machine, or give the corpus more shards",
                    *(snakemake.rule, next(iter(str(error).splitlines()), type(error).__name__)),
                )
            else:
                LOG.exception(
                    "%s failed: this is a fault of headscope or of the machine, not of your input", snakemake.rule
                )
        else:
            return
        sys.exit(1)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that memory is short: Python's, NumPy's, or PyTorch's of any device."""
    said = str(error).lower()
    return isinstance(error, MemoryError) or "out of memory" in said or "can't allocate memory" in said


@contextmanager
def stoppable():
    """
    Let the signals that ask a process to end raise `Stopped` in the main thread.

    One that is ignored already, as `nohup` ignores hanging up, stays ignored.
    """

    def stop(number, frame):
        for other in STOPPING:
            signal.signal(other, signal.SIG_IGN)  # once is enough: clearing away is not to be disturbed
        raise Stopped(number)

    heeded = [number for number in STOPPING if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Printable(logging.Formatter):
    """Lines that a terminal shows as they are, whatever a corpus has put into them."""

    def format(self, record):
        return printable(super().format(record))


class _JobLog(logging.StreamHandler):
    """Writes the log of a job; a disk that is full costs the rest of the log, not the job."""

    def handleError(self, record):
        logging.getLogger().removeHandler(self)
        error = sys.exc_info()[1]
        LOG.warning("%s ends here: %s", self.stream.name, why_disk(error) or error)


@contextmanager
def logging_to(path):
    """Send the log, warnings included, to stderr and to a file."""
    try:
        file = open(path, "w", encoding="utf-8")  # noqa: SIM115 (closed below)
    except OSError as error:
        sys.exit(f"ERROR: {why_disk(error) or error}")
    handlers = [logging.StreamHandler(sys.stderr), _JobLog(file)]
    for handler in handlers:
        handler.setFormatter(_Printable("%(levelname)s: %(message)s"))
        logging.getLogger().addHandler(handler)
    LOG.setLevel(logging.INFO)
    logging.captureWarnings(True)
    try:
        yield
    finally:
        for handler in handlers:
            logging.getLogger().removeHandler(handler)
        with suppress(OSError):
            file.close()


@contextmanager
def progress(total: int, what: str, **shown):
    """
    Yield a function to call with the number of `what` done: a bar on a terminal, a line in the log now and then.

    The log ends with the whole count and the mean rate. What else is given goes to the bar (`tqdm`).
    """
    from tqdm import tqdm

    started = said = time.monotonic()
    count = 0
    with tqdm(total=total, unit=f" {what}", file=sys.stderr, dynamic_ncols=True, disable=None, **shown) as bar:

        def done(more):
            nonlocal count, said
            count += more
            bar.update(more)
            if time.monotonic() - said > SECONDS_BETWEEN_LOG_LINES:
                said = time.monotonic()
                say()

        def say():
            rate = count / max(time.monotonic() - started, 1e-9)
            LOG.info("%d of %d %s, %.1f a second", count, total, what, rate)

        yield done
    say()
