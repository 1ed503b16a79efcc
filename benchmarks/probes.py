"""
Probes over all heads: an epoch in batches against one sentence a step with the same probe, what either knows after it,
and the peak memory of each stage, in a process of its own, at ten times the sentences.
"""

import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import torch

from benchmarks.common import REPOSITORY, Row, load_demo_model, paired_ratio, shown
from benchmarks.memory import encode_trees, extract, peak, peak_of_this_process
from headscope.attention import extract_shard
from headscope.corpora.trees import read_trees
from headscope.encoding import Encoded, read_encoded, write_encoded
from headscope.models.describing import describe
from headscope.probes.embeddings import mean_embeddings
from headscope.probes.files import LearnedProbe, Run
from headscope.probes.laying import write_sentences
from headscope.probes.names import ATTENTION, ATTENTION_WORDS, LEARNED, PRINTED
from headscope.probes.networks import Standard, make_probe, rates
from headscope.probes.scoring import count_probes
from headscope.probes.sentences import Sentences
from headscope.probes.training import Settings, train_epoch
from headscope.probes.trees import Trees, permuted_trees
from headscope.probes.vectors import MODEL, VECTORS, Vectors, vocabulary, word_numbers
from headscope.store import Shard
from headscope.tokenizing import encode_words

REAL = REPOSITORY.parent / "shared" / "data" / "ewt"
DEMO = REPOSITORY / "config" / "demo"
SENTENCES, MEMORY_SENTENCES = 5000, 1200
SETTINGS = Settings(epochs=1, patience=1, batch_words=640, learning_rate=0.002)
# What does well in a single epoch: words a step and rate, of 640 to 2,560 and 0.001 to 0.005; rate of one sentence a
# step, of 0.0002 to 0.002.
BEST = {ATTENTION: (640, 0.005, 0.0002), ATTENTION_WORDS: (1280, 0.003, 0.0005)}
HEADS = 72


def embedded(model, encoded: Encoded, trees: pl.DataFrame) -> Vectors:
    """The word vectors of a treebank, as embed_words makes them."""
    words = vocabulary(MODEL, encoded, trees)
    matrix = mean_embeddings(model, "minilm", words["word"])
    table = words.with_columns(known=pl.lit(True)).select(*VECTORS)
    return Vectors(table, matrix, MODEL, "minilm", encoded.corpus)


class Treebank:
    """A treebank as the demo's model sees it: encoded, extracted, with word vectors."""

    def __init__(self, path, most, model, folder):
        folder.mkdir()
        self.described = describe(model, "minilm", "demo", None)
        self.table = read_trees(path)[0].head(most)
        encoded, _ = encode_words(self.table, model.tokenizer, self.described.limit)
        write_encoded(encoded, folder / "examples.parquet", self.described.tokenizer)
        self.encoded = read_encoded(folder / "examples.parquet")
        extract_shard(model, self.described, self.encoded, folder / "shard")
        self.shard, self.folder = Shard(folder / "shard"), folder
        self.trees = Trees.read(self.table, "stanford").only(self.encoded.table["example"].to_numpy())
        self.vectors = embedded(model, self.encoded, self.table)
        self.numbers = word_numbers(self.vectors, self.encoded, self.table)

    def sentences(self) -> Sentences:
        """Lay the sentences out for training."""
        path = self.folder / "sentences.arrow"
        index = write_sentences([self.shard], self.encoded, self.trees, self.trees, self.numbers, path)
        return Sentences(path, index, HEADS)


def one_epoch(name, sentences, vectors, words, rate):
    """Return the probe after one pass over all sentences, so many words a step."""
    generator = np.random.default_rng(0)
    probe = make_probe(LEARNED[name], HEADS, vectors.shape[1], generator)
    adam = torch.optim.Adam(rates(probe, rate))
    train_epoch(probe, adam, sentences, np.arange(len(sentences.sizes)), words, vectors, generator)
    return probe


def measure_epochs():
    torch.set_num_threads(1)
    training, test = (REAL / f"en_ewt-ud-{part}.conllu" for part in ("train", "dev"))
    if not training.is_file():
        training, test = DEMO / "coreference.conllu", DEMO / "treebank.conllu"
    model = load_demo_model()
    with tempfile.TemporaryDirectory(dir=".") as folder:
        seen, unseen = (
            Treebank(path, SENTENCES, model, Path(folder) / part)
            for path, part in ((training, "seen"), (test, "unseen"))
        )
        sentences = seen.sentences()
        standard = Standard.of(seen.vectors.matrix, seen.vectors.table["tokens"].to_numpy())
        vectors = standard.standardised(seen.vectors.matrix)
        for name in (ATTENTION, ATTENTION_WORDS):
            words, rate, rate_of_one = BEST[name]
            batched = partial(one_epoch, name, sentences, vectors, words, rate)
            single = partial(one_epoch, name, sentences, vectors, 1, rate_of_one)
            probes = [
                LearnedProbe(name, [Run(0, seed, run().state_dict())], standard, "", "", "")
                for seed, run in enumerate((batched, single))
            ]
            counts = [
                count_probes(
                    unseen.shard,
                    unseen.encoded,
                    unseen.trees,
                    [probe],
                    unseen.vectors,
                    unseen.numbers,
                    unseen.described,
                )
                for probe in probes
            ]
            ours, theirs = (100 * one["correct"].sum() / one["words"].sum() for one in counts)
            ratios = paired_ratio(batched, single, pairs=3)
            what = f"{PRINTED[name].lower()}, an epoch over {len(sentences.sizes):,} sentences"
            yield Row(f"{what}, one sentence a step ÷ in batches", shown(ratios), "at least 10×")
            yield Row(f"{what}, UAS then, in batches − one a step", f"{ours:.1f} − {theirs:.1f}", "at least −0.5")


def lay_out(folder, _):
    encoded, table = read_encoded(folder / "examples.parquet"), pl.read_parquet(folder / "trees.parquet")
    trees = Trees.read(table, "stanford")
    vectors = embedded(load_demo_model(), encoded, table)
    numbers = word_numbers(vectors, encoded, table)
    shards = [Shard(folder / "shard")]
    index = write_sentences(shards, encoded, trees, permuted_trees(trees), numbers, folder / "sentences.arrow")
    index.write_parquet(folder / "index.parquet")
    np.save(folder / "vectors.npy", vectors.matrix)


def learn(folder, _):
    torch.set_num_threads(1)
    sentences = Sentences(folder / "sentences.arrow", pl.read_parquet(folder / "index.parquet"), HEADS)
    vectors = torch.from_numpy(np.load(folder / "vectors.npy"))
    one_epoch(ATTENTION_WORDS, sentences, vectors, SETTINGS.batch_words, SETTINGS.learning_rate)


STAGES = {stage.__name__: stage for stage in (encode_trees, extract, lay_out, learn)}


def measure_memory():
    peaks = []
    for examples in (MEMORY_SENTENCES, 10 * MEMORY_SENTENCES):
        with tempfile.TemporaryDirectory(dir=".") as folder:
            place = Path(folder).resolve()
            peaks.append([peak(stage, place, examples, "benchmarks.probes") for stage in STAGES][-1])
    few, many = peaks
    result = (
        f"{many / few:.2f}× ({few:.0f} MiB at {MEMORY_SENTENCES} sentences, {many:.0f} MiB at {10 * MEMORY_SENTENCES})"
    )
    return Row("peak memory of learning a probe at ten times the sentences", result, "at most 1.1×")


def measure():
    return [*measure_epochs(), measure_memory()]


if __name__ == "__main__":
    STAGES[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
    print(peak_of_this_process())
