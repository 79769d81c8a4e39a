"""An agent under honest and hostile peers for a while: `python -m tests.soak [SECONDS]`, over loopback only.

Honest peers ask for short runs, one after the other, from 127.0.0.1. Hostile ones come from there and from addresses
of their own: they say nothing, say it slowly, hang up, know another secret, or send what is no message. The command
fails if an honest run is refused, if the agent has grown: its memory, open files or threads in the last third of the
time against the first, or if it says a line for each hostile connection.
"""

import json
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from tests.conftest import free_port

import sojourn
from sojourn.worlds.hosts import journal, protocol, world
from sojourn.worlds.hosts.handshake import PEER, Exchange
from sojourn.worlds.hosts.visitors import MAX_STRANGERS
from sojourn.worlds.hosts.world import Peer
from sojourn.worlds.world import Wanted

SECRET = b"the secret of honest peers"
_DEFAULT_S = 600.0
_AGENT = "127.0.0.1"
_GROWTH, _GROWTH_KB = 1.05, 4096
_LINK = {"rate": "1 Mbit/s", "queue": {"kind": "droptail", "limit": "50 packets"}}
_GROUPS = [
    {"name": "back", "control": "ledbat", "rtt": "20 ms", "direction": "reverse"},
    {
        "name": "tcp",
        "control": {"kind": "newreno", "preset": "linux"},
        "transport": "linux",
        "rtt": "20 ms",
    },
]


class Hostile(threading.Thread):
    """One who does the same harm over and over."""

    def __init__(self, harm: Callable[[socket.socket], None], address: str, port: int, over: threading.Event) -> None:
        super().__init__(daemon=True)
        self.harm, self.address, self.port, self.over = harm, address, port, over
        self.times = 0

    def run(self) -> None:
        """Do it until the time is over."""
        while not self.over.wait(0.02):
            with suppress(OSError), socket.create_connection((_AGENT, self.port), 5, (self.address, 0)) as link:
                link.settimeout(1.0)
                self.times += 1
                self.harm(link)


def silent(link: socket.socket) -> None:
    """Say nothing until cut off."""
    while link.recv(4096):
        pass


def slow(link: socket.socket) -> None:
    """Begin a line that never ends."""
    for _ in range(50):
        link.send(b" ")
        time.sleep(0.02)


def noise(link: socket.socket) -> None:
    """Send what is no message."""
    link.sendall(secrets.token_bytes(5000))
    silent(link)


def hung_up(_link: socket.socket) -> None:
    """Leave at once."""


def wrong_secret(link: socket.socket) -> None:
    """Guess the secret."""
    share = Exchange(secrets.token_bytes(16), PEER).share
    link.recv(4096)
    link.sendall(protocol.encode({"type": "hello", "protocol": protocol.PROTOCOL, "software": "x", "share": share}))
    link.recv(4096)
    link.sendall(protocol.encode({"type": "proof", "proof": "0" * 64}))
    silent(link)


HARMS = (silent, slow, noise, hung_up, wrong_secret)


def size(pid: int) -> tuple[int, int, int]:
    """Return a process's memory in kB, its open files and its threads."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines())
    files = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return int(status["VmRSS"].split()[0]), files, int(status["Threads"])


def soak(seconds: float) -> list[str]:
    """Do it; return what is wrong."""
    lab = sojourn.scenario(duration="0.5 s", bottleneck=_LINK, reverse=_LINK, group=_GROUPS)
    over, refused, sizes, done = threading.Event(), list[str](), list[tuple[int, int, int]](), 0
    with tempfile.TemporaryDirectory() as folder, ExitStack() as undo:
        (Path(folder) / "secret").write_bytes(SECRET)
        (Path(folder) / "secret").chmod(0o600)
        port = free_port()
        words = ("agent", "--port", str(port), "--secret-file", f"{folder}/secret", "--max-rate", "5 Mbit/s")
        agent = subprocess.Popen([sys.executable, "-m", "sojourn", *words], stderr=subprocess.PIPE, text=True)
        undo.callback(agent.wait)
        undo.callback(agent.send_signal, signal.SIGTERM)
        assert agent.stderr is not None
        print(agent.stderr.readline().strip(), flush=True)  # noqa: T201
        said: Counter[str] = Counter()
        threading.Thread(target=lambda: said.update(_kind(line) for line in agent.stderr or ()), daemon=True).start()
        crowd = [Hostile(harm, f"127.0.0.{number}", port, over) for number in (1, 2, 3, 4) for harm in HARMS]
        for one in crowd:
            one.start()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                world.run(lab._native, [done + 1], Wanted(), None, Peer(_AGENT, port, SECRET))
                done += 1
            except Exception as error:
                refused.append(f"honest run {done + 1}: {error}")
            sizes.append(size(agent.pid))
        over.set()
        for one in crowd:
            one.join(10)
        told = {harm.__name__: sum(one.times for one in crowd if one.harm is harm) for harm in HARMS}
    third = max(1, len(sizes) // 3)
    first, last = (tuple(max(column) for column in zip(*part, strict=True)) for part in (sizes[:third], sizes[-third:]))
    about = {
        "seconds": seconds,
        "honest_runs": done,
        "refused": len(refused),
        "hostile": told,
        "agent_said": dict(said),
    }
    grown = {"first_third": first, "last_third": last, "of": ["memory_kb", "files", "threads"]}
    print(json.dumps({**about, **grown}, indent=1))  # noqa: T201
    if last[0] > first[0] * _GROWTH + _GROWTH_KB:
        refused.append(f"the agent's memory grew from {first[0]} to {last[0]} kB")
    for what, before, after in (("open files", first[1], last[1]), ("threads", first[2], last[2])):
        # Those of strangers come and go, up to so many.
        if after > before + MAX_STRANGERS:
            refused.append(f"the agent's {what} grew from {before} to {after}")
    windows = 1 + int(seconds / journal.WINDOW_S)
    # A run has a line at its begin and one at its end; failures have so many of strangers, of guests, and two sums.
    most = 2 * (done + len(refused)) + 2 * (journal.LINES + 1) * windows
    if said.total() > most:
        refused.append(f"the agent said {said.total()} lines; at most {most} are of its runs and windows")
    return refused


def _kind(line: str) -> str:
    return "done" if line.endswith("done\n") else "gave way" if "gave way" in line else "other"


def main(arguments: list[str]) -> int:
    """Run it; return the exit code."""
    problems = soak(float(arguments[0]) if arguments else _DEFAULT_S)
    for problem in problems[:20]:
        print(problem, file=sys.stderr)  # noqa: T201
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
