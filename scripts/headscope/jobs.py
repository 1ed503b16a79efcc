"""How a script runs as a Snakemake job: arguments, log, progress, and one clear line for bad input."""

import logging
import sys
import time
from contextlib import contextmanager

from headscope.errors import InputError

LOG = logging.getLogger("headscope")
SECONDS_BETWEEN_LOG_LINES = 15


def run(main, snakemake, *resources):
    """
    Call `main` with the job's inputs, outputs, params (all by name) and the named resources.

    Everything logged goes to stderr and into the job's log. An `InputError` becomes one line and exit code 1;
    any other error keeps its traceback, in the log too.
    """
    params = {name: value for name, value in snakemake.params.items() if name != "code"}
    chosen = {name: getattr(snakemake.resources, name) for name in resources}
    with logging_to(snakemake.log[0]):
        try:
            main(**snakemake.input, **snakemake.output, **params, **chosen)
        except InputError as error:
            LOG.error("%s", error)
            sys.exit(1)
        except Exception:
            LOG.exception(
                "%s failed: this is a fault of headscope or of the machine, not of your input", snakemake.rule
            )
            raise


@contextmanager
def logging_to(path):
    """Send the log, warnings included, to stderr and to a file."""
    with open(path, "w", encoding="utf-8") as file:
        handlers = [logging.StreamHandler(sys.stderr), logging.StreamHandler(file)]
        for handler in handlers:
            handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
            logging.getLogger().addHandler(handler)
        LOG.setLevel(logging.INFO)
        logging.captureWarnings(True)
        try:
            yield
        finally:
            for handler in handlers:
                logging.getLogger().removeHandler(handler)


@contextmanager
def progress(total: int, what: str):
    """
    Yield a function to call with the number of `what` done: a bar on a terminal, a line in the log now and then.

    The log ends with the whole count and the mean rate.
    """
    from tqdm import tqdm

    started = said = time.monotonic()
    count = 0
    with tqdm(total=total, unit=f" {what}", file=sys.stderr, dynamic_ncols=True, disable=None) as bar:

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
