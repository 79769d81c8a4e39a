"""The agent: waits for a peer that knows the secret, runs its end of the flows that it asks for, one run at a time."""

import errno
import os
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sojourn import __version__
from sojourn.reading import input_error
from sojourn.worlds.hosts import admission, protocol
from sojourn.worlds.hosts.admission import Ends, Limits, RefusedError
from sojourn.worlds.hosts.budget import budget
from sojourn.worlds.hosts.handshake import AGENT, PEER, Exchange
from sojourn.worlds.hosts.journal import Journal, Tell
from sojourn.worlds.hosts.line import PATIENCE_S, GoneError, Line
from sojourn.worlds.hosts.protocol import Message, ProtocolError
from sojourn.worlds.hosts.running import EndpointsError, Running, endpoints
from sojourn.worlds.hosts.secret import VARIABLE, is_loopback
from sojourn.worlds.hosts.visitors import Visitor, Visitors
from sojourn.worlds.linux.errors import TestbedError

_BACKLOG = 128
# The process, or the system, can open nothing more for now.
_FULL = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_LOOK_EVERY_S = 0.1
# What a stranger may take of the agent's time, and what a peer may before it asks for a run.
_HELLO_S, _REQUEST_S = 5.0, 30.0
# A wrong secret costs whoever tries it as much.
_PENALTY_S = 0.5
_OVERTIME_S = 10.0
_LAST_PORT = 65_535


@dataclass(frozen=True)
class Settings:
    """How an agent serves."""

    secret: bytes | None = field(default=None, repr=False)
    limits: Limits = field(default_factory=Limits)
    patience_s: float = PATIENCE_S


@contextmanager
def listening(address: str, port: int, secret: bytes | None, limits: Limits) -> Iterator[socket.socket]:
    """Listen for peers; raises InputError where that would be unsafe, TestbedError where it does not work."""
    if secret is None and not is_loopback(address, "--listen"):
        text = f"an agent at {address} needs a shared secret: --secret-file FILE, or {VARIABLE} in the environment"
        raise input_error(text, key="--listen", found=address)
    if port + limits.flows > _LAST_PORT:
        raise input_error(f"{limits.flows} flows need as many ports above it", key="--port", found=str(port))
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((address, port))
            listener.listen(_BACKLOG)
            listener.setblocking(False)
        except OSError as error:
            raise TestbedError(f"the agent cannot listen on port {port} of {address}: {error.strerror}") from None
        yield listener


def serve(listener: socket.socket, settings: Settings, tell: Tell, *, once: bool = False) -> None:
    """Serve peers until interrupted; with `once` until a run has ended well.

    Each has a thread of its own, so that one who says nothing keeps nobody waiting; runs come one at a time.
    """
    visitors, journal = Visitors(), Journal(tell)
    with budget(settings.limits.rate_bps) as shared:
        place = _Place(listener.getsockname()[1] + 1, settings, tell, journal, shared, visitors)
        try:
            while not (once and place.done.is_set()):
                journal.look()
                accepted = _accept(listener, visitors)
                if accepted is not None:
                    visitors.receive(*accepted, place.visit)
        finally:
            visitors.end()
            journal.look(at_end=True)


def _accept(listener: socket.socket, visitors: Visitors) -> tuple[socket.socket, str] | None:
    """Return the next connection and the address that it comes from, if one comes soon and stays."""
    if not select.select([listener], [], [], _LOOK_EVERY_S)[0]:
        return None
    try:
        link, (address, _) = listener.accept()
    except (BlockingIOError, ConnectionError):
        return None
    except OSError as error:
        if error.errno not in _FULL:
            raise
        # The connection waits until one that says nothing has given way.
        visitors.make_room()
        time.sleep(_LOOK_EVERY_S)
        return None
    return link, address


@dataclass(frozen=True)
class _Place:
    """What all sessions of an agent share."""

    first_port: int
    settings: Settings
    tell: Tell
    journal: Journal
    budget: Message
    """What all its runs may send, one after the other."""
    visitors: Visitors
    running: threading.Lock = field(default_factory=threading.Lock)
    """Held by the session that has a run."""
    done: threading.Event = field(default_factory=threading.Event)
    """A run has ended well."""

    def visit(self, visitor: Visitor) -> None:
        """Serve one connection to its end."""
        try:
            if _Session(visitor, self).serve():
                self.done.set()
        except (GoneError, OSError) as gone:
            how = "gave way to others" if visitor.gave_way else str(gone)
            self.failed(visitor, f" {how}; nothing of it runs any more")

    def failed(self, visitor: Visitor, what: str) -> None:
        """Tell of a connection that failed."""
        self.journal.failed(visitor.address, what, is_guest=visitor.is_guest)


class _DeclinedError(Exception):
    """What is told to the peer before the connection is closed."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class _Session:
    """One control connection."""

    def __init__(self, visitor: Visitor, place: _Place) -> None:
        self._visitor = visitor
        self._line = Line(visitor.link, visitor.address, protocol.SHORT_LINE_BYTES, place.settings.patience_s)
        self._place = place
        self._settings = place.settings
        self._tell = place.tell

    def serve(self) -> bool:
        """Serve it; tell whether a run has ended well. Raises GoneError."""
        try:
            self._greet()
            self._run(self._request(_REQUEST_S))
        except ProtocolError as error:
            return self._decline("protocol", str(error))
        except RecursionError:
            return self._decline("protocol", "the request is nested too deeply")
        except RefusedError as error:
            return self._decline("limit", str(error))
        except (TestbedError, OSError) as error:
            return self._decline("failed", str(error))
        except (EndpointsError, _DeclinedError) as error:
            return self._decline(error.kind, str(error))
        return True

    def _decline(self, kind: str, message: str) -> bool:
        self._place.failed(self._visitor, f": {protocol.sentence(message)}")
        self._line.send("error", kind=kind, message=message)
        return False

    def _greet(self) -> None:
        """Take the peer for who knows the secret, or raise."""
        secret = self._settings.secret
        self._line.send("hello", protocol=protocol.PROTOCOL, software=__version__, secret=secret is not None)
        hello = self._line.wait(_HELLO_S)
        _expect(hello, "hello")
        if hello.get("protocol") != protocol.PROTOCOL:
            found = repr(hello.get("protocol"))[:20]
            raise ProtocolError(
                f"the peer speaks protocol {found}, the agent (Sojourn {__version__}) {protocol.PROTOCOL}"
            )
        if secret is not None:
            self._prove(secret, protocol.text(hello, "share"))
        self._place.visitors.greet(self._visitor)
        self._line.allow(protocol.REQUEST_BYTES)
        self._line.send("welcome", limits=self._settings.limits.document())

    def _prove(self, secret: bytes, share: str) -> None:
        """Show the peer that the secret is known here, and have it shown."""
        exchange = Exchange(secret, AGENT)
        key = exchange.finish(share)
        self._line.send("proof", share=exchange.share, proof=key.proof(AGENT))
        found = self._line.wait(_HELLO_S)
        if found["type"] != "error":
            _expect(found, "proof")
        # Who says that the proof here is wrong has another secret as well.
        if found["type"] == "error" or not key.is_proven(protocol.text(found, "proof"), PEER):
            time.sleep(_PENALTY_S)
            raise _DeclinedError("secret", "the secret is wrong")

    def _request(self, wait_s: float) -> Message:
        """Return the peer's next request, telling it the time as often as it asks."""
        until = time.monotonic() + wait_s
        while (found := self._line.wait(until - time.monotonic()))["type"] == "time":
            self._tell_time()
        return found

    def _tell_time(self) -> None:
        self._line.send("time", now_s=time.monotonic())

    def _run(self, request: Message) -> None:
        _expect(request, "run")
        ends = Ends(self._line.local, self._line.peer, self._place.first_port)
        plan = admission.plan(request, self._settings.limits, ends, time.monotonic())
        plan["budget"] = self._place.budget
        with self._alone(), endpoints(plan) as running:
            self._tell(f"{ends.peer}: {len(plan['flows'])} flows for {plan['duration_s']:g} s")
            self._await_sockets(running, plan["start_at_s"])
            self._line.send("ready")
            self._watch(running, plan["start_at_s"] + plan["duration_s"] + _OVERTIME_S)
            report = running.report()
        self._line.pace(self._settings.limits.rate_bps)
        self._line.send("report", report=report, kernel=os.uname().release)
        # It compares the clocks once more.
        _expect(self._request(_REQUEST_S), "bye")
        self._tell(f"{ends.peer}: done")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Have the agent's only run."""
        if not self._place.running.acquire(blocking=False):
            raise _DeclinedError(protocol.BUSY, "the agent has a run for another peer; it serves one at a time")
        self._visitor.has_run = True
        try:
            yield
        finally:
            self._visitor.has_run = False
            self._place.running.release()

    def _await_sockets(self, running: Running, start_s: float) -> None:
        """Wait until the endpoints take what comes; raises _DeclinedError where they would miss the start."""
        while not running.are_ready():
            self._look(_LOOK_EVERY_S)
            if time.monotonic() > start_s:
                text = "the agent's endpoints were not there when the run was to begin: its host is busy"
                raise _DeclinedError(protocol.LATE, text)

    def _watch(self, running: Running, until_s: float) -> None:
        """Wait for the end of the endpoints, or of the peer."""
        while not running.ended(_LOOK_EVERY_S):
            self._look(0)
            if time.monotonic() > until_s:
                raise EndpointsError("failed", f"the endpoints had not ended {_OVERTIME_S:g} s after the run")

    def _look(self, wait_s: float) -> None:
        """Say that this side is there, and take what a peer may say in a run; raises GoneError, ProtocolError."""
        self._line.beat()
        found = self._line.poll(wait_s)
        if found is not None and found["type"] == "time":
            self._tell_time()
        elif found is not None and found.get("kind") == protocol.LATE:
            raise GoneError("was not ready in time, and asks once more")
        elif found is not None:
            _expect(found, "beat")


def _expect(found: Message, kind: str) -> None:
    if found["type"] != kind:
        raise ProtocolError(f"found {found['type'][:20]!r} where {kind!r} belongs")
