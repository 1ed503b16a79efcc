"""A stand-in for an object store that speaks S3: one bucket of the files of a folder, read only."""

import http.server
from email.utils import formatdate
from pathlib import Path
from urllib.parse import unquote, urlsplit

NO_OBJECTS = (
    b'<?xml version="1.0"?><ListBucketResult><KeyCount>0</KeyCount><IsTruncated>false</IsTruncated></ListBucketResult>'
)


class Bucket(http.server.BaseHTTPRequestHandler):
    """Answers what is asked of one bucket, whichever name it has."""

    def __init__(self, folder: Path, *arguments):
        self._folder = folder
        super().__init__(*arguments)

    def do_GET(self):
        """Answer for the bucket itself, a list of objects, or an object."""
        _, _, key = unquote(urlsplit(self.path).path).lstrip("/").partition("/")
        file = self._folder / key
        if not key:
            self._answer(200, NO_OBJECTS)
        elif file.is_file():
            self._answer(200, file.read_bytes(), formatdate(file.stat().st_mtime, usegmt=True))
        else:
            self._answer(404, b"")

    do_HEAD = do_GET

    def _answer(self, status: int, body: bytes, modified: str | None = None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if modified:
            self.send_header("Last-Modified", modified)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *arguments):
        """Say nothing."""
