"""What comes from the network: a file by address and SHA-256, a model by hub id and revision, a parser by language."""

import hashlib
import json
from pathlib import Path

from headscope.errors import InputError
from headscope.files import replacing
from headscope.stanza_models import PROCESSORS, find_models

CHECKPOINT_FILES = ("*.json", "*.txt", "*.model", "*.safetensors")
PICKLED_FILES = ("*.bin",)
CODE_FILES = ("*.py",)


def fetch_file(url: str, sha256: str, path):
    """
    Download one file with a progress bar and put it under `path` once its digest is right.

    Raises
    ------
    InputError
        If the address does not answer or the file is another than expected.
    """
    import pooch
    import requests

    path = Path(path)
    with replacing(path) as temporary:
        try:
            pooch.HTTPDownloader(progressbar=True)(url, str(temporary), None)
        except requests.RequestException as error:
            raise InputError(f"{url}: expected a file, found: {error}; check the address and the network") from error
        found = _sha256(temporary)
        if found != sha256:
            raise InputError(
                f"{url}: expected a file of SHA-256 {sha256}, found {found}; the file behind the address has changed "
                "or the download was cut: run again, or check the source"
            )


def fetch_checkpoint(source, revision, folder, files, allow_pickle=False, allow_remote_code=False):
    """
    Download the files of a checkpoint into `folder` and list them, with their SHA-256, in the JSON file `files`.

    What is there already and right is not downloaded again. Weights come as safetensors; pickled ones and code
    only where allowed.

    Raises
    ------
    InputError
        If the hub does not answer or has no such model or revision.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    patterns = CHECKPOINT_FILES + (PICKLED_FILES if allow_pickle else ()) + (CODE_FILES if allow_remote_code else ())
    try:
        snapshot_download(source, revision=revision, local_dir=folder, allow_patterns=list(patterns))
    except (HfHubHTTPError, OSError, ValueError) as error:
        raise InputError(
            f"model {source} at {revision}: expected it on the Hugging Face hub, found: {str(error).splitlines()[0]}; "
            "check id, revision and network, and HF_TOKEN if it is gated"
        ) from error
    _list_files(folder, files, source=source, revision=revision)


def fetch_stanza(language, package, folder, listed, download):
    """
    Download the models of a Stanza parser into `folder` and list them, with their SHA-256, in the JSON file `listed`.

    What is there already and right is not downloaded again.

    Parameters
    ----------
    language, package
        As Stanza calls them, for example `en` and `default`.
    folder
        Where they go, for `headscope.corpora.parsing.load_parser`.
    listed
        The list: written last, so where it is the folder is whole.
    download
        `stanza.download`. Handed in, so that only who fetches a parser needs Stanza.

    Raises
    ------
    InputError
        If the network does not answer or there is no such language or package.
    """
    try:
        download(language, model_dir=str(folder), package=package, processors=",".join(PROCESSORS))
    except (OSError, ValueError) as error:
        cause = next(iter(str(error).splitlines()), type(error).__name__)
        raise InputError(
            f"Stanza models of language {language}, package {package}: expected them to download, found: {cause}; "
            "check both names in Stanza's list of models, and the network"
        ) from error
    find_models(folder, language, package)
    _list_files(folder, listed, language=language, package=package)


def _list_files(folder, listed, **origin):
    fetched = sorted(path for path in Path(folder).rglob("*") if path.is_file() and ".cache" not in path.parts)
    digests = {str(path.relative_to(folder)): _sha256(path) for path in fetched}
    with replacing(listed) as temporary:
        temporary.write_text(json.dumps({**origin, "sha256": digests}, indent=2) + "\n")


def _sha256(path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
