"""Where an analysis has its attention maps from: shards on disk, or straight from the model. It sees no difference."""

from importlib import import_module
from typing import TYPE_CHECKING

from headscope.description import Description
from headscope.encoding import Encoded
from headscope.store import Shards

if TYPE_CHECKING:
    from headscope.live import LiveMaps

LIVE = "headscope.live"
"""
Named, not imported: an analysis of stored maps neither needs transformers nor is stale when the model's code changes.
The rules add this module to the code of a job where it is used.
"""


def open_maps(
    attention, described: Description, encoded: Encoded, live: dict | None, device: str = "auto", budget_mb: float = 0
) -> "Shards | LiveMaps":
    """
    Return maps to iterate, a batch of one size at a time, with a method `example` for single ones.

    Parameters
    ----------
    attention
        The shards to read, if they are stored.
    encoded
        The examples that are iterated, or asked for by number.
    live
        None where the maps are stored; else `checkpoint`, `loading` and `fold` as for `headscope.live.live_maps`.
    device, budget_mb
        Where a model is run, and the MiB of maps a batch (0: chosen for the device).

    Raises
    ------
    InputError
        If a shard is damaged or of another model or corpus, or the model cannot be loaded.
    """
    if live is None:
        return Shards(attention, described.weights, encoded.corpus)
    return import_module(LIVE).live_maps(described, encoded, live, device, budget_mb)
