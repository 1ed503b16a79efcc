"""A stand-in for the Hugging Face hub that serves one folder as `org/tiny` at one revision."""

import hashlib
import http.server
import json


class Hub(http.server.BaseHTTPRequestHandler):
    """Answers what huggingface_hub asks of the real one; any other path is a file of the folder."""

    REVISION = "0123456789abcdef0123456789abcdef01234567"
    NAMES = ("main", "step1000")  # of branches, which all stand for it

    def __init__(self, folder, *arguments):
        self._folder = folder
        super().__init__(*arguments)

    def do_GET(self):
        path = self.path.partition("?")[0]
        if path in ("/api/models/org/tiny", *(f"/api/models/org/tiny/revision/{name}" for name in self.NAMES)):
            about = json.dumps({"id": "org/tiny", "sha": self.REVISION}).encode()
            self._answer(about, {"Content-Type": "application/json"})
            return
        if path == f"/api/models/org/tiny/tree/{self.REVISION}":
            files = [file for file in self._folder.iterdir() if file.is_file()]
            listed = [
                {"type": "file", "path": file.name, "size": file.stat().st_size, "oid": _digest(file)} for file in files
            ]
            self._answer(json.dumps(listed).encode(), {"Content-Type": "application/json"})
            return
        file = self._folder / path.removeprefix(f"/org/tiny/resolve/{self.REVISION}").lstrip("/")
        if file.is_file():
            self._answer(file.read_bytes(), {"ETag": f'"{_digest(file)}"', "X-Repo-Commit": self.REVISION})
        else:
            self._answer(b"", {}, status=404)

    do_HEAD = do_GET

    def _answer(self, body, headers, status=200):
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def _digest(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()
