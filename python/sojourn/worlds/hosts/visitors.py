"""Who is connected with an agent: whoever has shown nothing yet keeps nobody out who does.

A connection is a stranger's until it has greeted, with the secret where there is one, and then a guest's. There are
slots for each of the two. Where those of strangers are taken, the oldest gives way of the address that has most of
them; so one address alone takes nothing from others. Where those of guests are taken, the oldest without a run does.
"""

import resource
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from sojourn.worlds.hosts import protocol

MAX_STRANGERS, MAX_OF_ONE_ADDRESS = 64, 16
MAX_GUESTS = 8
# What else an agent has open, for its own run above all.
_FILES_BESIDES, _MIN_STRANGERS = 64, 4
_FULL = "too many ask the agent at once; try again"
_WORDS = protocol.encode({"type": "error", "kind": protocol.BUSY, "message": _FULL})


@dataclass(eq=False)
class Visitor:
    """One connection."""

    link: socket.socket = field(repr=False)
    address: str
    is_guest: bool = False
    has_run: bool = False
    gave_way: bool = False
    since_s: float = field(default_factory=time.monotonic)

    def send_away(self) -> None:
        """Close the connection, with a word; its thread sees the end of it."""
        self.gave_way = True
        with suppress(OSError):
            self.link.send(_WORDS, socket.MSG_DONTWAIT)
        with suppress(OSError):
            self.link.shutdown(socket.SHUT_RDWR)


class Visitors:
    """Connections that are open, with their threads."""

    def __init__(self) -> None:
        self._open: dict[Visitor, threading.Thread] = {}
        # Some are sent away by the threads of others.
        self._lock = threading.Lock()
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._most_strangers = max(_MIN_STRANGERS, min(MAX_STRANGERS, files - MAX_GUESTS - _FILES_BESIDES))

    def receive(self, link: socket.socket, address: str, serve: Callable[[Visitor], None]) -> None:
        """Serve a connection in a thread of its own; where there are too many, another gives way."""
        visitor = Visitor(link, address)
        thread = threading.Thread(target=self._serve, args=(visitor, serve), daemon=True)
        with self._lock:
            if self._count(address) >= MAX_OF_ONE_ADDRESS:
                self._send_away(address)
            elif len(self._strangers()) >= self._most_strangers:
                self._send_away()
            self._open[visitor] = thread
        try:
            thread.start()
        except RuntimeError:
            # The system has no more threads for this user.
            visitor.send_away()
            self._forget(visitor)
            link.close()

    def greet(self, visitor: Visitor) -> None:
        """Take a stranger for a guest."""
        with self._lock:
            guests = [one for one in self._open if one.is_guest and not one.gave_way]
            if len(guests) >= MAX_GUESTS:
                idle = [one for one in guests if not one.has_run]
                min(idle, key=lambda one: one.since_s).send_away()
            visitor.is_guest, visitor.since_s = True, time.monotonic()

    def make_room(self) -> None:
        """Have one stranger give way: the process can open nothing more."""
        with self._lock:
            self._send_away()

    def end(self) -> None:
        """Close all connections; with them ends what runs for them."""
        with self._lock:
            threads = list(self._open.values())
            for visitor in self._open:
                with suppress(OSError):
                    visitor.link.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()

    def _serve(self, visitor: Visitor, serve: Callable[[Visitor], None]) -> None:
        try:
            with visitor.link:
                serve(visitor)
        finally:
            self._forget(visitor)

    def _forget(self, visitor: Visitor) -> None:
        with self._lock:
            self._open.pop(visitor, None)

    def _strangers(self) -> list[Visitor]:
        return [one for one in self._open if not one.is_guest and not one.gave_way]

    def _count(self, address: str) -> int:
        return sum(one.address == address for one in self._strangers())

    def _send_away(self, address: str | None = None) -> None:
        """Have the oldest stranger of an address give way, or of that which has most."""
        strangers = self._strangers()
        if not strangers:
            return
        most = address or Counter(one.address for one in strangers).most_common(1)[0][0]
        min((one for one in strangers if one.address == most), key=lambda one: one.since_s).send_away()
