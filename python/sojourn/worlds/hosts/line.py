"""The control connection of a run: messages over a socket, and the notice that the other side is gone."""

import select
import socket
import time
from collections import deque

from sojourn.worlds.hosts.protocol import Decoder, Message, ProtocolError, encode

BEAT_S = 1.0
PATIENCE_S = 15.0
"""How long the other side may be silent in a run: the connection shares a queue that may hold seconds."""
_READ_BYTES = 1 << 16
# Of a bounded rate, what is written at once.
_PIECE_S, _MIN_PIECE_BYTES = 0.02, 1500


class GoneError(Exception):
    """The other side has closed the connection, or is silent; the text is a clause that says so."""


class Line:
    """One side of a control connection."""

    def __init__(self, link: socket.socket, peer: str, limit_bytes: int, patience_s: float = PATIENCE_S) -> None:
        link.setblocking(False)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.peer = peer
        """Address of the other end."""
        self.patience_s = patience_s
        self._socket = link
        self._decoder = Decoder(limit_bytes)
        self._messages: deque[Message] = deque()
        self._heard_s = time.monotonic()
        self._beat_s = 0.0
        self._bytes_per_s: float | None = None
        self._last_words: Exception | None = None

    @property
    def local(self) -> str:
        """Address of this end."""
        return str(self._socket.getsockname()[0])

    def fileno(self) -> int:
        """Return the socket's, so that a line can be waited for."""
        return self._socket.fileno()

    def allow(self, limit_bytes: int) -> None:
        """Take lines of this length from now on."""
        self._decoder.limit_bytes = limit_bytes

    def pace(self, rate_bps: int) -> None:
        """Send no faster than this from now on: a report may be long, and the rate holds for it as well."""
        self._bytes_per_s = rate_bps / 8

    def send(self, kind: str, /, **fields: object) -> None:
        """Send a message; raises GoneError where the other side takes nothing for too long."""
        data = memoryview(encode({"type": kind, **fields}))
        if self._bytes_per_s is None:
            return self._write(data)
        size = max(_MIN_PIECE_BYTES, int(self._bytes_per_s * _PIECE_S))
        for piece in (data[at : at + size] for at in range(0, len(data), size)):
            self._write(piece)
            time.sleep(len(piece) / self._bytes_per_s)
        return None

    def _write(self, data: memoryview) -> None:
        while data:
            _, writable, _ = select.select([], [self._socket], [], self.patience_s)
            if not writable:
                raise GoneError(f"takes nothing since {self.patience_s:g} s")
            try:
                data = data[self._socket.send(data) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise GoneError(f"is gone ({error.strerror})") from None

    def beat(self) -> None:
        """Say once a second that this side is there, and look whether the other one is; raises GoneError."""
        now = time.monotonic()
        if now >= self._beat_s:
            self._beat_s = now + BEAT_S
            self.send("beat")
        if not self._messages and now - self._heard_s > self.patience_s:
            # Who takes no messages for a while does not know whether there are some.
            self._look()
            if now - self._heard_s > self.patience_s:
                raise self._last_words or GoneError(f"is silent since {self.patience_s:g} s")

    def poll(self, wait_s: float) -> Message | None:
        """Return the next message if one comes in time; raises GoneError or ProtocolError."""
        until = time.monotonic() + wait_s
        while not self._messages:
            # What came before the end of a connection is read before the end is told.
            if self._last_words is not None:
                raise self._last_words
            left_s = until - time.monotonic()
            if not select.select([self._socket], [], [], max(0.0, left_s))[0]:
                return None
            self._read()
            if left_s <= 0 and not self._messages:
                return None
        return self._messages.popleft()

    def wait(self, wait_s: float | None = None) -> Message:
        """Return the next message that is no beat; raises GoneError after a time without any."""
        wait_s = self.patience_s if wait_s is None else wait_s
        until = time.monotonic() + wait_s
        while (left_s := until - time.monotonic()) > 0:
            found = self.poll(left_s)
            if found is not None and found["type"] != "beat":
                return found
        raise GoneError("says nothing for too long")

    def _look(self) -> None:
        if select.select([self._socket], [], [], 0)[0]:
            self._read()

    def _read(self) -> None:
        try:
            data = self._socket.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            self._last_words = GoneError(f"is gone ({error.strerror})")
            return
        if not data:
            self._last_words = GoneError("has closed the connection")
            return
        self._heard_s = time.monotonic()
        try:
            self._messages += self._decoder.feed(data)
        except ProtocolError as error:
            self._last_words = error
