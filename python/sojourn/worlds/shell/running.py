"""A program behind a scenario's path: starts both ends in namespaces, and lets the engine carry their packets."""

import json
import math
import os
import resource
import select
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn import _native, children
from sojourn.reading import input_error
from sojourn.worlds.shell import outside
from sojourn.worlds.shell.ends import BUSY, NAME, REAL_TIME, TIMER, Ends
from sojourn.worlds.shell.forwarding import Forwarding, forwarded
from sojourn.worlds.shell.inside import LEVEL, OTHERS, device
from sojourn.worlds.world import Progress, Wanted, WorldError

LATE_MS = 1.0
"""A run is marked whose packets are later than this at the 99th percentile."""
_STALLED_MS = 10.0
_NAMESPACES = ("unshare", "--user", "--map-root-user", "--net", "--pid", "--fork", "--kill-child")
_TOOLS = (("unshare", "util-linux"), ("ip", "iproute2"))
_INTERNET_TOOLS = (("nft", "nftables"), ("mount", "mount or util-linux"))
_HERE = Path(__file__).parent
_MESSAGE_BYTES = 65_536
_STARTS_S = 20.0
_PRIORITY = 10
"""Of SCHED_FIFO (sched(7)), where it is asked for."""
_SPIN_S = {TIMER: 200e-6, BUSY: math.inf, REAL_TIME: 20e-6}
"""How long before a packet is due the path looks and does not sleep. Less with real-time priority: the kernel takes the
processor for 50 ms of a second from a thread with it that never sleeps (sched_rt_runtime_us)."""
# What may forbid a user namespace, the value that does, and what an administrator could do.
_SWITCHES = (
    ("kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "sysctl kernel.apparmor_restrict_unprivileged_userns=0"),
    ("user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=15000"),
)


@dataclass(frozen=True)
class ShellRun:
    """A run whose packets came from a program."""

    native: _native.Run
    ends: Ends
    status: int | None
    """What the program ended with; None where the scenario's time was over first."""
    timing: dict[str, Any] = field(default_factory=dict)

    @property
    def seed(self) -> int:
        """The seed of what is random on the path."""
        return self.native.seed

    def record(self) -> str:
        """Return the run record as JSON, with what is said of the program and of the clock."""
        own = {
            "command": list(self.ends.command),
            "server": list(self.ends.server),
            "status": self.status,
            **self.timing,
            "remarks": self.remarks,
        }
        return json.dumps({**json.loads(self.native.record()), NAME: own})

    def table(self, name: str) -> list[Any]:
        """Return the columns of a table."""
        return self.native.table(name)

    @property
    def remarks(self) -> list[str]:
        """What a reader should know of the run."""
        late, refused, dropped = (self.timing[name] for name in ("late_ms_p99", "refused", "dropped"))
        found = []
        if late is not None and late > LATE_MS:
            found.append(
                f"packets left up to {late:.2g} ms late (99th percentile; at most {LATE_MS:g} ms is good): "
                "this machine had other work, or the path is too fast for it"
            )
        if (stalled := self.timing["stalled_ms"]) > _STALLED_MS:
            found.append(f"the path stood still for up to {stalled:.0f} ms: what came meanwhile waited before it")
        if refused:
            found.append(f"{refused} packets had reached the end of the path and found no room in the kernel")
        if dropped:
            found.append(f"{dropped} packets were lost before the path: they came faster than they could be read")
        return found

    def write_pcap(self, path: str) -> None:
        """Write what crossed the bottleneck."""
        self.native.write_pcap(path)


Seen = list[tuple[int, int, int, int]]
"""For each group of programs, so far: payload bytes, packets dropped, ns in the queue, and the packets of these."""
Live = Callable[[float, Seen], None]
"""Told the seconds so far and what was seen, some times a second."""


def run(
    scenario: _native.Scenario,
    seed: int,
    wanted: Wanted,
    ends: Ends,
    progress: Progress | None,
    live: Live | None = None,
) -> ShellRun:
    """Run a program behind the scenario's path until it ends, or the scenario's time is over.

    Raises InputError where a command cannot be found, WorldError where this machine lets nobody have namespaces.
    """
    place = forwarded(ends.udp, ends.command, to_errors=ends.to_errors) if ends.udp else _namespaces(ends)
    with place as inside, _keys_for_the_program(inside):
        inside.begin()

        def look(elapsed_s: float, seen: Seen) -> bool:
            if live:
                live(elapsed_s, seen)
            if progress:
                progress(elapsed_s / scenario.duration_s)
            return not inside.has_ended()

        with _priority(asked=ends.timing == REAL_TIME):
            spin_s = _SPIN_S[ends.timing]
            native, timing = _native.shell(
                scenario, seed, ends.at_receiver, inside.devices, spin_s, wanted.native, look
            )
        return ShellRun(native, ends, inside.status, {**json.loads(timing), "dropped": inside.dropped})


@contextmanager
def _priority(*, asked: bool) -> Iterator[None]:
    """Have this thread run before all that have no real-time priority; raises WorldError where that is not allowed."""
    if not asked:
        yield
        return
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    except PermissionError as error:
        most, _ = resource.getrlimit(resource.RLIMIT_RTPRIO)
        message = f"this user may have no real-time priority of {_PRIORITY}: `ulimit -r` is {most}"
        raise WorldError(f"{message}; an administrator can raise rtprio in /etc/security/limits.conf") from error
    try:
        yield
    finally:
        os.sched_setscheduler(0, *before)


@dataclass
class _Inside:
    """The processes in the namespaces, as seen from here."""

    asker: socket.socket
    process: subprocess.Popen[bytes]
    devices: tuple[int, int]
    """The files of the program's device and of the others'."""
    status: int | None = None
    dropped: int = 0

    def begin(self) -> None:
        """Let the programs start."""
        self.asker.sendall(b"!")

    def has_ended(self) -> bool:
        """Whether the program has ended; raises InputError where it never began."""
        ready, _, _ = select.select([self.asker], [], [], 0)
        if not ready:
            return False
        data = self.asker.recv(_MESSAGE_BYTES)
        said = json.loads(data) if data else {}
        if "error" in said:
            raise input_error(said["error"], key="command")
        self.status, self.dropped = said.get("status"), said.get("dropped", 0)
        return True


@contextmanager
def _namespaces(ends: Ends) -> Iterator[_Inside]:
    """Start what runs inside; nothing is left of it afterwards."""
    for tool, package in (*_TOOLS, *(_INTERNET_TOOLS if ends.internet else ())):
        if shutil.which(tool) is None:
            what = "a way to the Internet" if (tool, package) in _INTERNET_TOOLS else f"the world {NAME!r}"
            raise WorldError(f"{what} needs the command {tool} (package {package})")
    with outside.door() if ends.internet else nullcontext() as door, _started(ends, door) as inside:
        yield inside


@contextmanager
def _started(ends: Ends, door: socket.socket | None) -> Iterator[_Inside]:
    asker, other = socket.socketpair()
    level = int(os.environ.get(LEVEL, "-1")) + 1
    # In a shell the way on is that shell's, unless this one has another end of its own.
    apart = level == 0 or bool(ends.server) or ends.internet
    way = [children.program(str(_HERE / "internet.py")), door.fileno(), *_names()] if door else None
    what = json.dumps([ends.command, ends.server, ends.to_errors, level, apart, way])
    inside = children.program(str(_HERE / "inside.py"), str(other.fileno()), what)
    # What is mounted for a way to the Internet is mounted for the programs alone.
    namespaces = [*_NAMESPACES, *(["--mount"] if door else []), "--"]
    passed = [one.fileno() for one in (other, door) if one]
    process = subprocess.Popen([*namespaces, *inside], pass_fds=passed)
    other.close()
    files: list[int] = []
    try:
        ready, _, _ = select.select([asker], [], [], _STARTS_S)
        data, files, _, _ = socket.recv_fds(asker, _MESSAGE_BYTES, 2) if ready else (b"", [], 0, "")
        said = json.loads(data) if data else {}
        if "no_way" in said:
            raise WorldError(said["no_way"])
        if not files:
            raise WorldError(_why_not(said.get("error", "")))
        if not apart:
            files.append(_way_on(level))
        yield _Inside(asker, process, (files[0], files[1]))
    finally:
        asker.close()
        process.wait()
        for file in files:
            os.close(file)


def _names() -> tuple[str, str]:
    try:
        return outside.names()
    except OSError as error:
        raise WorldError(str(error)) from error


def _way_on(level: int) -> int:
    """Make the others' device in this network, which passes on what comes from it."""
    try:
        for switch in ("ipv4/ip_forward", "ipv6/conf/all/forwarding"):
            Path("/proc/sys/net", switch).write_text("1", encoding="ascii")
        return device(OTHERS, level)
    except (OSError, subprocess.CalledProcessError) as error:
        message = f"{error}; there is one shell at a time in a shell" if isinstance(error, OSError) else error.stderr
        raise WorldError(f"no way on from this shell: {message}") from error


@contextmanager
def _keys_for_the_program(inside: _Inside | Forwarding) -> Iterator[None]:
    """Leave Ctrl-C to the program: when it ends, so does the run."""

    def asked(*_: object) -> None:
        if isinstance(inside, Forwarding):
            inside.asked_to_end.append(True)

    if threading.current_thread() is not threading.main_thread():
        # Keys reach the main thread alone.
        yield
        return
    before = signal.signal(signal.SIGINT, asked)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _why_not(message: str) -> str:
    """Say what kept the namespaces from being made."""
    if not Path("/dev/net/tun").exists():
        return f"the world {NAME!r} needs /dev/net/tun, which this machine does not have (modprobe tun)"
    for place, forbids, cure in _SWITCHES:
        switch = Path("/proc/sys", place)
        if switch.exists() and switch.read_text(encoding="ascii").strip() == forbids:
            why = f"/proc/sys/{place} is {forbids}, which forbids namespaces without root"
            return f"{why}; an administrator can: {cure}; --udp PORT:HOST:PORT needs none"
    why = message or "unshare says no more"
    return f"this machine lets nobody have namespaces of one's own ({why}); --udp PORT:HOST:PORT needs none"
