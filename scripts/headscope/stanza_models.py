"""Where the models of Stanza lie, and whether all that is wanted of them is there. Loads none of them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from headscope.errors import InputError

PROCESSORS = ("tokenize", "pos", "lemma", "depparse")
COREFERENCE = "coref"
TRANSFORMERS = "transformers"  # below the folder of models: what coreference models are trained on top of, by hub id
IDENTITY = "identity"  # Stanza's lemmatizer of languages without inflection: it has no file
WHAT_TO_DO = (
    "run the rule fetch_stanza, or point `stanza: models:` in the config at a folder of stanza.download that has it"
)


class Models(NamedTuple):
    """A language by the code of its folder, and the model of each processor in Stanza's order."""

    language: str
    processors: dict[str, str]


def find_models(folder, language: str, package: str = "default", others: Mapping[str, str] | None = None) -> Models:
    """
    Find the models that split, tag, lemmatize and parse a language; mwt among them where the package has it.

    What else is wanted comes from a package of its own, as no package of trees has it.

    Parameters
    ----------
    folder
        What `stanza.download` filled: resources.json, and below it LANGUAGE/PROCESSOR/MODEL.pt.
    language
        A code such as `en`, or an alias of resources.json such as `english`.
    package
        A package of that language, such as `default` or `ewt`.
    others
        Further processors, each with its package, such as `{"coref": "udcoref_xlm-roberta-lora"}`; `default` is what
        Stanza recommends.

    Raises
    ------
    InputError
        If the folder, its resources.json, the language, the package or a file of it is missing.
    """
    folder, package = Path(folder), package.strip().lower()
    languages = _read_resources(folder)
    code, resources = _language(languages, folder, language.strip().lower())
    processors = {
        processor: model
        for processor in ("tokenize", "mwt", *PROCESSORS[1:])
        if (model := _model(resources, processor, package))
    }
    missing = [processor for processor in PROCESSORS if processor not in processors]
    if missing:
        there = ", ".join(sorted(resources.get("packages", {}))) or "none"
        raise InputError(
            f"Stanza models in {folder}, language {code}: expected a package {package!r} with "
            f"{', '.join(PROCESSORS)}, found no {', '.join(missing)} (packages there: {there}); name one that is "
            f"there, or {WHAT_TO_DO}"
        )
    if not (folder / code).is_dir():
        raise _no_such_language(languages, folder, code)
    for processor, wanted in (others or {}).items():
        model = _model(resources, processor, wanted.strip().lower())
        there = [name for name in resources.get(processor, {}) if (folder / code / processor / f"{name}.pt").is_file()]
        if model not in there:
            raise InputError(
                f"Stanza models in {folder}, language {code}: expected a {processor} model {wanted!r}"
                f"{f' ({model})' if model not in (None, wanted) else ''}, named in resources.json and there as a file, "
                f"found {', '.join(sorted(there)) or 'none'}; name one that is there, or {WHAT_TO_DO}"
            )
        processors[processor] = model
    for processor, model in processors.items():
        _refuse_missing_files(folder / code, resources, processor, model)
    return Models(code, processors)


def find_transformer(folder, name: str) -> Path:
    """
    Find the checkpoint that a coreference model was trained on top of: in the folder of models or in the hub's cache.

    Parameters
    ----------
    folder
        The folder of Stanza's models; the checkpoint is `transformers/NAME` in it, where fetch_stanza puts it.
    name
        As the coreference model has it: an id of the Hugging Face hub, or a path.

    Raises
    ------
    InputError
        If it is in neither place.
    """
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.constants import HF_HUB_CACHE
    from huggingface_hub.errors import HFValidationError

    kept = Path(folder) / TRANSFORMERS / name
    if kept.is_dir():
        return kept
    try:
        config = try_to_load_from_cache(name, "config.json")
    except HFValidationError:
        config = None
    if not isinstance(config, str):
        raise InputError(
            f"Stanza models in {folder}: expected the transformer {name!r}, on top of which the coreference model was "
            f"trained, in {kept} or in the Hugging Face cache {HF_HUB_CACHE}, found it in neither; run the rule "
            f"fetch_stanza, or `hf download {name}` where there is a network, and copy it to one of these places"
        )
    return Path(config).parent


def _read_resources(folder: Path) -> dict:
    if not folder.is_dir():
        raise InputError(f"Stanza models: expected a folder {folder}, found none there; {WHAT_TO_DO}")
    path = folder / "resources.json"
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise InputError(
            f"Stanza models in {folder}: expected a resources.json, found none there; {WHAT_TO_DO}"
        ) from error
    except ValueError as error:
        raise InputError(f"{path}: expected the JSON of Stanza, found: {error}; {WHAT_TO_DO}") from error


def _language(resources: dict, folder: Path, language: str) -> tuple[str, dict]:
    entry = resources.get(language)
    if not isinstance(entry, dict):
        raise _no_such_language(resources, folder, language)
    return _language(resources, folder, entry["alias"]) if "alias" in entry else (language, entry)


def _no_such_language(resources: dict, folder: Path, language: str) -> InputError:
    # A resources.json that was downloaded names every language, whatever was downloaded with it.
    there = ", ".join(name for name in sorted(resources) if (folder / name).is_dir()) or "none"
    return InputError(f"Stanza models in {folder}: expected the language {language!r}, found {there}; {WHAT_TO_DO}")


def _model(resources: dict, processor: str, package: str) -> str | None:
    packaged = resources.get("packages", {}).get(package, {})
    named = packaged.get(processor) or packaged.get("optional", {}).get(processor)
    return named or (package if package in resources.get(processor, {}) else None)


def _refuse_missing_files(folder: Path, resources: dict, processor: str, model: str):
    if (processor, model) == ("lemma", IDENTITY):
        return
    needed = [(processor, model)]
    for dependency in resources.get(processor, {}).get(model, {}).get("dependencies", []):
        needed.append((dependency["model"], dependency["package"]))
    for part, name in needed:
        path = folder / part / f"{name}.pt"
        if not path.is_file():
            raise InputError(f"Stanza models: expected a file {path}, found none there; {WHAT_TO_DO}")
