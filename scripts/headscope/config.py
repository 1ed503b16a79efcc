"""The config: validated against the schema, defaults filled in, and checked for what a schema cannot say."""

import difflib
import sys
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator

from headscope.contradictions import FORMATS, contradictions
from headscope.errors import InputError
from headscope.steps import is_series, steps_of

TEXT_TOKENS = 128
SENTENCE_WORDS = {"treebank": 100, "coreference": 250}
SCHEMA = Path(__file__).resolve().parents[2] / "workflow" / "schemas" / "config.schema.yaml"


def complete(config: dict, config_files=(), base: Path = Path(), packages_here: bool = True) -> dict:
    """
    Return the config with every default, its paths and names checked.

    Parameters
    ----------
    config
        As Snakemake merged it.
    config_files
        The files it was read from, a later one over an earlier one: to name file and line in messages, and to leave out
        the probes of a file whose corpora a later one replaced.
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
        if _is_of_other_corpora(config, config_files):
            config["probes"]["train"] = None
        for corpus in config["corpora"]:
            corpus["format"] = corpus["format"] or FORMATS[corpus["kind"]][0]
            if corpus["kind"] == "text":
                corpus["max_tokens"] = corpus["max_tokens"] or TEXT_TOKENS
            corpus["max_words"] = corpus["max_words"] or SENTENCE_WORDS.get(corpus["kind"])
        problems = list(contradictions(config, base, packages_here))
        series = {model["name"]: steps_of(model) for model in config["models"] if is_series(model)}
        for corpus in config["corpora"]:
            named = [series.get(name, [{"name": name}]) for name in corpus["models"]]
            corpus["models"] = [step["name"] for steps in named for step in steps]
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


def _is_of_other_corpora(config, config_files) -> bool:
    """Whether the treebank that probes learn from is one of a list of corpora that a later config file replaced."""
    _, named, _ = _last_with(["probes", "train"], config_files)
    _, listed, _ = _last_with(["corpora"], config_files)
    return 0 < named < listed and config["probes"]["train"] not in [corpus["name"] for corpus in config["corpora"]]


def _place(path: list, config_files) -> str:
    """`file:line: key` of the last config file that has the key, or just the key."""
    key = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".") or "config"
    file, _, line = _last_with(path, config_files)
    return f"{file}:{line}: {key}" if file else key


def _last_with(path: list, config_files) -> tuple[str | None, int, int | None]:
    """The last config file that has the key, its number from 1, and the line; None and 0 where none has."""
    for number, file in reversed([*enumerate(map(str, config_files), start=1)]):
        line = _line_of(path, file)
        if line:
            return file, number, line
    return None, 0, None


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
