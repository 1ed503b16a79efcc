import re
from pathlib import Path

import pytest
from checkpoints import REPOSITORY
from environments import ENVIRONMENTS, MODULE_OF, TARGETS, imported, pinned, rule_files, rules

ON_CONDA = {"torch": "pytorch"}
COMES_WITH = {"pytorch": {"torch"}, "transformers": {"transformers", "safetensors", "tokenizers", "huggingface_hub"}}


def locked():
    lines = (REPOSITORY / "requirements.lock").read_text("utf-8").splitlines()
    return dict(re.fullmatch(r"([\w.-]+)==(\S+)", line).groups() for line in lines if line and line[0] != "#")


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda path: path.stem)
def test_pins_are_those_of_the_lock(environment):
    versions = {ON_CONDA.get(name, name): version for name, version in locked().items()}
    pins = pinned(environment)
    assert pins.pop("python") == "3.11"
    pins.pop("pip", None)
    assert pins == {name: versions[name.replace("_", "-")] for name in pins}


def test_the_lock_names_no_build_of_one_machine():
    assert not [version for version in locked().values() if "+" in version]


def provided_by(environment):
    """The modules that an environment holds."""
    packages = pinned(REPOSITORY / "envs" / f"{environment}.yaml")
    return set().union(*(COMES_WITH.get(name, {MODULE_OF.get(name, name)}) for name in packages))


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
    assert len(reading) == 11
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
    files = "\n".join(map(Path.read_text, rule_files()))
    names = re.findall(r"^def (\w+)", files, re.MULTILINE)
    assert len(names) == len(set(names))
