"""Whether a model can guess masked tokens, read from `models/{model}/mlm_head.json`, without the model."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from headscope.files import replacing


@dataclass(frozen=True)
class HeadAnswer:
    """Where the head comes from (`head`), or the sentence that says why there is none (`refused`)."""

    head: str | None
    refused: str | None

    def write(self, path):
        """Write the answer as JSON."""
        with replacing(path) as temporary:
            temporary.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path) -> "HeadAnswer":
        """Read what `write` wrote."""
        return cls(**json.loads(Path(path).read_text("utf-8")))
