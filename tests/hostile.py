"""Peers of an agent that mean it no good: `python -m tests.hostile KIND AGENT PORT SECRET_FILE SECONDS`.

Each knows the secret, asks for the heaviest run that the agent lets itself be asked for, and then treats the agent's
flows in its own way. It prints what it saw as JSON. For network namespaces of the tests only.
"""

import json
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from sojourn.worlds.hosts import world
from sojourn.worlds.hosts.world import Peer

FLOWS = 8
LEAD_S = 2.0
TOKEN = 7
CONNECTION = 0x6EE48D99
"""What datagrams of the first connection of a flow with this token carry."""
# Their length says that it is the whole of a transfer's connection.
TRANSFER_BYTES = 14_480
_BULK = {"kind": "bulk"}
_TRANSFERS = {
    "kind": "transfers",
    "interval": "1 ms",
    "size": {"kind": "fixed", "size": f"{TRANSFER_BYTES} B"},
}


def flow(kind: str, traffic: dict[str, Any], *, direction: str = "reverse") -> dict[str, Any]:
    control = {"tcp": None, "cbr": None, "udp": {"kind": "newreno"}, "utp": {"kind": "libutp"}}[kind]
    return {
        "kind": kind,
        "direction": direction,
        "control": control,
        "transport": {"preset": "linux"} if kind == "udp" else None,
        "traffic": traffic,
        "start_s": 0.0,
        "stop_s": None,
        "dscp": 0,
        "ecn": False,
        "seed": 1,
        "token": TOKEN,
        "logged_packets": 0,
    }


def main(arguments: list[str]) -> None:
    kind, agent, port, secret_file, seconds = arguments
    flows, receive = KINDS[kind]
    peer = Peer(agent, int(port), Path(secret_file).read_bytes().strip())
    with ExitStack() as undo:
        session = begun(peer, {"duration_s": float(seconds), "bin_s": 0.1, "flows": flows}, undo)
        seen: list[int] = [0] * len(flows)
        local = session._line.local
        threads = [
            threading.Thread(target=receive, args=(local, agent, int(port) + 1 + place, seen, place), daemon=True)
            for place in range(len(flows))
        ]
        for thread in threads:
            thread.start()
        while (found := session._line.poll(0.2)) is None or found["type"] == "beat":
            session._line.beat()
        print(json.dumps({"seen_bytes": sum(seen), "last": found["type"]}), flush=True)  # noqa: T201


def begun(peer: Peer, wish: dict[str, Any], undo: ExitStack) -> world._Session:
    """Ask for a run that is about to begin; on a busy machine for one that begins later."""
    lead_s = LEAD_S
    while True:
        session = undo.enter_context(world._connected(peer))
        offset_s, _ = session._offset()
        session._line.send("run", **wish, start_at_s=time.monotonic() + lead_s + offset_s)
        try:
            session._next("ready")
        except world._LateError:
            lead_s *= 2
        else:
            return session


def listener(local: str, port: int, *, window_bytes: int = 0, segment_bytes: int = 0) -> socket.socket:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if window_bytes:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window_bytes)
    if segment_bytes:
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, segment_bytes)
    listening.bind((local, port))
    listening.listen(1024)
    return listening


def accepting(
    local: str, port: int, serve: Callable[[socket.socket], None], *, window_bytes: int = 0, segment_bytes: int = 0
) -> None:
    """Serve every connection in a thread of its own."""
    with listener(local, port, window_bytes=window_bytes, segment_bytes=segment_bytes) as listening:
        while True:
            link, _ = listening.accept()
            threading.Thread(target=serve, args=(link,), daemon=True).start()


def reads(link: socket.socket, seen: list[int], place: int) -> None:
    """Count all, and answer each transfer as soon as its length is known: the next comes sooner."""
    with suppress(OSError), link:
        total = 0
        while data := link.recv(1 << 16):
            seen[place] += len(data)
            if total == 0:
                link.send(answer(TRANSFER_BYTES))
            total += len(data)


def answer(total_bytes: int) -> bytes:
    return total_bytes.to_bytes(8, "little") + time.monotonic_ns().to_bytes(8, "little")


def transfers(local: str, _agent: str, port: int, seen: list[int], place: int) -> None:
    accepting(local, port, lambda link: reads(link, seen, place))


def liar(local: str, _agent: str, port: int, seen: list[int], place: int) -> None:
    """Say at once that a transfer has arrived, which has not, take none of it, and later all at once."""

    opens_s = time.monotonic() + LEAD_S + 3.0

    def serve(link: socket.socket) -> None:
        with suppress(OSError), link:
            select.select([link], [], [], 5)
            link.send(answer(TRANSFER_BYTES))
            time.sleep(max(0.0, opens_s - time.monotonic()))
            while data := link.recv(1 << 16):
                seen[place] += len(data)

    accepting(local, port, serve, window_bytes=1)


def staller(local: str, _agent: str, port: int, seen: list[int], place: int) -> None:
    """Keep the window shut for seconds, and then open it wide."""

    opens_s = time.monotonic() + LEAD_S + 3.0

    def serve(link: socket.socket) -> None:
        with suppress(OSError), link:
            time.sleep(max(0.0, opens_s - time.monotonic()))
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
            while data := link.recv(1 << 20):
                seen[place] += len(data)

    accepting(local, port, serve, window_bytes=1)


def small(local: str, _agent: str, port: int, seen: list[int], place: int) -> None:
    """Take segments of 88 bytes only: most of what is sent are headers."""
    accepting(local, port, lambda link: reads(link, seen, place), segment_bytes=88)


def flood_tcp(local: str, agent: str, port: int, seen: list[int], place: int) -> None:
    """Send as much as goes, for the sake of the answers."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        with suppress(OSError), socket.create_connection((agent, port), 5, (local, 0)) as link:
            link.sendall(TOKEN.to_bytes(8, "little") + b"\xff" * 8)
            while True:
                seen[place] += link.send(bytes(1 << 16))
        time.sleep(0.05)


def disorder(local: str, agent: str, port: int, seen: list[int], place: int) -> None:
    """Open a connection over UDP and send its segments backwards, each of which is to be acknowledged at once."""
    head = struct.Struct("<HBBBBHIIQ")

    def message(kind: int, number: int, rest: bytes, payload_bytes: int = 0) -> bytes:
        return head.pack(0x4A53, 1, kind, 0, 0, payload_bytes, CONNECTION, number, time.monotonic_ns()) + rest

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.bind((local, 0))
        link.connect((agent, port))
        link.setblocking(False)
        until, number = time.monotonic() + 30, 60_000
        while time.monotonic() < until:
            with suppress(OSError):
                if number % 1000 == 0:
                    link.send(message(0, 1, TOKEN.to_bytes(8, "little") + bytes(40)))
                link.send(message(2, number, bytes(40), 40))
            number = number - 2 if number > 2 else 60_000
            with suppress(OSError):
                while data := link.recv(2048):
                    seen[place] += len(data)


def careless(local: str, agent: str, port: int, seen: list[int], place: int) -> None:
    """Be a uTP receiver (BEP 29) that says that no packet ever waited, and that some came which are yet to be sent."""
    head = struct.Struct(">BBHIIIHH")
    data, state, syn = 0, 2, 4
    ahead = 8
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.bind((local, port))
        link.settimeout(30)
        connection = 0
        with suppress(OSError):
            while True:
                packet, sender = link.recvfrom(2048)
                seen[place] += len(packet)
                word, _, number, _, _, _, sequence, _ = head.unpack_from(packet)
                if word >> 4 == syn:
                    connection = number
                elif word >> 4 != data:
                    continue
                for acknowledged in (sequence, sequence + ahead):
                    answer_to = head.pack(state << 4 | 1, 0, connection, 0, 1, 1 << 30, 1, acknowledged & 0xFFFF)
                    link.sendto(answer_to, sender)


KINDS: dict[str, tuple[list[dict[str, Any]], Callable[..., None]]] = {
    "transfers": ([flow("tcp", _TRANSFERS)] * FLOWS, transfers),
    "liar": ([flow("tcp", _TRANSFERS)] * FLOWS, liar),
    "staller": ([flow("tcp", _BULK)] * FLOWS, staller),
    "small": ([flow("tcp", _BULK)] * FLOWS, small),
    "flood": ([flow("tcp", _BULK, direction="forward")] * FLOWS, flood_tcp),
    "careless": ([flow("utp", _BULK)] * FLOWS, careless),
    "disorder": ([flow("udp", _BULK, direction="forward")] * FLOWS, disorder),
}


if __name__ == "__main__":
    main(sys.argv[1:])
