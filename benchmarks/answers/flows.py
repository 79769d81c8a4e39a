"""Flows: completion times, CUBIC's curve, arrivals and sizes by their laws, and waits of queueing theory."""

import functools
import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

import sojourn
from benchmarks.answers.case import Case, Topic, record
from benchmarks.answers.network import SECOND_NS, exact

_SYN_BYTES, _PACKET_BYTES, _PAYLOAD_BYTES = 52, 1500, 1448
_ACK_DELAY_NS = 100_000_000


def completion_ns(segments: int, bits_per_s: Sequence[int], rtt_ns: int, window: int = 10) -> int:
    """Return when the last byte of a transfer arrives: a handshake, then slow start without loss (RFC 5681, RFC 6928).

    The way to the receiver crosses links in a row, the way back takes half of the base round-trip time. Every second
    segment is acknowledged at once, an odd one after 100 ms. An acknowledgement opens the window by one segment.
    """
    free = [0] * len(bits_per_s)

    def cross(now: int, size: int) -> int:
        for place, rate in enumerate(bits_per_s):
            now = free[place] = max(now, free[place]) + exact(size * 8 * SECOND_NS, rate)
        return now + rtt_ns // 2

    # (when, whether it comes to the sender, the number of segments that arrived in order; or a timer that goes off)
    agenda = [(cross(0, _SYN_BYTES) + rtt_ns // 2, "ack", 0)]
    sent = acknowledged = received = answered = 0
    while True:
        now, what, number = heapq.heappop(agenda)
        if what == "ack":
            window += min(number - acknowledged, 1)
            acknowledged = number
            while sent < min(segments, acknowledged + window):
                sent += 1
                heapq.heappush(agenda, (cross(now, _PACKET_BYTES), "data", sent))
            continue
        if what == "data":
            received = number
            if received == segments:
                return now
            if received - answered < 2:  # noqa: PLR2004
                heapq.heappush(agenda, (now + _ACK_DELAY_NS, "delayed", received))
                continue
        elif answered >= number:
            continue
        answered = received
        heapq.heappush(agenda, (now + rtt_ns // 2, "ack", received))


def _completion_ms(segments: int, bits_per_s: Sequence[int], rtt_ns: int) -> float:
    links = [{"rate": f"{rate} bit/s", "queue": {"kind": "droptail", "limit": "5000 packets"}} for rate in bits_per_s]
    hops = [{"name": f"h{place}", "at": "before", **link} for place, link in enumerate(links[:-1])]
    size = f"{segments * _PAYLOAD_BYTES} B"
    group = {"name": "a", "control": "newreno", "rtt": f"{rtt_ns} ns", "traffic": {"kind": "bulk", "size": size}}
    found = record({"duration": "60 s", "bottleneck": links[-1], "hop": hops, "group": [group]})
    return float(found["groups"]["a"]["fct_ms"]["mean"])


_TRANSFERS: Sequence[tuple[int, Sequence[int], int]] = (
    (1, (1_000_000,), 40_000_000),
    (10, (5_000_000,), 20_000_002),
    (11, (5_000_000,), 20_000_002),
    (64, (10_000_000, 4_000_000), 50_000_000),
    (500, (20_000_000, 40_000_000, 16_000_000), 123_456_788),
    (700, (100_000_000, 8_000_000, 20_000_000), 7_654_322),
)

COMPLETIONS = Topic(
    "Completion times of transfers",
    "A sender of thirty lines: a handshake, slow start by RFC 5681 from ten segments, an acknowledgement for every "
    "second segment or after 100 ms, and links in a row that lose nothing. The tolerance is a nanosecond.",
    tuple(
        Case(
            f"{segments} segments over {', '.join(f'{rate // 1_000_000}' for rate in rates)} Mbit/s, {rtt / 1e6:g} ms",
            lambda way=(segments, rates, rtt): completion_ns(*way) / 1e6,  # type: ignore[misc]
            lambda way=(segments, rates, rtt): _completion_ms(*way),  # type: ignore[misc]
            1.5e-6,
            "ms",
            absolute=True,
        )
        for segments, rates, rtt in _TRANSFERS
    ),
)

_SCALE, _BETA = 0.4, 0.7
_BIN_S = 0.02


@functools.cache
def _curve() -> tuple[float, float, Sequence[float]]:
    """Return CUBIC's window before and after its second loss at 10 Gbit/s, and each 20 ms from then on."""
    control = {"kind": "cubic", "preset": "rfc", "fast_convergence": False, "hystart": "off"}
    transport = {"preset": "rfc", "payload": "8948 B", "receive_window": "1 GB"}
    group = {"name": "a", "control": control, "rtt": "20 ms", "transport": transport}
    link = {"rate": "10 Gbit/s", "queue": {"kind": "droptail", "limit": "1000 packets"}}
    result = sojourn.scenario({"duration": "17 s", "bottleneck": link, "group": [group]}).run(bin_s=_BIN_S)
    windows = result.flows["cwnd_packets"].to_pylist()
    # The first one ends slow start within the first second.
    second = next(at for at in range(50, len(windows)) if windows[at] < 0.8 * windows[at - 1])
    settled = min(windows[second : second + 5])
    return windows[second - 1], settled, windows[second:]


def _cubic(part: float) -> float:
    """Return the window after a part of K, the time until the window is back where it was (RFC 9438, section 4.2)."""
    before, after, _ = _curve()
    period = math.cbrt((before - after) / _SCALE)
    return float(_SCALE * ((part - 1) * period) ** 3 + before)


def _window(part: float) -> float:
    before, after, windows = _curve()
    period = math.cbrt((before - after) / _SCALE)
    return float(windows[round(part * period / _BIN_S)])


CUBIC = Topic(
    "CUBIC's curve at 10 Gbit/s",
    "Packets of 9,000 B, 20 ms. The second loss gives the window before it; the rest is W(t) = 0.4 (t - K)^3 + W_max "
    "(RFC 9438). The tolerance is that of a window read every 20 ms, one round trip.",
    (
        Case("window after a loss, as a part of that before", lambda: _BETA, lambda: _curve()[1] / _curve()[0], 0.005),
        *(
            Case(
                f"window after {part:g} K",
                functools.partial(_cubic, part),
                functools.partial(_window, part),
                0.005,
                "packets",
            )
            for part in (0.1, 0.25, 0.5, 0.75)
        ),
    ),
)

_ERROR = 1.63
"""Kolmogorov's distance times the root of the number of values is below this in 99 of 100 samples."""


@functools.cache
def _transfers(size: str) -> Mapping[str, Any]:
    """Return 40 flows' transfers by a law of sizes on a link that is never busy."""
    sizes: Mapping[str, Any] = {
        "pareto": {"kind": "pareto", "min": "10 kB", "max": "10 MB", "shape": 1.2},
        "log-normal": {"kind": "log-normal", "median": "20 kB", "sigma": 1.5, "max": "10 MB"},
        "zipf": {"kind": "zipf", "unit": "1000 B", "most": 1000, "exponent": 1.7},
    }
    traffic = {"kind": "transfers", "interval": "1 s", "size": sizes[size], "connections": 1000}
    group = {"name": "a", "control": "newreno", "flows": 40, "rtt": "2 ms", "traffic": traffic}
    link = {"rate": "100 Gbit/s", "queue": {"kind": "droptail", "limit": "100000 packets"}}
    tables = {"duration": "200 s", "bottleneck": link, "group": [group]}
    found: Mapping[str, Any] = sojourn.scenario(tables).run(transfers=True, series=False).transfers.to_pydict()
    return found


def _gaps() -> Sequence[float]:
    """Return the times between arrivals of each flow's transfers, in s."""
    rows = _transfers("pareto")
    arrivals: dict[int, list[float]] = {}
    for index, end, took in zip(rows["index"], rows["end_s"], rows["completion_ms"], strict=True):
        arrivals.setdefault(index, []).append(end - took / 1e3)
    return [float(gap) for times in arrivals.values() for gap in np.diff(sorted(times))]


def _distance(values: Sequence[float], law: Callable[[Any], Any]) -> float:
    """Return Kolmogorov's distance from a law, times the root of the number of values."""
    return float(stats.kstest(values, law).statistic * math.sqrt(len(values)))


def _pareto(x: Any) -> Any:
    low, high, shape = 10e3, 10e6, 1.2
    return (1 - (low / np.asarray(x)) ** shape) / (1 - (low / high) ** shape)


def _zipf_misfit() -> float:
    """Return the chi-square of the sizes up to ten units and of all others, less what 99 of 100 samples stay below."""
    sizes = np.rint(np.asarray(_transfers("zipf")["size_bytes"]) / 1000).astype(int)
    weights = np.arange(1, 1001, dtype=float) ** -1.7
    expected = weights / weights.sum()
    wanted = np.append(expected[:10], expected[10:].sum()) * len(sizes)
    seen = np.append([np.count_nonzero(sizes == unit) for unit in range(1, 11)], np.count_nonzero(sizes > 10))  # noqa: PLR2004
    return float(((seen - wanted) ** 2 / wanted).sum() / stats.chi2.ppf(0.99, 10))


def _on_share() -> float:
    """Return the part of the time in which 60 on-off flows send, each over an access link of its own."""
    traffic = {"kind": "on-off", "on": "4 s", "off": "12 s"}
    # A window that the access link sends in a small part of an on time: what is in flight at its end still arrives.
    transport = {"preset": "rfc", "payload": "1148 B", "receive_window": "2 packets", "ack_every": 1}
    group = {"name": "a", "control": "newreno", "flows": 60, "rtt": "2 ms", "access_rate": "1200 kbit/s"}
    link = {"rate": "1 Gbit/s", "queue": "droptail"}
    tables = {
        "duration": "1000 s",
        "bottleneck": link,
        "group": [{**group, "traffic": traffic, "transport": transport}],
    }
    found = record(tables)["groups"]["a"]["goodput_mbps"]
    return float(found / 60 / (1.2 * 1148 / 1200))


LAWS = Topic(
    "Arrivals and sizes by their laws",
    "Gaps between arrivals of a Poisson process are exponential; sizes follow the laws that the scenario names. Each "
    "answer is zero: a distance from the law, in units that random samples of it exceed in one of a hundred cases "
    "(Kolmogorov's distance, Pearson's chi-square). Transfers run on an idle link of 100 Gbit/s.",
    (
        Case(
            "gaps of arrivals, exponential with a mean of 1 s",
            lambda: 0.0,
            lambda: _distance(_gaps(), stats.expon.cdf) / _ERROR,
            1.0,
            absolute=True,
        ),
        Case(
            "sizes, Pareto between two bounds",
            lambda: 0.0,
            lambda: _distance(_transfers("pareto")["size_bytes"], _pareto) / _ERROR,
            1.0,
            absolute=True,
        ),
        Case(
            "sizes, log-normal",
            lambda: 0.0,
            lambda: _distance(_transfers("log-normal")["size_bytes"], stats.lognorm(1.5, scale=20e3).cdf) / _ERROR,
            1.0,
            absolute=True,
        ),
        Case("sizes, Zipf", lambda: 0.0, _zipf_misfit, 1.0, absolute=True),
        Case("part of the time in which an on-off flow is on", lambda: 0.25, _on_share, 0.03),
    ),
)


def _wait_ms(packets: int, load: float) -> float:
    """Return the mean wait of packets that come in batches by a Poisson process to a link that takes 1 ms for each.

    Pollaczek and Khinchine for a whole batch, and what is before a packet in its own batch (M^X/D/1).
    """
    return load * packets / (2 * (1 - load)) + (packets - 1) / 2


@functools.cache
def _waited_ms(packets: int, load: float) -> float:
    size = f"{packets * _PAYLOAD_BYTES} B"
    transport = {"preset": "rfc", "handshake": False}
    traffic = {"kind": "transfers", "interval": f"{100 * packets / load:.9g} ms", "size": size, "connections": 1000}
    group = {"name": "a", "control": "newreno", "flows": 100, "rtt": "2 ms", "transport": transport, "traffic": traffic}
    link = {"rate": "12 Mbit/s", "queue": {"kind": "droptail", "limit": "100000 packets"}}
    found = record({"duration": "1000 s", "warmup": "10 s", "bottleneck": link, "group": [group]})
    return float(found["bottleneck"]["queue_ms"]["mean"])


WAITS = Topic(
    "Waits of queueing theory",
    "Transfers of one packet, and of a batch of eight, come by a Poisson process to a link that takes 1 ms for a "
    "packet (Pollaczek-Khinchine). The tolerance is some three standard errors of 1,000 s.",
    tuple(
        Case(
            f"load {load:g}, batches of {packets}",
            functools.partial(_wait_ms, packets, load),
            functools.partial(_waited_ms, packets, load),
            0.03,
            "ms",
        )
        for packets, load in ((1, 0.5), (1, 0.8), (8, 0.5))
    ),
)

TOPICS = (COMPLETIONS, CUBIC, LAWS, WAITS)
