"""What runs inside the namespaces: makes both devices, starts the others' program, then the reader's.

It is process 1 of a process namespace, so that everything in it ends when it does. It ends when the socket to whoever
asked for it is closed, however that ended.
"""

import ctypes
import fcntl
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

PROGRAM, OTHERS = "sojourn0", "sojourn1"
"""Names of the devices, each in a namespace of its own."""
LEVEL = "SOJOURN_SHELL"
"""The environment variable that says how many shells a program is in, less one."""
MTU_BYTES = 1500
# The simulated queue is the one that counts; the kernel's own before the device must not drop.
_DEVICE_PACKETS = 10_000
_IP = shutil.which("ip") or "ip"
_LISTENS_S = 5.0
_LOOK_S = 0.02
_ENDS_S = 2.0

# include/uapi/linux/if_tun.h, include/uapi/linux/sched.h
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI, _IFF_VNET_HDR = 0x400454CA, 0x0001, 0x1000, 0x4000
# Sums and segments of TCP are left to whoever reads: TUN_F_CSUM, TUN_F_TSO4, TUN_F_TSO6 and TUN_F_TSO_ECN.
_TUNSETOFFLOAD, _OFFLOADS = 0x400454D0, 0x01 | 0x02 | 0x04 | 0x08
_CLONE_NEWNET = 0x40000000
# Of the thread, as a namespace is: this process has one.
_NETWORK = "/proc/thread-self/ns/net"
# /proc/net/dev: the name, eight numbers of what was received, bytes, packets, errors and drops of what was sent.
_TRANSMIT_DROPS = 12
# include/net/tcp_states.h, as /proc/net/tcp has it
_LISTEN, _STATE = "0A", 3


def main() -> None:
    """Do what the command line asks: the number of a socket, and a JSON document.

    It holds the reader's command, that of the others, whether the first one's output goes to the standard error, the
    number of shells around this one, whether the others have a network made for them, and, where these have a way to
    the Internet, the command that serves it (`internet`), its door, who knows names, and what else is said of these
    (`outside`).
    """
    asker = socket.socket(fileno=int(sys.argv[1]))
    command, server, to_errors, level, apart, internet = json.loads(sys.argv[2])
    # A key at the terminal that ends the program ends the program alone.
    signal.signal(signal.SIGINT, lambda *_: None)
    try:
        devices, serving, relay, networks = [device(PROGRAM, level)], None, None, []
        with _other_network() if apart else nullcontext():
            devices += [device(OTHERS, level)] if apart else []
            relay = _to_the_internet(addresses(OTHERS, level), *internet) if internet else None
            socket.send_fds(asker, [b"{}\n"], devices)
            for one in devices:
                os.close(one)
            if not _goes_on(asker):
                return
            networks.append(os.open(_NETWORK, os.O_RDONLY | os.O_CLOEXEC))
            if server:
                serving = _started(server)
        if relay:
            relay.furnish()
        # Results go to where the asker's do, and what the program says beside them.
        around = {**os.environ, LEVEL: str(level)}
        program = _process("command", command, stdout=sys.stderr if to_errors else None, env=around)
        status = _watch(asker, program, serving, relay)
        dropped = _dropped(PROGRAM)
        if apart:
            _call("setns", networks[0], _CLONE_NEWNET)
            dropped += _dropped(OTHERS)
    except _NoWayError as error:
        _say(asker, no_way=f"no way to the Internet: {error}")
    except subprocess.CalledProcessError as error:
        _say(asker, error=error.stderr.strip())
    except OSError as error:
        _say(asker, error=str(error))
    else:
        _say(asker, status=status, dropped=dropped)


def _say(asker: socket.socket, **what: object) -> None:
    # Whoever asked may have gone: then nobody wants to know.
    with suppress(BrokenPipeError):
        asker.sendall(json.dumps(what).encode() + b"\n")


def _goes_on(asker: socket.socket) -> bool:
    """Wait until the devices are served; False where whoever asked has gone."""
    return bool(asker.recv(1))


@contextmanager
def _other_network() -> Iterator[None]:
    """Make a network namespace, and be in it meanwhile."""
    before = os.open(_NETWORK, os.O_RDONLY | os.O_CLOEXEC)
    _call("unshare", _CLONE_NEWNET)
    try:
        yield
    finally:
        _call("setns", before, _CLONE_NEWNET)
        os.close(before)


def _call(name: str, *arguments: int) -> None:
    """Call a function of the C library that this Python does not have."""
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _dropped(name: str) -> int:
    """Return the packets that a device of the present network had no room for before they were read."""
    rows = Path("/proc/thread-self/net/dev").read_text(encoding="ascii").splitlines()
    (words,) = (row.split() for row in rows if row.split()[0] == f"{name}:")
    return int(words[_TRANSMIT_DROPS])


def addresses(name: str, level: int) -> tuple[str, str]:
    """Return the IPv4 and IPv6 address of an end.

    >>> addresses(OTHERS, 0), addresses(PROGRAM, 1)
    (('10.77.0.1', 'fd77::1'), ('10.77.1.2', 'fd77:0:1::2'))
    """
    host = 2 if name == PROGRAM else 1
    return f"10.77.{level}.{host}", f"fd77:0:{level}::{host}" if level else f"fd77::{host}"


def device(name: str, level: int) -> int:
    """Make the device of one end in the present network; its file. What the network does not know goes there."""
    own, other = (addresses(one, level) for one in (name, OTHERS if name == PROGRAM else PROGRAM))
    file = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
    fcntl.ioctl(file, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI | _IFF_VNET_HDR))
    fcntl.ioctl(file, _TUNSETOFFLOAD, _OFFLOADS)
    lines = [
        "link set lo up",
        f"address add {own[0]} peer {other[0]} dev {name}",
        f"-6 address add {own[1]} dev {name} nodad",
        f"link set {name} mtu {MTU_BYTES} txqueuelen {_DEVICE_PACKETS} up",
        f"-6 route add {other[1]} dev {name}",
    ]
    if name == PROGRAM or level == 0:
        lines += [f"route add default dev {name}", f"-6 route add default dev {name}"]
    for line in lines:
        _ip(line)
    return file


def _ip(line: str) -> None:
    subprocess.run([_IP, *line.split()], check=True, capture_output=True, text=True)


class _NoWayError(Exception):
    """Nothing can be passed on to the Internet here; the text says why."""


@dataclass
class _Relay:
    """The process that passes on what is sent to the Internet."""

    process: subprocess.Popen[bytes]
    has_ipv6: bool

    def furnish(self) -> None:
        """Have the program's network, which is the present one, lead nowhere that nothing is passed on to."""
        if not self.has_ipv6:
            _ip(f"-6 route delete default dev {PROGRAM}")

    def check(self) -> None:
        """Raise OSError where it has ended before the program."""
        if self.process.poll() is not None:
            raise OSError(f"the way to the Internet ended before the program, with {self.process.returncode}")


def _to_the_internet(own: Sequence[str], relay: Sequence[str], door: int, resolver: str, more: str) -> _Relay:
    """Start what passes on to the Internet, from the present network; raises _NoWayError where it cannot be."""
    hears, says = os.pipe()
    words = [*relay, str(door), str(says), json.dumps([OTHERS, own, resolver])]
    process = _process("way to the Internet", words, stdin=subprocess.DEVNULL, pass_fds=[door, says])
    os.close(says)
    os.close(door)
    with os.fdopen(hears) as told:
        said = json.loads(told.read() or '{"error": "it ended at once"}')
    if "error" in said:
        raise _NoWayError(said["error"])
    try:
        _know_names(own[0], more)
    except subprocess.CalledProcessError as error:
        raise _NoWayError(error.stderr.strip()) from error
    return _Relay(process, said["ipv6"])


def _know_names(server: str, more: str) -> None:
    """Have programs ask for names at the other end; of the file nothing is left on any disk."""
    place = Path(tempfile.gettempdir())
    mount = partial(subprocess.run, check=True, capture_output=True, text=True)
    mount(["mount", "-t", "tmpfs", "tmpfs", str(place)])
    file = place / "resolv.conf"
    file.write_text(f"nameserver {server}\n{more}", encoding="utf-8")
    file.chmod(0o444)
    mount(["mount", "--bind", str(file), "/etc/resolv.conf"])
    mount(["umount", str(place)])


def _started(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a program in the present network, and wait until it listens."""
    before = _listening()
    said = tempfile.TemporaryFile()  # noqa: SIM115 (as long as the program)
    serving = _process("server", command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
    deadline = time.monotonic() + _LISTENS_S
    while _listening() <= before and serving.poll() is None and time.monotonic() < deadline:
        time.sleep(_LOOK_S)
    if serving.poll():
        said.seek(0)
        raise OSError(f"the server {command[0]} ended with {serving.returncode}: {said.read().decode().strip()}")
    return serving


def _process(what: str, command: Sequence[str], **settings: Any) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(command, **settings)
    except OSError as error:
        raise OSError(f"the {what} cannot be run: {error}") from error


def _listening() -> set[str]:
    """Return what is open to others in the present network."""
    found = set()
    for table in ("tcp", "tcp6", "udp", "udp6"):
        place = Path("/proc/thread-self/net", table)
        rows = place.read_text(encoding="ascii").splitlines()[1:] if place.exists() else []
        words = [row.split() for row in rows]
        found |= {f"{table} {row[1]}" for row in words if table.startswith("udp") or row[_STATE] == _LISTEN}
    return found


def _watch(
    asker: socket.socket,
    program: subprocess.Popen[bytes],
    serving: subprocess.Popen[bytes] | None,
    relay: _Relay | None,
) -> int:
    """Wait until the program ends, or whoever asked has gone; its exit status."""
    with_end = os.pidfd_open(program.pid)
    ready, _, _ = select.select([asker.fileno(), with_end], [], [])
    os.close(with_end)
    for one in (program, serving):
        if one is not None and one.poll() is None and (asker.fileno() in ready or one is serving):
            _end(one)
    if relay:
        relay.check()
    return program.wait()


def _end(one: subprocess.Popen[bytes]) -> None:
    one.terminate()
    try:
        one.wait(_ENDS_S)
    except subprocess.TimeoutExpired:
        one.kill()


if __name__ == "__main__":
    main()
