"""
Make a conda channel of what one virtual environment holds, run by the interpreter of that environment:

    VENV/bin/python channel.py FOLDER

Each installed distribution becomes a package of its version and requirements whose content are links into the
environment. So an environment made of them can be solved only if its pins are those that are installed, and holds what
it asks for and nothing else. That the real channels have these versions, it does not show.
"""

import hashlib
import io
import json
import sys
import sysconfig
import tarfile
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ON_CONDA = {"torch": "pytorch", "huggingface-hub": "huggingface_hub"}
HERE = Path(sysconfig.get_paths()["purelib"])
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
SITE_PACKAGES = f"lib/python{PYTHON}/site-packages"
STARTER = """#!/bin/sh
'''exec' "$(dirname "$0")/python" "$0" "$@"
' '''
import sys
from {module} import {name}
sys.exit({call}())
"""


def main(folder: Path):
    """Write the channel, for this platform; `noarch` is empty."""
    for platform in ("linux-64", "noarch"):
        (folder / platform).mkdir(parents=True, exist_ok=True)
    ours = [one for one in distributions() if one.files and Path(one.locate_file("")).resolve() == HERE.resolve()]
    known = {canonicalize_name(one.metadata["Name"]) for one in ours}
    packages = dict([python_package(folder / "linux-64"), *(package(folder / "linux-64", one, known) for one in ours)])
    for platform, offered in (("linux-64", packages), ("noarch", {})):
        index = {"info": {"subdir": platform}, "packages": offered, "packages.conda": {}, "repodata_version": 1}
        (folder / platform / "repodata.json").write_text(json.dumps(index))


def conda_name(name: str) -> str:
    """The name of a distribution on conda-forge."""
    return ON_CONDA.get(canonicalize_name(name), canonicalize_name(name))


def python_package(folder: Path) -> tuple[str, dict]:
    """This interpreter: an environment with it is a virtual environment without packages."""
    real, version = Path(sys.executable).resolve(), sys.version.split()[0]
    settings = f"home = {real.parent}\ninclude-system-site-packages = false\nversion = {version}\n"
    links = {"bin/python": str(real), "bin/python3": "python", f"bin/python{PYTHON}": "python"}
    return packed(folder, "python", version, [], links, {"pyvenv.cfg": settings.encode()})


def package(folder: Path, distribution: Distribution, known: set[str]) -> tuple[str, dict]:
    """A distribution; of its requirements those that are installed, since one that is not was for another platform."""
    wanted = [Requirement(line) for line in distribution.requires or ()]
    wanted = [one for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})]
    depends = [conda_name(one.name) for one in wanted if canonicalize_name(one.name) in known]
    version = distribution.version.partition("+")[0]  # 2.13.0+cpu
    name = conda_name(distribution.metadata["Name"])
    return packed(
        folder, name, version, [f"python {PYTHON}.*", *depends], links_of(distribution), starters(distribution)
    )


def links_of(distribution: Distribution) -> dict[str, str]:
    """Where each folder or file of it goes, and what it is a link to; of a folder that is shared, what lies in it."""
    links = {}
    for file in distribution.files:
        parts = file.parts
        if "__pycache__" in parts:
            continue
        if parts[0] == "..":
            if "bin" in parts[:-1] and not is_starter(distribution, parts[-1]):
                links[f"bin/{parts[-1]}"] = str(Path(distribution.locate_file(file)).resolve())
            continue
        shared = len(parts) > 2 and not (HERE / parts[0] / "__init__.py").exists()
        top = "/".join(parts[: 2 if shared and not parts[0].endswith(".dist-info") else 1])
        links[f"{SITE_PACKAGES}/{top}"] = str(HERE / top)
    return links


def starters(distribution: Distribution) -> dict[str, bytes]:
    """Its commands, which run the environment's own interpreter."""
    made = {}
    for entry in distribution.entry_points.select(group="console_scripts"):
        name = entry.attr.partition(".")[0]
        made[f"bin/{entry.name}"] = STARTER.format(module=entry.module, name=name, call=entry.attr).encode()
    return made


def is_starter(distribution: Distribution, name: str) -> bool:
    return name in distribution.entry_points.select(group="console_scripts").names


def packed(folder: Path, name: str, version: str, depends, links, files) -> tuple[str, dict]:
    """Write a package; its file name and its entry in the index."""
    content = repr([sorted(links.items()), sorted(files.items()), sorted(depends)]).encode()
    build = f"h{hashlib.sha256(content).hexdigest()[:8]}_0"  # caches know a package by its name
    about = {
        **{"name": name, "version": version, "build": build, "build_number": 0},
        **{"depends": sorted(set(depends)), "subdir": "linux-64", "arch": "x86_64", "platform": "linux"},
    }
    listed = [entry(path, "softlink", b"") for path in links]
    listed += [entry(path, "hardlink", content) for path, content in files.items()]
    info = {"info/index.json": about, "info/paths.json": {"paths": listed, "paths_version": 1}}
    info = {path: json.dumps(content).encode() for path, content in info.items()}
    file = folder / f"{name}-{version}-{build}.tar.bz2"
    with tarfile.open(file, "w:bz2") as archive:
        for path, content in {**info, **files}.items():
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(content), 0o755 if path.startswith("bin/") else 0o644
            archive.addfile(member, io.BytesIO(content))
        for path, target in links.items():
            member = tarfile.TarInfo(path)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
    data = file.read_bytes()
    digests = {"md5": hashlib.md5(data).hexdigest(), "sha256": hashlib.sha256(data).hexdigest()}
    return file.name, {**about, **digests, "size": len(data)}


def entry(path: str, kind: str, content: bytes) -> dict:
    """What is said of one file of a package."""
    digest = hashlib.sha256(content).hexdigest()
    return {"_path": path, "path_type": kind, "size_in_bytes": len(content), "sha256": digest}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
