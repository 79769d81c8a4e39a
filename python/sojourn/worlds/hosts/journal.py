"""What an agent says of connections that failed: the first ones of a minute a line each, the others in one line."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

Tell = Callable[[str], None]
"""Takes a line for whoever watches the agent."""

WINDOW_S = 60.0
LINES = 10
"""Of strangers in a window, and as many of guests, so that strangers hide no guest's failure."""
_MOST_ADDRESSES = 1000


@dataclass
class _Failures:
    """Failed connections of strangers or of guests in a window."""

    since_s: float
    told: int = 0
    untold: int = 0
    addresses: Counter[str] = field(default_factory=Counter)

    def count(self, address: str) -> None:
        """Count a failure that gets no line of its own."""
        self.untold += 1
        if address in self.addresses or len(self.addresses) < _MOST_ADDRESSES:
            self.addresses[address] += 1

    @property
    def summary(self) -> str:
        """What was counted."""
        (most, count), *_ = self.addresses.most_common(1)
        number = f"{'at least ' * (len(self.addresses) >= _MOST_ADDRESSES)}{len(self.addresses)}"
        return f"from {number} address{'es' * (len(self.addresses) > 1)}, most from {most} ({count})"


class Journal:
    """Tells of failed connections, a bounded number of lines in each window."""

    def __init__(self, tell: Tell, now_s: Callable[[], float] = time.monotonic) -> None:
        self._tell, self._now_s = tell, now_s
        self._failures: dict[bool, _Failures] = {}
        # Each connection has a thread of its own.
        self._lock = threading.Lock()

    def failed(self, address: str, what: str, *, is_guest: bool) -> None:
        """Take a failure: a line where there were few in this window, else it is counted."""
        with self._lock:
            self._end(all_of_them=False)
            own = self._failures.setdefault(is_guest, _Failures(self._now_s()))
            if own.told < LINES:
                own.told += 1
                self._tell(f"{address}{what}")
            else:
                own.count(address)

    def look(self, *, at_end: bool = False) -> None:
        """Tell what was counted in windows that are over, or in all where the agent ends."""
        with self._lock:
            self._end(all_of_them=at_end)

    def _end(self, *, all_of_them: bool) -> None:
        now_s = self._now_s()
        for is_guest, own in list(self._failures.items()):
            if not all_of_them and now_s - own.since_s < WINDOW_S:
                continue
            del self._failures[is_guest]
            if own.untold:
                who = "peers who know the secret" if is_guest else "strangers"
                lasted = f"{now_s - own.since_s:.0f} s"
                self._tell(f"{own.untold} more connections of {who} failed within {lasted}, {own.summary}")
