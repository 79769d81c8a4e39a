"""A process that was stopped goes on at its rate: nothing that it has missed is sent at once."""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import PATIENCE_S, wait_for

pytestmark = pytest.mark.real_time

STOPPED_S = 1.5
# Whatever the machine does: what is sent within a window was due in it, or up to 10 ms before it; or, where the sender
# was held up after it had looked at the clock, up to 10 ms before that.
WINDOW_NS, LATE_NS = 40_000_000, 2 * 10_000_000
_SO_TIMESTAMPNS, _SO_RCVBUFFORCE = 35, 33
BURST = {"kind": "padding", "rate": "4000 packets/s", "burst": 1000, "every": "300 ms", "packet": "100 B"}
# Each with the packets per second that it sends at most.
SOURCES = {
    "cbr": ({"kind": "cbr", "rate": "8 Mbit/s", "packet": "1000 B"}, 1000),
    "train": ({"kind": "train", "count": 10, "packet": "1000 B", "spacing": "1 ms", "every": "10 ms"}, 1000),
    "voip": ({"kind": "voip", "frame": "10 ms"}, 100),
    "padding": ({"kind": "padding", "rate": "2000 packets/s", "packet": "100 B"}, 2000),
    "bursts": (BURST, 4000),
}


def arrivals(receiver: socket.socket) -> list[int]:
    """Take what has arrived; when each datagram did."""
    found = []
    while True:
        try:
            _, control, *_ = receiver.recvmsg(2048, 64)
        except BlockingIOError:
            return found
        seconds, nanos = struct.unpack("=qq", control[0][2])
        found.append(seconds * 10**9 + nanos)


@pytest.mark.parametrize("name", SOURCES)
def test_what_was_missed_is_skipped_and_counted(name: str, tmp_path: Path, lead_s: float) -> None:
    traffic, packets_per_s = SOURCES[name]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        if os.geteuid() == 0:
            receiver.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 1 << 26)
        receiver.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        receiver.bind(("127.0.0.1", 0))
        receiver.setblocking(False)
        end = {"local": "127.0.0.1", "peer": "127.0.0.1", "port": receiver.getsockname()[1]}
        flow: dict[str, Any] = {"id": 0, "role": "send", "kind": "cbr", "traffic": traffic, **end}
        start_s = time.monotonic() + max(1.0, lead_s)
        plan = {"start_at_s": start_s, "duration_s": STOPPED_S + 3, "flows": [flow]}
        (tmp_path / "plan.json").write_text(json.dumps(plan))
        files = [str(tmp_path / file) for file in ("plan.json", "report.json")]
        sender = subprocess.Popen([sys.executable, "-m", "sojourn.worlds.linux.endpoint", *files])
        seen: list[int] = []
        try:
            assert wait_for(lambda: bool(seen.extend(arrivals(receiver)) or seen))
            sender.send_signal(signal.SIGSTOP)
            time.sleep(STOPPED_S)
            seen += arrivals(receiver)
            sender.send_signal(signal.SIGCONT)
            while sender.poll() is None:
                seen += arrivals(receiver)
                time.sleep(0.01)
        finally:
            sender.kill()
            sender.wait(PATIENCE_S)
        seen += arrivals(receiver)
    assert sender.returncode == 0
    most = max(sum(1 for at in seen if start <= at < start + WINDOW_NS) for start in seen[:: max(1, len(seen) // 500)])
    allowed = packets_per_s * (WINDOW_NS + LATE_NS) / 1e9 + 1
    assert most <= allowed, f"{most} packets within {WINDOW_NS / 1e6:g} ms"
    [told] = json.loads((tmp_path / "report.json").read_text())["flows"]
    # Half of the time of the bursts is pauses.
    assert told["skipped_packets"] >= 0.5 * packets_per_s * (STOPPED_S - 0.3) / 2
