"""Scoring documents from shards against a plain loop over heads, directions and anaphors."""

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.common import REPOSITORY, SOURCE, Row, load_demo_model, paired_ratio, shown
from headscope.attention import extract_shard
from headscope.coreference.cut import cut_mentions
from headscope.coreference.names import CANDIDATES, DIRECTIONS
from headscope.coreference.scoring import count_coreference
from headscope.corpora.documents import read_documents
from headscope.encoding import read_encoded, word_rows, write_encoded
from headscope.models.describing import describe
from headscope.store import Maps, Shard
from headscope.tokenizing import encode_words

REAL = REPOSITORY.parent / "shared" / "data" / "gum" / "en_gum-ud-test.conllu"
DEMO = REPOSITORY / "config" / "demo" / "coreference.conllu"
DOCUMENTS, TOKENS = 10, 512


def looped(batches, encoded, mentions):
    """Count hits (candidates, direction, layer, head), one head and one anaphor at a time."""
    kept, _ = cut_mentions(mentions, encoded)
    kinds_of = dict(encoded.table.select("example", "kinds").iter_rows())
    layers, heads = batches[0].weights.shape[1:3]
    counts = np.zeros((len(CANDIDATES), len(DIRECTIONS), layers, heads), np.int64)
    for maps in batches:
        for example, weights in zip(maps.examples.tolist(), maps.weights, strict=True):
            words = word_rows(kinds_of[example])
            attention = weights[..., words, words]
            tasks = _tasks(kept.filter(example=example), attention.shape[-1])
            for layer in range(layers):
                for head in range(heads):
                    for direction, table in enumerate((attention[layer, head], attention[layer, head].T)):
                        for number, task in enumerate(tasks):
                            for query, candidates, right in task:
                                picked = candidates[np.argmax(table[query, candidates])]
                                counts[number, direction, layer, head] += picked in right
    return counts


def _tasks(mentions, size):
    """For each candidate set the anaphors: query, candidates, and which of them are right; words from 0."""
    rows = [(head - 1, entity) for head, entity in mentions.select("head", "entity").iter_rows()]
    heads = sorted({head for head, _ in rows})
    tasks = [[] for _ in CANDIDATES]
    for query, entity in rows:
        others = {head for head, other in rows if other == entity and head != query}
        earlier = {head for head in others if head < query}
        if earlier:
            tasks[0].append((query, [head for head in heads if head < query], earlier))
            tasks[1].append((query, [word for word in range(size) if word != query], others))
            tasks[2].append((query, [head for head in heads if head != query], others))
    return tasks


def hits_of(table, layers, heads):
    """Add the bits of `count_coreference` up to counts of the same shape as those of `looped`."""
    width = len(DIRECTIONS) * layers * heads
    counts = []
    for candidates in CANDIDATES:
        bits = np.frombuffer(b"".join(table.filter(candidates=candidates)["hits"]), np.uint8)
        counts.append(np.unpackbits(bits.reshape(-1, -(-width // 8)), axis=1, count=width).sum(0, dtype=np.int64))
    return np.array(counts).reshape(len(CANDIDATES), len(DIRECTIONS), layers, heads)


def measure():
    path = REAL if REAL.is_file() else DEMO
    documents, mentions, _ = read_documents([path])
    documents = documents.head(DOCUMENTS)
    model = load_demo_model()
    described = describe(model, "minilm", SOURCE, None)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        table, _ = encode_words(documents, model.tokenizer, TOKENS, cut=True)
        write_encoded(table, Path(folder) / "examples", described.tokenizer)
        encoded = read_encoded(Path(folder) / "examples")
        extract_shard(model, described, encoded, Path(folder) / "shard")
        shard = Shard(Path(folder) / "shard", described.weights, encoded.corpus)
        # In memory: reading long documents from disk takes as long as scoring them, and is the same for both.
        maps = [Maps(part.examples.copy(), part.weights.copy()) for part in shard]

        def score():
            return count_coreference(maps, encoded, documents, mentions)

        def loop():
            return looped(maps, encoded, mentions)

        assert (hits_of(score(), described.layers, described.heads) == loop()).all()
        ratios = paired_ratio(score, loop, pairs=2)
    name = f"{documents.height} documents of {'GUM test' if path is REAL else 'the demo'}"
    return [Row(f"scoring coreference in {name}, a loop over heads and mentions ÷ ours", shown(ratios), "at least 20×")]
