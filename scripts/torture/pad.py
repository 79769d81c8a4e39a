"""Padding that is killed sends nothing more, and leaves no half-written file."""

import socket
import threading
import time
from pathlib import Path

from scripts.torture.killing import command, kill

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
    """Kill a session once."""
    echo, data = _Echo(), folder / "data.json"
    times = ("--duration", f"{_DURATION_S} s", "--before", "1 s")
    words = command("pad", "127.0.0.1", "--udp-echo", echo.port, *times, "--data", data)
    wrong = kill(words, _BEGINNING_S + point * _DURATION_S, "pad")
    time.sleep(_ON_ITS_WAY_S)
    answered = echo.answered
    time.sleep(_WATCHED_S)
    if echo.answered != answered:
        wrong.append(f"{echo.answered - answered} datagrams came after the end")
    wrong += [f"{path.name} is left" for path in folder.iterdir()]
    return wrong
