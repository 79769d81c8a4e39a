"""Paths drawn at random for training: links, queues with their parameters, other traffic, and noise of the hosts.

Nothing is tuned to a test: ranges are those of home and access links, and of the parameters that people set.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn.detect.plan import FULL_BYTES, Path

RATES_MBPS = (0.8, 100.0)
RTTS_MS = (2.0, 300.0)
FAMILIES = {
    "droptail": "FIFO",
    "codel": "FIFO with AQM",
    "pie": "FIFO with AQM",
    "red": "FIFO with AQM",
    "sfq": "fair queueing",
    "drr": "fair queueing",
    "fq_codel": "fair queueing with AQM",
    "cake": "fair queueing with AQM",
    "hhf": "heavy-hitter filter",
    "policer": "policer",
    "shaper": "shaper",
}
"""The names that a model knows, and the family of each."""
LEFT_OUT = ("choke", "fq_pie")
"""Disciplines that never take part in training, to see whether the detector knows what it does not know."""


# A kernel leaves slow start as it likes, and no simulation of it is exact.
_CONTROLS: tuple[str | dict[str, Any], ...] = ("cubic", "cubic", {"kind": "cubic", "preset": "rfc"})


PARAMETERS: dict[str, tuple[str, ...]] = {
    "droptail": ("limit",),
    "codel": ("target", "interval"),
    "fq_codel": ("target", "interval"),
    "pie": ("target",),
    "red": ("min", "max", "max_p"),
    "sfq": ("limit",),
    "drr": ("limit",),
    "hhf": ("limit",),
    "cake": ("rtt",),
}
"""The parameters that are read from a probe, by the name of the queue."""
SAME: dict[str, dict[str, Any]] = {
    **{name: {"preset": "linux"} for name in ("codel", "fq_codel", "pie", "red", "sfq", "hhf")},
    "drr": {"perfect": True},
}
"""What all queues of a name have in training."""
WITH_ECN = ("codel", "fq_codel", "pie")
"""Names whose marking is drawn."""
_UNITS = {"ms": "_ms", "packets": "_packets", "B": "_bytes"}


def truths(name: str, table: Mapping[str, Any]) -> dict[str, float]:
    """Return the parameters in a queue's table that can be read from a probe, with their units in their names."""
    found = {}
    for key in PARAMETERS.get(name, ()):
        if key in table:
            number, _, unit = str(table[key]).partition(" ")
            found[f"{key}{_UNITS.get(unit, '')}"] = float(number)
    return found


@dataclass(frozen=True)
class Drawn:
    """A path, and what its queue is."""

    name: str
    path: Path
    skew_ppm: float
    noise_s: float
    rate_mbps: float
    rtt_ms: float


def draw(name: str, random: np.random.Generator) -> Drawn:
    """Draw a path whose queue has a name of `FAMILIES`."""
    rate, rtt = _between(random, *RATES_MBPS), _between(random, *RTTS_MS)
    link: dict[str, Any] = {"rate": f"{rate:.6f} Mbit/s", "queue": queue(name, rate, random)}
    if name in ("policer", "shaper"):
        # The wire behind a token bucket is faster than what lasts, and the bucket takes a few packets or a second.
        burst = max(10 * FULL_BYTES, rate * 1e6 / 8 * _between(random, 0.01, 1.0))
        link[name] = {"rate": link["rate"], "burst": f"{burst:.0f} B"}
        link["rate"] = f"{min(rate * _between(random, 1.5, 20.0), 300.0):.6f} Mbit/s"
    if random.random() < 0.4:  # noqa: PLR2004 (shares of paths)
        link["jitter"] = f"{_between(random, 0.05, 2.0):.6f} ms"
    links = {"bottleneck": link, **_other_links(rate, random)}
    base = f"{rtt:.6f} ms"
    noise_s = 0.0 if random.random() < 0.4 else _between(random, 1e-6, 3e-4)  # noqa: PLR2004
    path = Path(links, base, others(base, random), _CONTROLS[int(random.integers(len(_CONTROLS)))])
    return Drawn(name, path, float(random.uniform(-50, 50)), noise_s, rate, rtt)


def queue(name: str, rate_mbps: float, random: np.random.Generator) -> dict[str, Any]:
    """Draw the parameters of the queue of a path."""
    kind = "droptail" if name in ("policer", "shaper") else name
    return {"kind": kind, **SAME.get(name, {}), **_QUEUES[name](rate_mbps, random)}


def others(rtt: str, random: np.random.Generator) -> list[dict[str, Any]]:
    """Draw the other traffic: none for two paths of five, else one of five kinds."""
    kinds: Sequence[dict[str, Any] | None] = [
        None,
        None,
        {"flows": 2, "control": "cubic", "traffic": _transfers(float(random.uniform(0.05, 0.3)))},
        {"flows": 1, "control": "cubic", "traffic": {"kind": "on-off", "on": "1 s", "off": "2 s"}},
        {"flows": 1, "traffic": {"kind": "voip"}},
        {"flows": 1, "traffic": {"kind": "cbr", "rate": f"{_between(random, 20, 200):.3f} kbit/s", "packet": "400 B"}},
        {"flows": 1, "control": "newreno", "traffic": _transfers(float(random.uniform(0.02, 0.15)))},
    ]
    chosen = kinds[int(random.integers(len(kinds)))]
    return [] if chosen is None else [{"name": "others", "rtt": rtt, **chosen}]


def _transfers(share: float) -> dict[str, Any]:
    size = {"kind": "pareto", "min": "5 kB", "max": "2 MB", "shape": 1.2}
    return {"kind": "transfers", "load": round(share, 4), "size": size}


def _other_links(rate_mbps: float, random: np.random.Generator) -> dict[str, Any]:
    links: dict[str, Any] = {}
    if random.random() < 0.4:  # noqa: PLR2004
        back = max(0.5, rate_mbps * _between(random, 0.1, 1.0))
        links["reverse"] = {"rate": f"{back:.6f} Mbit/s", "queue": "fq_codel"}
    if random.random() < 0.2:  # noqa: PLR2004
        at = ("before", "after")[int(random.integers(2))]
        rate = rate_mbps * _between(random, 21, 50)
        queues = ({"kind": "droptail", "limit": "1000 packets"}, {"kind": "fq_codel", "preset": "linux"})
        hop = {"name": "other", "at": at, "rate": f"{rate:.6f} Mbit/s", "queue": queues[int(random.integers(2))]}
        links["hop"] = [hop]
    return links


def _between(random: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(random.uniform(np.log(low), np.log(high))))


def _packets(rate_mbps: float, seconds: float, least: int = 10) -> str:
    return f"{max(least, round(rate_mbps * 1e6 / 8 / FULL_BYTES * seconds))} packets"


def _droptail(rate: float, random: np.random.Generator) -> dict[str, Any]:
    if random.random() < 0.5:  # noqa: PLR2004
        return {"limit": f"{round(_between(random, 15, 1000))} packets"}
    return {"limit": _packets(rate, _between(random, 0.02, 1.0))}


def _red(rate: float, random: np.random.Generator) -> dict[str, Any]:
    most = round(max(9.0, min(_between(random, 15, 250), rate * 1e6 / 8 / FULL_BYTES * 0.8)))
    least = max(3, round(most / random.uniform(2, 4)))
    limit = round(most * random.uniform(2, 5))
    return {
        "limit": f"{limit * FULL_BYTES} B",
        "min": f"{least * FULL_BYTES} B",
        "max": f"{most * FULL_BYTES} B",
        "max_p": round(_between(random, 0.02, 0.15), 4),
    }


def _codel(_rate: float, random: np.random.Generator) -> dict[str, Any]:
    usual = random.random() < 0.5  # noqa: PLR2004
    target, interval = (5.0, 100.0) if usual else (_between(random, 2, 20), _between(random, 50, 200))
    return {
        "target": f"{target:.3f} ms",
        "interval": f"{max(interval, 2 * target):.3f} ms",
        "ecn": bool(random.random() < 0.3),  # noqa: PLR2004
    }


def _fq_codel(rate: float, random: np.random.Generator) -> dict[str, Any]:
    return {**_codel(rate, random), "ecn": bool(random.random() < 0.7)}  # noqa: PLR2004


def _pie(_rate: float, random: np.random.Generator) -> dict[str, Any]:
    usual = random.random() < 0.5  # noqa: PLR2004
    target = 15.0 if usual else _between(random, 5, 40)
    # A kernel's timer counts ticks, so that it updates late.
    update = (15.0, 16.0, 20.0, 30.0)[int(random.integers(4))]
    return {
        "target": f"{target:.3f} ms",
        "update": f"{update:.3f} ms",
        "ecn": bool(random.random() < 0.3),  # noqa: PLR2004
    }


def _sfq(_rate: float, random: np.random.Generator) -> dict[str, Any]:
    usual = random.random() < 0.5  # noqa: PLR2004
    limit = 127 if usual else round(_between(random, 40, 127))
    return {"limit": f"{limit} packets"}


def _drr(rate: float, random: np.random.Generator) -> dict[str, Any]:
    return {"limit": _packets(rate, _between(random, 0.05, 0.6), 150)}


def _cake(_rate: float, random: np.random.Generator) -> dict[str, Any]:
    diffserv = ("diffserv3", "besteffort", "diffserv4")[int(random.integers(3))]
    rtt = (100.0, 100.0, 30.0, 300.0)[int(random.integers(4))]
    return {"diffserv": diffserv, "rtt": f"{rtt:.3f} ms"}


def _hhf(_rate: float, random: np.random.Generator) -> dict[str, Any]:
    return {"limit": f"{round(_between(random, 300, 1000))} packets"}


_QUEUES: dict[str, Callable[[float, np.random.Generator], dict[str, Any]]] = {
    "droptail": _droptail,
    "codel": _codel,
    "pie": _pie,
    "red": _red,
    "sfq": _sfq,
    "drr": _drr,
    "fq_codel": _fq_codel,
    "cake": _cake,
    "hhf": _hhf,
    "policer": _droptail,
    "shaper": _droptail,
}
