"""Teach a probe to find the syntactic head of each word, once for each seed. On a GPU where there is one."""

import polars as pl
import torch

from headscope.description import Description
from headscope.devices import pick_device
from headscope.encoding import read_encoded
from headscope.jobs import LOG, run
from headscope.probes.files import LearnedProbe, Run, write_learned
from headscope.probes.names import LEARNED
from headscope.probes.networks import Standard, make_probe
from headscope.probes.sentences import Sentences
from headscope.probes.training import EPOCHS, Settings, learn
from headscope.probes.vectors import read_vectors
from headscope.writing import write_table


def main(description, encoded, vectors, sentences, index, learned, training, probe, seeds, curve, device, **settings):
    """Write what every run learned, and how; `curve` lists the numbers of sentences it also learns from."""
    described, kind, place = Description.read(description), LEARNED[probe], pick_device(device)
    torch.set_num_threads(1)  # the products are small: several threads wait for one another
    words = read_vectors(vectors)
    source = Sentences(sentences, pl.read_parquet(index), described.layers * described.heads, kind.control)
    standard, matrix, width = None, None, words.matrix.shape[1]
    if kind.words:
        standard = Standard.of(words.matrix, words.table["tokens"].to_numpy())
        matrix = standard.standardised(words.matrix).to(place)
    runs, rows = [], []
    for count in [*(count for count in curve if count < len(source.sizes)), None]:
        for seed in range(seeds):
            network, passes = learn(
                lambda generator: make_probe(kind, described.layers * described.heads, width, generator),
                source,
                count,
                seed,
                matrix,
                Settings(**settings),
                place,
            )
            trained, loss = passes[0][0], min(one[-1] for one in passes)
            runs.append(Run(trained, seed, network.state_dict()))
            rows += passes
            LOG.info("%s: seed %d, %d sentences, %d passes: %.3f nats", probe, seed, trained, len(passes), loss)
    corpus, named = read_encoded(encoded).corpus, words.label if kind.words else ""
    write_learned(LearnedProbe(probe, runs, standard, described.weights, corpus, named), learned)
    write_table(pl.DataFrame(rows, EPOCHS, orient="row"), training)


if __name__ == "__main__":
    run(main, snakemake, "device")
