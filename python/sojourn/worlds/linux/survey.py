"""Asks a kernel, from inside, what it can do. Run as a job: `python -m sojourn.worlds.linux.survey FOLDER`."""

import errno
import json
import os
import socket
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

_TCP_CONGESTION = 13
_NEW_QDISC = 36
_REQUEST, _ACKNOWLEDGE, _REPLACE, _CREATE = 0x1, 0x4, 0x100, 0x400
_ERROR = 2
_ROOT = 0xFFFFFFFF
_KIND = 1
_LOOPBACK = 1


def has_qdisc(kind: str) -> bool:
    """Tell whether the kernel knows a queue discipline, by asking for one on the loopback device.

    It is asked for without parameters; that a discipline refuses those shows that it is there.
    """
    name = kind.encode() + b"\0"
    attribute = struct.pack("=HH", 4 + len(name), _KIND) + name + b"\0" * (-len(name) % 4)
    # struct tcmsg: family, padding, device, handle, parent, info
    body = struct.pack("=BxHiIII", socket.AF_UNSPEC, 0, _LOOPBACK, 0, _ROOT, 0) + attribute
    flags = _REQUEST | _ACKNOWLEDGE | _CREATE | _REPLACE
    header = struct.pack("=IHHII", 16 + len(body), _NEW_QDISC, flags, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as link:
        link.sendto(header + body, (0, 0))
        answer = link.recv(65536)
    _length, what, _flags, _sequence, _port, error = struct.unpack_from("=IHHIIi", answer)
    if what != _ERROR:
        raise OSError(f"the kernel answered a request for the discipline {kind} with a message of type {what}")
    return -int(error) != errno.ENOENT


def has_control(name: str) -> bool:
    """Tell whether the kernel lets a TCP connection use a congestion control."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as connection:
        try:
            connection.setsockopt(socket.IPPROTO_TCP, _TCP_CONGESTION, name.encode())
        except FileNotFoundError:
            return False
        except PermissionError:
            return False
    return True


def main(arguments: Sequence[str]) -> int:
    """Answer a plan of names with those that the kernel has."""
    folder = Path(arguments[0])
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    report = {
        "release": os.uname().release,
        "qdiscs": [name for name in plan["qdiscs"] if has_qdisc(name)],
        "controls": [name for name in plan["controls"] if has_control(name)],
    }
    place = folder / ".report.new"
    place.write_text(json.dumps(report), encoding="utf-8")
    place.replace(folder / "report.json")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
