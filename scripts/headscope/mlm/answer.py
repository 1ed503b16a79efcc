"""Whether a model can guess masked tokens, read from `models/{model}/mlm_head.json`, without the model."""

from dataclasses import asdict, dataclass

from headscope.files import replacing
from headscope.seals import sealed_json, unsealed_json


@dataclass(frozen=True)
class HeadAnswer:
    """Where the head comes from (`head`), or the sentence that says why there is none (`refused`)."""

    head: str | None
    refused: str | None

    def write(self, path):
        """Write the answer as JSON."""
        with replacing(path) as temporary:
            temporary.write_text(sealed_json(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path) -> "HeadAnswer":
        """Read what `write` wrote."""
        return cls(**unsealed_json(path))
