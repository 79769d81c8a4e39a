"""Paths drawn at random for training: links, queues with their parameters, other traffic, and noise of the hosts.

Nothing is tuned to a test: ranges are those of home and access links, and of the parameters that people set. Two paths
of five are lines that people have (`sojourn.detect.population`), with another queue put in where the name asks for it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from sojourn.detect.causes import BULK, LOSS
from sojourn.detect.plan import FULL_BYTES, Path
from sojourn.detect.population import Crossed, learnt_from

RATES_MBPS = (0.8, 300.0)
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
PARTS = dict.fromkeys(FAMILIES, 2) | {"droptail": 8, "fq_codel": 4, "cake": 4, "hhf": 1}
"""How often each name is drawn: what two names explain alike is rather the one that people have.

Where no flow sends fast enough to be taken for a heavy hitter, HHF is a FIFO of the same limit, and nothing tells them
apart."""
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

    @property
    def causes(self) -> tuple[str, ...]:
        """Which of `CAUSES` the path has: more than one packet in 2,000 lost at random, and greedy flows of others."""
        loses = self.path.loss > 5e-4  # noqa: PLR2004
        greedy = any("traffic" not in one and one.get("direction") != "reverse" for one in self.path.others)
        return tuple(cause for cause, has in ((LOSS, loses), (BULK, greedy)) if has)


@cache
def name_of(place: int) -> str:
    """Return the name that the training probe with a number has; names take turns by their `PARTS`."""
    names = [name for turn in range(max(PARTS.values())) for name, parts in PARTS.items() if turn < parts]
    return names[place % len(names)]


def draw(name: str, random: np.random.Generator) -> Drawn:
    """Draw a path whose queue has a name of `FAMILIES`."""
    noise_s = 0.0 if random.random() < 0.4 else _between(random, 1e-6, 3e-4)  # noqa: PLR2004 (shares of paths)
    control = _CONTROLS[int(random.integers(len(_CONTROLS)))]
    skew_ppm = float(random.uniform(-50, 50))
    if name not in ("policer", "shaper") and random.random() < 0.4:  # noqa: PLR2004
        of = _line(name, random)
        path = _on_line(of, name, random)
        rate = of.rate_mbps
    else:
        rate = _between(random, *RATES_MBPS)
        path = _generic(name, rate, random)
    path = replace(path, control=control, others=[*path.others, *_bulk(path.rtt, random)])
    return Drawn(name, path, skew_ppm, noise_s, rate, path.rtt_ms)


def _line(name: str, random: np.random.Generator) -> Crossed:
    """Draw a line; one with CAKE at its gateway where the queue is CAKE, for half of those, else one without."""
    shaped = name == "cake" and random.random() < 0.5  # noqa: PLR2004
    lines = [one for one in learnt_from(RATES_MBPS[1]) if (one.name == "cake") == shaped]
    return lines[int(random.integers(len(lines)))]


def _on_line(of: Crossed, name: str, random: np.random.Generator) -> Path:
    """Return a line's path; its own queue stays where it has the name, but for every other FIFO."""
    own = of.name == name and (name != "droptail" or random.random() < 0.5)  # noqa: PLR2004
    table = of.queue if own else queue(name, of.rate_mbps, random)
    return replace(of.path, links={**of.path.links, "bottleneck": {**of.path.links["bottleneck"], "queue": table}})


def _generic(name: str, rate: float, random: np.random.Generator) -> Path:
    link: dict[str, Any] = {"rate": f"{rate:.6f} Mbit/s", "queue": queue(name, rate, random)}
    if name in ("policer", "shaper"):
        # The wire behind a token bucket is faster than what lasts, and the bucket takes a few packets or a second.
        burst = max(2 * FULL_BYTES, rate * 1e6 / 8 * _between(random, 0.002, 1.0))
        link[name] = {"rate": link["rate"], "burst": f"{burst:.0f} B"}
        link["rate"] = f"{min(rate * _between(random, 1.5, 100.0), 1000.0):.6f} Mbit/s"
    if random.random() < 0.4:  # noqa: PLR2004
        link["jitter"] = f"{_between(random, 0.05, 2.0):.6f} ms"
    if random.random() < 0.2:  # noqa: PLR2004
        link["loss"] = round(_between(random, 5e-4, 0.03), 6)
    base = f"{_between(random, *RTTS_MS):.6f} ms"
    return Path({"bottleneck": link, **_other_links(rate, random)}, base, others(base, random))


def _bulk(rtt: str, random: np.random.Generator) -> list[dict[str, Any]]:
    """Draw greedy flows of others: none on nine paths of ten."""
    if random.random() < 0.9:  # noqa: PLR2004
        return []
    return [{"name": "bulk", "rtt": rtt, "flows": int(random.integers(1, 6)), "control": "cubic", "transport": "linux"}]


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
    if random.random() < 0.2:  # noqa: PLR2004
        # The length of an interface's queue in Linux (txqueuelen) where nobody changed it.
        return {"limit": "1000 packets"}
    if random.random() < 0.5:  # noqa: PLR2004
        return {"limit": f"{round(_between(random, 15, 1000))} packets"}
    return {"limit": _packets(rate, _between(random, 0.02, 2.0))}


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
    usual = random.random() < 0.5  # noqa: PLR2004
    return {"limit": f"{1000 if usual else round(_between(random, 100, 1000))} packets"}


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
