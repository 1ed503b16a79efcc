"""Word vectors that the model itself has: its input embeddings."""

import numpy as np
import polars as pl
import torch
from torch import nn

from headscope.errors import InputError
from headscope.models.loaded import LoadedModel


def mean_embeddings(model: LoadedModel, name: str, words: pl.Series) -> np.ndarray:
    """
    Return for each word the mean of the input embeddings of its tokens.

    An embedding is what the model reads for a token before position and segment are added: of the width of its table,
    which may be less than that of the hidden states, and scaled where the model scales it.

    Parameters
    ----------
    name
        Of the model, in messages.
    words
        The token ids of each word, parted by blanks.

    Returns
    -------
    float32 (word, number)

    Raises
    ------
    InputError
        If the model has no table of input embeddings, or one of other tokens or with numbers that are not finite.
    """
    ids_of_words = words.str.split(" ")
    ids = torch.from_numpy(ids_of_words.explode(empty_as_null=False).cast(pl.Int64).to_numpy(writable=True))
    used, places = ids.unique(return_inverse=True)
    with torch.inference_mode():
        embedded = _table(model, name, int(used.max()))(used.to(model.device)).float().cpu()
        if not embedded.isfinite().all():
            raise InputError(f"model {name}: expected finite input embeddings, found others; its weights are broken")
        lengths = torch.from_numpy(ids_of_words.list.len().to_numpy().astype(np.int64))
        starts = lengths.cumsum(0) - lengths
        return nn.functional.embedding_bag(places, embedded, starts, mode="mean").numpy()


def _table(model, name, last) -> nn.Embedding:
    try:
        table = model.network.get_input_embeddings()
    except NotImplementedError:
        table = None
    if not isinstance(table, nn.Embedding) or table.num_embeddings <= last:
        found = "none" if table is None else f"{type(table).__name__}({getattr(table, 'num_embeddings', '')})"
        raise InputError(
            f"model {name}: expected a table of input embeddings with token {last} in it, found {found}; name a file "
            "of word vectors in the config: probes: {vectors: path/to/vectors.txt}"
        )
    return table
