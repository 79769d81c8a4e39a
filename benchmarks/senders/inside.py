"""Runs inside the kernel: leads its TCP over a scripted path and records what it sends, and its window.

    python -m benchmarks.senders.inside FOLDER

The kernel's TCP connects through a TUN device; this program is the path and the receiver behind it. A packet that is
written to the device is processed before the call returns. TCP_INFO then shows the window after that acknowledgement,
and what the device gives was sent on it. With a kernel in virtual time none of this takes time.

FOLDER holds plan.json ({"control", "bursts", "runs": [{"name", "ecn", "path", "writes", "duration_ms"}, ...]}).
NAME.json for each run and report.json are written. Only the standard library is used: nothing needs to be installed for
the kernel's own Python.
"""

import ctypes
import fcntl
import heapq
import json
import os
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path as File
from typing import Any

from benchmarks.senders.packets import (
    CWR,
    PAYLOAD_BYTES,
    PEER,
    PORT,
    SENDER,
    SYN,
    Acknowledgement,
    Segment,
    accept,
    acknowledge,
    parse,
)
from benchmarks.senders.path import Answer, Path, Receiver

DELAYED_ACK_US = 40_000
_DEVICE = "wire"
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
_SO_SNDBUFFORCE = 32
_SEND_BUFFER_BYTES = 1 << 27
_INFO = struct.Struct("<8B24I")
_TCP_CC_INFO, _BBR_INFO = 26, struct.Struct("<5I")
_PR_SET_TIMERSLACK = 29
_TICK_NS = 10_000_000
_SETTINGS = {
    "ipv4/tcp_no_metrics_save": "1",
    "ipv4/tcp_timestamps": "1",
    "ipv4/tcp_sack": "1",
}


def main() -> int:
    """Command line; see the module's docstring."""
    folder = File(sys.argv[1])
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    device = build(bursts=plan["bursts"])
    for number, run in enumerate(plan["runs"]):
        recorded = Run(device, plan["control"], run).record()
        (folder / f"{run['name']}.json").write_text(json.dumps(recorded), encoding="utf-8")
        (folder / "progress").write_text(str((number + 1) / len(plan["runs"])), encoding="ascii")
    (folder / "report.json").write_text(json.dumps({"kernel": os.uname().release}), encoding="utf-8")
    return 0


def build(*, bursts: bool) -> int:
    """Make the device; return its descriptor. Segments leave one by one, or in bursts of the host."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", _DEVICE.encode(), _IFF_TUN | _IFF_NO_PI))
    for command in (
        f"ip address add {SENDER}/24 dev {_DEVICE}",
        f"ip link set {_DEVICE} txqueuelen 10000{'' if bursts else ' gso_max_segs 1'} up",
        f"tc qdisc replace dev {_DEVICE} root pfifo limit 10000",
    ):
        done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{command}: {done.stderr.strip()}")
    return device


def setting(name: str, value: str) -> None:
    """Set a sysctl of the network."""
    File(f"/proc/sys/net/{name}").write_text(value)


class Run:
    """One connection."""

    def __init__(self, device: int, control: str, run: dict[str, Any]) -> None:
        self.device, self.control = device, control
        self.plan = run
        self.path = Path(**run["path"])
        self.receiver = Receiver(DELAYED_ACK_US, accurate=control == "dctcp")
        for name, value in {**_SETTINGS, "ipv4/tcp_ecn": str(int(run["ecn"]))}.items():
            setting(name, value)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        self.socket.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, _SEND_BUFFER_BYTES)
        self.socket.setblocking(False)
        # Ticks of the kernel are whole multiples of 10 ms in the recording too.
        self.start_ns = time.monotonic_ns() // _TICK_NS * _TICK_NS
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.entered = 0
        self.isn = 0
        self.port = 0
        self.sends: dict[int, int] = {}
        self.acks = 0
        self.written = 0
        self.acknowledged = 0
        self.writes = list(run["writes"])
        self.inputs: list[list[Any]] = []
        self.sent: list[list[int]] = []

    def now_ns(self) -> int:
        """Return the time since the start."""
        return time.monotonic_ns() - self.start_ns

    def now_us(self) -> float:
        """Return the time since the start."""
        return self.now_ns() / 1000

    def at(self, time_us: float, action: Callable[[], None]) -> None:
        """Do something later."""
        self.entered += 1
        heapq.heappush(self.events, (time_us, self.entered, action))

    def record(self) -> dict[str, Any]:
        """Lead the connection to its end; return its inputs and what was sent."""
        self.note("supply", self.writes[0]["segments"])
        self.socket.connect_ex((PEER, PORT))
        end_us = self.plan["duration_ms"] * 1e3
        while self.now_us() < end_us:
            self.read()
            while self.events and self.events[0][0] <= self.now_us():
                heapq.heappop(self.events)[2]()
                self.read()
            if self.done():
                break
            until = min(end_us, self.events[0][0] if self.events else end_us)
            select.select([self.device], [], [], max(until - self.now_us(), 0) / 1e6)
        self.note("look", 0)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()
        self.read()
        return {"start_tick": self.start_ns // _TICK_NS, "inputs": self.inputs, "sent": self.sent}

    def done(self) -> bool:
        """Tell whether everything was written and acknowledged."""
        return self.acknowledged == self.written > 0 and not self.writes

    def note(self, kind: str, value: int, ack: list[Any] | None = None) -> None:
        """Record an input and the state after it."""
        if kind == "supply":
            self.inputs.append([self.now_ns(), kind, value, ack, None])
            return
        info = _INFO.unpack(self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO.size))
        words = info[8:]
        state = {
            "cwnd": words[18],
            "ssthresh": words[17],
            "ca_state": info[1],
            "rto_us": words[0],
            "pacing_gain": self.pacing_gain(),
        }
        self.inputs.append([self.now_ns(), kind, value, ack, state])

    def pacing_gain(self) -> int:
        """Return BBR's pacing gain in 1/256; 0 with other controls."""
        if self.control != "bbr":
            return 0
        return int(_BBR_INFO.unpack(self.socket.getsockopt(socket.IPPROTO_TCP, _TCP_CC_INFO, _BBR_INFO.size))[3])

    def read(self) -> None:
        """Take what the kernel has sent."""
        while True:
            try:
                segment = parse(os.read(self.device, 2048))
            except BlockingIOError:
                return
            if segment is None or (self.port and segment.port != self.port):
                continue
            if segment.flags & SYN:
                self.on_syn(segment)
            elif segment.payload_bytes:
                self.on_data(segment)

    def on_syn(self, segment: Segment) -> None:
        """Answer a connection request after a round trip."""
        self.isn, self.port = segment.sequence, segment.port

        def answer() -> None:
            os.write(self.device, accept(segment, self.now_ns() // 1_000_000, ecn=bool(self.plan["ecn"])))
            self.note("accepted", 0)
            self.write()

        self.at(self.now_us() + 2 * self.path.one_way_us(self.now_us()), answer)

    def write(self) -> None:
        """Give the kernel what the application has to send next."""
        segments = self.writes.pop(0)["segments"]
        # The first was noted as the connection was asked for.
        if self.written:
            self.note("supply", self.written + segments)
        self.written += segments
        data = bytes(segments * PAYLOAD_BYTES)
        if self.socket.send(data) != len(data):
            raise SystemExit(f"{self.plan['name']}: the send buffer is too small")
        if self.writes and "after_ms" in self.writes[0]:
            return
        if self.writes:
            self.at(self.writes[0]["at_ms"] * 1e3, self.write)

    def on_data(self, segment: Segment) -> None:
        """Send a segment over the path."""
        number, rest = divmod((segment.sequence - self.isn - 1) % (1 << 32), PAYLOAD_BYTES)
        if rest or segment.payload_bytes != PAYLOAD_BYTES:
            raise SystemExit(f"{self.plan['name']}: a segment of {segment.payload_bytes} B at {number} + {rest} B")
        nth = self.sends.get(number, 0)
        self.sends[number] = nth + 1
        now_ns = self.now_ns()
        cwr = bool(segment.flags & CWR)
        self.sent.append([now_ns, number, nth, int(cwr)])
        crossing = self.path.cross(now_ns / 1000, number, nth, segment.payload_bytes, capable=segment.capable)
        if crossing is not None:
            arrives_us, marked = crossing
            stamp = (segment.stamp, now_ns)
            self.at(arrives_us, lambda: self.arrive(number, stamp, marked=marked, cwr=cwr))

    def arrive(self, number: int, stamp: tuple[int, int], *, marked: bool, cwr: bool) -> None:
        """Let a segment reach the receiver."""
        now_us = self.now_us()
        for answer in self.receiver.on_data(number, stamp, now_us, marked=marked, cwr=cwr):
            self.answer(answer)
        due_us = self.receiver.due_us
        if due_us is not None:
            self.at(due_us, lambda: self.on_due(due_us))

    def on_due(self, due_us: float) -> None:
        """Send a delayed acknowledgement, unless it has been sent."""
        if self.receiver.due_us == due_us:
            self.answer(self.receiver.on_due())

    def answer(self, answer: Answer) -> None:
        """Send an acknowledgement back."""
        if any(start <= self.now_us() < end for start, end in self.path.silent):
            return
        now_ns = self.now_ns()
        times = 3 if self.acks in self.path.repeat else 1
        self.acks += 1

        def take() -> None:
            def sequence(number: int) -> int:
                return self.isn + 1 + number * PAYLOAD_BYTES

            blocks = [(sequence(start), sequence(end)) for start, end in answer.blocks]
            ack = Acknowledgement(sequence(answer.number), answer.stamp[0], blocks, answer.marked)
            os.write(self.device, acknowledge(self.port, ack, now_ns // 1_000_000))
            delay_ns = now_ns - answer.cause[1]
            self.note("ack", answer.number, [answer.stamp[1], delay_ns, int(answer.marked), answer.blocks])
            self.read()
            self.on_acknowledged(answer.number)

        for _ in range(times):
            self.at(now_ns / 1000 + self.path.one_way_us(now_ns / 1000), take)

    def on_acknowledged(self, number: int) -> None:
        """Let the application go on where it waited for this."""
        self.acknowledged = max(self.acknowledged, number)
        if self.writes and "after_ms" in self.writes[0] and self.acknowledged == self.written:
            self.writes[0]["at_ms"] = self.now_us() / 1e3 + self.writes[0].pop("after_ms")
            self.at(self.writes[0]["at_ms"] * 1e3, self.write)


if __name__ == "__main__":
    raise SystemExit(main())
