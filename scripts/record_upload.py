"""Records what a command sends and receives, the first 100 bytes of each packet: docs/guide/upload.pcap.gz was made so.

    sojourn shell --line adsl-16-1-quiet --server "iperf3 -s" -- python3 scripts/record_upload.py upload.pcap COMMAND...

with `iperf3 -c 10.77.0.1 -t 20 -C cubic` as COMMAND.

In the namespace of `sojourn shell` tcpdump cannot become another user, as it wants to.
"""

import socket
import struct
import subprocess
import sys
from pathlib import Path

_ALL, _SO_TIMESTAMPNS = 3, 35
_NANO, _RAW_IP, _KEPT_BYTES = 0xA1B23C4D, 101, 100


def main() -> int:
    """Record until the command ends; return its exit status."""
    path, *command = sys.argv[1:]
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ALL))
    packets.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    packets.settimeout(0.2)
    process = subprocess.Popen(command)
    with Path(path).open("wb") as file:
        file.write(struct.pack("<IHHiIII", _NANO, 2, 4, 0, 0, _KEPT_BYTES, _RAW_IP))
        while True:
            try:
                packet, told, _, (device, *_) = packets.recvmsg(1 << 16, 1 << 10)
            except TimeoutError:
                if process.poll() is not None:
                    return process.returncode
                continue
            if device == "lo":
                continue
            seconds, nanos = next(struct.unpack("qq", data) for _, kind, data in told if kind == _SO_TIMESTAMPNS)
            kept = packet[:_KEPT_BYTES]
            file.write(struct.pack("<IIII", seconds, nanos, len(kept), len(packet)) + kept)


if __name__ == "__main__":
    sys.exit(main())
