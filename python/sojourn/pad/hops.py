"""Which time to live lets a packet die just past the bottleneck."""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field

MAX_HOPS = 20
ROUNDS = 5
GAP_S = 0.05
"""Between two packets of a trace: routers limit their answers, and the queue must not notice."""
PATIENCE_S = 4.0
"""How long the last answers are waited for."""
APART_S = 1.0
"""Between two rounds through a queue. One flow keeps a full buffer full for a round trip, half a second on a slow
uplink, and whatever else comes meanwhile is lost: of rounds so far apart it takes one."""


@dataclass(frozen=True)
class HopAnswer:
    """A router's answer to a packet whose time to live ended there, or the target's to one that arrived."""

    ttl: int
    rtt_s: float
    address: str
    arrived: bool


@dataclass
class Trace:
    """A trace under way: what to send when, and what came back."""

    hops: int
    """Largest time to live to try."""
    next_s: float
    apart_s: float = GAP_S
    """Between the last packet of a round and the first of the next."""
    sent: int = 0
    rtts_s: dict[int, list[float]] = field(default_factory=dict)
    addresses: dict[int, str] = field(default_factory=dict)
    arrived: int | None = None
    """The smallest time to live with which a packet arrived at the target, where one has."""

    def due(self, now_s: float) -> int | None:
        """Return the time to live of the packet that goes now; then the next one is set."""
        if now_s < self.next_s or self.sent >= ROUNDS * self.hops:
            return None
        ttl = 1 + self.sent % self.hops
        self.sent += 1
        self.next_s = now_s + self._gap_s()
        return ttl

    def _gap_s(self) -> float:
        if self.sent == ROUNDS * self.hops:
            return PATIENCE_S
        return self.apart_s if self.sent % self.hops == 0 else GAP_S

    def on_answer(self, answer: HopAnswer) -> None:
        """Take over an answer; beyond the target nothing is tried again."""
        if answer.ttl > self.hops:
            return
        self.rtts_s.setdefault(answer.ttl, []).append(answer.rtt_s)
        self.addresses[answer.ttl] = answer.address
        if answer.arrived:
            self.arrived = min(answer.ttl, self.arrived or answer.ttl)
        if answer.arrived and answer.ttl < self.hops:
            full_rounds, rest = divmod(self.sent, self.hops)
            self.sent = full_rounds * answer.ttl + min(rest, answer.ttl)
            self.hops = answer.ttl
            self.rtts_s = {ttl: rtts for ttl, rtts in self.rtts_s.items() if ttl <= self.hops}

    def done(self, now_s: float) -> bool:
        """Tell whether all was sent and answers had their time."""
        return self.sent >= ROUNDS * self.hops and now_s >= self.next_s

    def medians_s(self) -> dict[int, float]:
        """Return the round-trip time to each hop that answered."""
        return {ttl: statistics.median(rtts) for ttl, rtts in sorted(self.rtts_s.items())}


def past_bottleneck(idle_s: Mapping[int, float], loaded_s: Mapping[int, float], delay_s: float) -> int | None:
    """Return the first hop that shows at least half the queueing delay, and so lies behind the queue.

    `idle_s` has the least round-trip times known by hop; one that never answered before counts as 0. None where no hop
    shows it.

    >>> past_bottleneck({1: 0.001, 2: 0.010}, {1: 0.002, 2: 0.400, 3: 0.420}, 0.390)
    2
    """
    return next((ttl for ttl, rtt_s in sorted(loaded_s.items()) if rtt_s - idle_s.get(ttl, 0) >= delay_s / 2), None)
