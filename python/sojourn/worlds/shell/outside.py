"""What stays outside of the namespaces: sockets for a program's way to the Internet, and who knows names."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_RESOLV_CONF = Path("/etc/resolv.conf")
_NAMESERVER = "nameserver"
_LOOPBACK = "127.0.0.1"
_ASKED = "ii"
_FAMILIES = (socket.AF_INET, socket.AF_INET6)
_KINDS = (socket.SOCK_STREAM, socket.SOCK_DGRAM)


@contextmanager
def door() -> Iterator[socket.socket]:
    """Have a socket whose other end gives sockets of this network to whoever asks for a family and a kind."""
    asked, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    thread = threading.Thread(target=_give, args=(asked,), daemon=True)
    thread.start()
    try:
        yield other
    finally:
        other.close()
        # Whoever waits is woken, also where a process still has the other end.
        with suppress(OSError):
            asked.shutdown(socket.SHUT_RDWR)
        thread.join()
        asked.close()


def _give(asked: socket.socket) -> None:
    with suppress(OSError):
        while data := asked.recv(struct.calcsize(_ASKED)):
            try:
                given = _made(data)
            except OSError as error:
                asked.sendall(str(error).encode())
                continue
            with given:
                socket.send_fds(asked, [b"!"], [given.fileno()])


def _made(data: bytes) -> socket.socket:
    """Return a socket for connections or datagrams of IPv4 or IPv6; raises OSError, also for any other one."""
    family, kind = struct.unpack(_ASKED, data) if len(data) == struct.calcsize(_ASKED) else (0, 0)
    if family not in _FAMILIES or kind not in _KINDS:
        raise OSError(f"no socket of family {family} and kind {kind} is given")
    return socket.socket(family, kind)


def names() -> tuple[str, str]:
    """Return the address of this machine's resolver, and what else resolv.conf(5) says of names."""
    try:
        lines = _RESOLV_CONF.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise OSError(f"a way to the Internet needs {_RESOLV_CONF}, which says who knows names ({error})") from error
    return resolver(lines), "".join(f"{line}\n" for line in lines if line.split()[:1] != [_NAMESERVER])


def resolver(lines: list[str]) -> str:
    """Return the first resolver that any network can name; without one it is this machine.

    >>> resolver(["search home", "nameserver fe80::1%eth0", "nameserver 192.0.2.1"])
    '192.0.2.1'
    """
    named = [words[1] for words in map(str.split, lines) if words[:1] == [_NAMESERVER] and len(words) > 1]
    # A zone is a number of the network outside.
    return next((one for one in named if "%" not in one), _LOOPBACK)
