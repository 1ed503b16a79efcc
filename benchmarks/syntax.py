"""Scoring a treebank from shards against the published notebook's way: loops over sentences, heads and words."""

import tempfile
import time
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import polars as pl
import torch

from benchmarks.common import REPOSITORY, SOURCE, Row, load_demo_model, paired_ratio, shown
from headscope import attention
from headscope.attention import extract_shard
from headscope.corpora.trees import read_trees
from headscope.encoding import read_encoded, write_encoded
from headscope.models.describing import describe
from headscope.store import Shard
from headscope.syntax.accuracy import Options, merge_syntax, read_scored
from headscope.syntax.names import DIRECTIONS, SCHEMES
from headscope.syntax.scoring import CLITICS, count_syntax
from headscope.tokenizing import encode_words

REAL = REPOSITORY.parent / "shared" / "data" / "ewt" / "en_ewt-ud-dev.conllu"
DEMO = REPOSITORY / "config" / "demo" / "treebank.conllu"


def looped(shard, trees):
    """Count hits by (scheme, relation, direction, layer, head), as the notebook does, one word at a time."""
    rows = {row["example"]: row for row in trees.iter_rows(named=True)}
    counts = {}
    for maps in shard:
        for example, weights in zip(maps.examples.tolist(), maps.weights, strict=True):
            row = rows[example]
            attention = weights[:, :, 1:-1, 1:-1].astype(np.float32)
            # Below any weight but zero: where a half-precision map has zeros only, a word picks itself, never rightly.
            attention[:, :, range(len(row["words"])), range(len(row["words"]))] = 1e-9
            for layer, heads in enumerate(attention, start=1):
                for head, table in enumerate(heads, start=1):
                    for direction, scored in zip(DIRECTIONS, (table, table.T), strict=True):
                        _score(counts, row, scored, (direction, layer, head))
    return counts


def _score(counts, row, scored, head_direction):
    predictions = [int(np.argmax(scored[word])) for word in range(len(scored))]
    for scheme in SCHEMES:
        gold_heads, relations = row[f"{scheme}_heads"], row[f"{scheme}_relations"]
        for word, (gold, relation) in enumerate(zip(gold_heads, relations, strict=True)):
            if gold == 0:
                continue
            hit = predictions[word] == gold - 1
            if scheme == "stanford" and relation == "poss" and row["words"][word + 1].lower() in CLITICS:
                hit = hit or predictions[word + 1] == gold - 1
            key = (scheme, relation, *head_direction)
            counts[key] = counts.get(key, 0) + hit


def measure():
    path = REAL if REAL.is_file() else DEMO
    trees, _ = read_trees(path)
    model = load_demo_model()
    described = describe(model, "minilm", SOURCE, None)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        encode = partial(encode_words, trees, model.tokenizer, described.limit)
        encode()
        aligning, (table, _) = timed(encode)
        write_encoded(table, Path(folder) / "examples", described.tokenizer)
        encoded = read_encoded(Path(folder) / "examples")
        folding = []
        with patch.object(attention, "fold_into_words", timing(attention.fold_into_words, folding)):
            extraction, _ = timed(partial(extract_shard, model, described, encoded, Path(folder) / "shard"))
        torch.set_num_threads(1)  # as the rule runs it
        shard = Shard(Path(folder) / "shard", described.weights, encoded.corpus)

        def score():
            count_syntax(shard, encoded, trees).write_parquet(Path(folder) / "hits")
            scored = {scheme: read_scored([Path(folder) / "hits"], scheme, described, encoded) for scheme in SCHEMES}
            return merge_syntax(scored, Options(resamples=1))[0]

        plain = looped(shard, trees)
        for row in score().filter(pl.col("relation") != "all").iter_rows(named=True):
            key = tuple(row[name] for name in ("scheme", "relation", "direction", "layer", "head"))
            assert row["correct"] == plain[key], key
        ratios = paired_ratio(score, partial(looped, shard, trees), pairs=2)
    name = f"{'EWT dev' if path is REAL else 'the demo treebank'} ({trees.height:,} sentences)"
    share = (aligning + sum(folding)) / extraction
    return [
        Row(f"scoring {name}, the notebook's loop ÷ ours", shown(ratios), "at least 20×"),
        Row(f"aligning and folding the words of {name} ÷ extraction", f"{share:.0%}", "under 10 %"),
    ]


def timed(run):
    """Return how many seconds a call takes, and what it returns."""
    started = time.perf_counter()
    result = run()
    return time.perf_counter() - started, result


def timing(function, seconds):
    """Return the function with the time of each call noted."""

    def noted(*arguments):
        spent, result = timed(partial(function, *arguments))
        seconds.append(spent)
        return result

    return noted
