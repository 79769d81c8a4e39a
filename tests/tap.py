"""What crosses an interface between two addresses: `python -m tests.tap DEVICE ADDRESS`, until standard input ends.

It prints a line when it listens, and then as JSON the most IP bytes that came from ADDRESS and went to it within any
second, and in all, and the longest silence after the first 50 kB.
"""

import json
import select
import socket
import struct
import sys
from collections import deque

_ETHERNET_BYTES = 14
_IPV4 = 0x0800
_SO_RCVBUFFORCE = 33
_SO_TIMESTAMPNS = 35
_SECOND_NS = 10**9
_BEGUN_BYTES = 50_000


class Window:
    """The most bytes within any second."""

    def __init__(self) -> None:
        self.most = 0
        self.total = 0
        self.silent_ns = 0
        self._recent: deque[tuple[int, int]] = deque()
        self._bytes = 0

    def add(self, at_ns: int, size: int) -> None:
        if self.total >= _BEGUN_BYTES and self._recent:
            self.silent_ns = max(self.silent_ns, at_ns - self._recent[-1][0])
        self._recent.append((at_ns, size))
        self._bytes += size
        self.total += size
        while self._recent[0][0] <= at_ns - _SECOND_NS:
            self._bytes -= self._recent.popleft()[1]
        self.most = max(self.most, self._bytes)

    def seen(self) -> dict[str, float]:
        return {"most": self.most, "total": self.total, "silent_s": self.silent_ns / _SECOND_NS}


def main(device: str, address: str) -> None:
    own = socket.inet_aton(address)
    windows = {"from": Window(), "to": Window()}
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003)) as tap:
        tap.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 1 << 28)
        tap.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        tap.bind((device, 0))
        tap.setblocking(False)
        print("listening", flush=True)  # noqa: T201
        while tap in select.select([tap, sys.stdin], [], [])[0]:
            packet, control, *_ = tap.recvmsg(64, 64, socket.MSG_TRUNC)
            if struct.unpack_from("!H", packet, 12)[0] != _IPV4:
                continue
            (size,) = struct.unpack_from("!H", packet, _ETHERNET_BYTES + 2)
            seconds, nanos = struct.unpack("=qq", control[0][2])
            source, target = packet[26:30], packet[30:34]
            if own in (source, target):
                windows["from" if source == own else "to"].add(seconds * _SECOND_NS + nanos, size)
    print(json.dumps({way: one.seen() for way, one in windows.items()}))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
