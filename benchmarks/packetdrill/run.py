"""Runs a script against Sojourn's sender over a scripted wire."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from benchmarks.packetdrill.checks import Checks
from benchmarks.packetdrill.script import (
    Call,
    Check,
    Event,
    OutOfScopeError,
    Packet,
    Script,
    ScriptError,
    parse,
    sysctls,
)
from sojourn import _native

TICK = "1 ms"
"""Of the timers, as in the kernels for which the scripts were written."""

INFINITE = 0x7FFFFFFF
_MSS_BYTES = 1460
_TIMESTAMP_BYTES = 12
_MAX_BLOCKS = 3
_DEFAULTS = "defaults.sh"
_QUIET_CALLS = ("socket", "bind", "listen", "accept", "connect", "fcntl", "setsockopt")
_WRITES = ("write", "send", "sendto")
_QUIET_OPTIONS = (
    "SO_REUSEADDR",
    "SO_SNDBUF",
    "TCP_NODELAY",
    "TCP_CONGESTION",
    "IP_TOS",
    "IP_MTU_DISCOVER",
    "TCP_MAXSEG",
)
_CONTROLS = {
    "reno": "newreno",
    "cubic": "cubic",
    "bbr": "bbr",
    "vegas": "vegas",
    "westwood": "westwood",
    "veno": "veno",
    "illinois": "illinois",
    "lp": "tcp_lp",
    "cdg": "cdg",
    "dctcp": "dctcp",
}
_FAIR_QUEUE = re.compile(r"\btc qdisc .*\bfq\b")
"""Of a host that paces every connection, burst by burst."""
_BURST_BYTES = 65_160
_CONSTANTS = {"TCP_INFINITE_SSTHRESH": INFINITE}

# Sysctls that mean nothing to a sender of whole segments, that Sojourn has no option for (tcp_early_retrans,
# tcp_recovery, tcp_frto), or that the handshake tells as well (tcp_sack, tcp_timestamps, tcp_ecn).
_HARMLESS = re.compile(
    r"tcp_(rmem|wmem|syn_retries|synack_retries|fack|reordering|tso_win_divisor|min_tso_segs|ecn_option|notsent_lowat"
    r"|fastopen\w*|syncookies|pacing_(ss|ca)_ratio|frto|dsack|sack|timestamps|early_retrans|recovery|ecn"
    r"|congestion_control|slow_start_after_idle|no_metrics_save)"
)


@dataclass(frozen=True)
class Verdict:
    """What came of a script."""

    outcome: Literal["passes", "fails", "out of scope"]
    why: str = ""
    unchecked: int = 0
    """Assertions on what the engine does not tell."""


@dataclass
class _Plan:
    """Inputs of the sender, and what is expected of it."""

    payload_bytes: int
    scenario: dict[str, Any]
    times: list[int] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    values: list[int] = field(default_factory=list)
    acks: list[tuple[int, int, bool, list[tuple[int, int]]]] = field(default_factory=list)
    expected: list[tuple[Event, int, int]] = field(default_factory=list)
    """With the number of the segment, and how many inputs come before it."""
    checks: list[tuple[Event, int]] = field(default_factory=list)
    """With the place of the look among the inputs."""

    def add(self, at_s: float, event: str, value: int = 0) -> None:
        """Add an input."""
        self.times.append(round(at_s * 1e9))
        self.events.append(event)
        self.values.append(value)

    def until(self, inputs: int, end_s: float) -> "_Plan":
        """Return the first inputs, and a look at a time."""
        acks = self.acks[: self.events[:inputs].count("ack")]
        plan = _Plan(
            self.payload_bytes, self.scenario, self.times[:inputs], self.events[:inputs], self.values[:inputs], acks
        )
        plan.add(end_s, "look")
        return plan


def run(text: str, preset: str = "linux") -> Verdict:
    """Run a script against the sender of a preset, where its words say nothing else; nothing of it is executed."""
    try:
        script = parse(text)
        plan = _plan(script, preset)
    except (ScriptError, OutOfScopeError) as reason:
        return Verdict("out of scope", str(reason))
    data, states = _replay(plan)
    while late := _late(plan, data, script.tolerance_s):
        script.delay(*late)
        plan = _plan(script, preset)
        data, states = _replay(plan)
    checks = Checks()
    problems = [_unlike(plan, data, script.tolerance_s), _unheld(plan, data, states, checks)]
    found = sorted((problem for problem in problems if problem), key=lambda problem: problem[0])
    if found:
        return Verdict("fails", f"line {found[0][0]}: {found[0][1]}", checks.unchecked)
    return Verdict("passes", "", checks.unchecked)


def _replay(plan: _Plan) -> tuple[list[tuple[float, int]], Sequence[Any]]:
    """Return the segments that were sent, with their times in seconds, and the states after the inputs."""
    scenario = _native.load_json(json.dumps(plan.scenario))
    sent, states = _native.replay_sender(scenario, (plan.times, plan.events, plan.values, plan.acks), 1)
    times, numbers, kinds = (np.frombuffer(column[2], dtype=column[1]).tolist() for column in sent)
    return [(at / 1e9, number) for at, number, kind in zip(times, numbers, kinds, strict=True) if kind], states


def _late(plan: _Plan, sent: Sequence[tuple[float, int]], tolerance_s: float) -> tuple[int, float] | None:
    """Return the first line whose segment comes late within the tolerance, and by how many seconds.

    packetdrill waits for a packet before it goes on: nothing that follows in the script comes sooner.
    """
    for place, (event, number, inputs) in enumerate(plan.expected):
        if place < len(sent) and sent[place][1] == number and sent[place][0] <= event.end_s:
            continue
        alone, _ = _replay(plan.until(inputs, event.end_s + tolerance_s))
        if place >= len(alone) or alone[place][1] != number:
            return None
        # An input comes before a timer of the same nanosecond.
        late_s = alone[place][0] - event.end_s + 1e-9
        return (event.line, late_s) if late_s > 0 else None
    return None


def _unlike(plan: _Plan, sent: Sequence[tuple[float, int]], tolerance_s: float) -> tuple[int, str] | None:
    """Return the first line whose segment was not the next one sent, or not then."""
    for place, (event, number, _) in enumerate(plan.expected):
        wanted = f"expected segment {number} at {event.start_s:.3f} s"
        if place >= len(sent):
            return event.line, f"{wanted}; nothing was sent"
        at_s, found = sent[place]
        if found != number or not event.start_s - tolerance_s <= at_s <= event.end_s + tolerance_s:
            return event.line, f"{wanted}; sent was segment {found} at {at_s:.3f} s"
    return None


def _unheld(
    plan: _Plan, sent: Sequence[tuple[float, int]], states: Sequence[Any], checks: Checks
) -> tuple[int, str] | None:
    """Return the first line with an assertion that does not hold."""
    cwnd, ssthresh = (np.frombuffer(column[2], dtype=column[1]) for column in states[:2])
    acked = 0
    highest: list[int] = []
    for kind, value in zip(plan.events, plan.values, strict=True):
        acked = max(acked, value) if kind == "ack" else acked
        highest.append(acked)
    for event, place in plan.checks:
        began = sum(at_s <= event.start_s for at_s, _ in sent)
        state = {
            **_CONSTANTS,
            "tcpi_snd_cwnd": int(cwnd[place] + 1e-9),
            "tcpi_snd_ssthresh": INFINITE if np.isinf(ssthresh[place]) else int(ssthresh[place] + 1e-9),
            "tcpi_unacked": max((number + 1 for _, number in sent[:began]), default=0) - highest[place],
        }
        assert isinstance(event.what, Check)  # noqa: S101 (so it was entered)
        failing = checks.failing(event.what.code, state)
        if failing is not None:
            return event.line, failing
    return None


def _plan(script: Script, preset: str) -> _Plan:
    packets = [event.what for event in script.events if isinstance(event.what, Packet)]
    syns = [packet for packet in packets if "S" in packet.flags]
    if not syns:
        raise OutOfScopeError("it has no handshake")
    own = [packet for packet in syns if packet.outbound]
    peers = [packet for packet in syns if not packet.outbound]
    if len(peers) != 1 or len(own) != 1 or any(packet.payload_bytes for packet in syns):
        raise OutOfScopeError("its handshake is no simple one")
    timestamps = own[0].has("TS") and peers[0].has("TS")
    payload_bytes = min(peers[0].option("mss") or _MSS_BYTES, _MSS_BYTES) - (_TIMESTAMP_BYTES if timestamps else 0)
    scenario = _scenario(script, payload_bytes, peers[0], own[0])
    group = scenario["group"][0]
    group["control"] = {"kind": group["control"], "preset": preset}
    undo = {} if timestamps else {"undo": "none"}
    if not group["transport"]["sack"]:
        # Linux's way without SACK: RACK and TLP need its blocks.
        undo = {"undo": "timestamps" if timestamps else "none"}
        group["transport"] |= {"loss_detection": "count"}
    group["transport"] |= {"preset": preset, "timestamps": timestamps, **undo}
    if any(_FAIR_QUEUE.search(line) for line in script.setup):
        # No burst is larger than the window.
        most = min(_BURST_BYTES // payload_bytes, _window_packets(script, payload_bytes, peers[0]))
        least = min(int(dict(sysctls(script.setup)).get("tcp_min_tso_segs", "2")), most)
        host = {"kind": "linux", "pacing": "fq", "burst": most, "burst_least": least}
        group |= {"access_rate": "100 Gbit/s", "host": host}
    plan = _Plan(payload_bytes, scenario)
    _Walk(plan, script).go()
    if not plan.expected and not plan.checks:
        raise OutOfScopeError("it checks nothing of a sender of data")
    return plan


def _scenario(script: Script, payload_bytes: int, peer: Packet, own: Packet) -> dict[str, Any]:
    settings = {"tcp_congestion_control": "cubic", "tcp_slow_start_after_idle": "1", "tcp_ecn": "2"}
    if any(_DEFAULTS in line for line in script.setup):
        settings["tcp_slow_start_after_idle"] = "0"
    for name, value in sysctls(script.setup):
        if not _HARMLESS.fullmatch(name):
            raise OutOfScopeError(f"it sets {name}")
        settings[name] = value
    for line in script.setup:
        if "/sys/module" in line:
            raise OutOfScopeError("it sets a parameter of a module")
    for event in script.events:
        if isinstance(event.what, Call) and (named := re.search(r"TCP_CONGESTION, \"?(\w+)", event.what.arguments)):
            settings["tcp_congestion_control"] = named[1]
    control = _CONTROLS.get(settings["tcp_congestion_control"])
    if control is None:
        raise OutOfScopeError(f"its congestion control is {settings['tcp_congestion_control']}")
    ecn = "E" in peer.flags and "E" in own.flags
    transport = {
        "payload": f"{payload_bytes} B",
        "receive_window": f"{_window_packets(script, payload_bytes, peer)} packets",
        "sack": ((peer.has("sackOK") and own.has("sackOK")) or "..." in own.options) and "dsack",
        "timer_tick": TICK,
        **({"after_idle": "keep"} if settings["tcp_slow_start_after_idle"] == "0" else {}),
        **({"loss_detection": "rack"} if settings.get("tcp_early_retrans") == "0" else {}),
        **({"ecn": True} if ecn else {}),
    }
    queue = {"kind": "red", "preset": "linux", "ecn": True} if ecn else {"kind": "droptail", "limit": "30 packets"}
    group = {
        "name": "script",
        "control": control,
        "transport": transport,
        "traffic": {"kind": "bulk"},
        "rtt": "100 ms",
    }
    return {"name": "script", "duration": "1 s", "bottleneck": {"rate": "10 Mbit/s", "queue": queue}, "group": [group]}


def _window_packets(script: Script, payload_bytes: int, peer: Packet) -> int:
    """Return the largest receive window: smaller ones come with what the application has not read."""
    scale = peer.option("wscale") or 0
    inbound = [event.what for event in script.events if isinstance(event.what, Packet) and not event.what.outbound]
    windows = [packet.window << scale for packet in inbound if packet.window is not None and "S" not in packet.flags]
    return max(max(windows, default=peer.window or 0) // payload_bytes, 1)


class _Walk:
    """Goes through the events of a script and enters what they mean to the sender."""

    def __init__(self, plan: _Plan, script: Script) -> None:
        self.plan = plan
        self.script = script
        self.accepted = False
        self.written = 0
        self.sent_s: dict[int, float] = {}
        self.stamps: dict[int, float] = {}

    def go(self) -> None:
        """Enter everything up to the end of the connection."""
        for event in self.script.events:
            match event.what:
                case Call(name="close" | "shutdown"):
                    return
                case Call() as call:
                    self._call(event, call)
                case Packet() as packet if packet.outbound:
                    self._outbound(event, packet)
                case Packet() as packet:
                    self._inbound(event, packet)
                case Check():
                    self.plan.checks.append((event, len(self.plan.events)))
                    self.plan.add(event.start_s, "look")
                case _:
                    raise OutOfScopeError(f"line {event.line}: a shell command while packets travel")

    def _call(self, event: Event, call: Call) -> None:
        if call.name in _WRITES:
            size = int(call.arguments.split(",")[2])
            if self.written % self.plan.payload_bytes:
                raise OutOfScopeError(f"line {event.line}: the write before is not of whole segments")
            self.written += size
            self.plan.add(event.start_s, "supply", self.written)
        elif call.name not in _QUIET_CALLS:
            raise OutOfScopeError(f"line {event.line}: {call.name}()")
        elif call.name == "setsockopt" and call.arguments.split(",")[2].strip() not in _QUIET_OPTIONS:
            raise OutOfScopeError(f"line {event.line}: setsockopt({call.arguments.split(',')[2].strip()})")

    def _outbound(self, event: Event, packet: Packet) -> None:
        if "S" in packet.flags:
            # Sojourn's sender asks for the connection, whoever does so in the script: a round trip is a round trip.
            self.plan.add(event.start_s, "supply", self.plan.payload_bytes)
            self.plan.add(event.start_s, "supply", 0)
        for start in range(packet.start, packet.end, self.plan.payload_bytes):
            number = self._number(event, start)
            self.plan.expected.append((event, number, len(self.plan.events)))
            self.sent_s[number] = event.start_s
        stamp = packet.option("TS val")
        if stamp is not None:
            self.stamps.setdefault(stamp, event.start_s)

    def _inbound(self, event: Event, packet: Packet) -> None:
        if packet.payload_bytes:
            raise OutOfScopeError(f"line {event.line}: the peer sends data")
        if "R" in packet.flags or "F" in packet.flags:
            raise OutOfScopeError(f"line {event.line}: the peer ends the connection")
        if packet.ack is None:
            return
        if not self.accepted:
            self.accepted = True
            self.plan.add(event.start_s, "accepted")
            return
        if packet.window == 0:
            raise OutOfScopeError(f"line {event.line}: the receive window is closed")
        blocks = [(self._number(event, start), self._number(event, end)) for start, end in packet.sack()]
        number = self._number(event, packet.ack)
        echo = packet.echo()
        oldest = [at for sent, at in self.sent_s.items() if sent < number]
        echoed_s = self.stamps.get(echo, event.start_s) if echo is not None else max(oldest, default=0.0)
        self.plan.acks.append((round(echoed_s * 1e9), 0, "E" in packet.flags, blocks[:_MAX_BLOCKS]))
        self.plan.add(event.start_s, "ack", number)

    def _number(self, event: Event, sequence: int) -> int:
        number, rest = divmod(sequence - 1, self.plan.payload_bytes)
        whole = self.written and sequence - 1 == self.written
        if rest and not whole:
            raise OutOfScopeError(f"line {event.line}: {sequence} is no boundary of a whole segment")
        return number + bool(rest)
