"""An Internet of one host, for a command in namespaces of its own: `python -m tests.internet COMMAND...`.

198.51.100.7 and 2001:db8::7 have a web server, an echo for datagrams and one for connections; every name stands for
them, says a resolver on loopback, as a system's own one is.
"""

import functools
import http.server
import os
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

IPV4, IPV6 = "198.51.100.7", "2001:db8::7"
RESOLVER = "127.0.0.53"
HTTP, ECHO, MARKS, LOCAL = 80, 7, 9, 4000
"""Ports; MARKS answers with the TOS byte of a datagram, as EF; the last one is open on loopback alone."""
PAGE_BYTES = 5_000_000
_ANSWERS = {1: socket.inet_pton(socket.AF_INET, IPV4), 28: socket.inet_pton(socket.AF_INET6, IPV6)}
_NAMESPACES = ["unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child"]


def reached_by(command: Sequence[str], **settings: object) -> "subprocess.CompletedProcess[str]":
    """Run a command beside that host."""
    words = [*_NAMESPACES, sys.executable, "-m", "tests.internet", *command]
    return subprocess.run(words, capture_output=True, text=True, timeout=100, check=False, **settings)  # type: ignore[call-overload,no-any-return]


def answer(question: bytes) -> bytes:
    """Return what a resolver answers (RFC 1035 section 4): the host's address for any name."""
    end = question.index(b"\0", 12) + 5
    address = _ANSWERS.get(int.from_bytes(question[end - 4 : end - 2], "big"))
    flags, counts = b"\x81\x80", b"\0\1" + (b"\0\1" if address else b"\0\0") + bytes(4)
    head = question[:2] + flags + counts + question[12:end]
    if address is None:
        return head
    return head + b"\xc0\x0c" + question[end - 4 : end] + bytes([0, 0, 0, 60, 0, len(address)]) + address


class _Question(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        data, asked = self.request
        asked.sendto(answer(data), self.client_address)


class _Datagram(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        data, asked = self.request
        asked.sendto(data, self.client_address)


class _Connection(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        """Say how many bytes came, once no more do."""
        count = 0
        while data := self.request.recv(65_536):
            count += len(data)
        self.request.sendall(str(count).encode())


class _Page(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _say_marks(address: str) -> None:
    six = ":" in address
    level, asks, takes = (
        (socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, socket.IPV6_TCLASS)
        if six
        else (socket.IPPROTO_IP, socket.IP_RECVTOS, socket.IP_TOS)
    )
    with socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind((address, MARKS))
        one.setsockopt(level, asks, 1)
        one.setsockopt(level, takes, 46 << 2)
        while True:
            _, said, _, peer = one.recvmsg(2000, 100)
            one.sendto(said[0][2][:1], peer)


class _Tcp4(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


class _Tcp6(_Tcp4):
    address_family = socket.AF_INET6


class _Udp4(socketserver.UDPServer):
    max_packet_size = 65_535


class _Udp6(_Udp4):
    address_family = socket.AF_INET6


def _run(*words: str) -> None:
    subprocess.run(words, check=True)


def main() -> int:
    """Make the host, run the command, and return its exit status."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "resolv.conf").write_text(f"search example.net\nnameserver {RESOLVER}\n", encoding="ascii")
        (place / "page").write_bytes(bytes(PAGE_BYTES))
        _run("ip", "link", "set", "lo", "up")
        _run("ip", "address", "add", f"{IPV4}/32", "dev", "lo")
        if "ONLY_IPV4" not in os.environ:
            _run("ip", "address", "add", f"{IPV6}/128", "dev", "lo", "nodad")
            _run("ip", "-6", "route", "add", "default", "dev", "lo")
        _run("mount", "--bind", str(place / "resolv.conf"), "/etc/resolv.conf")
        page = functools.partial(_Page, directory=folder)
        servers: list[socketserver.BaseServer] = [
            _Udp4((RESOLVER, 53), _Question),
            _Tcp4((IPV4, HTTP), page),
            _Tcp4((IPV4, ECHO), _Connection),
            _Udp4((IPV4, ECHO), _Datagram),
            _Tcp4(("127.0.0.1", LOCAL), page),
        ]
        if "ONLY_IPV4" not in os.environ:
            servers += [_Tcp6((IPV6, HTTP), page), _Udp6((IPV6, ECHO), _Datagram)]
        for address in (IPV4, IPV6) if "ONLY_IPV4" not in os.environ else (IPV4,):
            threading.Thread(target=_say_marks, args=(address,), daemon=True).start()
        for server in servers:
            threading.Thread(target=server.serve_forever, daemon=True).start()
        return subprocess.run(sys.argv[1:], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
