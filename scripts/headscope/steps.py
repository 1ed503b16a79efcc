"""
Checkpoint series: one entry of the config that stands for a model at several steps of its training.

Its steps are names of branches or tags on the hub (`revision: [step1000, step2000@COMMIT]`), subfolders of its source,
a list of folders, or the folders that a pattern finds. Each becomes a model of its own, NAME@LABEL.
"""

import re
from pathlib import Path

from headscope.sources import package_of

COMMIT = re.compile(r"[0-9a-f]{40}")
LABEL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
NAMED_STEP = re.compile(r"(?:step|checkpoint|ckpt|iter(?:ation)?)[-_]?(\d+)([kM](?![A-Za-z]))?", re.IGNORECASE)
NUMBER = re.compile(r"(\d+)([kM](?![A-Za-z]))?")
TIMES = {None: 1, "k": 10**3, "K": 10**3, "m": 10**6, "M": 10**6}
PATTERN = re.compile(r"[*?[]")


def step_of(label: str) -> int | None:
    """
    Return the number of steps that a label tells: 1000 of `step1000`, `1000`, `checkpoint-1000`, `step_1k-tokens2B`.

    The number after "step", "checkpoint" or "iter", else the only one there is; None where it tells none.
    """
    found = NAMED_STEP.findall(label) or NUMBER.findall(label)
    return int(found[0][0]) * TIMES[found[0][1] or None] if len(found) == 1 else None


def is_commit(revision: str) -> bool:
    """Return whether a revision is a commit, which never moves, and not a name."""
    return COMMIT.fullmatch(revision) is not None


def is_series(model: dict) -> bool:
    """Return whether an entry of the config stands for several steps."""
    return isinstance(model["revision"], list) or isinstance(model["source"], list) or _is_pattern(model["source"])


def steps_of(model: dict) -> list[dict]:
    """
    Return the entries that a series stands for, in the order of their steps; an entry that is none stands for itself.

    Each is a copy with its own name, source and revision: the commit where one is given, else the name of the branch,
    else None. A label without a number comes first; `headscope.contradictions` refuses it.
    """
    if not is_series(model):
        return [model]
    apart = [
        (label, model | {"name": f"{model['name']}@{label}", "source": source, "revision": revision})
        for label, source, revision in _parts(model)
    ]
    return [entry for _, entry in sorted(apart, key=lambda part: step_of(part[0]) or 0)]


def every_step(models: list[dict]) -> list[dict]:
    """Return the entries of a config with each series taken apart into its steps."""
    return [step for model in models for step in steps_of(model)]


def label_of(name: str) -> str:
    """Return the label of a step from its name NAME@LABEL."""
    return name.partition("@")[2]


def series_of(models: list[dict]) -> dict[str, dict[str, int]]:
    """Return of each series the names of its models and their steps, in order."""
    return {
        model["name"]: {step["name"]: step_of(label_of(step["name"])) for step in steps_of(model)}
        for model in models
        if is_series(model)
    }


def _is_pattern(source) -> bool:
    return isinstance(source, str) and package_of(source) is None and PATTERN.search(source) is not None


def _parts(model) -> list[tuple[str, str, str | None]]:
    """Label, source and revision of each step."""
    source, revision = model["source"], model["revision"]
    if isinstance(source, list):
        folders = source
    elif _is_pattern(source):
        base = Path(Path(source).anchor)
        folders = sorted(str(path) for path in base.glob(str(Path(source).relative_to(base))) if path.is_dir())
    elif Path(source).is_dir():
        folders = [str(Path(source) / step) for step in revision]
    else:
        steps = (step.partition("@") for step in revision)
        return [(label, source, commit or label) for label, _, commit in steps]
    return [(Path(folder).name, folder, None) for folder in folders]
