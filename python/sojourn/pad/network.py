"""The sockets of `sojourn pad`; none of them needs root.

Echo requests go through ICMP's datagram sockets, which the system allows by group. Answers of routers are read from the
error queue of a UDP socket (IP_RECVERR in ip(7)), which is open to everyone.
"""

import errno
import select
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from sojourn.pad.hops import MAX_HOPS, HopAnswer

# linux/in.h, linux/errqueue.h and RFC 792.
_IP_RECVERR = 11
_ORIGIN_ICMP = 2
_TIME_EXCEEDED, _UNREACHABLE = 11, 3
_ECHO, _ECHO_REPLY = 8, 0
_EXTENDED_ERROR = struct.Struct("=IBBBBII")
_ICMP = struct.Struct("!BBHHH")
_SEQUENCE = struct.Struct("!I")
# Where traceroute sends; a hop and a round have a port of their own, which their answer names.
_FIRST_PORT = 33434
DISCARD_PORT = 9
"""Where padding goes, should it arrive anywhere (RFC 863)."""
_REMEMBERED_ROUNDS = 64
_BUFFER_BYTES = 2048
_LOSSES = {errno.EAGAIN, errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENOBUFS}
_PING_HELP = (
    "this system does not let users ping through ICMP sockets. One setting allows it: "
    'sudo sysctl -w net.ipv4.ping_group_range="0 2147483647". '
    "Or, where the target has an echo service, --udp-echo PORT needs no permission"
)


class PadError(RuntimeError):
    """The network, or this system, does not let it work; a sentence for a person."""


class Network(Protocol):
    """What a session needs of the world."""

    def now(self) -> float:
        """Return seconds of a clock that never goes back."""

    def wait(self, until_s: float) -> None:
        """Wait until this time, or until something arrives."""

    def probe(self) -> None:
        """Send a probe to the target."""

    def answers(self) -> list[float]:
        """Return the round-trip times, in seconds, of the probes answered since the last call."""

    def ask_hop(self, ttl: int) -> None:
        """Send a packet that dies at a hop."""

    def hop_answers(self) -> list[HopAnswer]:
        """Return what hops answered since the last call."""

    def pad(self, ttl: int) -> None:
        """Send a padding packet."""

    def sent_bytes(self) -> int:
        """Return how many bytes this machine has sent on the path's interface."""


class Sockets:
    """The real network; see `Network`."""

    def __init__(self, target: str, udp_echo_port: int | None) -> None:
        self._target = target
        self._sent_s: dict[int, float] = {}
        self._number = 0
        self._asked: dict[int, tuple[int, float]] = {}
        self._rounds = 0
        self._echo_port = udp_echo_port
        self._echo = _echo_socket(target, udp_echo_port)
        self._hops = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._hops.setsockopt(socket.IPPROTO_IP, _IP_RECVERR, 1)
        # Routers' answers to padding are not read: with no error queue they change nothing.
        self._padding = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for one in (self._echo, self._hops, self._padding):
            one.setblocking(False)
        self._interface = _interface_to(target)

    def close(self) -> None:
        """Close all sockets."""
        for one in (self._echo, self._hops, self._padding):
            one.close()

    def now(self) -> float:
        """See `Network`."""
        return time.monotonic()

    def wait(self, until_s: float) -> None:
        """See `Network`."""
        poll = select.poll()
        poll.register(self._echo, select.POLLIN)
        # An error queue with something in it is always reported.
        poll.register(self._hops, 0)
        poll.poll(max(0.0, until_s - self.now()) * 1e3)

    def probe(self) -> None:
        """See `Network`."""
        self._number = (self._number + 1) & 0xFFFF
        self._sent_s[self._number] = self.now()
        payload = _SEQUENCE.pack(self._number)
        header = b"" if self._echo_port else _ICMP.pack(_ECHO, 0, 0, 0, self._number)
        _try(lambda: self._echo.send(header + payload))

    def answers(self) -> list[float]:
        """See `Network`."""
        found = []
        while (data := _read(self._echo)) is not None:
            header = 0 if self._echo_port else _ICMP.size
            if len(data) < header + _SEQUENCE.size or (header and data[0] != _ECHO_REPLY):
                continue
            (number,) = _SEQUENCE.unpack_from(data, header)
            sent_s = self._sent_s.pop(number, None)
            if sent_s is not None:
                found.append(self.now() - sent_s)
        return found

    def ask_hop(self, ttl: int) -> None:
        """See `Network`."""
        if ttl == 1:
            self._rounds = (self._rounds + 1) % _REMEMBERED_ROUNDS
        port = _FIRST_PORT + self._rounds * (MAX_HOPS + 1) + ttl
        self._hops.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, ttl)
        self._asked[port] = (ttl, self.now())
        # What came back for an earlier packet may be told, once, in the place of sending this one.
        self._hops.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        _try(lambda: self._hops.sendto(b"\0", (self._target, port)))

    def hop_answers(self) -> list[HopAnswer]:
        """See `Network`."""
        found: list[HopAnswer] = []
        while True:
            try:
                _, ancillary, _, asked = self._hops.recvmsg(_BUFFER_BYTES, _BUFFER_BYTES, socket.MSG_ERRQUEUE)
            except BlockingIOError:
                return found
            ttl, sent_s = self._asked.pop(asked[1], (0, 0.0))
            told = _icmp_error(ancillary)
            if ttl and told is not None:
                kind, address = told
                found.append(HopAnswer(ttl, self.now() - sent_s, address, kind == _UNREACHABLE))

    def pad(self, ttl: int) -> None:
        """See `Network`."""
        self._padding.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, ttl)
        _try(lambda: self._padding.sendto(b"\0", (self._target, DISCARD_PORT)))

    def sent_bytes(self) -> int:
        """See `Network`."""
        return sent_on(self._interface, Path("/proc/net/dev").read_text(encoding="ascii"))


def sent_on(interface: str, text: str) -> int:
    """Return the bytes sent on an interface by the text of /proc/net/dev; 0 where it is not there."""
    sent_column = 8
    for line in text.splitlines():
        name, colon, counters = line.partition(":")
        if colon and name.strip() == interface:
            return int(counters.split()[sent_column])
    return 0


def _echo_socket(target: str, udp_echo_port: int | None) -> socket.socket:
    if udp_echo_port is not None:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.connect((target, udp_echo_port))
        return made
    try:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
    except PermissionError:
        raise PadError(_PING_HELP) from None
    made.connect((target, 0))
    return made


def _interface_to(target: str) -> str:
    """Return the name of the interface by which packets to the target leave; empty where none has the address."""
    import fcntl

    siocgifaddr = 0x8915
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as trial:
        trial.connect((target, DISCARD_PORT))
        own = socket.inet_aton(trial.getsockname()[0])
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(trial, siocgifaddr, struct.pack("16s24x", name.encode()))
            except OSError:
                continue
            if answer[20:24] == own:
                return name
    return ""


def _icmp_error(ancillary: list[tuple[int, int, bytes]]) -> tuple[int, str] | None:
    """Return type and sender of an ICMP error that a packet came back with."""
    for level, kind, data in ancillary:
        if (level, kind) == (socket.IPPROTO_IP, _IP_RECVERR):
            _, origin, icmp, *_ = _EXTENDED_ERROR.unpack_from(data)
            if origin == _ORIGIN_ICMP and icmp in {_TIME_EXCEEDED, _UNREACHABLE}:
                # The sender's sockaddr_in follows: family, port, address.
                return icmp, socket.inet_ntoa(data[_EXTENDED_ERROR.size + 4 : _EXTENDED_ERROR.size + 8])
    return None


def _read(one: socket.socket) -> bytes | None:
    try:
        return one.recv(_BUFFER_BYTES)
    except OSError as error:
        if error.errno in _LOSSES:
            return None
        raise PadError(f"the network gives no answers: {error.strerror}") from error


def _try(send: Callable[[], object]) -> None:
    """Send, and take a full buffer, or what a router said of an earlier packet, for a loss."""
    try:
        send()
    except OSError as error:
        if error.errno in _LOSSES:
            return
        raise PadError(f"the network does not take packets to the target: {error.strerror}") from error
