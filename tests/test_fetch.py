import hashlib
import http.server
import json
import os
import subprocess
import sys
from contextlib import ExitStack
from functools import partial

import pytest
import stanza
from checkpoints import REPOSITORY
from hub import Hub
from serving import serving

from headscope import fetch
from headscope.errors import InputError
from headscope.fetch import fetch_checkpoint, fetch_file, fetch_stanza
from headscope.sources import fetched_commit, refuse_changed

CONTENT = b"one\ntwo\n" * 10_000


@pytest.fixture
def address(tmp_path):
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "text.txt").write_bytes(CONTENT)
    with serving(Hub, tmp_path / "served") as address:
        yield address


def test_a_file_comes_whole(address, tmp_path):
    fetch_file(f"{address}/text.txt", hashlib.sha256(CONTENT).hexdigest(), tmp_path / "here" / "text")
    assert (tmp_path / "here" / "text").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("path", "message"),
    [("text.txt", f"expected a file of SHA-256 {'0' * 64}, found "), ("nothing", "expected a file, found: 404")],
)
def test_another_file_than_expected_is_refused_and_not_kept(address, tmp_path, path, message):
    with pytest.raises(InputError, match=message):
        fetch_file(f"{address}/{path}", "0" * 64, tmp_path / "here" / "text")
    assert list((tmp_path / "here").iterdir()) == []


class Cutting(http.server.BaseHTTPRequestHandler):
    """Serves `CONTENT` and cuts the line after so many bytes; with ranges or without."""

    def __init__(self, asked, most, has_ranges, *arguments):
        self._asked, self._most, self._has_ranges = asked, most, has_ranges
        super().__init__(*arguments)

    def do_GET(self):
        wanted = self.headers.get("Range")
        self._asked.append(wanted)
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and self._has_ranges else 0
        if start >= len(CONTENT):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        self.wfile.write(CONTENT[start:][: self._most])

    def log_message(self, *arguments):
        pass


@pytest.fixture
def cutting():
    """A function that starts a server which cuts; its address, and the ranges that it was asked for."""
    with ExitStack() as servers:

        def serve(most, has_ranges=True):
            asked = []
            return f"{servers.enter_context(serving(Cutting, asked, most, has_ranges))}/text.txt", asked

        yield serve


DIGEST = hashlib.sha256(CONTENT).hexdigest()


def test_a_download_that_is_cut_goes_on_where_it_was(cutting, tmp_path, caplog):
    url, asked = cutting(2**15)
    fetch_file(url, DIGEST, tmp_path / "text")
    assert (tmp_path / "text").read_bytes() == CONTENT
    assert asked == [None, "bytes=32768-", "bytes=65536-"]
    assert caplog.text.count("; going on\n") == 2
    assert list(tmp_path.iterdir()) == [tmp_path / "text"]


def test_a_run_goes_on_where_the_one_before_was(cutting, tmp_path, monkeypatch):
    monkeypatch.setattr(fetch, "TRIES", 1)
    url, asked = cutting(3 * 2**14)
    with pytest.raises(InputError, match=r"49,152 bytes came and are kept, run again to go on"):
        fetch_file(url, DIGEST, tmp_path / "text")
    fetch_file(url, DIGEST, tmp_path / "text")
    assert (tmp_path / "text").read_bytes() == CONTENT
    assert asked == [None, "bytes=49152-"]


def test_where_a_server_cannot_go_on_it_starts_anew(cutting, tmp_path, monkeypatch):
    monkeypatch.setattr(fetch, "TRIES", 1)
    url, _ = cutting(3 * 2**14, has_ranges=False)
    with pytest.raises(InputError, match="49,152 bytes came"):
        fetch_file(url, DIGEST, tmp_path / "text")
    url, asked = cutting(len(CONTENT), has_ranges=False)
    fetch_file(url, DIGEST, tmp_path / "text")
    assert (tmp_path / "text").read_bytes() == CONTENT
    assert asked == ["bytes=49152-"]


def test_a_file_that_had_come_whole_is_only_checked(cutting, tmp_path):
    (tmp_path / f".text.{DIGEST[:16]}.download").write_bytes(CONTENT)
    fetch_file(cutting(10)[0], DIGEST, tmp_path / "text")
    assert (tmp_path / "text").read_bytes() == CONTENT


def test_what_was_begun_and_is_wrong_is_thrown_away(cutting, tmp_path):
    (tmp_path / f".text.{DIGEST[:16]}.download").write_bytes(b"x" * 100)
    url, asked = cutting(len(CONTENT))
    with pytest.raises(InputError, match="expected a file of SHA-256"):
        fetch_file(url, DIGEST, tmp_path / "text")
    fetch_file(url, DIGEST, tmp_path / "text")
    assert asked == ["bytes=100-", None]


def test_what_was_begun_of_another_digest_goes_once_the_file_is_here(cutting, tmp_path):
    (tmp_path / f".text.{'0' * 16}.download").write_bytes(b"x" * 100)
    (tmp_path / f".other.{'0' * 16}.download").write_bytes(b"x" * 100)
    fetch_file(cutting(len(CONTENT))[0], DIGEST, tmp_path / "text")
    assert {path.name for path in tmp_path.iterdir()} == {"text", f".other.{'0' * 16}.download"}


def test_an_address_that_does_not_answer_is_named(tmp_path):
    with pytest.raises(InputError, match=r"http://127.0.0.1:9/x: expected a file, found: .*check the address"):
        fetch_file("http://127.0.0.1:9/x", "0" * 64, tmp_path / "text")


@pytest.mark.parametrize(("model_type", "with_weights"), [("bert", True), ("mamba", False)])
def test_no_weights_are_fetched_of_a_model_without_maps(tmp_path, monkeypatch, model_type, with_weights):
    fetched = []

    def download(source, revision, folder, patterns):
        fetched.extend(patterns)
        (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))

    monkeypatch.setattr(fetch, "_download_checkpoint", download)
    if with_weights:
        fetch_checkpoint("org/tiny", "0" * 40, tmp_path, tmp_path / "files.json")
    else:
        with pytest.raises(InputError, match=r"model org/tiny: expected an architecture with a map .*, found mamba: "):
            fetch_checkpoint("org/tiny", "0" * 40, tmp_path, tmp_path / "files.json")
    assert ("*.safetensors" in fetched) == with_weights


@pytest.fixture
def stanza_download(address, tmp_path):
    """Stanza's own downloader, pointed at a stand-in that has `xx` in a package of four files."""
    served = tmp_path / "served"
    package = {name: "tiny" for name in ("tokenize", "pos", "lemma", "depparse")}
    resources = {"url": f"{address}/{{lang}}/{{filename}}", "xx": {"packages": {"default": package, "bare": {}}}}
    for name in package:
        (served / "xx" / name).mkdir(parents=True)
        (served / "xx" / name / "tiny.pt").write_bytes(name.encode())
        resources["xx"][name] = {"tiny": {"md5": hashlib.md5(name.encode()).hexdigest(), "dependencies": []}}
    version = stanza.__resources_version__
    (served / f"resources_{version}.json").write_text(json.dumps(resources), "utf-8")
    return partial(stanza.download, resources_url=address)


def test_the_models_of_a_parser_come_and_are_listed_with_their_digests(stanza_download, tmp_path):
    fetch_stanza("xx", "default", tmp_path / "models", tmp_path / "models.json", stanza_download)
    listed = json.loads((tmp_path / "models.json").read_text("utf-8"))
    assert (listed["language"], listed["package"]) == ("xx", "default")
    assert listed["sha256"].pop("resources.json")
    assert listed["sha256"] == {
        f"xx/{name}/tiny.pt": hashlib.sha256(name.encode()).hexdigest()
        for name in ("depparse", "lemma", "pos", "tokenize")
    }


@pytest.mark.parametrize(
    ("language", "package", "message"),
    [
        ("yy", "default", "language yy, package default: expected them to download, found: Unknown language"),
        ("xx", "bare", "expected a package 'bare' with tokenize"),
        ("xx", "none", "expected a package 'none' with tokenize"),
    ],
)
def test_models_that_stanza_does_not_have_are_refused_and_not_listed(
    stanza_download, tmp_path, language, package, message
):
    with pytest.raises(InputError, match=message):
        fetch_stanza(language, package, tmp_path / "models", tmp_path / "models.json", stanza_download)
    assert not (tmp_path / "models.json").exists()


def test_a_model_that_changed_on_the_way_is_refused(stanza_download, tmp_path):
    (tmp_path / "served" / "xx" / "pos" / "tiny.pt").write_bytes(b"another")
    with pytest.raises(InputError, match="expected them to download, found: md5 for "):
        fetch_stanza("xx", "default", tmp_path / "models", tmp_path / "models.json", stanza_download)


def test_a_network_that_does_not_answer_is_named(tmp_path):
    download = partial(stanza.download, resources_url="http://127.0.0.1:9")
    with pytest.raises(InputError, match=r"language en, package default: .*found: .*127.0.0.1.*and the network"):
        fetch_stanza("en", "default", tmp_path / "models", tmp_path / "models.json", download)
    assert not (tmp_path / "models.json").exists()


@pytest.fixture
def with_coreference(address, stanza_download, tmp_path):
    """The same with a coreference model that Stanza recommends for `xx`."""
    listed = tmp_path / "served" / f"resources_{stanza.__resources_version__}.json"
    resources = json.loads(listed.read_text("utf-8"))
    resources["xx"]["coref"] = {"large": {"md5": hashlib.md5(b"coref").hexdigest(), "dependencies": []}}
    resources["xx"]["packages"]["default"]["optional"] = {"coref": "large"}
    listed.write_text(json.dumps(resources), "utf-8")
    (tmp_path / "served" / "xx" / "coref").mkdir()
    (tmp_path / "served" / "xx" / "coref" / "large.pt").write_bytes(b"coref")
    return stanza_download


def test_a_coreference_model_that_stanza_does_not_have_is_refused(with_coreference, tmp_path):
    with pytest.raises(InputError, match=r"language xx: expected a coref model 'small', .*found none"):
        fetch_stanza("xx", "default", tmp_path / "models", tmp_path / "models.json", with_coreference, "small")
    assert not (tmp_path / "models.json").exists()


def test_a_transformer_that_the_hub_does_not_give_is_named(with_coreference, tmp_path):
    asked = []

    def transformer_of(model):
        asked.append(model.relative_to(tmp_path))
        return "org/none"

    with pytest.raises(InputError, match="model org/none at its newest revision: expected it on the Hugging Face hub"):
        fetch_stanza(
            "xx", "default", tmp_path / "models", tmp_path / "models.json", with_coreference, "default", transformer_of
        )
    assert [str(model) for model in asked] == ["models/xx/coref/large.pt"]
    assert not (tmp_path / "models.json").exists()


def fetch_named(address, tmp_path, revision):
    """The rule's call."""
    given = "org/tiny", revision, str(tmp_path / "model"), str(tmp_path / "model.json")
    return run_here(address, tmp_path, f"from headscope.fetch import fetch_checkpoint; fetch_checkpoint{given!r}")


def run_here(address, tmp_path, code):
    """Run code in a process of its own, since the hub's address is read once."""
    here = {"HF_ENDPOINT": address, "HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path / "hub")}
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | here | {"PYTHONPATH": str(REPOSITORY / "scripts")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_commit_that_a_branch_stands_for_is_listed_and_kept(address, tmp_path):
    (tmp_path / "served" / "config.json").write_text("{}")
    run = fetch_named(address, tmp_path, "step1000")
    assert run.returncode == 0, run.stderr
    assert fetched_commit(tmp_path / "model.json") == Hub.REVISION
    listed = json.loads((tmp_path / "model.json").read_text("utf-8"))
    assert listed["sha256"].keys() == {"config.json", "text.txt"}
    assert fetch_named(address, tmp_path, "step1000").returncode == 0, "the same commit again"
    (tmp_path / "model" / ".cache" / "commit").write_text("f" * 40)  # as if it had stood for another
    run = fetch_named(address, tmp_path, "step1000")
    assert f"model org/tiny: expected step1000 at commit {'f' * 40}" in run.stderr
    assert f"it stands for {Hub.REVISION} now; write step1000@{'f' * 40} to stay, or delete the folder" in run.stderr


def test_a_branch_that_is_not_there_is_named(address, tmp_path):
    run = fetch_named(address, tmp_path, "step5")
    assert "model org/tiny at step5: expected it on the Hugging Face hub, found: " in run.stderr
    assert not (tmp_path / "model.json").exists()


def test_the_files_of_another_commit_are_not_taken_for_those_of_this_one(address, tmp_path):
    (tmp_path / "served" / "config.json").write_text("{}")
    begun = tmp_path / "model" / ".cache"
    begun.mkdir(parents=True)
    (begun / "commit").write_text("f" * 40)
    (tmp_path / "model" / "model.safetensors").write_bytes(b"of that commit")
    assert fetch_named(address, tmp_path, Hub.REVISION).returncode == 0
    listed = json.loads((tmp_path / "model.json").read_text("utf-8"))
    assert listed["sha256"].keys() == {"config.json", "text.txt"}
    assert (begun / "commit").read_text() == Hub.REVISION


def fetch_transformer(address, tmp_path, revision=None, allow_pickle=False):
    folder = f"pathlib.Path({str(tmp_path / 'transformer')!r})"
    call = f"print(fetch._fetch_transformer('org/tiny', {revision!r}, {folder}, {allow_pickle}))"
    return run_here(address, tmp_path, f"import pathlib; from headscope import fetch; {call}")


def test_pickled_weights_of_a_transformer_come_only_where_allowed(address, tmp_path):
    (tmp_path / "served" / "config.json").write_text("{}")
    (tmp_path / "served" / "pytorch_model.bin").write_bytes(b"pickled")
    run = fetch_transformer(address, tmp_path)
    assert f"model org/tiny at {Hub.REVISION}: expected weights as .safetensors, found none; " in run.stderr
    assert "set stanza: allow_pickle: true if you trust it" in run.stderr
    assert not (tmp_path / "transformer" / "pytorch_model.bin").exists()
    run = fetch_transformer(address, tmp_path, allow_pickle=True)
    assert run.stdout.strip() == Hub.REVISION, run.stderr
    assert (tmp_path / "transformer" / "pytorch_model.bin").read_bytes() == b"pickled"


def test_a_transformer_comes_at_its_commit_and_stays_at_it(address, tmp_path):
    (tmp_path / "served" / "model.safetensors").write_bytes(b"weights")
    run = fetch_transformer(address, tmp_path, revision="f" * 40)
    assert f"model org/tiny at {'f' * 40}: expected it on the Hugging Face hub" in run.stderr
    run = fetch_transformer(address, tmp_path, revision=Hub.REVISION)
    assert run.stdout.strip() == Hub.REVISION, run.stderr
    (tmp_path / "transformer" / ".cache" / "commit").write_text("f" * 40)  # as if that had been the newest then
    run = fetch_transformer(address, tmp_path)
    assert f"model org/tiny at {'f' * 40}: expected it on the Hugging Face hub" in run.stderr


def test_a_download_that_broke_off_is_not_taken_for_whole_where_the_network_is_gone(address, tmp_path):
    (tmp_path / "served" / "config.json").write_text("{}")
    assert fetch_named(address, tmp_path, Hub.REVISION).returncode == 0
    (tmp_path / "model.json").unlink()
    (tmp_path / "model" / "text.txt").unlink()
    run = fetch_named("http://127.0.0.1:9", tmp_path, Hub.REVISION)
    assert f"model org/tiny at {Hub.REVISION}: expected it on the Hugging Face hub, found: " in run.stderr
    assert not (tmp_path / "model.json").exists()


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_downloaded_file_that_changed_is_named(address, tmp_path, name):
    for file in ("config.json", "model.safetensors"):
        (tmp_path / "served" / file).write_text("{}")
    assert fetch_named(address, tmp_path, Hub.REVISION).returncode == 0
    listed, folder = tmp_path / "model.json", tmp_path / "model"
    refuse_changed(listed, folder)
    (folder / name).write_text("{]")
    changed = rf"{name}: expected what was downloaded .*, found SHA-256 .*: delete it and .*model.json, and run again"
    with pytest.raises(InputError, match=changed):
        refuse_changed(listed, folder)
    (folder / name).unlink()
    with pytest.raises(InputError, match=rf"{name}: expected what was downloaded .*, found none there; "):
        refuse_changed(listed, folder)
    listed.write_bytes(listed.read_bytes()[:-10])
    with pytest.raises(InputError, match=r"model.json: expected the list of a download, found: .*; delete it and run"):
        refuse_changed(listed, folder)
