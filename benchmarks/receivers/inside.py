"""Runs inside the kernel: gives its TCP segments at scripted times and records what it acknowledges.

    python -m benchmarks.receivers.inside FOLDER

The kernel listens behind a TUN device; this program is the sender and the path. What arrives is read at once. With a
kernel in virtual time none of its work takes time.

FOLDER holds plan.json: a list of {"name", "rtt_us", "ecn", "control", "arrivals", "replies_us"}. NAME.json for each
case and report.json are written. Only the standard library is used: nothing needs to be installed for the
kernel's own Python.
"""

import ctypes
import json
import os
import select
import socket
import sys
import time
from pathlib import Path as File
from typing import Any

from benchmarks.senders.inside import build, setting
from benchmarks.senders.packets import (
    CE,
    CWR,
    ECE,
    PAYLOAD_BYTES,
    PSH,
    SENDER,
    SYN,
    Acknowledgement,
    Segment,
    acknowledge,
    data,
    parse,
    request,
)

_FIRST_PORT = 6001
_TICK_NS = 10_000_000
_PR_SET_TIMERSLACK = 29
_ECT0 = 2
_REST_NS = 1_000_000_000
"""How long delayed acknowledgements are waited for."""


def main() -> int:
    """Command line; see the module's docstring."""
    folder = File(sys.argv[1])
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    device = build(bursts=False)
    setting("ipv4/tcp_no_metrics_save", "1")
    # As with 1 GB of memory or more.
    setting("ipv4/tcp_rmem", "4096 131072 6291456")
    for number, case in enumerate(plan):
        recorded = Run(device, _FIRST_PORT + number, case).record()
        (folder / f"{case['name']}.json").write_text(json.dumps(recorded), encoding="utf-8")
        (folder / "progress").write_text(str((number + 1) / len(plan)), encoding="ascii")
    (folder / "report.json").write_text(json.dumps({"kernel": os.uname().release}), encoding="utf-8")
    return 0


class Run:
    """One connection."""

    def __init__(self, device: int, port: int, case: dict[str, Any]) -> None:
        self.device, self.port, self.case = device, port, case
        setting("ipv4/tcp_ecn", str(int(case["ecn"])))
        self.listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, case["control"].encode())
        self.listener.bind((SENDER, port))
        self.listener.listen(1)
        self.listener.setblocking(False)
        self.socket: socket.socket | None = None
        # Ticks of the kernel are whole multiples of 10 ms in the recording too.
        self.start_ns = time.monotonic_ns() // _TICK_NS * _TICK_NS
        self.answers: list[tuple[int, Segment]] = []
        # What the kernel sends is acknowledged a round trip later: when, and how.
        self.due: list[tuple[int, Acknowledgement]] = []
        self.wanted, self.sent = 0, 0
        self.acks: list[list[Any]] = []

    @property
    def opened(self) -> Segment:
        """The SYN-ACK."""
        return self.answers[0][1]

    def now_ns(self) -> int:
        """Return the time since the start."""
        return time.monotonic_ns() - self.start_ns

    def record(self) -> dict[str, Any]:
        """Lead the connection to its end; return what arrived and what was acknowledged."""
        asked_ns = self.now_ns()
        os.write(self.device, request(self.port, asked_ns // 1_000_000, ecn=self.case["ecn"]))
        self.read()
        if not self.answers:
            raise SystemExit(f"{self.case['name']}: the kernel has not answered the SYN")
        first_ns = asked_ns + self.case["rtt_us"] * 1000
        self.wanted = self.opened.sequence + 1
        arrivals = []
        replies = iter([*self.case["replies_us"], None])
        reply_us = next(replies)
        for time_us, number, marked, says in self.case["arrivals"]:
            while reply_us is not None and reply_us < time_us:
                self.reply(first_ns + reply_us * 1000)
                reply_us = next(replies)
            self.wait(first_ns + time_us * 1000)
            now_ns = self.now_ns()
            echo, age_ms = self.heard(now_ns)
            arrivals.append([now_ns, number, marked, says, echo, age_ms])
            ect = (CE if marked else _ECT0) if self.case["ecn"] else 0
            flags = (CWR if says & 1 else 0) | (PSH if says & 2 else 0)
            packet = data(self.port, number, self.wanted, echo, now_ns // 1_000_000, ect=ect, flags=flags)
            os.write(self.device, packet)
            self.sent = max(self.sent, number + 1)
            self.read()
            self.take()
            self.read()
        while reply_us is not None:
            self.reply(first_ns + reply_us * 1000)
            reply_us = next(replies)
        self.wait(self.now_ns() + _REST_NS)
        end_ns = self.now_ns()
        self.close()
        return {"asked_ns": asked_ns, "end_ns": end_ns, "arrivals": arrivals, "acks": self.acks}

    def heard(self, now_ns: int) -> tuple[int, int]:
        """Return the timestamp of the last answer that a sender knows whose segment arrives now, and its age (ms)."""
        before_ns = now_ns - self.case["rtt_us"] * 1000
        known = ((sent, answer.stamp) for sent, answer in reversed(self.answers) if sent <= before_ns)
        sent_ns, stamp = next(known, (self.answers[0][0], self.opened.stamp))
        # The kernel's clock of timestamps has whole milliseconds.
        age_ms = (self.start_ns + now_ns) // 1_000_000 - (self.start_ns + sent_ns) // 1_000_000
        return stamp, age_ms

    def reply(self, at_ns: int) -> None:
        """Write a full segment as the application, at a time."""
        self.wait(at_ns)
        if self.socket is None:
            raise SystemExit(f"{self.case['name']}: a reply before anything has come")
        self.socket.send(bytes(PAYLOAD_BYTES))
        self.read()

    def wait(self, until_ns: int) -> None:
        """Read what the kernel sends until a time, and acknowledge what is due."""
        while True:
            due_ns = min(until_ns, self.due[0][0] if self.due else until_ns)
            if (left_ns := due_ns - self.now_ns()) > 0:
                select.select([self.device], [], [], left_ns / 1e9)
                self.read()
                continue
            if not self.due or self.due[0][0] > until_ns:
                return
            _, ack = self.due.pop(0)
            self.wanted = ack.number
            os.write(self.device, acknowledge(self.port, ack, self.now_ns() // 1_000_000, self.sent))
            self.read()

    def take(self) -> None:
        """Read as the application."""
        if self.socket is None:
            try:
                self.socket = self.listener.accept()[0]
            except BlockingIOError:
                return
            self.socket.setblocking(False)
        try:
            while self.socket.recv(1 << 20):
                pass
        except BlockingIOError:
            pass

    def read(self) -> None:
        """Take what the kernel has sent."""
        while True:
            try:
                segment = parse(os.read(self.device, 2048))
            except BlockingIOError:
                return
            if segment is None or segment.port != self.port:
                continue
            self.answers.append((self.now_ns(), segment))
            if not segment.flags & SYN:
                blocks = [[edge(start), edge(end)] for start, end in segment.blocks]
                told = int(bool(segment.flags & ECE)) + 2 * bool(segment.payload_bytes)
                self.acks.append([self.now_ns(), edge(segment.number), told, blocks])
                if segment.payload_bytes:
                    number = segment.sequence + segment.payload_bytes
                    ack = Acknowledgement(number=number, echo=segment.stamp, blocks=[], marked=False)
                    self.due.append((self.now_ns() + self.case["rtt_us"] * 1000, ack))

    def close(self) -> None:
        """End the connection without more segments."""
        for end in (self.socket, self.listener):
            if end is not None:
                end.close()
        while select.select([self.device], [], [], 0)[0]:
            os.read(self.device, 2048)


def edge(sequence: int) -> int:
    """Return the segment that begins at a sequence number."""
    number, rest = divmod(sequence - 1, PAYLOAD_BYTES)
    if rest:
        raise SystemExit(f"an acknowledgement of part of segment {number}")
    return number


if __name__ == "__main__":
    raise SystemExit(main())
