"""Fit a head for masked tokens to a model that has none, its encoder frozen. On a GPU where there is one."""

import polars as pl

from headscope.description import Description
from headscope.encoding import read_encoded
from headscope.jobs import LOG, progress, run
from headscope.mlm.heads import write_head
from headscope.mlm.training import CURVE, Settings, collect, fit_head, token_frequencies
from headscope.models.loading import load_described
from headscope.sources import locate
from headscope.writing import write_table


def main(description, training, held_out, head, curve, checkpoint, loading, device, corpora, **settings):
    """Write the head, and its losses on both corpora after each pass."""
    described = Description.read(description)
    texts, chosen = [read_encoded(training), read_encoded(held_out)], Settings(**settings)
    model = load_described(locate(checkpoint), described, device, loading)
    draws = [chosen.draws, 1]
    with progress(sum(text.table.height * times for text, times in zip(texts, draws, strict=True)), "examples") as done:
        tasks = [
            collect(model, described, text, times, chosen.seed, done) for text, times in zip(texts, draws, strict=True)
        ]
    frequencies = token_frequencies(texts[0], model.network.get_input_embeddings().num_embeddings)
    fitted, rows = fit_head(model, described, *tasks, frequencies, chosen)
    write_table(pl.DataFrame(rows, CURVE, orient="row"), curve)
    write_head(fitted, head, described, {"training": corpora[0], "held_out": corpora[1]} | settings)
    LOG.info("%s: held-out loss %.3f nats, token frequencies %.3f", described.name, *rows[-1][2:])


if __name__ == "__main__":
    run(main, snakemake, "device")
