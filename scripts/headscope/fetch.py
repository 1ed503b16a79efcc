"""What comes from the network: a file by address and SHA-256, a model by hub id and revision, a parser by language."""

import glob
import json
import shutil
from pathlib import Path

from headscope.errors import InputError
from headscope.files import replacing, sha256_of
from headscope.jobs import LOG, progress
from headscope.refusals import refuse_without_maps
from headscope.stanza_models import COREFERENCE, PROCESSORS, TRANSFORMERS, find_models
from headscope.steps import is_commit

CHECKPOINT_FILES = ("*.json", "*.txt", "*.model")
WEIGHTS_FILES = ("*.safetensors",)
PICKLED_FILES = ("*.bin",)
CODE_FILES = ("*.py",)
COMMIT = Path(".cache") / "commit"  # in the folder of a checkpoint: what it was downloaded from
TRIES, SECONDS_TO_ANSWER = 5, 60  # a download that gets nothing more is given up at once
BLOCK_BYTES = 2**14


def fetch_file(url: str, sha256: str, path):
    """
    Download one file with a progress bar and put it under `path` once its digest is right.

    A download that was cut goes on where it was, in this run or in the next, if the server can do that.

    Raises
    ------
    InputError
        If the address does not answer or the file is another than expected.
    """
    import requests

    path = Path(path)
    begun = path.with_name(f".{path.name}.{sha256[:16]}.download")
    path.parent.mkdir(parents=True, exist_ok=True)
    for tries_left in reversed(range(TRIES)):
        before = _size(begun)
        try:
            _go_on(url, begun)
            break
        except requests.RequestException as error:
            came = _size(begun)
            if not tries_left or came == before:
                kept = f"; {came:,} bytes came and are kept, run again to go on" if came else ""
                raise InputError(
                    f"{url}: expected a file, found: {error}; check the address and the network{kept}"
                ) from error
            LOG.warning("%s: cut after %d bytes (%s); going on", url, came, error)
    found = sha256_of(begun)
    if found != sha256:
        begun.unlink()
        raise InputError(
            f"{url}: expected a file of SHA-256 {sha256}, found {found}; the file behind the address has changed "
            "or the download was cut: run again, or check the source"
        )
    with replacing(path) as temporary:
        begun.replace(temporary)
    for other in path.parent.glob(f".{glob.escape(path.name)}.*.download"):  # of a digest that was given before
        other.unlink(missing_ok=True)


def _go_on(url, begun):
    """Append to a file what an address has beyond it; from the beginning where the server cannot do that."""
    import requests

    have = _size(begun)
    wanted = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with requests.get(url, headers=wanted, stream=True, timeout=SECONDS_TO_ANSWER) as answer:
        if have and answer.status_code == requests.codes.requested_range_not_satisfiable:
            return  # there is no more: the digest tells whether it is whole
        answer.raise_for_status()
        goes_on = answer.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        left = int(answer.headers.get("Content-Length", 0))
        if have:
            LOG.info("%s: %s", url, f"going on after {have:,} bytes" if goes_on else "from the beginning")
        with open(begun, "ab" if goes_on else "wb") as file, progress(left, "bytes", unit_scale=True) as done:
            for block in answer.iter_content(BLOCK_BYTES):
                file.write(block)
                done(len(block))


def _size(path) -> int:
    return path.stat().st_size if path.is_file() else 0


def fetch_checkpoint(source, revision, folder, files, allow_pickle=False, allow_remote_code=False, random_init=False):
    """
    Download the files of a checkpoint into `folder` and list them, with their SHA-256, in the JSON file `files`.

    What is there already and right is not downloaded again. Weights come as safetensors; pickled ones and code
    only where allowed; of a model with random weights (`random_init`) none are downloaded.

    Parameters
    ----------
    revision
        A commit, or the name of a branch or tag. What a name stands for now is looked up, listed, and kept beside the
        files.

    Raises
    ------
    InputError
        If the hub does not answer or has no such model or revision, a name stands for another commit than when its
        files were downloaded, or the architecture has no attention maps: then before any weights come.
    """
    commit = revision if is_commit(revision) else _named_commit(source, revision, Path(folder))
    _keep_commit(Path(folder), commit)
    _download_checkpoint(source, commit, folder, CHECKPOINT_FILES)
    refuse_without_maps(folder, source)
    weights = () if random_init else WEIGHTS_FILES + (PICKLED_FILES if allow_pickle else ())
    patterns = CHECKPOINT_FILES + weights + (CODE_FILES if allow_remote_code else ())
    _download_checkpoint(source, commit, folder, patterns)
    _list_files(folder, files, source=source, revision=commit)


def _named_commit(source, name, folder) -> str:
    """The commit that a branch or tag stands for, the same as when files were first downloaded into the folder."""
    commit, before = _resolve(source, name), _kept_commit(folder)
    if before not in (None, commit):
        raise InputError(
            f"model {source}: expected {name} at commit {before}, which {folder} was downloaded from, found that it "
            f"stands for {commit} now; write {name}@{before} to stay, or delete the folder to take the new one"
        )
    return commit


def _kept_commit(folder) -> str | None:
    """The commit that a folder was downloaded from, or begun to be."""
    kept = folder / COMMIT
    return kept.read_text("utf-8") if kept.is_file() else None


def _keep_commit(folder, commit):
    """Note it, before anything comes; the files of another are cleared away, so that none of them is taken for its."""
    if _kept_commit(folder) not in (None, commit):
        shutil.rmtree(folder)
    with replacing(folder / COMMIT) as temporary:
        temporary.write_text(commit, "utf-8")


def fetch_stanza(
    language,
    package,
    folder,
    listed,
    download,
    coref_package=None,
    transformer_of=None,
    transformer_revision=None,
    allow_pickle=False,
):
    """
    Download the models of a Stanza parser into `folder` and list them, with their SHA-256, in the JSON file `listed`.

    With a coreference model comes the transformer that it was trained on top of, as `transformers/NAME`, so that the
    folder is all that a machine without a network needs. What is there already and right is not downloaded again.

    Parameters
    ----------
    language, package
        As Stanza calls them, for example `en` and `default`.
    folder
        Where they go, for `load_parser` of `headscope.corpora.parsing` and `load_resolver` of its neighbour.
    listed
        The list: written last, so where it is the folder is whole.
    download
        `stanza.download`. Handed in, so that only who fetches a parser needs Stanza.
    coref_package
        A coreference model, such as `udcoref_xlm-roberta-lora` or `default`; none if not given.
    transformer_of
        `headscope.corpora.resolving.transformer_of`. Handed in, likewise.
    transformer_revision
        The commit of the transformer; None: the newest when it is first downloaded, kept beside its files.
    allow_pickle
        Whether its weights may be pickled where there are no others.

    Raises
    ------
    InputError
        If the network does not answer, there is no such language, package or transformer, or the transformer has no
        weights that are allowed.
    """
    others = {COREFERENCE: coref_package} if coref_package else {}
    packages = {**dict.fromkeys(PROCESSORS, package), **others}
    try:
        download(language, model_dir=str(folder), package=packages, processors=[*packages])
    except (OSError, ValueError) as error:
        cause = next(iter(str(error).splitlines()), type(error).__name__)
        raise InputError(
            f"Stanza models of language {language}, package {package}: expected them to download, found: {cause}; "
            "check both names in Stanza's list of models, and the network"
        ) from error
    found = find_models(folder, language, package, others)
    origin = {"language": language, "package": package}
    if coref_package:
        model = Path(folder) / found.language / COREFERENCE / f"{found.processors[COREFERENCE]}.pt"
        transformer = transformer_of(model)
        place = Path(folder) / TRANSFORMERS / transformer
        revision = _fetch_transformer(transformer, transformer_revision, place, allow_pickle)
        origin |= {"coref_package": coref_package, "transformer": transformer, "revision": revision}
    _list_files(folder, listed, **origin)


def _fetch_transformer(name, revision, folder, allow_pickle):
    """Download a commit, or that which was the newest at first, and say which it is."""
    revision = revision or _kept_commit(folder) or _resolve(name)
    _keep_commit(folder, revision)
    _download_checkpoint(name, revision, folder, CHECKPOINT_FILES + WEIGHTS_FILES)
    if not any(folder.glob("*.safetensors")):
        if not allow_pickle:
            raise InputError(
                f"model {name} at {revision}: expected weights as .safetensors, found none; pickled ones can run any "
                "code on loading: set stanza: allow_pickle: true if you trust it, name a commit that has others as "
                "stanza: transformer_revision, or choose another coreference model"
            )
        _download_checkpoint(name, revision, folder, PICKLED_FILES)
    if not any([*folder.glob("*.safetensors"), *folder.glob("*.bin")]):
        raise InputError(f"model {name} at {revision}: expected weights, found none; choose another coreference model")
    return revision


def _resolve(source, name=None) -> str:
    """The commit that a branch or tag stands for now; of the newest revision where none is named."""
    from huggingface_hub import resolve_revision
    from huggingface_hub.errors import HfHubHTTPError, RevisionResolutionError

    try:
        return resolve_revision(source, revision=name).resolved
    except (HfHubHTTPError, RevisionResolutionError, OSError, ValueError) as error:
        raise _not_on_the_hub(source, name or "its newest revision", error) from error


def _download_checkpoint(source, revision, folder, patterns):
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import DryRunError, HfHubHTTPError

    wanted = {"revision": revision, "local_dir": folder, "allow_patterns": list(patterns)}
    try:
        snapshot_download(source, **wanted, dry_run=True)  # asks the hub; else a part that lies here passes for whole
        snapshot_download(source, **wanted)
    except (DryRunError, HfHubHTTPError, OSError, ValueError) as error:
        raise _not_on_the_hub(source, revision, error.__cause__ or error) from error


def _not_on_the_hub(source, revision, error):
    return InputError(
        f"model {source} at {revision}: expected it on the Hugging Face hub, found: {str(error).splitlines()[0]}; "
        "check id, revision and network, and HF_TOKEN if it is gated"
    )


def _list_files(folder, listed, **origin):
    fetched = sorted(path for path in Path(folder).rglob("*") if path.is_file() and ".cache" not in path.parts)
    digests = {str(path.relative_to(folder)): sha256_of(path) for path in fetched}
    with replacing(listed) as temporary:
        temporary.write_text(json.dumps({**origin, "sha256": digests}, indent=2) + "\n")
