"""The side that asks for runs: `sojourn run FILE --world hosts --peer ADDRESS`."""

import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn import __version__, _native
from sojourn.reading import input_error
from sojourn.record import Record
from sojourn.spelling import spelled
from sojourn.worlds.hosts import asking, logs, protocol, reports
from sojourn.worlds.hosts.admission import Ends, Limits, RefusedError
from sojourn.worlds.hosts.budget import budget
from sojourn.worlds.hosts.handshake import AGENT, PEER, Exchange
from sojourn.worlds.hosts.line import PATIENCE_S, GoneError, Line
from sojourn.worlds.hosts.protocol import DEFAULT_PORT, Message, ProtocolError
from sojourn.worlds.hosts.running import EndpointsError, Running, endpoints
from sojourn.worlds.hosts.secret import VARIABLE, is_loopback, shared_secret
from sojourn.worlds.hosts.shape import for_peer, shaped
from sojourn.worlds.linux.errors import ClockJumpedError, TestbedError
from sojourn.worlds.linux.observed import Observed
from sojourn.worlds.linux.plan import BASE_S, Job
from sojourn.worlds.linux.world import DEFAULT_BIN_S, LinuxRun
from sojourn.worlds.world import Wanted

NAME = "hosts"
_CONNECT_S = 10.0
_AGAIN_S = 0.2
_LOOK_EVERY_S = 0.1
# Processes need a moment to start, before the base is taken; where it was too short, twice as long, up to what an agent
# allows.
_START_S = 3.0
_MAX_START_S = 48.0
_OVERTIME_S = 10.0
# Each reading of the other clock is good to half of its round trip; the best of a few is taken.
_READINGS = 8
# Two crystals part by 100 ppm at most: 30 ms in 300 s.
_TOLERATED_S = 0.1
_INPUT_KINDS = ("input", "limit", "secret")
_LAST_PORT = 65_535

Progress = Callable[[float], None]


@dataclass(frozen=True)
class How:
    """How runs are recorded."""

    bin_s: float
    remark: str
    """What took the place of the scenario's links."""
    packets: bool = False
    """Whether both ends log each packet."""


@dataclass(frozen=True)
class Peer:
    """Where an agent is, and what it and we know."""

    host: str
    port: int = DEFAULT_PORT
    secret: bytes | None = field(default=None, repr=False)
    patience_s: float = PATIENCE_S
    shape: str | None = None
    """Interface of this host that gets the scenario's bottleneck; None for the path as it is."""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def given(text: str | None, secret_file: str | os.PathLike[str] | None, shape: str | None = None) -> Peer:
    """Read ADDRESS[:PORT] and the secret; raises InputError."""
    if text is None:
        needed = f"{spelled('world', NAME)} needs {spelled('peer')} ADDRESS"
        raise input_error(f"{needed}, where `sojourn agent` runs", key="peer")
    host, colon, port = text.partition(":")
    is_port = port.isascii() and port.isdigit() and 0 < int(port[:6]) <= _LAST_PORT
    if not host or (colon and not is_port):
        message = f"{spelled('peer')} is ADDRESS or ADDRESS:PORT (IPv4 or a name)"
        raise input_error(message, key="peer", found=text)
    secret = shared_secret(None if secret_file is None else Path(secret_file))
    return Peer(host, int(port) if colon else DEFAULT_PORT, secret, shape=shape)


def run(
    scenario: _native.Scenario,
    seeds: Sequence[int],
    wanted: Wanted,
    progress: Progress | None,
    peer: Peer,
) -> list[LinuxRun]:
    """Run a scenario's flows between this host and its peer, once for each seed, one run after the other.

    Raises InputError where the scenario or the peer's limits do not allow it, TestbedError where it fails.
    """
    resolved: dict[str, Any] = Record.parse(scenario.to_json())
    shape = None if peer.shape is None else for_peer(peer.shape, peer.host, resolved)
    how = How(wanted.bin_s or DEFAULT_BIN_S, asking.REMARK if shape is None else shape.remark, wanted.packets)
    found = []
    with shaped(shape, _tell) if shape is not None else nullcontext():
        for place, seed in enumerate(seeds):
            told = _part(progress, place, len(seeds))
            found.append(_measured(peer, resolved, seed, how, told))
    return found


def _measured(peer: Peer, resolved: dict[str, Any], seed: int, how: How, told: Progress) -> LinuxRun:
    """Do one run; once more, with more time before it, where processes were not there when it was to begin."""
    lead_s = _START_S
    while True:
        try:
            with _translated(peer), _connected(peer) as session:
                return session.run(resolved, seed, how, told, lead_s)
        except _LateError:
            lead_s *= 2
            if lead_s > _MAX_START_S:
                raise


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _part(progress: Progress | None, place: int, parts: int) -> Progress:
    return lambda fraction: progress((place + fraction) / parts) if progress else None


@contextmanager
def _translated(peer: Peer) -> Iterator[None]:
    """Say what went wrong as a sentence about the agent."""
    try:
        yield
    except GoneError as gone:
        raise TestbedError(f"the agent at {peer} {gone}; nothing of the run is left on this side") from None
    except ProtocolError as error:
        raise TestbedError(f"{peer} does not speak as an agent of Sojourn does: {error}") from None
    except RefusedError as error:
        raise input_error(str(error), key="peer", found=str(peer)) from None
    except EndpointsError as error:
        raise (input_error(str(error)) if error.kind == "input" else TestbedError(str(error))) from None


@contextmanager
def _connected(peer: Peer) -> Iterator["_Session"]:
    """Have a session, as soon as the agent has a place for it."""
    until = time.monotonic() + _CONNECT_S
    with ExitStack() as undo:
        while True:
            session = _Session(Line(*undo.enter_context(_link(peer)), protocol.SHORT_LINE_BYTES, peer.patience_s), peer)
            try:
                session.greet()
                break
            except _BusyError:
                if time.monotonic() > until:
                    raise
                undo.close()
                time.sleep(_AGAIN_S)
        yield session


@contextmanager
def _link(peer: Peer) -> Iterator[tuple[socket.socket, str]]:
    """Connect with the agent; gives its address as well."""
    try:
        address = socket.gethostbyname(peer.host)
        link = socket.create_connection((address, peer.port), timeout=_CONNECT_S)
    except ConnectionRefusedError:
        start = f"to start one there: sojourn agent --listen {peer.host}"
        raise TestbedError(f"there is no agent at {peer} (connection refused); {start}") from None
    except OSError as error:
        raise TestbedError(f"the agent at {peer} cannot be reached: {error.strerror or error}") from None
    with link:
        yield link, address


class _BusyError(TestbedError):
    """The agent has no place for now."""


class _LateError(TestbedError):
    """A host had not started its processes when the run was to begin."""


_AGAIN: dict[str, type[TestbedError]] = {protocol.BUSY: _BusyError, protocol.LATE: _LateError}


class _Session:
    """One control connection."""

    def __init__(self, line: Line, peer: Peer) -> None:
        self._line = line
        self._peer = peer
        self._limits = Limits()
        self._ends = Ends(line.local, line.peer, peer.port + 1)

    def greet(self) -> None:
        """Show each other the secret."""
        hello = self._next("hello", _CONNECT_S)
        if hello.get("protocol") != protocol.PROTOCOL:
            found, software = (protocol.sentence(str(hello.get(key))[:20]) for key in ("protocol", "software"))
            raise TestbedError(
                f"the agent at {self._peer} (Sojourn {software}) speaks protocol {found}, this Sojourn {__version__} "
                f"speaks {protocol.PROTOCOL}: install the same version on both hosts"
            )
        secret = self._secret(hello.get("secret"))
        exchange = None if secret is None else Exchange(secret, PEER)
        share = "" if exchange is None else exchange.share
        self._line.send("hello", protocol=protocol.PROTOCOL, software=__version__, share=share)
        if exchange is not None:
            self._prove(exchange)
        welcome = self._next("welcome", _CONNECT_S)
        allowed = {**protocol.table(welcome, "limits"), "type": "welcome: limits"}
        self._limits = Limits(rate_bps=protocol.whole(allowed, "rate_bps", 1 << 62))
        self._line.allow(protocol.REPORT_BYTES)

    def _prove(self, exchange: Exchange) -> None:
        """Have the agent show that it knows the secret, and only then do the same."""
        found = self._next("proof", _CONNECT_S)
        key = exchange.finish(protocol.text(found, "share"))
        if not key.is_proven(protocol.text(found, "proof"), AGENT):
            self._line.send("error", kind="secret", message="the secret is wrong")
            text = f"the agent at {self._peer} does not know this secret: the secret is wrong, or it is another's agent"
            raise input_error(text, key="--secret-file")
        self._line.send("proof", proof=key.proof(PEER))

    def _secret(self, is_wanted: object) -> bytes | None:
        if is_wanted and self._peer.secret is None:
            text = (
                f"the agent at {self._peer} wants a shared secret: {spelled('secret_file')} FILE, or {VARIABLE} in the "
                "environment"
            )
            raise input_error(text, key="secret_file")
        if not is_wanted and self._peer.secret is not None:
            raise TestbedError(f"the agent at {self._peer} wants no secret, but one is given here: it may be another's")
        if not is_wanted and not is_loopback(self._line.peer, spelled("peer")):
            raise TestbedError(f"the agent at {self._peer} wants no secret; Sojourn's do, other than on loopback")
        return self._peer.secret if is_wanted else None

    def run(self, scenario: dict[str, Any], seed: int, how: How, progress: Progress, lead_s: float) -> LinuxRun:
        """Do one run, whose processes have a while to start; raises _LateError where that is too short."""
        began = time.monotonic()
        job = asking.job(scenario, seed, self._ends, how.bin_s, how.remark, packets=how.packets)
        plan, request = asking.halves(job, seed, self._ends, self._limits, packets=how.packets)
        offset_s, error_s = self._offset()
        start_s = time.monotonic() + lead_s + BASE_S
        self._line.send("run", **request, start_at_s=start_s + offset_s)
        with (
            budget(self._limits.rate_bps) as shared,
            endpoints({**plan, "start_at_s": start_s, "budget": shared}) as running,
        ):
            self._await_sockets(running, start_s - BASE_S)
            theirs = self._watch(running, start_s, plan["duration_s"], progress)
            own = running.report()
        self._compare_clocks(offset_s, error_s)
        self._line.send("bye")
        return LinuxRun(seed, observed(job, own, theirs), NAME, time.monotonic() - began)

    def _await_sockets(self, running: Running, base_s: float) -> None:
        """Wait until the sockets of both hosts are open; raises _LateError where the base would be missed."""
        theirs = False
        while not (theirs and running.are_ready()):
            if time.monotonic() > base_s:
                self._give_up()
                raise _LateError("the endpoints were not there when the run was to begin: one of the hosts is busy")
            if theirs:
                time.sleep(_LOOK_EVERY_S)
            elif (found := self._line.poll(_LOOK_EVERY_S)) is not None and found["type"] != "beat":
                self._expected(found, "ready")
                theirs = True
            self._line.beat()

    def _give_up(self) -> None:
        """Have the agent end this run, and wait until nothing of it is left."""
        self._line.send("error", kind=protocol.LATE, message="not ready in time")
        with suppress(GoneError):
            self._line.wait(_CONNECT_S)

    def _watch(self, running: Running, start_s: float, duration_s: float, progress: Progress) -> Message:
        """Wait for the end of the endpoints here, and for the report from there."""
        theirs: Message | None = None
        is_over = False
        while not (is_over and theirs):
            is_over = is_over or running.ended(0 if theirs else _LOOK_EVERY_S)
            self._line.beat()
            found = self._line.poll(_LOOK_EVERY_S if is_over else 0)
            if found is not None and found["type"] != "beat":
                theirs = self._expected(found, "report")
            elif is_over and not theirs:
                # A failure here is told rather than what it did there.
                running.report()
            late_s = time.monotonic() - start_s - duration_s
            if not is_over and late_s > _OVERTIME_S:
                raise TestbedError(f"the endpoints here had not ended {_OVERTIME_S:g} s after the run")
            progress(min(1.0, max(0.0, 1 + late_s / duration_s)))
        assert theirs is not None  # noqa: S101 (the loop's condition)
        return theirs

    def _offset(self) -> tuple[float, float]:
        """Return the agent's clock less this one, and how far that may be wrong, in seconds."""
        readings = []
        for _ in range(_READINGS):
            before = time.monotonic()
            self._line.send("time")
            told = protocol.number(self._next("time"), "now_s")
            after = time.monotonic()
            readings.append(((after - before) / 2, told - (before + after) / 2))
        error_s, offset_s = min(readings)
        return offset_s, error_s

    def _compare_clocks(self, offset_s: float, error_s: float) -> None:
        """Raise ClockJumpedError if one clock stood still in the run, as it does while a machine sleeps."""
        now_s, now_error_s = self._offset()
        jump_s = now_s - offset_s
        if abs(jump_s) > _TOLERATED_S + error_s + now_error_s:
            raise ClockJumpedError(
                f"the clocks of the two hosts moved apart by {jump_s:+.2f} s during the run: one of the machines "
                "slept or was held up. Run it again"
            )

    def _next(self, kind: str, wait_s: float | None = None) -> Message:
        return self._expected(self._line.wait(wait_s), kind)

    def _expected(self, found: Message, kind: str) -> Message:
        if found["type"] == "error":
            text = f"the agent at {self._peer}: {protocol.sentence(protocol.text(found, 'message'))}"
            if found.get("kind") in _INPUT_KINDS:
                raise input_error(text, key="peer")
            raise _AGAIN.get(str(found.get("kind")), TestbedError)(text)
        if found["type"] != kind:
            raise ProtocolError(f"found {found['type'][:20]!r} where {kind!r} belongs")
        return found


def observed(job: Job, own: Message, theirs: Message) -> Observed:
    """Join what both sides saw; raises JobError where a flow did not do what it should, ProtocolError."""
    entries = reports.flows(theirs, job)
    sides = zip(job.flows, own["flows"], entries, strict=True)
    flows = [_joined(near, far) if flow.forward else _joined(far, near) for flow, near, far in sides]
    pairs = zip(job.flows, own["flows"], entries, strict=True)
    ends = logs.ends((flow, near, far) if flow.forward else (flow, far, near) for flow, near, far in pairs)
    report = {
        "kernel": f"{os.uname().release} and {reports.kernel(theirs)}",
        "flows": flows,
        "pings": own["pings"],
    }
    return Observed(job, Record.parse(json.dumps(report)), {}, ends).checked()


def _joined(sender: Message, receiver: Message) -> Message:
    """Join what both ends of a flow saw; whether it lasted to its end is the sender's to say, which ends it."""
    both = {key: value for key, value in receiver.items() if key not in ("problem", "type")} | sender
    return {key: value for key, value in both.items() if key != "packets"}
