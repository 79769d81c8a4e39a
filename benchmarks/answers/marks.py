"""Marks: what they leave of the window, what becomes of a SYN, and counters where acknowledgements are lost."""

import functools
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import sojourn
from benchmarks.answers.case import Case, Topic, record
from benchmarks.common import ROOT
from sojourn import plugins

_COIN = ROOT / "tests" / "plugins" / "coin.py"


@contextmanager
def _coin(part: float) -> Iterator[dict[str, Any]]:
    """Lend a queue that signals by lot."""
    plugins.load(_COIN)
    try:
        yield {"kind": "coin", "part": part}
    finally:
        plugins.unload("coin")


def _step(control: Mapping[str, Any], threshold: int) -> dict[str, Any]:
    """A flow on a queue that marks beyond so many packets: 12 Mbit/s and 100 ms hold 100 packets."""
    queue = {"kind": "red", "limit": "500 packets", "max_p": 1.0, "weight": 1.0, "gentle": False, "ecn": True}
    steps = {"min": f"{threshold} packets", "max": f"{threshold + 1} packets"}
    group = {"name": "a", "control": dict(control), "rtt": "100 ms", "transport": {"preset": "rfc", "ecn": True}}
    link = {"rate": "12 Mbit/s", "queue": {**queue, **steps}}
    return {"duration": "220 s", "warmup": "20 s", "bottleneck": link, "group": [group]}


@functools.cache
def _left(kind: str, preset: str) -> float:
    """Return what the last mark of a run leaves of the window, from its value every millisecond."""
    control = {"kind": kind, "preset": preset}
    result = sojourn.scenario(_step(control, 60) | {"duration": "60 s"}).run(bin_s=0.001)
    windows = [value for value in result.flows["cwnd_packets"].to_pylist() if value is not None]
    return float(min(after / before for before, after in pairwise(windows[30_000:]) if before > 0))


def _busy(kind: str, preset: str) -> float:
    """Utilization where the queue marks from its first packet on."""
    return float(record(_step({"kind": kind, "preset": preset}, 1))["bottleneck"]["utilization"])


def _sawtooth(keeps: float) -> float:
    """Utilization of a window that grows by a segment in a round trip, and falls to a part of its peak.

    The path holds 100 packets and the queue two. A mark takes a round trip to come back, in which the window grows by
    one more. While the window is below 100 packets it is what a round trip carries; above, the round trip is longer.
    """
    pipe, peak = 100.0, 103.0
    windows = [peak * keeps + grown for grown in range(int(peak * (1 - keeps)) + 1)]
    return sum(windows) / sum(max(pipe, window) for window in windows)


BACKOFF = Topic(
    "Alternative backoff with ECN (RFC 8511)",
    "A mark leaves 0.8 of NewReno's window and 0.85 of CUBIC's, a loss 0.5 and 0.7 (RFC 8511 section 3, RFC 9438). "
    "The window is read each millisecond. On a queue that marks at once, the utilization is that of a sawtooth, "
    "added up round trip by round trip.",
    (
        Case("newreno, preset abe: window after a mark", lambda: 0.8, lambda: _left("newreno", "abe"), 0.01),
        Case("newreno, preset rfc: window after a mark", lambda: 0.5, lambda: _left("newreno", "rfc"), 0.01),
        Case("cubic, preset abe: window after a mark", lambda: 0.85, lambda: _left("cubic", "abe"), 0.01),
        Case("cubic, preset rfc: window after a mark", lambda: 0.7, lambda: _left("cubic", "rfc"), 0.01),
        Case("newreno, preset abe: utilization", lambda: _sawtooth(0.8), lambda: _busy("newreno", "abe"), 0.02),
        Case("newreno, preset rfc: utilization", lambda: _sawtooth(0.5), lambda: _busy("newreno", "rfc"), 0.02),
    ),
)

_SYN_PART = 0.1
_TIMEOUT_MS = 1000.0


@functools.cache
def _connects() -> Mapping[str, Any]:
    """Transfers of one packet each, over fresh connections, through a queue that signals to a tenth of all packets."""
    with _coin(_SYN_PART) as queue:
        group = {
            "name": "a",
            "control": "newreno",
            "flows": 50,
            "rtt": "20 ms",
            "transport": {"preset": "rfc", "ecn": True},
            "traffic": {"kind": "transfers", "interval": "0.2 s", "size": "1448 B", "connections": 200},
        }
        link = {"rate": "1 Gbit/s", "queue": queue}
        return record({"duration": "320 s", "warmup": "20 s", "bottleneck": link, "group": [group]})


def _mean_connect_ms() -> float:
    """SYN, SYN-ACK and data take one and a half base round trips; the k-th lost SYN costs 2^(k-1) s more (RFC 6298)."""
    lost = math.fsum(_SYN_PART**k * (1 - _SYN_PART) * (2**k - 1) for k in range(1, 60))
    serialization = (52 + 1500) * 8 / 1e6
    return 1.5 * 20 + serialization + lost * _TIMEOUT_MS


SYNS = Topic(
    "A congestion signal meets a SYN",
    "RFC 3168 section 6.1.1: a SYN is not ECN-capable, so where data is marked, a SYN is dropped, and comes again "
    "after 1, 3, 7 s and so on. The queue signals by lot to a tenth of all packets. The tolerances are three "
    "standard errors of some 75,000 transfers.",
    (
        Case("share of data marked", lambda: _SYN_PART, lambda: _connects()["groups"]["a"]["mark_rate"], 0.035),
        Case("share of data dropped", lambda: 0.0, lambda: _connects()["groups"]["a"]["drop_rate"], 0.0, absolute=True),
        Case(
            "dropped SYNs for each transfer",
            lambda: _SYN_PART / (1 - _SYN_PART),
            lambda: _connects()["groups"]["a"]["syn_drops"] / _connects()["groups"]["a"]["fct_ms"]["count"],
            0.05,
        ),
        Case(
            "mean completion time",
            _mean_connect_ms,
            lambda: _connects()["groups"]["a"]["fct_ms"]["mean"],
            0.05,
            "ms",
        ),
    ),
)


@functools.cache
def _alpha(part: float, lost: float) -> float:
    """Return the mean of DCTCP's alpha where a part of the data is marked and a part of the acknowledgements lost."""
    with _coin(part) as queue:
        group = {
            "name": "a",
            "control": {"kind": "dctcp", "preset": "rfc"},
            "rtt": "20 ms",
            "transport": {"preset": "rfc", "ecn": "accecn"},
        }
        tables = {"duration": "200 s", "group": [group], "bottleneck": {"rate": "1 Gbit/s", "queue": queue}}
        reverse = {"rate": "1 Gbit/s", "loss": lost}
        result = sojourn.scenario({**tables, "reverse": reverse}).run(bin_s=0.5, probes=True)
    probes = result.flow_probes.to_pydict()
    rows = zip(probes["time_s"], probes["name"], probes["value"], strict=True)
    values = [value for time, name, value in rows if name == "alpha" and time > 20 and value is not None]  # noqa: PLR2004
    return float(sum(values) / len(values))


COUNTERS = Topic(
    "AccECN where acknowledgements are lost (RFC 9768)",
    "The queue marks a known part of the data by lot. DCTCP's alpha is the mean of the part that the sender knows "
    "of, so it must come to that part, however few acknowledgements arrive: the option's counters of bytes say "
    "whether the field of three bits went round. The tolerance is that of a mean over some 9,000 windows of data. "
    "Larger parts make the window so small that lost acknowledgements end in timeouts.",
    tuple(
        Case(
            f"{part:.0%} marked, {lost:.0%} of the acknowledgements lost: alpha",
            functools.partial(lambda part: part, part),
            functools.partial(_alpha, part, lost),
            0.05,
        )
        for part, lost in ((0.02, 0.0), (0.02, 0.5), (0.05, 0.3), (0.7, 0.0))
    ),
)

TOPICS = (BACKOFF, SYNS, COUNTERS)
