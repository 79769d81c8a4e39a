"""Reads a queue discipline's counters over netlink: a system call or two, no process."""

import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

# linux/rtnetlink.h, linux/netlink.h, linux/gen_stats.h.
_RTM_NEWQDISC, _RTM_GETQDISC = 36, 38
_NLM_F_REQUEST, _NLM_F_DUMP = 0x1, 0x300
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_TCA_STATS2, _STATS_BASIC, _STATS_QUEUE, _STATS_PKT64 = 7, 1, 3, 8
_HEADER = struct.Struct("=IHHII")
_TCMSG = struct.Struct("=BxxxiIII")
_ATTRIBUTE = struct.Struct("=HH")
_BASIC = struct.Struct("=QI")
_QUEUE = struct.Struct("=IIIII")
_TYPE_MASK = 0x3FFF
_BUFFER = 1 << 16


@dataclass(frozen=True)
class Counters:
    """What a queue discipline has counted since it was made, and what waits in it."""

    sent_bytes: int
    sent_packets: int
    queued_packets: int
    queued_bytes: int
    drops: int


class Reader:
    """Reads the counters of one queue discipline; stays in the namespace in which it was made."""

    def __init__(self, device: str, handle: str | None) -> None:
        self._index = socket.if_nametoindex(device)
        self._handle = None if handle is None else _number(handle)
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self._socket.bind((0, 0))

    def follow(self, handle: str) -> None:
        """Read the discipline with another handle from now on, on the same device."""
        self._handle = _number(handle)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def read(self) -> Counters | None:
        """Return the counters, of the whole device where no handle was given; None where there is none."""
        body = _TCMSG.pack(0, self._index, 0, 0, 0)
        length = _HEADER.size + len(body)
        self._socket.send(_HEADER.pack(length, _RTM_GETQDISC, _NLM_F_REQUEST | _NLM_F_DUMP, 1, 0) + body)
        found = None
        for kind, message in self._answers():
            if kind == _RTM_NEWQDISC and found is None:
                found = self._matching(message)
        return found

    def _answers(self) -> Iterator[tuple[int, bytes]]:
        """Give the kernel's messages up to the last one."""
        while True:
            for kind, message in messages(self._socket.recv(_BUFFER)):
                if kind in {_NLMSG_DONE, _NLMSG_ERROR}:
                    return
                yield kind, message

    def _matching(self, message: bytes) -> Counters | None:
        _, index, handle, parent, _ = _TCMSG.unpack_from(message)
        wanted = parent == _ROOT if self._handle is None else handle == self._handle
        return parse(message[_TCMSG.size :]) if index == self._index and wanted else None


_ROOT = 0xFFFFFFFF


def _number(handle: str) -> int:
    return int(handle.rstrip(":"), 16) << 16


def messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Split what a netlink socket gave into types and bodies."""
    place = 0
    while place + _HEADER.size <= len(data):
        length, kind, *_ = _HEADER.unpack_from(data, place)
        if length < _HEADER.size:
            return
        yield kind, data[place + _HEADER.size : place + length]
        place += _aligned(length)


def parse(attributes: bytes) -> Counters:
    """Read the counters out of a queue discipline's attributes."""
    nested = dict(_attributes(dict(_attributes(attributes)).get(_TCA_STATS2, b"")))
    sent_bytes, sent_packets = _BASIC.unpack_from(nested[_STATS_BASIC])
    queued_packets, queued_bytes, drops, _, _ = _QUEUE.unpack_from(nested[_STATS_QUEUE])
    if _STATS_PKT64 in nested:
        (sent_packets,) = struct.unpack_from("=Q", nested[_STATS_PKT64])
    return Counters(sent_bytes, sent_packets, queued_packets, queued_bytes, drops)


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    place = 0
    while place + _ATTRIBUTE.size <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, place)
        if length < _ATTRIBUTE.size:
            return
        yield kind & _TYPE_MASK, data[place + _ATTRIBUTE.size : place + length]
        place += _aligned(length)


def _aligned(length: int) -> int:
    return (length + 3) & ~3
