"""Runs inside the kernel: sends packets by a schedule through a qdisc and records what enters and leaves it.

    python -m benchmarks.kernel.inside FOLDER

Two pairs of virtual Ethernet devices stand in the namespace that this program finds itself in. A frame is written to
`gen`, appears at `in`, is forwarded to `out`, and waits there in a qdisc under HTB. One packet socket listens to all
devices, so what it reads is one sequence: an arrival is read when it enters `in`, a departure when the qdisc has given
the packet to `out`. With a kernel in virtual time nothing takes time between `in` and the qdisc, so the times are those
that the qdisc saw, and the sequence says what came first where two things happened at the same time.

FOLDER holds plan.json ({"rate_bit_per_s", "tc": [arguments of tc, ...]}) and schedule.bin; events.bin and report.json
are written. Only the standard library is used: nothing needs to be installed for the kernel's own Python.
"""

import json
import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

SCHEDULED = struct.Struct("<qIHBx")
"""One packet of schedule.bin: when (ns from the start), its flow, bytes of its frame, TOS byte of its IP header."""

EVENT = struct.Struct("<qIHBB")
"""One row of events.bin: time (ns of CLOCK_MONOTONIC), number of the packet in the schedule, bytes of its frame,
TOS byte, and whether it left (1) or arrived (0)."""

FIRST_PORT = 5000
"""Destination port of flow 0; filters find flows by it."""

LARGEST_FRAME = 1514
"""Bytes of a full Ethernet frame without its check sequence, which is what qdiscs count."""

_HEADERS = struct.Struct("!6s6sH BBHHHBBH4s4s HHHH I")
"""Ethernet, IPv4, UDP and the packet's number."""

_SOURCE, _TARGET, _AT_GENERATOR, _AT_ROUTER = "10.77.1.2", "10.77.2.2", "10.77.1.2/24", "10.77.1.1/24"
_NOWHERE = "02:00:00:00:00:99"
_ALL = 3
_SO_TIMESTAMPNS = 35
_SO_RCVBUFFORCE = 33
_SOL_PACKET, _PACKET_STATISTICS = 263, 6
_LEAVING = 4


def main() -> int:
    """Command line; see the module's docstring."""
    folder = Path(sys.argv[1])
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    schedule = list(SCHEDULED.iter_unpack((folder / "schedule.bin").read_bytes()))
    build(plan)
    lag_ns = monotonic_lag()
    with Tap() as tap:
        send(schedule, tap)
        drain(tap, len(schedule))
        lost = tap.lost()
    (folder / "events.bin").write_bytes(b"".join(EVENT.pack(row[0] - lag_ns, *row[1:]) for row in tap.rows))
    statistics = run("tc", "-s", "-d", "-j", "qdisc", "show", "dev", "out")
    report = {"kernel": os.uname().release, "qdiscs": json.loads(statistics), "lost": lost}
    (folder / "report.json").write_text(json.dumps(report), encoding="utf-8")
    return 0


def run(*command: str) -> str:
    """Run a program and return what it prints; its complaint becomes ours."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def build(plan: dict[str, Any]) -> None:
    """Make the devices, the route and the qdisc."""
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "gen", "type", "veth", "peer", "name", "in")
    run("ip", "link", "add", "out", "type", "veth", "peer", "name", "sink")
    for device in ("gen", "in", "out", "sink"):
        Path(f"/proc/sys/net/ipv6/conf/{device}/disable_ipv6").write_text("1")
        run("ip", "link", "set", device, "arp", "off", "up")
    for key in ("ip_forward", "conf/all/rp_filter", "conf/default/rp_filter", "conf/in/rp_filter"):
        Path(f"/proc/sys/net/ipv4/{key}").write_text("1" if key == "ip_forward" else "0")
    run("ip", "address", "add", _AT_ROUTER, "dev", "in")
    run("ip", "route", "add", f"{_TARGET}/32", "dev", "out")
    run("ip", "neighbour", "replace", _TARGET, "lladdr", _NOWHERE, "dev", "out", "nud", "permanent")
    # A burst of one byte makes HTB a wire: the next packet may leave when the one before it has been sent.
    rate = str(plan["rate_bit_per_s"]) + "bit"
    run("tc", "qdisc", "add", "dev", "out", "root", "handle", "1:", "htb", "default", "1")
    run(
        *f"tc class add dev out parent 1: classid 1:1 htb rate {rate} ceil {rate} burst 1 cburst 1 quantum 1514".split()
    )
    for arguments in plan["tc"]:
        run("tc", *arguments.replace("DEV", "dev out").split())


def monotonic_lag() -> int:
    """Return how much CLOCK_REALTIME, which stamps packets, is ahead of CLOCK_MONOTONIC, which qdiscs read: ns."""
    lags = []
    for _ in range(5):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        real = time.clock_gettime_ns(time.CLOCK_REALTIME)
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        lags.append(((real - before) + (real - after)) // 2)
    if max(lags) != min(lags):
        print(f"the two clocks moved against each other: {lags}", file=sys.stderr)
    return min(lags)


class Tap:
    """All that arrives at `in` and leaves through `out`, in order."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, int, int, int]] = []
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL))
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 1 << 26)
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self._socket.setblocking(False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def read(self) -> None:
        """Take over what has been seen since the last call."""
        while True:
            try:
                frame, ancillary, _, address = self._socket.recvmsg(64, 64)
            except BlockingIOError:
                return
            device, leaving = address[0], address[2] == _LEAVING
            if (device, leaving) not in (("in", False), ("out", True)) or len(frame) < _HEADERS.size:
                continue
            fields = _HEADERS.unpack_from(frame)
            seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
            bytes_of_frame = fields[5] + 14
            self.rows.append((seconds * 10**9 + nanoseconds, fields[-1], bytes_of_frame, fields[4], int(leaving)))

    def lost(self) -> int:
        """Return how many packets the socket had no room for."""
        packets_and_drops = self._socket.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8)
        return int(struct.unpack("II", packets_and_drops)[1])


def send(schedule: list[tuple[int, int, int, int]], tap: Tap) -> None:
    """Write each frame when its time has come."""
    router = bytes.fromhex(Path("/sys/class/net/in/address").read_text().strip().replace(":", ""))
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
        wire.bind(("gen", 0))
        start = time.monotonic_ns() + 100_000_000
        for number, (at_ns, flow, bytes_of_frame, tos) in enumerate(schedule):
            ahead = start + at_ns - time.monotonic_ns()
            if ahead > 0:
                time.sleep(ahead / 1e9)
            wire.send(frame(router, number, flow, bytes_of_frame, tos))
            tap.read()


def frame(router: bytes, number: int, flow: int, bytes_of_frame: int, tos: int) -> bytes:
    """Return a UDP packet in an Ethernet frame."""
    total = bytes_of_frame - 14
    addresses = socket.inet_aton(_SOURCE), socket.inet_aton(_TARGET)

    def pack(checksum: int) -> bytes:
        ip = (0x45, tos, total, number & 0xFFFF, 0, 64, 17, checksum, *addresses)
        udp = (4000, FIRST_PORT + flow, total - 20, 0)
        return _HEADERS.pack(router, bytes(6), 0x0800, *ip, *udp, number)

    words = sum(struct.unpack("!10H", pack(0)[14:34]))
    while words >> 16:
        words = (words & 0xFFFF) + (words >> 16)
    return pack(~words & 0xFFFF).ljust(bytes_of_frame, b"\0")


def drain(tap: Tap, sent: int) -> None:
    """Wait until the queue is empty: nothing leaves any more."""
    while True:
        seen = len(tap.rows)
        time.sleep(2)
        tap.read()
        if len(tap.rows) == seen:
            break
    arrived = sum(1 for row in tap.rows if not row[4])
    if arrived != sent:
        raise SystemExit(f"{sent} packets were sent and {arrived} arrived at the qdisc")


if __name__ == "__main__":
    raise SystemExit(main())
