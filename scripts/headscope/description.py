"""What a model is to the other stages: read from `models/{model}/description.json`, without the model."""

from dataclasses import asdict, dataclass

import numpy as np

from headscope.files import replacing
from headscope.seals import sealed_json, unsealed_json


@dataclass(frozen=True)
class LayerView:
    """What one layer may look at: `causal` sees no later key; `reach` is the largest |query - key| seen, or None."""

    causal: bool
    reach: int | None

    def mask(self, size: int) -> np.ndarray:
        """Return which keys each query of a sequence can see, bool (query, key)."""
        offset = np.arange(size)[None, :] - np.arange(size)[:, None]
        reach = size if self.reach is None else self.reach
        return (np.abs(offset) <= reach) & ((offset <= 0) | (not self.causal))

    def visible_keys(self, size: int) -> np.ndarray:
        """Return the number of keys each query of a sequence can see, int64 (query,)."""
        return self.mask(size).sum(-1)


@dataclass(frozen=True)
class Description:
    """
    A model as the other stages see it; stored as `models/{model}/description.json`.

    `random_init` is the seed of random weights (None: trained ones); `limit` is the longest input in tokens, special
    tokens included (None: no limit of its own); `segments` tells whether it takes segment ids; `special_tokens` maps
    cls, sep, mask, pad and unk to (token, id); `views` has one entry a layer; `weights` and `tokenizer` are
    fingerprints (BLAKE2b, 16 bytes, hexadecimal).
    """

    name: str
    source: str
    revision: str | None
    random_init: int | None
    architecture: str
    layers: int
    heads: int
    width: int
    parameters: int
    limit: int | None
    segments: bool
    special_tokens: dict
    views: list[LayerView]
    weights: str
    tokenizer: str

    @property
    def origin(self) -> str:
        """Where the weights are from: the source, or a seed."""
        return self.source if self.random_init is None else f"random weights, seed {self.random_init}"

    @property
    def title(self) -> str:
        """The name in print: it says so where the weights are random."""
        return self.name if self.random_init is None else f"{self.name} ({self.origin})"

    @property
    def causal(self) -> bool:
        """Whether any layer is causal, so that its tokens see none after them."""
        return any(view.causal for view in self.views)

    def token(self, role: str) -> str:
        """Return the special token of a role (cls, sep, ...) as the tokenizer spells it, `[ROLE]` where it has none."""
        return self.special_tokens.get(role, [f"[{role.upper()}]"])[0]

    def write(self, path):
        """Write the description as JSON, one key a line."""
        with replacing(path) as temporary:
            temporary.write_text(sealed_json(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path) -> "Description":
        """Read what `write` wrote."""
        fields = unsealed_json(path, "description of a model")
        fields["views"] = [LayerView(**view) for view in fields["views"]]
        return cls(**fields)


def titles(paths) -> dict[str, str]:
    """Return the title of each model by its name, in the order of the descriptions at these paths."""
    return {described.name: described.title for described in map(Description.read, paths)}
