"""
When is a result stale? When the code that made it changed: not its comments, not its docstrings.

Snakemake notices a changed script, not a changed library module. So each rule passes `code=code_of("count_surface")`
as a param: a digest of the syntax trees of its script and of every headscope module that the script imports,
directly or not, and of the templates, styles and scripts of pages beside them.
"""

import ast
import hashlib
from functools import cache
from pathlib import Path

PACKAGE = "headscope"
SCRIPTS = Path(__file__).resolve().parents[1]
BESIDE = (".css", ".jinja", ".js")  # files that our code reads, in the folder of a module that does
CHANGES_NO_RESULT = {PACKAGE, f"{PACKAGE}.jobs"}  # the former: the names that a notebook gets


@cache
def code_of(script: str, *modules: str) -> str:
    """
    Return a digest of all our code that a script runs.

    Parameters
    ----------
    script
        The name of a file in scripts/, without its ending.
    modules
        Those of ours that it imports by their names only, here.

    Raises
    ------
    FileNotFoundError
        If there is no such script.
    """
    trees, waiting = {}, [SCRIPTS / f"{script}.py", *map(_file_of, modules)]
    while waiting:
        path = waiting.pop()
        if path not in trees:
            trees[path] = ast.parse(path.read_text("utf-8"))
            waiting += [_file_of(module) for module in _imported(trees[path]) - CHANGES_NO_RESULT]
    digest = hashlib.blake2b(digest_size=8)
    for path, tree in sorted(trees.items()):
        digest.update(f"{path.relative_to(SCRIPTS)}\n{ast.dump(_without_docstrings(tree))}\n".encode())
    for folder in sorted({path.parent for path in trees}):
        for path in sorted(path for path in folder.iterdir() if path.suffix in BESIDE):
            digest.update(f"{path.relative_to(SCRIPTS)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _imported(tree: ast.Module) -> set[str]:
    """Our modules that this code imports anywhere, with the packages they lie in."""
    named = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            named |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    parts = [name.split(".") for name in named if name.split(".")[0] == PACKAGE]
    prefixes = {".".join(part[:length]) for part in parts for length in range(1, len(part) + 1)}
    return {name for name in prefixes if _file_of(name)}


def _file_of(module: str) -> Path | None:
    base = SCRIPTS.joinpath(*module.split("."))
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)


def _without_docstrings(tree: ast.Module) -> ast.Module:
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return tree
