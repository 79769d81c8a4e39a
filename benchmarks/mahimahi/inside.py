"""Runs in a network namespace of its own: a sink, and senders behind the shells. Only the standard library is used.

python inside.py '{"delay": [...], "link": [...], "control": "cubic", "flows": 1, "seconds": 60}'
python inside.py '{"delay": [...], "link": [...], "beside": [COMMAND...], "send": [COMMAND..., "PEER", ...]}'

The second form runs other commands than its own sink and senders; "PEER" stands for the sink's address.
"""

import json
import os
import pwd
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

PORT = 5001
_WRITE = bytes(65536)
_FORWARDING = """
echo $$
until [ "$(cat /proc/sys/net/ipv4/ip_forward)" = 1 ]; do sleep 0.02; done
exec "$@"
"""
"""The inner shell wants forwarding in the outer one's namespace, which starts without."""

_HOLDER = "echo $$ $MAHIMAHI_BASE; read line || true"
"""Keeps the innermost namespace until it is told that the senders have ended."""


def main() -> int:
    """Command line; see the module's docstring."""
    plan = json.loads(sys.argv[1])
    if "peer" in plan:
        return _send_all(plan)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    threading.Thread(target=_sink, daemon=True).start()
    beside = subprocess.Popen(plan["beside"]) if "beside" in plan else None
    nobody = pwd.getpwnam("nobody")
    shells = subprocess.Popen(
        [*plan["delay"], "/bin/sh", "-c", _FORWARDING, "sh", *plan["link"], "/bin/sh", "-c", _HOLDER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        user=nobody.pw_uid,
        group=nobody.pw_gid,
        extra_groups=[],
        text=True,
    )
    assert shells.stdin is not None  # noqa: S101 (they are pipes)
    assert shells.stdout is not None  # noqa: S101
    try:
        between = shells.stdout.readline().strip()
        if not between:
            return shells.wait() or 1
        enter = ["nsenter", "--net", "--target"]
        subprocess.run([*enter, between, "sysctl", "-q", "-w", "net.ipv4.ip_forward=1"], check=True)
        innermost, peer = shells.stdout.readline().split()
        if "send" in plan:
            sending = [peer if word == "PEER" else word for word in plan["send"]]
        else:
            own = {key: plan[key] for key in ("control", "flows", "seconds")} | {"peer": peer}
            sending = [sys.executable, __file__, json.dumps(own)]
        subprocess.run([*enter, innermost, *sending], check=True)
    finally:
        shells.stdin.close()
        if beside:
            beside.kill()
    return shells.wait()


def _send_all(plan: dict[str, Any]) -> int:
    """Send over some connections until the time is up, from the innermost namespace."""
    end = time.monotonic() + plan["seconds"]
    senders = [threading.Thread(target=_send, args=(plan["peer"], plan["control"], end)) for _ in range(plan["flows"])]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    return 0


def _send(peer: str, control: str, end: float) -> None:
    with socket.socket() as connection:
        # Only root may choose a control that is not for everybody.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        connection.connect((peer, PORT))
        connection.settimeout(0.2)
        while time.monotonic() < end:
            try:
                connection.send(_WRITE)
            except TimeoutError:
                continue
        # Reset: what waits in the send buffer does not matter any more.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _sink() -> None:
    """Take everything that comes."""
    listener = socket.create_server(("0.0.0.0", PORT), backlog=64)  # noqa: S104 (of a namespace that nobody reaches)
    while True:
        threading.Thread(target=_drain, args=(listener.accept()[0],), daemon=True).start()


def _drain(connection: socket.socket) -> None:
    with connection:
        try:
            while connection.recv(1 << 20):
                pass
        except ConnectionResetError:
            os.sched_yield()


if __name__ == "__main__":
    raise SystemExit(main())
