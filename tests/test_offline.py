"""
Nothing but the rules that fetch uses the network.

Every workflow that a test runs, runs without one (`workflow_runs.snakemake`): here is shown that this is so, and which
rules could use one.
"""

import os
import re
import subprocess
import sys

import pytest
from checkpoints import REPOSITORY
from workflow_runs import ATTEMPTS, without_network

RULES = REPOSITORY / "workflow" / "rules"
SCRIPTS = REPOSITORY / "scripts"
TRIES = {
    "a name": "import socket; socket.create_connection(('example.org', 80), timeout=1)",
    "an address": "import socket; socket.socket().connect(('192.0.2.1', 80))",
    "an address, politely": "import socket; socket.socket().connect_ex(('192.0.2.1', 80))",
    "this machine": "import socket; socket.socket().connect(('127.0.0.1', 9))",
    "a download": "import requests; requests.get('https://example.org', timeout=1)",
    "the hub": "import huggingface_hub; huggingface_hub.HfApi().model_info('org/tiny')",
    "a process of its own": (
        "import subprocess, sys; subprocess.run([sys.executable, '-c', "
        "'import urllib.request; urllib.request.urlopen(\"http://example.org\")'], check=True)"
    ),
}


def run(folder, code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | without_network(folder) | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("what", TRIES)
def test_whoever_tries_fails_and_is_noted(tmp_path, what):
    environment = {"HF_HUB_OFFLINE": "0"} if what == "the hub" else {}
    assert run(tmp_path, TRIES[what], **environment).returncode != 0
    assert (tmp_path / ATTEMPTS).stat().st_size


def test_sockets_within_this_machine_are_let_be(tmp_path):
    code = "import asyncio, socket; socket.socketpair(); asyncio.run(asyncio.sleep(0))"
    assert run(tmp_path, code).returncode == 0
    assert not (tmp_path / ATTEMPTS).exists()


def test_only_scripts_that_fetch_know_how_to():
    """`headscope.fetch` is the one module that downloads; only these rules run it, and a notebook, which is no job."""
    fetching = {path.stem for path in SCRIPTS.glob("*.py") if "headscope.fetch " in path.read_text("utf-8")}
    assert fetching == {"fetch_corpus", "fetch_model", "fetch_stanza"}
    library = {path for path in (SCRIPTS / "headscope").rglob("*.py") if path.name not in ("fetch.py", "notebook.py")}
    downloads = re.compile(r"\b(requests|urllib|httpx|snapshot_download|hf_hub_download|urlopen|headscope\.fetch)\b")
    assert [path.name for path in library if downloads.search(path.read_text("utf-8"))] == []
    assert not [path.name for path in SCRIPTS.glob("*.py") if "headscope.notebook" in path.read_text("utf-8")]
