"""
Where a model is: `package:NAME/path` (inside an installed Python package), a local folder, or a hub id.

A hub id comes with its pinned revision, and `fetch_model` downloads it into a local folder.
"""

import importlib.util
import json
from pathlib import Path

from headscope.errors import InputError
from headscope.files import sha256_of

PACKAGE_PREFIX = "package:"


def package_of(source: str) -> str | None:
    """Return the import name of the package that a source lies in; None if it is a folder or on the hub."""
    return source.removeprefix(PACKAGE_PREFIX).split("/")[0] if source.startswith(PACKAGE_PREFIX) else None


def twins(models: list[dict]) -> dict[str, str]:
    """
    Return which models are random twins, and of which other each: the first trained one of the same source.

    Parameters
    ----------
    models
        The entries of the config, with every default.
    """
    trained = {}
    for model in models:
        if not model["random_init"]:
            trained.setdefault((model["source"], model["revision"]), model["name"])
    drawn = {model["name"]: (model["source"], model["revision"]) for model in models if model["random_init"]}
    return {name: trained[source] for name, source in drawn.items() if source in trained}


def fetched_commit(listed) -> str:
    """Return the commit whose files the rule fetch_model downloaded, from its list of them."""
    return _list_of(listed)["revision"]


def refuse_changed(listed, folder):
    """
    Refuse files of a folder that are not what was downloaded, by the list of their SHA-256.

    Raises
    ------
    InputError
        If one is missing or has other bytes.
    """
    for name, wanted in _list_of(listed)["sha256"].items():
        path = Path(folder) / name
        found = f"SHA-256 {sha256_of(path)}" if path.is_file() else "none there"
        if found != f"SHA-256 {wanted}":
            raise InputError(
                f"{path}: expected what was downloaded (SHA-256 {wanted}), found {found}; it was damaged or exchanged "
                f"since: delete it and {listed}, and run again where there is a network"
            )


def _list_of(path) -> dict:
    try:
        return json.loads(Path(path).read_text("utf-8"))
    except ValueError as error:
        raise InputError(f"{path}: expected the list of a download, found: {error}; delete it and run again") from error


def locate(source: str) -> Path:
    """
    Find the folder of a `package:NAME/path` or local source, without importing the package.

    Raises
    ------
    InputError
        If the package is not installed or the folder does not exist.
    """
    package = package_of(source)
    if package is None:
        folder = Path(source)
        if not folder.is_dir():
            raise InputError(f"model source {source!r}: expected a folder, found none there; check the path")
        return folder
    inside = source.removeprefix(PACKAGE_PREFIX).partition("/")[2]
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise InputError(
            f"model source {source!r}: expected the Python package {package} to be installed, found none; "
            "install it with pip (its distribution may spell the name with hyphens)"
        )
    folder = Path(spec.submodule_search_locations[0]) / inside
    if not folder.is_dir():
        raise InputError(f"model source {source!r}: package {package} has no folder {inside!r}; check the path")
    return folder
