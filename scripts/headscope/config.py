"""The config: validated against the schema, defaults filled in, and checked for what a schema cannot say."""

import difflib
import importlib.util
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator

from headscope.errors import InputError
from headscope.sources import package_of

FORMATS = {
    "text": ("paragraphs", "wikitext"),
    "treebank": ("conllu", "conllx", "word-head-label", "paragraphs", "words"),
    "coreference": ("corefud", "conll2012", "paragraphs"),
}
MANY_FILES = {("coreference", "corefud"), ("coreference", "conll2012")}
TEXT_TOKENS = 128
SENTENCE_WORDS = {"treebank": 100, "coreference": 250}
TRAIN = "train"
SCHEMA = Path(__file__).resolve().parents[2] / "workflow" / "schemas" / "config.schema.yaml"


def complete(config: dict, config_files=(), base: Path = Path(), packages_here: bool = True) -> dict:
    """
    Return the config with every default, its paths and names checked.

    Parameters
    ----------
    config
        As Snakemake merged it.
    config_files
        The files it was read from, to name file and line in messages.
    base
        The workflow's own folder, where shipped corpora lie.
    packages_here
        Whether `package:` sources must be importable here; not so when each rule has an environment of its own.

    Raises
    ------
    InputError
        One message with every problem, each with what was expected, what was found, and where.
    """
    schema = read_schema()
    problems = [_explain(error) for error in Draft202012Validator(schema).iter_errors(config)]
    if not problems:
        config = _with_defaults(config, schema)
        for corpus in config["corpora"]:
            corpus["format"] = corpus["format"] or FORMATS[corpus["kind"]][0]
            if corpus["kind"] == "text":
                corpus["max_tokens"] = corpus["max_tokens"] or TEXT_TOKENS
            corpus["max_words"] = corpus["max_words"] or SENTENCE_WORDS.get(corpus["kind"])
        problems = list(_contradictions(config, base, packages_here))
    if problems:
        lines = [f"{_place(path, config_files)}: {message}" for path, message in problems]
        raise InputError("\n".join(["the config is not valid:", *lines]))
    return config


def read_schema() -> dict:
    """Return the schema of the config."""
    return yaml.safe_load(SCHEMA.read_text("utf-8"))


def _explain(error) -> tuple[list, str]:
    """A schema error as (path of the key, sentence)."""
    path, found, schema = list(error.absolute_path), error.instance, error.schema
    match error.validator:
        case "additionalProperties":
            key = next(key for key in found if key not in schema["properties"])
            close = difflib.get_close_matches(str(key), schema["properties"], n=1)
            hint = f"did you mean {close[0]}?" if close else f"known keys: {', '.join(schema['properties'])}"
            return [*path, key], f"there is no key {key}; {hint}"
        case "required":
            missing = [key for key in error.validator_value if key not in found]
            return path, f"expected the key {', '.join(missing)}, found only {', '.join(map(str, found)) or 'nothing'}"
        case "type":
            wanted = error.validator_value
            wanted = " or ".join(wanted) if isinstance(wanted, list) else wanted
            return path, f"expected {wanted}, found {found!r}"
        case "enum":
            return path, f"expected one of {', '.join(map(str, error.validator_value))}, found {found!r}"
        case "pattern":
            return path, f"found {found!r}; {schema['description']}"
        case "minimum":
            return path, f"expected {error.validator_value} or more, found {found!r}"
        case "exclusiveMinimum":
            return path, f"expected more than {error.validator_value}, found {found!r}"
        case "maximum":
            return path, f"expected {error.validator_value} or less, found {found!r}"
        case "minItems" | "maxItems" if schema.get("maxItems"):
            return path, f"expected {error.validator_value} values, found {found!r}"
        case "minItems" | "minLength":
            return path, f"expected at least one, found none. {schema.get('description', '')}"
    return path, error.message


def _with_defaults(value, schema):
    """A copy of a valid value in which every key with a default stands."""
    if schema.get("type") == "object":
        value = {key: value.get(key, sub.get("default")) for key, sub in schema["properties"].items()}
        return {key: _with_defaults(item, schema["properties"][key]) for key, item in value.items()}
    if schema.get("type") == "array":
        return [_with_defaults(item, schema["items"]) for item in value]
    return value


def _contradictions(config, base, packages_here):
    models = [model["name"] for model in config["models"]]
    for section in ("models", "corpora"):
        names = [entry["name"] for entry in config[section]]
        for name in (name for name, times in Counter(names).items() if times > 1):
            yield [section], f"expected names that differ, found {name} {names.count(name)} times; rename one"
    for number, model in enumerate(config["models"]):
        yield from (([*("models", number), key], text) for key, text in _model_problems(model, base, packages_here))
    for number, corpus in enumerate(config["corpora"]):
        yield from (([*("corpora", number), key], text) for key, text in _corpus_problems(corpus, base))
        yield from (
            (["corpora", number, "models"], f"unknown model {name}; the models are {', '.join(models)}")
            for name in corpus["models"]
            if name not in models
        )
    yield from _training_problems(config)
    for number, head in enumerate(config["figure_1"]["heads"]):
        if head["model"] not in models:
            path = ["figure_1", "heads", number, "model"]
            yield path, f"unknown model {head['model']}; the models are {', '.join(models)}"


def _training_problems(config):
    """What a fitted head lacks: two texts, for those models that want one."""
    texts = [corpus["name"] for corpus in config["corpora"] if corpus["kind"] == "text"]
    wanting = [model["name"] for model in config["models"] if model["mlm_head"] == TRAIN]
    section = config["train_mlm_head"]
    for key in ("corpus", "held_out") if wanting else ():
        if section[key] not in texts:
            yield (
                ["train_mlm_head", key],
                f"expected the name of a text corpus, since mlm_head of {', '.join(wanting)} is {TRAIN}; found "
                f"{section[key]!r}; the texts are {', '.join(texts) or 'none'}",
            )
    if wanting and section["corpus"] == section["held_out"] in texts:
        yield (
            ["train_mlm_head", "held_out"],
            f"expected another text than corpus, found {section['held_out']!r} for both",
        )


def _model_problems(model, base, packages_here):
    source = model["source"]
    head = model["mlm_head"]
    if head not in (None, TRAIN) and not find_files(head, base):
        yield "mlm_head", f"there is no file {head!r}, neither from {Path.cwd()} nor from {base}"
    package = package_of(source)
    if package is not None:
        if model["revision"]:
            yield "revision", "a package has no revision; remove it"
        if not package.isidentifier():
            yield "source", f"expected package:NAME/path with the import name of a package, found {source!r}"
        elif packages_here and importlib.util.find_spec(package) is None:
            yield "source", f"the Python package {package} is not installed here; install it, or name another source"
    elif model["revision"] is None and not Path(source).is_dir():
        yield (
            "source",
            (
                f"there is no folder {source!r}; for a model of the Hugging Face hub, give its revision (the commit) "
                "as well"
            ),
        )


def _corpus_problems(corpus, base):
    if (corpus["path"] is None) == (corpus["url"] is None):
        found = "both" if corpus["path"] else "neither"
        yield "name", f"expected either path or url, found {found}"
    elif corpus["format"] not in FORMATS[corpus["kind"]]:
        allowed = ", ".join(FORMATS[corpus["kind"]])
        yield "format", f"expected one of {allowed} for a {corpus['kind']}, found {corpus['format']!r}"
    elif corpus["url"] and not corpus["sha256"]:
        yield "url", "expected sha256 beside url, so that everyone reads the same file; found none"
    elif corpus["path"]:
        found = find_files(corpus["path"], base)
        if not found:
            yield "path", f"there is no file {corpus['path']!r}, neither from {Path.cwd()} nor from {base}"
        elif len(found) > 1 and (corpus["kind"], corpus["format"]) not in MANY_FILES:
            yield "path", f"expected one file for this kind and format, found {len(found)} by {corpus['path']!r}"


def find_files(path: str, base: Path) -> dict[str, Path]:
    """
    Find the files of a corpus: from the working directory, else from the workflow's own folder.

    Parameters
    ----------
    path
        Of a file, of a folder (all files in it, hidden ones left out), or a pattern with `*`, `?` or `**`.

    Returns
    -------
    In order, what each is called (the same on every machine as far as `path` is relative), and where it is.
    """
    for place in (Path(), base):
        whole = place / path
        matches = [whole] if whole.is_file() else whole.rglob("*") if whole.is_dir() else _matching(whole)
        found = sorted(match for match in matches if match.is_file() and not match.name.startswith("."))
        if found:
            return {str(match if Path(path).is_absolute() else match.relative_to(place)): match for match in found}
    return {}


def _matching(pattern: Path) -> Iterator[Path]:
    return Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor)))


def _place(path: list, config_files) -> str:
    """`file:line: key` of the last config file that has the key, or just the key."""
    key = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".") or "config"
    for file in reversed([str(file) for file in config_files]):
        line = _line_of(path, file)
        if line:
            return f"{file}:{line}: {key}"
    return key


def _line_of(path: list, file: str) -> int | None:
    node = yaml.compose(Path(file).read_text("utf-8"), yaml.SafeLoader)
    for step in path:
        children = node.value if isinstance(node, yaml.CollectionNode) else []
        if isinstance(node, yaml.MappingNode):
            node = next((value for key, value in children if key.value == str(step)), None)
        else:
            node = children[step] if isinstance(step, int) and step < len(children) else None
        if node is None:
            return None
    return node.start_mark.line + 1 if path else None


def reference(schema: dict) -> str:
    """Return the schema as the Markdown page `config/README.md`: every key, what it means, its default."""
    lines = [
        "# Configuration",
        "",
        "<!-- Written from workflow/schemas/config.schema.yaml by `make docs`; do not edit. -->",
        "",
        "`config.yaml` here is the demo and the default; `paper.yaml` is the paper at full size. Your own goes into a",
        "file that you give with `--configfile`; keys that it does not have keep the value of `config.yaml`. "
        + schema["description"],
        "",
        "| key | default | meaning |",
        "|---|---|---|",
        *_rows(schema, ""),
    ]
    return "\n".join(lines) + "\n"


def _rows(schema, prefix):
    for key, sub in schema["properties"].items():
        inner = sub.get("items", sub)
        name = f"{prefix}{key}" + ("[]" if sub.get("type") == "array" and "properties" in inner else "")
        default = "" if "properties" in inner and "default" not in sub else _shown_default(key, sub, schema)
        allowed = f" One of {', '.join(f'`{value}`' for value in sub['enum'])}." if "enum" in sub else ""
        yield f"| `{name}` | {default} | {' '.join(sub['description'].split())}{allowed} |"
        if "properties" in inner:
            yield from _rows(inner, f"{name}.")


def _shown_default(key, sub, schema):
    if key in schema.get("required", []):
        return "required"
    return (
        ""
        if sub.get("default") == {}
        else f"`{yaml.safe_dump(sub['default'], default_flow_style=True).split(chr(10))[0]}`"
    )


if __name__ == "__main__":
    sys.stdout.write(reference(read_schema()))
