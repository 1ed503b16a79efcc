"""The report: everything that a run found, on one page."""
