"""Probes over all heads: what to learn from (`vectors`, `sentences`), learn (`training`), score and show (`table3`)."""
