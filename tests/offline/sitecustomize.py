"""On the path of every process of a workflow that a test runs: no socket but those of this machine, and none unseen."""

import os
import socket

ATTEMPTS = os.environ.get("HEADSCOPE_TEST_ATTEMPTS")  # the file that they are written to
LOCAL = {"127.0.0.1", "::1", "localhost"} if os.environ.get("HF_HUB_OFFLINE") == "0" else set()


def refuse(what):
    with open(ATTEMPTS, "a", encoding="utf-8") as file:
        file.write(f"{what}\n")
    raise OSError(f"expected no use of the network, found {what}")


def guarded(method):
    def guard(self, address, *arguments):
        if self.family != socket.AF_UNIX and address[0] not in LOCAL:
            refuse(f"{method.__name__} {address}")
        return method(self, address, *arguments)

    return guard


def getaddrinfo(host, *arguments, _look_up=socket.getaddrinfo, **options):
    if host not in LOCAL:
        refuse(f"getaddrinfo {host}")
    return _look_up(host, *arguments, **options)


if ATTEMPTS:
    socket.getaddrinfo = getaddrinfo
    socket.socket.connect = guarded(socket.socket.connect)
    socket.socket.connect_ex = guarded(socket.socket.connect_ex)
