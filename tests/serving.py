"""A server on this machine for as long as a test needs one."""

import http.server
import threading
from contextlib import contextmanager
from functools import partial


@contextmanager
def serving(handler: type[http.server.BaseHTTPRequestHandler], *arguments):
    """Answer by `handler(*arguments, …)` at a free port; yield the address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, *arguments))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
