"""What a finished run has to show: tables and figures by name, each read where it is needed."""

from pathlib import Path
from typing import NamedTuple

import polars as pl

from headscope.charts.theme import specification
from headscope.description import Description


class Results:
    """
    The tables (Parquet) and figures (pages) of a run, by their paths below `results/`, without their endings.

    Parameters
    ----------
    root
        The folder `results`.
    paths
        Of the files, all below it.
    """

    def __init__(self, root: Path, paths):
        self._files = {str(Path(path).relative_to(root)): Path(path) for path in paths}

    def table(self, name: str) -> pl.DataFrame | None:
        """Return a table such as `minilm/demo/surface/heads`; None where there is none."""
        path = self._files.get(f"{name}.parquet")
        return None if path is None else pl.read_parquet(path)

    def figure(self, name: str) -> str | None:
        """Return the specification of a figure, such as `minilm/demo/figures/figure_1`; None where there is none."""
        path = self._files.get(f"{name}.html")
        return None if path is None else specification(path.read_text("utf-8"))

    def names(self, ending: str, folder: str = "") -> list[str]:
        """Return the names of all files of an ending (`parquet`, `html`) below a folder, in order."""
        endless = (name.removesuffix(f".{ending}") for name in self._files if name.endswith(f".{ending}"))
        return sorted(name for name in endless if name.startswith(folder))


class Shown(NamedTuple):
    """
    One model on one corpus, as the report shows it.

    `scheme`, `candidates`, `rare`: what tables are shown in, as for the figures.
    """

    described: Description
    corpus: str
    kind: str
    results: Results
    scheme: str
    candidates: str
    rare: int

    def table(self, name: str) -> pl.DataFrame | None:
        """Return a table of this run such as `surface/heads`; None where there is none, or it has no rows."""
        table = self.results.table(f"{self.described.name}/{self.corpus}/{name}")
        return None if table is None or table.is_empty() else table
