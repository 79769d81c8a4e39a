"""Padding that is killed sends nothing more and leaves no half-written file; the next session is a whole one."""

import json
import socket
import threading
import time
from pathlib import Path

from scripts.torture import place
from scripts.torture.killing import command, kill_one, temporary, whole

_DURATION_S = 4.0
_BEGINNING_S = 1.0
_ON_ITS_WAY_S, _WATCHED_S = 0.1, 0.3


class _Echo:
    """Who answers datagrams on loopback, and counts them."""

    def __init__(self) -> None:
        self.server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.server.bind(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.answered = 0
        threading.Thread(target=self._answer, daemon=True).start()

    def _answer(self) -> None:
        while True:
            data, peer = self.server.recvfrom(100)
            self.server.sendto(data, peer)
            self.answered += 1


def torture(point: float, folder: Path) -> list[str]:
    """Kill a session once, and have a short one afterwards."""
    echo, data = _Echo(), folder / "data.json"
    words = command("pad", "127.0.0.1", "--udp-echo", echo.port, "--before", "1 s", "--data", "data.json")
    wrong = kill_one([*words, "--duration", f"{_DURATION_S} s"], folder, _BEGINNING_S + point * _DURATION_S, point)
    time.sleep(_ON_ITS_WAY_S)
    answered = echo.answered
    time.sleep(_WATCHED_S)
    if echo.answered != answered:
        wrong.append(f"{echo.answered - answered} datagrams came after the end")
    wrong += place.left(temporary(folder))
    # One that ended before it was to be killed has written all.
    if data.exists():
        json.loads(data.read_bytes())
        data.unlink()
    wrong += whole([*words, "--duration", "2 s"], folder)
    if not data.exists() or echo.answered == answered:
        return [*wrong, "the next session does nothing"]
    json.loads(data.read_bytes())
    data.unlink()
    return wrong + place.left(temporary(folder))
