"""Measures, decides and pads, for as long as it was told to; the rule is the simulation's own."""

import statistics
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from sojourn import _native
from sojourn.pad.hops import APART_S, MAX_HOPS, Trace, past_bottleneck
from sojourn.pad.network import DISCARD_PORT, Network, PadError
from sojourn.pad.settings import PROBE_INTERVAL_S, Settings

UPLINK_WINDOW_S = 10.0
"""The uplink's rate is the most that this machine sent over so long."""
_REPORT_S = 0.25
_RETRACE_S = 30.0
_UNANSWERED_S = 10.0
_PAUSED_S = 0.05
"""Who wakes up so much later than planned was not running meanwhile, and cannot tell when answers came."""


@dataclass
class Record:
    """What happened, in seconds from the start of the session."""

    began_s: float
    """When it began, on the network's clock."""
    rtts: list[tuple[float, float]] = field(default_factory=list)
    """When a probe was answered, and its round-trip time in seconds."""
    rates: list[tuple[float, float]] = field(default_factory=lambda: [(0.0, 0.0)])
    """When the padding changed, and to how many packets per second."""
    notes: list[tuple[float, str]] = field(default_factory=list)
    """When something was decided, and a sentence on it."""
    hops: list[tuple[int, str, float]] = field(default_factory=list)
    """The path as last traced: time to live, address, median round-trip time in seconds."""
    probes: int = 0
    padding_packets: int = 0
    ttl: int | None = None
    uplink_bps: float = 0.0
    base_s: float = float("inf")
    rests: int = 0
    elapsed_s: float = 0.0

    def delays_s(self, begin_s: float, end_s: float) -> list[float]:
        """Return the queueing delays that probes answered in a part of the session saw."""
        return [rtt - self.base_s for at, rtt in self.rtts if begin_s <= at < end_s]

    def padded(self) -> tuple[float, float] | None:
        """Return the longest time with padding without a pause; None where there was none."""
        spans, began = [], None
        for at, rate in [*self.rates, (self.elapsed_s, 0.0)]:
            if rate > 0 and began is None:
                began = at
            elif rate == 0 and began is not None:
                spans.append((began, at))
                began = None
        return max(spans, key=lambda span: span[1] - span[0], default=None)

    def before_and_after(self) -> tuple[float, float] | None:
        """Return the median delay in the 10 s before padding began, and that of the second half of its time."""
        span = self.padded()
        if span is None:
            return None
        before = self.delays_s(span[0] - 10, span[0])
        after = self.delays_s(sum(span) / 2, span[1])
        return (statistics.median(before), statistics.median(after)) if before and after else None


class Session:
    """One session. `run` ends with the time given; all padding is sent by it, so none outlives it."""

    def __init__(self, network: Network, settings: Settings) -> None:
        self._network = network
        self._began_s = network.now()
        self.record = Record(self._began_s)
        self.settings = settings
        self._end_s = self._began_s + settings.limits.duration_s
        self._watch_until_s = self._began_s + settings.before_s
        self._next_probe_s = self._next_report_s = self._next_count_s = self._began_s
        self._answered_s = self._began_s
        self._counts: deque[tuple[float, int]] = deque()
        self._trace: Trace | None = Trace(settings.ttl or MAX_HOPS, self._began_s)
        self._retrace_s = 0.0
        self._least_s: dict[int, float] = {}
        self._hops = MAX_HOPS
        self._arrived: int | None = None
        self._rule: _native.Padding | None = None
        if settings.base_s is not None:
            self.record.base_s = settings.base_s

    def run(self, report: Callable[[Record], None] = lambda _record: None) -> Record:
        """Go on until the time is over; `report` is told four times a second.

        Raises PadError where nothing answers, or the time to live that was given ends before the bottleneck.
        """
        planned_s = self._began_s
        while (now := self._network.now()) < self._end_s:
            self.record.elapsed_s = now - self._began_s
            if now - planned_s > _PAUSED_S:
                self._forget_answers(now)
            self._measure(now)
            self._follow_trace(now)
            self._decide(now)
            self._pad(now)
            if now >= self._next_report_s:
                self._next_report_s = now + _REPORT_S
                report(self.record)
            planned_s = max(now, min(self._next_s(), self._end_s))
            self._network.wait(planned_s)
        self.record.elapsed_s = self.settings.limits.duration_s
        report(self.record)
        return self.record

    @property
    def limit_pps(self) -> float:
        """The most packets per second, by what is known of the uplink."""
        return self.settings.limits.rate_pps(self.settings.uplink_bps or self.record.uplink_bps)

    def _forget_answers(self, now: float) -> None:
        """Throw away what came while this process was not running: how long it had been there is not known."""
        if self._network.answers():
            self._answered_s = now
        self._network.hop_answers()

    def _measure(self, now: float) -> None:
        if now >= self._next_probe_s:
            self._next_probe_s = max(self._next_probe_s + PROBE_INTERVAL_S, now)
            # Counted first: who is interrupted in between has sent it.
            self.record.probes += 1
            self._network.probe()
        for rtt_s in self._network.answers():
            self._answered_s = now
            self.record.rtts.append((now - self._began_s, rtt_s))
            self.record.base_s = min(self.record.base_s, rtt_s)
            if self._rule is not None:
                self._rule.on_answer(rtt_s)
        if not self.record.rtts and now - self._answered_s > _UNANSWERED_S:
            raise PadError(f"the target answered none of {self.record.probes} probes; take one that answers pings")
        if now >= self._next_count_s:
            self._next_count_s = now + 1.0
            self._count(now)

    def _count(self, now: float) -> None:
        """Take the most that this machine sent over a window for the uplink's rate: it is no more than that."""
        self._counts.append((now, self._network.sent_bytes()))
        while now - self._counts[0][0] > UPLINK_WINDOW_S:
            self._counts.popleft()
        began, count = self._counts[0]
        if now - began >= UPLINK_WINDOW_S / 2:
            sent_bps = 8 * (self._counts[-1][1] - count) / (now - began)
            self.record.uplink_bps = max(self.record.uplink_bps, sent_bps)

    def _follow_trace(self, now: float) -> None:
        for answer in self._network.hop_answers():
            if self._trace is not None:
                self._trace.on_answer(answer)
        if self._trace is None:
            return
        if (ttl := self._trace.due(now)) is not None:
            self._network.ask_hop(ttl)
        if self._trace.done(now):
            self._finish_trace(self._trace, now)
            self._trace = None

    def _finish_trace(self, trace: Trace, now: float) -> None:
        medians_s = trace.medians_s()
        if medians_s:
            self._hops = max(medians_s)
        self._arrived = trace.arrived or self._arrived
        self.record.hops = [(ttl, trace.addresses[ttl], rtt_s) for ttl, rtt_s in medians_s.items()]
        if self._rule is not None and self._rule.rate_pps > 0:
            self._choose_ttl(medians_s, now)
        # A hop heard of under load does not tell what it is without.
        idle = self._recent_delay_s() < self.settings.target_s
        for ttl, rtts_s in trace.rtts_s.items() if idle else ():
            self._least_s[ttl] = min([*rtts_s, self._least_s.get(ttl, min(rtts_s))])

    def _recent_delay_s(self) -> float:
        found = self.record.delays_s(self.record.elapsed_s - UPLINK_WINDOW_S, self.record.elapsed_s + 1)
        return statistics.median(found) if found else 0.0

    def _choose_ttl(self, medians_s: dict[int, float], now: float) -> None:
        delay_s, idle_s = self._recent_delay_s(), self._least_s
        found = past_bottleneck(idle_s, medians_s, delay_s)
        given = self.settings.ttl
        if self._arrives(given or found):
            self._refuse_target(now)
        elif given is None and found is None:
            self._wait_for_another_trace(now, f"no hop shows the delay of {delay_s * 1e3:.0f} ms; nothing is sent. "
                                         "--ttl N sets one by hand")  # fmt: skip
        elif given is None:
            self._pad_to(found, now, f"hop {found} is the first behind the queue: padding dies there")
        elif given in medians_s and medians_s[given] - idle_s.get(given, 0) < delay_s / 2:
            raise PadError(
                f"a time to live of {given} never reaches the bottleneck: hop {given} answers within "
                f"{medians_s[given] * 1e3:.0f} ms, while the path has {delay_s * 1e3:.0f} ms of queueing delay. "
                "Without --ttl it is found by tracing"
            )
        else:
            silent = "" if given in medians_s else "; that hop does not answer, so only the delay will tell"
            self._pad_to(given, now, f"padding with a time to live of {given}{silent}")

    def _arrives(self, ttl: int | None) -> bool:
        """Tell whether padding with this time to live ends at the target and not on the way."""
        return ttl is not None and self._arrived is not None and ttl >= self._arrived

    def _refuse_target(self, now: float) -> None:
        """Send no padding to a host that is not this machine: it is meant to die at a router."""
        if self.settings.own_target:
            ttl = self.settings.ttl or self._arrived
            self._pad_to(ttl, now, f"padding arrives at this machine's own UDP port {DISCARD_PORT}")
            return
        port = f"its UDP port {DISCARD_PORT}"
        if self.settings.ttl is not None:
            raise PadError(
                f"a time to live of {self.settings.ttl} reaches the target itself, at hop {self._arrived}: padding "
                f"would arrive at {port}. Take a smaller one, or a HOST further away"
            )
        self._wait_for_another_trace(now, f"the first hop behind the queue is the target itself: padding would arrive "
                                     f"at {port}; nothing is sent. Take a HOST further away")  # fmt: skip

    def _pad_to(self, ttl: int | None, now: float, text: str) -> None:
        self.record.ttl = ttl
        self._note(now, text)

    def _wait_for_another_trace(self, now: float, text: str) -> None:
        self._retrace_s = now + _RETRACE_S
        self._note(now, text)

    def _decide(self, now: float) -> None:
        if now < self._watch_until_s or self._trace is not None:
            return
        if self._rule is None:
            self._rule = _native.Padding(self.settings.target_s, self.limit_pps, self._since(now))
            if self.record.rtts or self.settings.base_s is not None:
                self._rule.know_base(self.record.base_s)
        rule, before = self._rule, self._rule.rate_pps
        rule.bound(self.limit_pps)
        rule.on_time(self._since(now))
        if rule.rests > self.record.rests:
            self.record.rests = rule.rests
            self._give_up(now)
        if rule.rate_pps > 0 and self.record.ttl is None and now >= self._retrace_s:
            self._trace = Trace(max(self._hops, self.settings.ttl or 1), now, APART_S)
            if before == 0:
                self._note(now, "the delay is above the target: looking for the bottleneck")

    def _give_up(self, now: float) -> None:
        if self.record.padding_packets == 0:
            return
        self._note(
            now,
            "padding does not help here and has ended for now: the buffer counts bytes or is managed, or "
            f"packets with a time to live of {self.record.ttl} do not reach the bottleneck",
        )
        self.record.ttl = None

    def _pad(self, now: float) -> None:
        rule = self._rule
        if rule is None:
            return
        padding = self.record.ttl is not None
        if padding and rule.due(self._since(now)):
            assert self.record.ttl is not None  # noqa: S101 (as padding says)
            self._network.pad(self.record.ttl)
            self.record.padding_packets += 1
        rate = rule.rate_pps if padding else 0.0
        if rate != self.record.rates[-1][1]:
            self.record.rates.append((self._since(now), rate))

    def _next_s(self) -> float:
        moments = [self._next_probe_s, self._next_report_s, self._next_count_s]
        if self._trace is not None:
            moments.append(self._trace.next_s)
        elif self._rule is not None and (self.record.ttl is not None or self._rule.rate_pps == 0):
            moments.append(self._began_s + self._rule.next_s)
        return min(moments)

    def _since(self, now: float) -> float:
        return now - self._began_s

    def _note(self, now: float, text: str) -> None:
        self.record.notes.append((self._since(now), text))
