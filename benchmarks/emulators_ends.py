"""Both ends of a path that an emulator makes: what is sent, and when it came. Only the standard library is used.

python emulators_ends.py receive FOLDER
python emulators_ends.py send HOST idle|busy|packets|tcp FOLDER SECONDS
"""

import json
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PROBES, SINK = 9001, 9002
PROBE_S, BUSY_S = 0.005, 0.00024
"""Between probes; between datagrams of 1500 bytes beside them, 50 Mbit/s."""
DATA_BYTES, SMALL_BYTES = 1472, 172
PACKETS_PER_S = 200_000
# UDP_SEGMENT of include/uapi/linux/udp.h and SO_TIMESTAMPNS: segments of one datagram, and when the kernel got one.
_SEGMENT, _STAMP = 103, 35
_AT_ONCE = 64
_END = b"end"


def main() -> None:
    """Command line; see the module's docstring."""
    if sys.argv[1] == "receive":
        receive(Path(sys.argv[2]))
    else:
        host, kind, folder, seconds = sys.argv[2:]
        {"idle": probe, "busy": busy, "packets": packets, "tcp": tcp}[kind](host, Path(folder), float(seconds))
        time.sleep(0.5)
        with datagrams(host, PROBES) as one:
            # One is enough; after it nobody listens.
            for _ in range(5):
                with suppress(ConnectionRefusedError):
                    one.send(_END)
        time.sleep(0.5)


def receive(folder: Path) -> None:
    """Take what comes; at the end write delays in ms, and how many datagrams this network got."""
    iperf = subprocess.Popen(["iperf3", "-s"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    delays = []
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probes,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sink,
    ):
        probes.setsockopt(socket.SOL_SOCKET, _STAMP, 1)
        for one, port in ((probes, PROBES), (sink, SINK)):
            one.bind(("", port))
        while (came := probes.recvmsg(100, 100))[0] != _END:
            ((_, _, stamp),) = came[1]
            seconds, nanos = struct.unpack("qq", stamp)
            delays.append((seconds * 10**9 + nanos - int.from_bytes(came[0][:8], "big")) / 1e6)
        # What waits there is counted when it is read.
        sink.setblocking(False)
        with suppress(BlockingIOError):
            while sink.recv(1):
                pass
    iperf.kill()
    write(folder / "received.json", {"delays_ms": delays, "datagrams": arrived()})


def write(file: Path, what: object) -> None:
    """Write a file at once."""
    (whole := file.with_suffix(".part")).write_text(json.dumps(what), encoding="ascii")
    whole.rename(file)


def arrived() -> int:
    """Return how many datagrams came to sockets of this network, those without room included."""
    names, values = (
        line.split()[1:] for line in Path("/proc/net/snmp").read_text("ascii").splitlines() if "Udp:" in line
    )
    counts = dict(zip(names, map(int, values), strict=True))
    return counts["InDatagrams"] + counts["RcvbufErrors"]


def datagrams(host: str, port: int) -> socket.socket:
    """Return a socket for datagrams to the other end."""
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
    one.connect((host, port))
    return one


def every(period_s: float, seconds: float) -> Iterator[int]:
    """Yield numbers, each when it is due; what is late is not left out."""
    began = time.monotonic()
    for number in range(round(seconds / period_s)):
        if (wait := began + number * period_s - time.monotonic()) > 0:
            time.sleep(wait)
        yield number


def stamp() -> bytes:
    """Return a probe: the time, ns of CLOCK_REALTIME."""
    return time.time_ns().to_bytes(8, "big")


def probe(host: str, _: Path, seconds: float) -> None:
    """Send small datagrams over an idle path."""
    with datagrams(host, PROBES) as one:
        for _number in every(PROBE_S, seconds):
            one.send(stamp())


def busy(host: str, _: Path, seconds: float) -> None:
    """Send the same beside 50 Mbit/s."""
    with datagrams(host, PROBES) as one, datagrams(host, SINK) as other:
        for number in every(BUSY_S, seconds):
            other.send(bytes(DATA_BYTES))
            if number % round(PROBE_S / BUSY_S) == 0:
                one.send(stamp())


def packets(host: str, folder: Path, seconds: float) -> None:
    """Send small packets fast, many with each system call."""
    with datagrams(host, SINK) as one:
        one.setsockopt(socket.IPPROTO_UDP, _SEGMENT, SMALL_BYTES)
        data, sent = bytes(_AT_ONCE * SMALL_BYTES), 0
        for _number in every(_AT_ONCE / PACKETS_PER_S, seconds):
            one.send(data)
            sent += _AT_ONCE
    write(folder / "sent.json", {"packets": sent})


def tcp(host: str, folder: Path, seconds: float) -> None:
    """Send by TCP, as fast as it goes."""
    words = ["iperf3", "-c", host, "-C", "cubic", "-t", str(round(seconds)), "-O", "1", "-J"]
    said = json.loads(subprocess.run(words, check=True, capture_output=True, env={**os.environ, "LC_ALL": "C"}).stdout)
    write(folder / "sent.json", {"mbps": said["end"]["sum_received"]["bits_per_second"] / 1e6})


if __name__ == "__main__":
    main()
