"""
A stand-in for the program `conda` that answers what Snakemake asks of it, on py-rattler, pixi's solver and installer.

`lay_out` makes a folder of it; with its `bin` first on the path, `snakemake --sdm conda` finds it there. Channels are
folders below its `channels`, made by channel.py; nothing is downloaded. What it does not know, it refuses.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve()
VERSION = "24.7.1"  # the oldest that Snakemake 9 takes
LAUNCHER = '#!/bin/sh\nexec "{python}" -I "{script}" "{folder}" "$@"\n'
ACTIVATE = 'export CONDA_PREFIX="$1" CONDA_DEFAULT_ENV="$1" PATH="$1/bin:$PATH"\n'  # sourced with the environment


def lay_out(folder: Path) -> Path:
    """Make the stand-in, and the channel of what this interpreter has; return the folder that goes on the path."""
    programs = folder / "bin"
    programs.mkdir(parents=True)
    launcher = LAUNCHER.format(python=sys.executable, script=HERE, folder=folder)
    (programs / "conda").write_text(launcher)
    (programs / "conda").chmod(0o755)
    (programs / "activate").write_text(ACTIVATE)
    subprocess.run([sys.executable, HERE.with_name("channel.py"), folder / "channels" / "conda-forge"], check=True)
    return programs


def create(folder: Path, file: str, prefix: str):
    """Solve an environment's file with the channels of the folder, and install what was found under the prefix."""
    import yaml

    wanted = yaml.safe_load(Path(file).read_text())
    lines = [line for one in wanted["dependencies"] for line in (one["pip"] if isinstance(one, dict) else [one])]
    channels = [folder / "channels" / name for name in wanted["channels"] if name != "nodefaults"]
    asyncio.run(solve_and_install(folder, channels, lines, prefix))


async def solve_and_install(folder: Path, channels: list[Path], specs: list[str], prefix: str):
    """As `conda env create` does; what a `pip:` section asks for is offered by the channel as well."""
    import rattler

    records = await rattler.solve(
        sources=[rattler.Channel(channel.resolve(strict=True).as_uri()) for channel in channels],
        specs=[rattler.MatchSpec(spec) for spec in specs],
        gateway=rattler.Gateway(cache_dir=folder / "cache" / "index"),
        platforms=["linux-64", "noarch"],
        virtual_packages=rattler.VirtualPackage.detect(),
        channel_priority=rattler.ChannelPriority.Strict,
    )
    await rattler.install(
        records=records, target_prefix=prefix, cache_dir=folder / "cache" / "packages", show_progress=False
    )


def main(folder: Path, asked: list[str]):
    """Answer one call."""
    parser = argparse.ArgumentParser("conda")
    parser.add_argument("command", nargs="*")
    for option in ("--file", "--prefix", "--get"):
        parser.add_argument(option)
    for flags in (["--version"], ["--json"], ["--quiet"], ["--yes", "-y"], ["--no-default-packages"], ["--tarballs"]):
        parser.add_argument(*flags, action="store_true")
    call = parser.parse_args(asked)
    match call.command:
        case [] if call.version:
            print(f"conda {VERSION}")
        case ["info"]:
            print(json.dumps({"conda_prefix": str(folder), "platform": "linux-64", "conda_version": VERSION}))
        case ["config"] if call.get == "channel_priority":
            print(json.dumps({"get": {"channel_priority": "strict"}}))
        case ["env", "create"]:
            try:
                create(folder, call.file, call.prefix)
            except Exception as error:
                sys.exit(f"conda: cannot make the environment of {call.file}: {error}")
            os._exit(0)  # rattler's threads may outlive the interpreter otherwise, which now and then aborts it
        case ["clean"]:
            pass  # links take no room
        case _:
            sys.exit(f"this stand-in for conda does not know: {' '.join(asked)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
