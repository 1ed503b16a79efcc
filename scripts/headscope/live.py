"""Attention maps straight from the model: nothing is stored, and what a GPU makes is reduced there."""

from collections.abc import Iterator

from headscope.attention import attention_maps
from headscope.batches import automatic_budget_mb
from headscope.description import Description
from headscope.encoding import Encoded
from headscope.jobs import progress
from headscope.models.loaded import LoadedModel
from headscope.models.loading import load_described
from headscope.sources import locate
from headscope.store import Maps


class LiveMaps:
    """
    The float32 maps of some examples, made anew whenever they are asked for: what `headscope.store.Shards` is to files.

    Parameters
    ----------
    fold, budget_mb
        As for `headscope.attention.extract_shard`.

    Raises
    ------
    InputError
        If the examples were encoded for another tokenizer; when iterating, if a map is not one.
    """

    def __init__(
        self, model: LoadedModel, described: Description, encoded: Encoded, fold: str | None, budget_mb: float = 0
    ):
        encoded.refuse_other_tokens(described)
        self._model, self._encoded, self._fold = model, encoded, fold
        self._maps_per_example = described.layers * described.heads
        self._budget_mb = budget_mb or automatic_budget_mb(model.device)

    def __iter__(self) -> Iterator[Maps]:
        """Yield the maps of every example in the batches of extraction, on the GPU where they are made on one."""
        with progress(self._encoded.table.height, "examples") as done:
            for maps in self._of(self._encoded):
                yield maps
                done(len(maps.examples))

    def example(self, number: int):
        """
        Return the maps of one example (layer, head, query, key), NumPy's or on the GPU; the model runs on no other.

        Raises
        ------
        InputError
            If there is no such example.
        """
        self._encoded.example(number)
        (maps,) = self._of(self._encoded._replace(table=self._encoded.table.filter(example=number)))
        return maps.weights[0]

    def _of(self, encoded: Encoded) -> Iterator[Maps]:
        return attention_maps(self._model, encoded, self._maps_per_example, self._budget_mb, fold=self._fold, stay=True)


def live_maps(described: Description, encoded: Encoded, live: dict, device: str, budget_mb: float) -> LiveMaps:
    """
    Load the model and return its maps of these examples.

    Parameters
    ----------
    live
        `checkpoint` and `loading`, where and how the model is loaded; `fold`, how the tokens of a word attend as one.

    Raises
    ------
    InputError
        As `headscope.models.loading.load_described` and `LiveMaps`.
    """
    model = load_described(locate(live["checkpoint"]), described, device, live["loading"])
    return LiveMaps(model, described, encoded, live["fold"], budget_mb)
