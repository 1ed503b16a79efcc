"""
Probes on the sentences of a test treebank: how many heads and joins each run gets right, sentence by sentence.

UAS counts every word but punctuation, the root among them; UUAS every join of two words of which neither is
punctuation. Source: Clark et al. 2019, section 5; Hewitt and Manning 2019 for UUAS.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import polars as pl
import torch

from headscope.description import Description
from headscope.encoding import Encoded
from headscope.probes.decoding import best_tree, edges_joined, fixed_offset
from headscope.probes.files import LearnedProbe
from headscope.probes.laying import Attended, attended
from headscope.probes.names import BEST_OFFSET, LEARNED, RIGHT_BRANCHING
from headscope.probes.networks import make_probe
from headscope.probes.sentences import Batch
from headscope.probes.tables import COUNTS
from headscope.probes.trees import Trees, permuted_trees
from headscope.probes.vectors import Vectors
from headscope.store import Maps
from headscope.syntax.names import offsets_in_order, signed

PAIRS_AT_ONCE = 8192  # of words; a block of sentences that stays near the cache


class _Fitted(NamedTuple):
    """A run ready to score: its network, the vectors of all words, its names, on which trees, and whether to decode."""

    network: torch.nn.Module
    vectors: torch.Tensor | None
    named: dict
    control: bool
    decodes: bool

    def on(self, device: torch.device) -> "_Fitted":
        vectors = None if self.vectors is None else self.vectors.to(device)
        return self._replace(network=self.network.to(device), vectors=vectors)


def count_probes(
    maps: Iterable[Maps],
    encoded: Encoded,
    trees: Trees,
    probes: list[LearnedProbe],
    vectors: Vectors,
    numbers: pl.Series,
    described: Description,
) -> pl.DataFrame:
    """
    Score every run of every probe on every sentence.

    Parameters
    ----------
    maps
        Word-level maps of the sentences, of all shards; tensors are scored on their device.
    encoded, trees
        The sentences and their trees; probes with permuted trees are scored on trees permuted likewise.
    probes
        What was learned over this model.
    vectors, numbers
        The word vectors of these sentences, and the row of each word.

    Returns
    -------
    Columns as `COUNTS`; by probe, sentences it was trained on, seed and example.
    """
    fitted = [run for probe in probes for run in _fitted(probe, vectors, described)]
    golds = {control: permuted_trees(trees) if control else trees for control in {run.control for run in fitted}}
    numbers_of = dict(zip(encoded.table["example"].to_list(), numbers, strict=True))
    rows = []
    with torch.inference_mode():
        for block in _in_blocks(attended(maps, encoded, trees.sizes())):
            batches = {control: _batch(block, gold, numbers_of) for control, gold in golds.items()}
            fitted = [run.on(batches[run.control].weights.device) for run in fitted]
            for run in fitted:
                batch = batches[run.control]
                gold = batch.heads.cpu().numpy(), batch.counted.cpu().numpy()
                rows.append(counted_sentences(run.named, block.examples, *_predicted(run, batch), *gold))
    table = pl.concat([COUNTS.to_frame(), *rows])
    order = pl.Enum([probe.probe for probe in probes])
    encoded.refuse_other_examples(table["example"].unique().sort(), "sentences")
    return table.sort(pl.col("probe").cast(order), "trained", "seed", "example")


def _fitted(probe: LearnedProbe, vectors: Vectors, described: Description) -> Iterator[_Fitted]:
    learned = LEARNED[probe.probe]
    heads = described.layers * described.heads
    reads = [f"{heads} heads of {described.name}"] if learned.attention else ["distances"]
    matrix = None
    if learned.words:
        matrix = probe.standard.standardised(vectors.matrix)
        reads.append(vectors.label)
    most = max(run.trained for run in probe.runs)
    for run in probe.runs:
        network = make_probe(learned, heads, vectors.matrix.shape[1], np.random.default_rng(0))
        network.load_state_dict(run.weights)
        named = {"probe": probe.probe, "features": "; ".join(reads), "trained": run.trained, "seed": run.seed}
        yield _Fitted(network.eval(), matrix, named, learned.control, run.trained == most and not learned.control)


def _in_blocks(sentences: Iterable[Attended]) -> Iterator[Attended]:
    for block in sentences:
        step = max(1, PAIRS_AT_ONCE // block.weights.shape[1] ** 2)
        for start in range(0, len(block.examples), step):
            yield Attended(*(part[start : start + step] for part in block))


def _batch(block: Attended, trees: Trees, numbers_of: dict) -> Batch:
    """Sentences of one size with their trees, nothing to fill up."""
    examples = block.examples.tolist()
    heads, counted = (np.stack(part) for part in zip(*map(trees.of, examples), strict=True))
    numbers = np.stack([numbers_of[example].to_numpy() for example in examples]).astype(np.int64)
    sizes = np.full(len(examples), block.weights.shape[1])
    parts = block.weights, block.specials, numbers, sizes, heads, counted
    return Batch(*map(torch.as_tensor, parts)).to(torch.as_tensor(block.weights).device)


def _predicted(run: _Fitted, batch: Batch) -> tuple[np.ndarray, np.ndarray | None]:
    """The most probable heads, and those of the best tree where asked for, int64 (sentence, word); ties: the first."""
    parts = batch.parts(run.network.pairs_at_once)
    scores = torch.cat([run.network(part, run.vectors) for part in parts])
    heads = scores.argmax(-1).cpu().numpy()
    if not run.decodes:
        return heads, None
    return heads, np.stack([best_tree(sentence) for sentence in scores.double().log_softmax(-1).cpu().numpy()])


def counted_sentences(
    named: dict,
    examples: np.ndarray,
    predicted: np.ndarray,
    tree: np.ndarray | None,
    heads: np.ndarray,
    counted: np.ndarray,
) -> pl.DataFrame:
    """
    Compare predicted heads with gold trees of sentences of one size.

    Parameters
    ----------
    named
        probe, features, trained and seed.
    predicted, tree, heads
        Heads from 1, 0 for ROOT, int64 (sentence, word): of each word alone, of the best tree or None, and gold.
    counted
        Which words are no punctuation, bool (sentence, word).

    Returns
    -------
    A row a sentence, columns as `COUNTS`.
    """
    edges, joined = edges_joined(predicted, heads, counted)
    columns = {
        "example": examples,
        "words": counted.sum(1),
        "correct": ((predicted == heads) & counted).sum(1),
        "tree_correct": None if tree is None else ((tree == heads) & counted).sum(1),
        "edges": edges,
        "edges_correct": joined,
    }
    named = {key: pl.lit(value, COUNTS[key]) for key, value in named.items()}
    return pl.DataFrame(columns).with_columns(**named).select(*COUNTS).cast(COUNTS)


def count_baselines(trees: Trees, training: Trees, offsets: tuple[int, int]) -> pl.DataFrame:
    """
    Score heads that need no model: the next word, and the fixed offset that is right most often in the training trees.

    Parameters
    ----------
    trees, training
        Of the test sentences that were encoded, as the probes are scored on them, and of the training sentences.
    offsets
        The lowest and the highest offset that is tried, 0 left out. One that leads out of a sentence means ROOT.

    Returns
    -------
    Columns as `COUNTS`.
    """
    best = best_fixed_offset(training, offsets)
    rivals = [
        {"probe": RIGHT_BRANCHING, "features": "the next word", "trained": None, "seed": 0},
        {"probe": BEST_OFFSET, "features": f"offset {signed(best)}", "trained": None, "seed": 0},
    ]
    rows = [
        counted_sentences(
            named, examples, np.tile(fixed_offset(heads.shape[1], offset), (len(heads), 1)), None, heads, counted
        )
        for named, offset in zip(rivals, (1, best), strict=True)
        for examples, heads, counted in trees.by_size()
    ]
    return pl.concat([COUNTS.to_frame(), *rows]).sort(pl.col("probe") == BEST_OFFSET, "example")


def best_fixed_offset(trees: Trees, offsets: tuple[int, int]) -> int:
    """Return the offset that is right for most words that count; ties go to the nearest, then to the right."""
    tried = offsets_in_order(offsets)
    correct = np.zeros(len(tried), np.int64)
    for _, heads, counted in trees.by_size():
        correct += [((heads == fixed_offset(heads.shape[1], offset)) & counted).sum() for offset in tried]
    return tried[int(correct.argmax())]
