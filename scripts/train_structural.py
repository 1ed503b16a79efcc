"""Learn the structural probe: choose its layer on sentences held out, then learn it once for each seed."""

from pathlib import Path

import polars as pl
import torch

from headscope.description import Description
from headscope.devices import pick_device
from headscope.encoding import read_encoded
from headscope.jobs import LOG, run
from headscope.probes.structural.files import StructuralProbe, write_probe
from headscope.probes.structural.sentences import Sentences
from headscope.probes.structural.training import Settings, learn_structural
from headscope.probes.trees import Trees
from headscope.states.laying import laid_states
from headscope.writing import write_table


def main(description, encoded, trees, states, probe, layers, layers_csv, scheme, device, **settings):
    """Write the projections of every seed, and how the layer was chosen."""
    described, examples = Description.read(description), read_encoded(encoded)
    torch.set_num_threads(1)  # the products are small: several threads wait for one another
    gold = Trees.read(pl.read_parquet(trees), scheme)
    with laid_states(states, examples, described.weights, Path(probe).parent) as laid:
        sentences = Sentences(laid, gold)
        LOG.info("%d sentences; %d of fewer than two words left out", len(sentences.sizes), sentences.left_out)
        layer, projections, chosen = learn_structural(sentences, Settings(**settings), pick_device(device))
    trained = len(sentences.sizes)
    fingerprints = described.weights, examples.corpus
    write_probe(StructuralProbe(projections, layer, scheme, trained, sentences.left_out, *fingerprints), probe)
    write_table(chosen, layers, layers_csv)
    LOG.info("layer %d of %d is read", layer, described.layers)


if __name__ == "__main__":
    run(main, snakemake, "device")
