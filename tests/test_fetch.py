import hashlib
import http.server
import threading
from functools import partial

import pytest
from hub import Hub

from headscope.errors import InputError
from headscope.fetch import fetch_file

CONTENT = b"one\ntwo\n" * 10_000


@pytest.fixture
def address(tmp_path):
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "text.txt").write_bytes(CONTENT)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Hub, tmp_path / "served"))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


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


def test_an_address_that_does_not_answer_is_named(tmp_path):
    with pytest.raises(InputError, match=r"http://127.0.0.1:9/x: expected a file, found: .*check the address"):
        fetch_file("http://127.0.0.1:9/x", "0" * 64, tmp_path / "text")
