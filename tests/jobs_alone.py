"""Run a script's `main` as Snakemake would, without Snakemake."""

from types import SimpleNamespace

from headscope.jobs import run


class Named(dict):
    """Files or params by name; like Snakemake's, it goes through its values."""

    def __iter__(self):
        return iter(self.values())


def run_job(main, log, inputs=None, outputs=None, **params):
    """Call `run` with these files and params; the exit code is that of the process that it would have been."""
    job = SimpleNamespace(
        input=Named(inputs or {}),
        output=Named(outputs or {}),
        params=Named(params),
        log=[str(log)],
        rule="a_rule",
        resources=SimpleNamespace(),
    )
    try:
        run(main, job)
    except SystemExit as end:
        return end.code
    return 0
