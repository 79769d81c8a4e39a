"""The paper's hosts and links: FreeBSD 9.1 at both ends, an asymmetric line, buffers in packets."""

from collections.abc import Mapping
from typing import Any

from sojourn.papers.measures import check
from sojourn.study.model import Check
from sojourn.study.numbers import Number

SEEDS = 10
UPLOAD, DOWNLOAD, PADDING, PING = "upload", "download", "padding", "ping"
GOODPUT, RTT, QUEUE_MS, LINK = "goodput_mbps", "rtt_ms_mean", "bottleneck_queue_ms_mean", "bottleneck_utilization"

# FreeBSD 9's netinet/tcp_timer.h and cc/: a timeout of 3 s before the first sample, later at least 30 ms and 200 ms of
# slop, which are one floor here; acknowledgements delayed by up to 100 ms; RFC 3390's window of three segments.
FREEBSD: dict[str, Any] = {"preset": "rfc", "initial_window": 3, "initial_rto": "3 s", "min_rto": "230 ms"}
UNDELAYED = FREEBSD | {"ack_every": 1}
# Reno halves the window, and grows by two segments an acknowledgement in slow start (abc_l_var). Vegas aims at one to
# three segments and doubles in every other round trip. CUBIC leaves 0.8 of the window and has no HyStart.
CONTROLS: dict[str, dict[str, Any]] = {
    "Vegas": {"kind": "vegas", "alpha": 1, "beta": 3, "slow_start": "every-other"},
    "NewReno": {"kind": "newreno", "halve": "window", "slow_start_limit": 2},
    "CUBIC": {"kind": "cubic", "beta": 0.8, "hystart": "off", "slow_start_limit": 2},
}
NEWRENO = CONTROLS["NewReno"]

UP_MS, DOWN_MS = 52.0, 42.0
RTT_MS = UP_MS + DOWN_MS


def base(
    rate_kbps: tuple[float, float], packets: tuple[int, int], *groups: Mapping[str, Any], **changes: Any
) -> dict[str, Any]:
    """Return a scenario over a line: rates and buffers up and down."""
    up, down = ({"rate": rate(kbps), "queue": tail(limit)} for kbps, limit in zip(rate_kbps, packets, strict=True))
    tables: dict[str, Any] = {
        "name": "braud",
        "duration": "350 s",
        "warmup": "50 s",
        "bottleneck": up,
        "reverse": down,
        "group": list(groups),
    }
    return tables | changes


def host(name: str, *, control: str | Mapping[str, Any] = NEWRENO, **changes: Any) -> dict[str, Any]:
    """Return a flow between two of the paper's hosts, which starts within a second."""
    tables = {
        "name": name,
        "control": control,
        "transport": FREEBSD,
        "rtt": ms(RTT_MS),
        "start": {"uniform": ["0 s", "1 s"]},
    }
    return tables | changes


def padding(packets_per_s: float, **changes: Any) -> dict[str, Any]:
    """Return a stream of packets of 29 bytes."""
    traffic = {"kind": "padding", "rate": f"{packets_per_s:g} packets/s", **changes}
    return {"name": PADDING, "rtt": ms(RTT_MS), "traffic": traffic}


def tail(packets: int) -> dict[str, Any]:
    """Return a buffer that counts packets."""
    return {"kind": "droptail", "limit": f"{packets} packets"}


def rate(kbps: float) -> str:
    """Return a rate as the scenario file has it."""
    return f"{kbps:g} kbit/s"


def ms(value: float) -> str:
    """Return a time as the scenario file has it."""
    return f"{value:g} ms"


def near(claim: str, paper: float, number: Number, within: float, digits: int = 0, why: str = "") -> Check:
    """Return whether a number is within a part of the paper's."""
    agrees = abs(number.mean / paper - 1) <= within
    return check(claim, f"{paper:.4g}, within {100 * within:g} %", number.text(digits), agrees=agrees, why=why)


def ratio(above: Number, below: Number) -> Number:
    """Return a quotient of means, and its spread where the two vary independently of each other.

    >>> ratio(Number(1.0, 0.1, 9), Number(2.0, 0.2, 9)).text(2)
    '0.50 ± 0.07'
    """
    value = above.mean / below.mean
    spread = ((above.sd / above.mean) ** 2 + (below.sd / below.mean) ** 2) ** 0.5
    return Number(value, value * spread, min(above.runs, below.runs))
